// Package server is Muster's HTTP API: health, metrics, worker reports, events, status and decisions. docs/api.md has
// the routes.
//
// [New] returns it as an http.Handler, from [Options] that say what it serves; [NewServer], [Listen] and [Serve] run it
// with its bounds:
//
//	l, err := server.Listen("127.0.0.1:9325")
//	err = server.Serve(ctx, l, server.NewServer(server.New(options)))
//
// The main types:
//
//   - [Fleet] is what the server asks of a running fleet, and [Decisions] what it asks of a history. Package
//     controller/loop and package history give them.
//   - [Status] is the answer of the status route, with a [FleetStatus] for each fleet; commands print the same value.
//     [Metrics] writes the page for Prometheus.
//   - [Token] is the operator's, made at the first start and kept in a file that only its owner may read. A worker's
//     token lets it report for its own member and do nothing else.
//
// The API is closed by default. [Listen] takes loopback addresses alone, [ListenTLS] any, with TLS. Every route but the
// two health ones needs a token. A foreign Host header is refused, which keeps a web page from reaching the API under
// another name, and so is a write from another origin. Bodies, headers, times and rates are bounded.
//
// For something else: the SQS endpoint is package sqsapi, which has keys of its own. Commands reach a running Muster by
// package app/client. What a status says to people is package app/status.
package server
