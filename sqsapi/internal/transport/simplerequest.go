// Parsing of simple requests. The parser accepts only what every HTTP implementation reads alike, and
// reports everything else as notSimple. So it needs no error handling, and cannot disagree with a proxy
// about where a request ends (request smuggling).

package transport

import (
	"bytes"
	"net/http"
	"net/textproto"
	"net/url"
	"strings"

	"github.com/muster-scale/muster/sqsapi/internal/protocol"
)

// simpleRequest is a request of the form that nearly all have: a POST in HTTP/1.1 to a plain path, with
// one Host, a Content-Length and a body below maxSimpleBytes. Its memory is reused.
type simpleRequest struct {
	request http.Request
	target  url.URL
	body    []byte   // a part of the read buffer
	values  []string // backing array of the header values
}

// form is what the bytes that have arrived are.
type form uint8

const (
	incomplete form = iota // the head is incomplete
	headOnly               // the head is complete, the body is not
	complete               // a complete simple request
	notSimple              // another request, or no valid one
)

// maxSimpleBytes bounds a simple request with its head.
const maxSimpleBytes = 64 << 10

// newSimpleRequest returns a request without headers.
func newSimpleRequest() *simpleRequest {
	return &simpleRequest{request: http.Request{Method: http.MethodPost, Proto: "HTTP/1.1", ProtoMajor: 1,
		ProtoMinor: 1, Header: http.Header{}}}
}

const (
	simpleStart = "POST /"
	headEnd     = "\r\n\r\n"
)

// read parses the request at the beginning of b. If it is complete, n is its length and body points
// into b.
func (p *simpleRequest) read(b []byte) (n int, f form) {
	if most := min(len(b), len(simpleStart)); string(b[:most]) != simpleStart[:most] {
		return 0, notSimple
	}
	end := bytes.Index(b[:min(len(b), bufferBytes)], []byte(headEnd))
	switch {
	case end < 0 && len(b) >= bufferBytes:
		return 0, notSimple
	case end < 0:
		return 0, incomplete
	}
	length := p.head(string(b[:end]))
	n = end + len(headEnd) + length
	switch {
	case length < 0 || n > maxSimpleBytes:
		return 0, notSimple // fasthttp reads a long body in pieces
	case n > len(b):
		return 0, headOnly
	}
	p.body = b[end+len(headEnd) : n]
	return n, complete
}

// head parses request line and headers and returns the length of the body; negative if they are not
// simple.
func (p *simpleRequest) head(text string) (length int) {
	r := &p.request
	clear(r.Header)
	clear(p.values)
	p.values, r.Host, r.ContentLength = p.values[:0], "", -1
	line, rest, _ := strings.Cut(text, "\r\n")
	target, ok := strings.CutSuffix(line[len("POST "):], " HTTP/1.1")
	if !ok || !simplePath(target) {
		return -1
	}
	p.target = url.URL{Path: target}
	r.RequestURI, r.URL = target, &p.target
	for rest != "" {
		line, rest, _ = strings.Cut(rest, "\r\n")
		name, value, ok := strings.Cut(line, ":")
		if !ok || !p.add(name, strings.Trim(value, " \t")) {
			return -1
		}
	}
	if r.Host == "" {
		return -1
	}
	return int(r.ContentLength)
}

// simplePath says whether a target means the same to every implementation: no escapes, no query, no
// empty or dot segments.
func simplePath(target string) bool {
	for i := range len(target) {
		switch c := target[i]; {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9', c == '-', c == '_':
		case c == '.' && i > 0 && target[i-1] != '.' && target[i-1] != '/': // no "." or ".." segment
		case c == '/' && (i == 0 || target[i-1] != '/'):
		default:
			return false
		}
	}
	return target != ""
}

// add adds a header, and returns false if a simple request cannot have it.
func (p *simpleRequest) add(name, value string) bool {
	for i := range len(value) {
		if c := value[i]; c < ' ' && c != '\t' || c == 0x7f {
			return false
		}
	}
	name = canonicalName(name)
	switch r := &p.request; name {
	case "", "Transfer-Encoding", "Expect", "Upgrade", "Trailer", "Te", "Proxy-Connection":
		return false
	case "Connection":
		if !strings.EqualFold(value, "keep-alive") {
			return false
		}
	case "Host":
		if r.Host != "" || value == "" {
			return false
		}
		r.Host = value
		return true
	case "Content-Length":
		if r.ContentLength = contentLength(value, r.ContentLength); r.ContentLength < 0 {
			return false
		}
	}
	p.values = append(p.values, value)
	last := len(p.values)
	if before, ok := p.request.Header[name]; ok {
		p.request.Header[name] = append(before[:len(before):len(before)], value)
	} else {
		p.request.Header[name] = p.values[last-1 : last : last]
	}
	return true
}

// contentLength parses a Content-Length; -1 if it is not simple or, as before says, not the first.
func contentLength(value string, before int64) (n int64) {
	if before >= 0 || value == "" || len(value) > len("65536") {
		return -1
	}
	for i := range len(value) {
		if value[i] < '0' || value[i] > '9' {
			return -1
		}
		n = n*10 + int64(value[i]-'0')
	}
	return n
}

// canonicalName returns the name of a header as net/http writes it; empty if it is invalid.
func canonicalName(name string) string {
	switch name {
	case "Host", "Content-Type", "Content-Length", protocol.TargetHeader, "User-Agent", "Authorization", "X-Amz-Date":
		return name
	}
	for i := range len(name) {
		switch c := name[i]; {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9', c == '-', c == '_':
		default:
			return ""
		}
	}
	return textproto.CanonicalMIMEHeaderKey(name)
}
