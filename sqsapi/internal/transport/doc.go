// Package transport reads HTTP requests from connections and writes the answers, with less processor
// time than net/http.
//
// A [Server] serves an [http.Handler] on plain TCP. It has two ways to do so:
//
//		                       +-- loop: simple requests, many connections on one goroutine   (Linux)
//		listener -- Server ----+
//		                       +-- fasthttp: all other requests, a goroutine per connection
//
//	  - A loop (loop_linux.go, loopconn_linux.go) waits for events of its connections with epoll. It
//	    parses simple requests itself (simplerequest.go), starts their calls, submits all of them to
//	    the queue together, and writes the answers. So a request costs one read and one write, and
//	    wakes no goroutine.
//	  - A connection on which any other request arrives is handed over to fasthttp for good;
//	    exchange.go shows its requests and answers in the terms of net/http. Where there is no epoll,
//	    fasthttp serves everything.
//
// An [Endpoint] is a handler that supports loops: it refuses requests by their heads and starts
// [Calls]. Other handlers are served too, each request on a goroutine of its own.
//
// Invariants: both ways give the same answers as net/http, which tests compare. Memory for callers who
// are not authenticated yet is bounded over all connections ([UnverifiedBytes]). Answers of one
// connection come in the order of its requests.
//
// The package knows no action and no key, and writes only the refusals of invalid HTTP itself. Limits
// of connections per caller are those of internal/accept.
package transport
