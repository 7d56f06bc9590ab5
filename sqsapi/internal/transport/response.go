package transport

import (
	"context"
	"maps"
	"net/http"
	"slices"

	"github.com/muster-scale/muster/internal/accept"
)

// response is an answer in memory. It implements http.ResponseWriter.
type response struct {
	header http.Header
	status int
	body   []byte
}

// Header returns the headers.
func (a *response) Header() http.Header { return a.header }

// WriteHeader sets the status, once.
func (a *response) WriteHeader(status int) {
	if a.status == 0 {
		a.status = status
	}
}

// Write appends to the body.
func (a *response) Write(b []byte) (int, error) {
	a.WriteHeader(http.StatusOK)
	a.body = append(a.body, b...)
	return len(b), nil
}

// sortedNames makes equal answers equal bytes.
func sortedNames(h http.Header) []string { return slices.Sorted(maps.Keys(h)) }

// loopContext is the context of a request that a loop serves. It never ends by itself; gone ends when
// the caller hangs up, see WithHangUp.
type loopContext struct {
	context.Context
	gone   context.Context
	ticket *accept.Ticket
}

// MarkAuthenticated notes, for the connection of the request with context ctx, that its caller proved
// its identity. The connection then costs nothing of the budget for unauthenticated callers.
func MarkAuthenticated(ctx context.Context) {
	switch c := ctx.(type) {
	case loopContext:
		c.ticket.Trust()
	case exchangeContext:
		if conn, ok := c.exchange.fast.Conn().(*serverConn); ok {
			conn.markAuthenticated()
		}
	default:
		accept.Trust(ctx)
	}
}
