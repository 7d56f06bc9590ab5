// Package server is Muster's HTTP API: health, metrics, worker reports, events, status and decisions.
//
// It is born closed. It listens on loopback only. Every route but the two health ones needs a token, made at the first
// start and kept in a file that only its owner may read; a worker's token lets it report for its own member and do
// nothing else. A foreign Host header is refused, which keeps a web page from reaching the API under another name, and
// so is a write from another origin. Bodies, headers, times and rates are bounded.
package server
