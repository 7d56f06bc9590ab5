package transport

import (
	"bufio"
	"bytes"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// anSDKs is a request of an SDK as it goes over the wire.
func anSDKs(action, body string, headers ...string) string {
	return "POST / HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/x-amz-json-1.0\r\n" +
		"X-Amz-Target: AmazonSQS." + action + "\r\n" + strings.Join(append(headers, ""), "\r\n") +
		"Content-Length: " + strconv.Itoa(len(body)) + "\r\n\r\n" + body
}

// TestWhatIsPlain names requests that the loop serves itself, and some that it leaves to the other server.
func TestWhatIsPlain(t *testing.T) {
	send := anSDKs("SendMessage", `{"QueueUrl":"q","MessageBody":"x"}`)
	for _, row := range []struct {
		name, text string
		want       form
	}{
		{"an SDK's", send, complete},
		{"nothing yet", "", incomplete},
		{"the begin of a method", "PO", incomplete},
		{"half a head", send[:40], incomplete},
		{"half a body", send[:len(send)-1], headOnly},
		{"a kept connection", anSDKs("SendMessage", "{}", "Connection: Keep-Alive"), complete},
		{"a path", strings.Replace(send, "POST /", "POST /000000000000/q.fifo", 1), complete},
		{"a head that is too large", "POST / HTTP/1.1\r\n" + strings.Repeat("A: b\r\n", 5000), notSimple},
		{"a body that is too large", anSDKs("SendMessage", strings.Repeat(" ", maxSimpleBytes)), notSimple},
		{"a closing connection", anSDKs("SendMessage", "{}", "Connection: close"), notSimple},
		{"a GET", strings.Replace(send, "POST", "GET", 1), notSimple},
		{"an old protocol", strings.Replace(send, "HTTP/1.1", "HTTP/1.0", 1), notSimple},
		{"a query", strings.Replace(send, "POST /", "POST /?a=b", 1), notSimple},
		{"a path with an escape", strings.Replace(send, "POST /", "POST /%71", 1), notSimple},
		{"a path that goes up", strings.Replace(send, "POST /", "POST /a/../b", 1), notSimple},
		{"a path with an empty part", strings.Replace(send, "POST /", "POST //evil.example/", 1), notSimple},
		{"a target with a host", strings.Replace(send, "POST /", "POST http://evil.example/", 1), notSimple},
		{"no host", strings.Replace(send, "Host: localhost\r\n", "", 1), notSimple},
		{"two hosts", anSDKs("SendMessage", "{}", "host: evil.example"), notSimple},
		{"two lengths", anSDKs("SendMessage", "{}", "Content-Length: 2"), notSimple},
		{"a length with a sign", strings.Replace(send, "Length: ", "Length: +", 1), notSimple},
		{"chunks", anSDKs("SendMessage", "{}", "Transfer-Encoding: chunked"), notSimple},
		{"chunks in small letters", anSDKs("SendMessage", "{}", "transfer-encoding: chunked"), notSimple},
		{"a caller who asks first", anSDKs("SendMessage", "{}", "Expect: 100-continue"), notSimple},
		{"a folded header", anSDKs("SendMessage", "{}", "A: b", " c"), notSimple},
		{"a name with a space", anSDKs("SendMessage", "{}", "Content-Length : 7"), notSimple},
		{"a bare line feed", anSDKs("SendMessage", "{}", "A: b\nHost: evil.example"), notSimple},
		{"what is not HTTP", "\x16\x03\x01", notSimple},
	} {
		if _, got := newSimpleRequest().read([]byte(row.text)); got != row.want {
			t.Errorf("%s: %d, want %d", row.name, got, row.want)
		}
	}
}

// FuzzPlain holds that a plain request means the same to net/http, wherever it is cut.
func FuzzPlain(f *testing.F) {
	f.Add([]byte(anSDKs("SendMessage", `{"QueueUrl":"q"}`, "X-A: 1", "x-a:\t2 ", "Connection: keep-alive")), 60)
	f.Add([]byte(anSDKs("", "")+anSDKs("A", "{}")), 7)
	f.Add([]byte("POST /a-b_c.d/e HTTP/1.1\r\nhost:h\r\ncontent-length:003\r\n\r\nabc"), 3)
	f.Fuzz(func(t *testing.T, text []byte, cut int) {
		p := newSimpleRequest()
		n, form := p.read(text)
		if form != complete {
			return
		}
		if cut >= 0 && cut < n {
			if _, form := newSimpleRequest().read(text[:cut]); form != incomplete {
				t.Errorf("the first %d bytes are of form %d", cut, form)
			}
		}
		in := bufio.NewReader(bytes.NewReader(text))
		r, err := http.ReadRequest(in)
		if err != nil {
			t.Fatalf("net/http: %v", err)
		}
		body, err := io.ReadAll(r.Body)
		if err != nil || !bytes.Equal(body, p.body) {
			t.Errorf("body %q, net/http reads %q, %v", p.body, body, err)
		}
		if left, _ := io.ReadAll(in); len(left) != len(text)-n {
			t.Errorf("%d bytes left, net/http leaves %d", len(text)-n, len(left))
		}
		got := &p.request
		if got.Method != r.Method || got.Host != r.Host || got.RequestURI != r.RequestURI || *got.URL != *r.URL ||
			got.ContentLength != r.ContentLength || r.Close || len(r.TransferEncoding) > 0 {
			t.Errorf("read %s %s of %s, %d bytes; net/http %s %s of %s, %d bytes", got.Method, got.URL, got.Host,
				got.ContentLength, r.Method, r.URL, r.Host, r.ContentLength)
		}
		r.Header.Del("Content-Length")
		for name, values := range got.Header {
			if name != "Content-Length" && !slices.Equal(values, r.Header[name]) {
				t.Errorf("header %s is %q, net/http reads %q", name, values, r.Header[name])
			}
		}
		for name := range r.Header {
			if _, ok := got.Header[name]; !ok {
				t.Errorf("header %s is missing", name)
			}
		}
	})
}
