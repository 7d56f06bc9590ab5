package transport

import (
	"context"
	"maps"
	"net/http"
	"slices"

	"github.com/muster-scale/muster/internal/accept"
)

// written is an answer in memory, in the terms of net/http.
type written struct {
	header http.Header
	status int
	body   []byte
}

// Header returns the headers.
func (a *written) Header() http.Header { return a.header }

// WriteHeader sets the status, once.
func (a *written) WriteHeader(status int) {
	if a.status == 0 {
		a.status = status
	}
}

// Write adds to the body.
func (a *written) Write(b []byte) (int, error) {
	a.WriteHeader(http.StatusOK)
	a.body = append(a.body, b...)
	return len(b), nil
}

func sortedNames(h http.Header) []string { return slices.Sorted(maps.Keys(h)) }

// leaving is the context of a request of a loop. It never ends; gone does when the caller hangs up, which matters only
// while a call waits.
type leaving struct {
	context.Context
	gone   context.Context
	ticket *accept.Ticket
}

// LetIn says of the connection of a request that its caller proved who it is.
func LetIn(ctx context.Context) {
	switch c := ctx.(type) {
	case leaving:
		c.ticket.Trust()
	case watching:
		if conn, ok := c.exchange.fast.Conn().(*frontConn); ok {
			conn.letIn()
		}
	default:
		accept.Trust(ctx)
	}
}
