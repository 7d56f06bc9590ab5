package transport

import (
	"context"
	"maps"
	"net/http"
	"slices"

	"github.com/muster-scale/muster/internal/accept"
)

// written is an answer in memory, in the terms of net/http.
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

// Write adds to the body.
func (a *response) Write(b []byte) (int, error) {
	a.WriteHeader(http.StatusOK)
	a.body = append(a.body, b...)
	return len(b), nil
}

func sortedNames(h http.Header) []string { return slices.Sorted(maps.Keys(h)) }

// leaving is the context of a request of a loop. It never ends; gone does when the caller hangs up, which matters only
// while a call waits.
type loopContext struct {
	context.Context
	gone   context.Context
	ticket *accept.Ticket
}

// LetIn says of the connection of a request that its caller proved who it is.
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
