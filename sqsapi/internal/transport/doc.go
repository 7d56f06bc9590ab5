// Package transport reads requests from connections and writes the answers, in less processor time than net/http takes.
//
// A [Front] serves an [http.Handler]. On Linux its loops (loop_linux.go) read plain requests and write their answers
// on one goroutine for many connections, and hand what is to be stored to the queue together; a connection with any
// other request goes to fasthttp (exchange.go), and so do all connections elsewhere. An [Endpoint] tells a front what
// it needs for that: which requests are refused by their heads, and which calls a loop may run.
//
// What is read of callers who have not proved who they are is bounded over all connections. The package knows no
// action and no key; it writes only the refusals of what is not HTTP by itself.
package transport
