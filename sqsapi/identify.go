package sqsapi

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"
)

// judge refuses what can be refused by the head of a request: a browser, a foreign host, a signature that is
// missing, not well-formed, of an unknown key or too old. Nothing of the body need be read for it.
func (a *api) judge(r *http.Request) (*claim, error) {
	if err := a.guard(r); err != nil {
		return nil, err
	}
	return a.claim(r)
}

// refuses says whether the endpoint refuses a request whatever its body.
func (f *Front) refuses(r *http.Request) bool {
	a, ok := f.endpoint.(*api)
	if !ok {
		return false
	}
	_, err := a.judge(r)
	return err != nil
}

// identify judges a request by its head, then reads the body and checks the signature. Until then the body counts as
// unverified.
func (a *api) identify(w http.ResponseWriter, r *http.Request) ([]byte, *claim, error) {
	claim, err := a.judge(r)
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
	if err := claim.verify(r, body, &a.last); err != nil {
		return nil, nil, err
	}
	letIn(r.Context())
	return body, claim, nil
}

// leaveBody lets the server of net/http answer without the rest of a body, for which it would wait. A [Front]
// sees to that itself.
func leaveBody(w http.ResponseWriter, r *http.Request) {
	switch r.Body.(type) {
	case *heldBody, *bodyStream:
	default:
		if r.ContentLength != 0 {
			w.Header().Set("Connection", "close")
		}
	}
}

func tooLarge() *fault {
	return &fault{"RequestEntityTooLarge", "RequestEntityTooLarge", http.StatusRequestEntityTooLarge, false,
		fmt.Sprintf("The request is larger than %d bytes.", maxRequestBytes)}
}

// busyShape is the error of a request for whose body there is no room. SDKs try again.
const busyShape = "ServiceUnavailable"

func busy() *fault {
	return &fault{busyShape, busyShape, http.StatusServiceUnavailable, false,
		"Too many large requests arrive at this moment whose signature is not checked yet. Try again."}
}

// overloadEvery is the least number of seconds between two log lines about it.
const overloadEvery = 60

func (a *api) sayOverload() {
	now := time.Now().Unix()
	if before := a.overload.Load(); now-before >= overloadEvery && a.overload.CompareAndSwap(before, now) {
		a.Logger.Warn("large requests are refused: too much is held of requests whose signature is not checked yet",
			"bytes", a.unverified.Used(), "limit", unverifiedBytes)
	}
}

// trustedBytes is how much room is made for a body because a header says so.
const trustedBytes = 64 << 10

// readBody reads a body and returns how many bytes of the budget it takes, also with an error.
func (a *api) readBody(r *http.Request) (body []byte, held int64, err error) {
	if b, ok := r.Body.(*heldBody); ok {
		return b.all, 0, nil
	}
	if r.ContentLength > maxRequestBytes {
		return nil, 0, tooLarge()
	}
	room := int(min(max(r.ContentLength, 0), trustedBytes)) + bytes.MinRead // so that nothing is copied to find the end
	for {
		if !a.unverified.Take(int64(room) - held) {
			return nil, held, busy()
		}
		held = int64(room)
		body = append(make([]byte, 0, room), body...)
		for len(body) < cap(body) {
			n, err := r.Body.Read(body[len(body):cap(body)])
			body = body[:len(body)+n]
			switch {
			case len(body) > maxRequestBytes:
				return nil, held, tooLarge()
			case errors.Is(err, io.EOF):
				return body, held, nil
			case err != nil:
				return nil, held, malformed("The request body could not be read: %v.", err)
			}
		}
		room = min(2*room, maxRequestBytes+bytes.MinRead)
		if r.ContentLength > 0 {
			room = min(room, int(r.ContentLength)+bytes.MinRead)
		}
	}
}
