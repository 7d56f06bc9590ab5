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
//   - [Fleet] is the part of a running fleet that the server needs, and [Decisions] that of a history. Packages
//     controller/loop and history implement them.
//   - [Status] is the answer of the status route, with a [FleetStatus] for each fleet; commands print the same value.
//     [Metrics] writes the page for Prometheus.
//   - [Token] is the operator's, made at the first start and kept in a file that only its owner may read. A worker's
//     token lets it report for its own member and do nothing else.
//
// The API is closed by default. [Listen] accepts only loopback addresses, [ListenTLS] any, with TLS. Every route but
// the two health ones and the login needs a token or a browser's session; the dashboard's files are open, and hold no
// data. A foreign Host header is refused, which keeps a web page from reaching the API
// under another name, and so is a write from another origin. Bodies, headers, times and rates are bounded.
//
// A request passes these checks, each before any work is done for it:
//
//	guard       the Host header, and a bound of the body
//	CORS        writes from another origin are refused
//	token       compared in constant time; a report is decoded first, because it names the member whose token it has.
//	            Without a token, a session may allow the request: package session
//	handler     decodes strictly, checks ranges, and answers in JSON
//
// The package keeps these invariants:
//
//   - A request without a valid token or session learns nothing, not even which routes exist, and costs bounded memory.
//   - A route of [Options].Routes has the same checks as those of this package: a method that is not GET or HEAD needs
//     the token, or an operator's session with its write token.
//   - An event carries no number. It only makes a fleet poll earlier, so a forged, late or repeated one costs one poll.
//   - An unknown value is left out of /metrics and never exported as zero; muster_signal_known says that it is unknown.
//   - Answers only gain fields. Readers, also in older commands, ignore fields that they do not know.
//
// The server decides nothing: a report goes to the fleet's loop, and the answer is what the controller decided.
//
// For something else: the SQS endpoint is package sqsapi, which has keys of its own. Commands reach a running Muster by
// package app/client. The text of a status for people is package app/status.
package server
