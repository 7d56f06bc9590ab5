package sqsapi

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"time"

	"github.com/muster-scale/muster/sqsapi/internal/protocol"
	"github.com/muster-scale/muster/sqsapi/internal/sigv4"
	"github.com/muster-scale/muster/sqsapi/internal/transport"
)

// checkHead refuses a request by its head: a browser, a foreign host, a signature that is missing,
// malformed, too old or of an unknown key. It reads nothing of the body.
func (a *api) checkHead(r *http.Request) (*sigv4.Claim, error) {
	if err := a.guard(r); err != nil {
		return nil, err
	}
	return a.signatures.Read(r)
}

// identify checks the head, reads the body and checks the signature. Until then the body counts against
// the budget of unverified bytes.
func (a *api) identify(w http.ResponseWriter, r *http.Request) ([]byte, *sigv4.Claim, error) {
	claim, err := a.checkHead(r)
	if err != nil {
		leaveBody(w, r)
		return nil, nil, err
	}
	body, held, err := a.readBody(r)
	defer a.unverified.Give(held)
	if err != nil {
		leaveBody(w, r)
		return nil, nil, err
	}
	if err := a.signatures.Verify(claim, r, body); err != nil {
		return nil, nil, err
	}
	transport.MarkAuthenticated(r.Context())
	return body, claim, nil
}

// leaveBody lets a server of net/http answer without reading the rest of a body, for which it would
// wait. A [TCPServer] does this itself.
func leaveBody(w http.ResponseWriter, r *http.Request) {
	if !transport.ServedHere(r) && r.ContentLength != 0 {
		w.Header().Set("Connection", "close")
	}
}

// overloadEvery is the least time, in seconds, between two log lines about overload.
const overloadEvery = 60

// logOverload logs, at most once a minute, that bodies are refused for lack of budget.
func (a *api) logOverload() {
	now := time.Now().Unix()
	if before := a.overload.Load(); now-before >= overloadEvery && a.overload.CompareAndSwap(before, now) {
		a.Logger.Warn("large requests are refused: bodies with unchecked signatures take too much memory",
			"bytes", a.unverified.Used(), "limit", transport.UnverifiedBytes)
	}
}

// readBody reads a body and returns the number of bytes it took from the budget, also with an error.
// The buffer grows by doubling: a header that announces a large body costs nothing until the bytes
// arrive.
func (a *api) readBody(r *http.Request) (body []byte, held int64, err error) {
	if b, ok := transport.BufferedBody(r); ok {
		return b, 0, nil
	}
	if r.ContentLength > transport.MaxRequestBytes {
		return nil, 0, protocol.TooLarge(transport.MaxRequestBytes)
	}
	room := int(min(max(r.ContentLength, 0),
		transport.TrustedBytes)) + bytes.MinRead // room to read the end of the body without growing
	for {
		if !a.unverified.Take(int64(room) - held) {
			return nil, held, protocol.Busy()
		}
		held = int64(room)
		body = append(make([]byte, 0, room), body...)
		for len(body) < cap(body) {
			n, err := r.Body.Read(body[len(body):cap(body)])
			body = body[:len(body)+n]
			switch {
			case len(body) > transport.MaxRequestBytes:
				return nil, held, protocol.TooLarge(transport.MaxRequestBytes)
			case errors.Is(err, io.EOF):
				return body, held, nil
			case err != nil:
				return nil, held, protocol.Malformed("The request body could not be read: %v.", err)
			}
		}
		room = min(2*room, transport.MaxRequestBytes+bytes.MinRead)
		if r.ContentLength > 0 {
			room = min(room, int(r.ContentLength)+bytes.MinRead)
		}
	}
}
