// Requests and answers of fasthttp in the terms of net/http. Exchanges are reused: nothing of one may
// be kept after its answer.

package transport

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"net/url"

	"github.com/valyala/fasthttp"

	"github.com/muster-scale/muster/sqsapi/internal/protocol"
)

// exchange returns an exchange for c, from the pool.
func (f *Server) exchange(c *fasthttp.RequestCtx) *exchange {
	x, ok := f.exchanges.Get().(*exchange)
	if !ok {
		x = newExchange() // the pool holds nothing else
	}
	x.fast = c
	return x
}

// release puts an exchange back into the pool.
func (f *Server) release(x *exchange) {
	x.reset()
	f.exchanges.Put(x)
}

// exchange is one request and its answer. It implements http.ResponseWriter.
type exchange struct {
	fast    *fasthttp.RequestCtx
	request *http.Request
	target  url.URL
	body    memoryBody
	stream  bodyStream
	values  []string // backing array of all header values
	header  http.Header
	status  int
}

// memoryBody is a request body that is in memory.
type memoryBody struct {
	all []byte
	bytes.Reader
}

// BufferedBody returns the body of a request of a [Server] if all of it is in memory.
func BufferedBody(r *http.Request) ([]byte, bool) {
	if b, ok := r.Body.(*memoryBody); ok {
		return b.all, true
	}
	return nil, false
}

// ServedHere says whether a [Server] serves r. It handles an answer without reading the rest of the
// body itself.
func ServedHere(r *http.Request) bool {
	switch r.Body.(type) {
	case *memoryBody, *bodyStream:
		return true
	}
	return false
}

// Close does nothing.
func (*memoryBody) Close() error { return nil }

// bodyStream is a body that is read from the connection.
type bodyStream struct {
	io.Reader
	length int // Content-Length; negative if unknown
	ended  bool
}

// Read reads on, and notes the end.
func (s *bodyStream) Read(b []byte) (int, error) {
	n, err := s.Reader.Read(b)
	s.ended = s.ended || err == io.EOF
	return n, err
}

// Close does nothing: the next request follows on the same connection.
func (*bodyStream) Close() error { return nil }

// prefetched is the part of a body, in bytes, that fasthttp reads before the handler runs.
const prefetched = 8 << 10

// drained says whether nothing of the body is left in the connection. It first drops a short body,
// which fasthttp has read already.
func (s *bodyStream) drained() bool {
	if s.Reader != nil && !s.ended && s.length >= 0 && s.length <= prefetched {
		io.Copy(io.Discard, s)
	}
	return s.Reader == nil || s.ended
}

// newExchange returns an exchange. Its request is made once, with a context that leads back to the
// exchange, and is filled anew for each request.
func newExchange() *exchange {
	x := &exchange{header: http.Header{}}
	empty := http.Request{Header: http.Header{}, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1}
	x.request = empty.WithContext(exchangeContext{context.Background(), x})
	return x
}

// reset drops everything of the request, so that the pool keeps no body alive.
func (x *exchange) reset() {
	clear(x.request.Header)
	clear(x.header)
	clear(x.values)
	x.values, x.status, x.body.all, x.fast, x.stream = x.values[:0], 0, nil, nil, bodyStream{}
	x.body.Reset(nil)
}

// read copies the parts of a request that an endpoint uses. It returns an error for an invalid target
// or more than one Host.
func (x *exchange) read() error {
	h := &x.fast.Request.Header
	r := x.request
	r.Method, r.Host, r.RequestURI = string(h.Method()), string(h.Host()), string(h.RequestURI())
	if x.target = (url.URL{Path: "/"}); r.RequestURI != "/" {
		u, err := url.ParseRequestURI(r.RequestURI)
		if err != nil {
			return err
		}
		if x.target = *u; u.Host != "" {
			r.Host = u.Host
		}
	}
	r.URL = &x.target
	hosts := 0
	for key, value := range h.All() {
		name := headerName(key)
		if name == "Host" {
			hosts++
			continue
		}
		x.values = append(x.values, string(value))
		last := len(x.values)
		if before, ok := r.Header[name]; ok {
			r.Header[name] = append(before[:len(before):len(before)], x.values[last-1])
			continue
		}
		r.Header[name] = x.values[last-1 : last : last]
	}
	if hosts > 1 {
		return errors.New("more than one host")
	}
	if r.ContentLength = int64(max(-1, h.ContentLength())); h.ContentLength() < -1 {
		r.ContentLength = 0 // there is none
	}
	if s := x.fast.RequestBodyStream(); s != nil {
		x.stream = bodyStream{Reader: s, length: int(r.ContentLength)}
		r.Body = &x.stream
		return nil
	}
	x.body.all = x.fast.PostBody()
	x.body.Reset(x.body.all)
	r.Body = &x.body
	return nil
}

// headerName returns the text of a header name, without an allocation for those of every request.
func headerName(key []byte) string {
	switch string(key) {
	case "Host":
		return "Host"
	case "Content-Type":
		return "Content-Type"
	case "Content-Length":
		return "Content-Length"
	case protocol.TargetHeader:
		return protocol.TargetHeader
	case "User-Agent":
		return "User-Agent"
	case "Authorization":
		return "Authorization"
	case "X-Amz-Date":
		return "X-Amz-Date"
	}
	return string(key)
}

// Header returns the headers of the answer.
func (x *exchange) Header() http.Header { return x.header }

// WriteHeader sets the status, once.
func (x *exchange) WriteHeader(status int) {
	if x.status == 0 {
		x.status = status
	}
}

// Write adds to the body of the answer.
func (x *exchange) Write(b []byte) (int, error) {
	x.WriteHeader(http.StatusOK)
	x.fast.Response.AppendBody(b)
	return len(b), nil
}

// finish copies status and headers to the answer of fasthttp.
func (x *exchange) finish() {
	x.WriteHeader(http.StatusOK)
	x.fast.SetStatusCode(x.status)
	for name, values := range x.header {
		switch name {
		case "Content-Length": // fasthttp sets it
		case "Content-Type":
			x.fast.Response.Header.SetContentType(values[0])
		default:
			x.fast.Response.Header.SetCanonical([]byte(name), []byte(values[0])) // the names are canonical
			for _, value := range values[1:] {
				x.fast.Response.Header.Add(name, value)
			}
		}
	}
}
