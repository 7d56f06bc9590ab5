package transport

import (
	"bytes"
	"net/http"
	"net/textproto"
	"net/url"
	"strings"

	"github.com/muster-scale/muster/sqsapi/internal/protocol"
)

// plain is a request of the form that nearly all have: a POST to a plain path in HTTP/1.1, with a host, a length and a
// short body. Its memory is used again.
type simpleRequest struct {
	request http.Request
	target  url.URL
	body    []byte   // part of what was read
	values  []string // those of the headers
}

// form is what the bytes that came so far are.
type form uint8

const (
	incomplete form = iota // more must come
	headOnly               // the head is there, but not the whole body
	complete               // a plain request
	notSimple              // something else, or nothing valid
)

// plainBytes bounds a plain request.
const maxSimpleBytes = 64 << 10

func newSimpleRequest() *simpleRequest {
	return &simpleRequest{request: http.Request{Method: http.MethodPost, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: http.Header{}}}
}

const (
	simpleStart = "POST /"
	headEnd     = "\r\n\r\n"
)

// read reads the request at the begin of b. If it is whole, n is its length.
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
		return 0, notSimple // a long body is read in pieces
	case n > len(b):
		return 0, headOnly
	}
	p.body = b[end+len(headEnd) : n]
	return n, complete
}

// head reads request line and headers and returns the length of the body; negative if they are not plain.
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

// plainPath says whether a target means the same to everyone.
func simplePath(target string) bool {
	for i := range len(target) {
		switch c := target[i]; {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9', c == '-', c == '_':
		case c == '.' && i > 0 && target[i-1] != '.' && target[i-1] != '/': // no segment that means another one
		case c == '/' && (i == 0 || target[i-1] != '/'):
		default:
			return false
		}
	}
	return target != ""
}

// add takes a header over and reports whether it is one of a plain request.
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

// plainLength is the length of a body, of which nothing was said before; -1 if it is not plain.
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

// plainName is a header's name as net/http writes it; empty if it is none.
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
