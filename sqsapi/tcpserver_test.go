package sqsapi

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/muster-scale/muster/queue"
	"github.com/muster-scale/muster/sqsapi/internal/protocol"
	"github.com/muster-scale/muster/sqsapi/internal/transport"
)

// post is a request as it goes over the wire.
func post(action, body string, headers ...string) string {
	return "POST / HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/x-amz-json-1.0\r\n" +
		"X-Amz-Target: AmazonSQS." + action + "\r\n" + strings.Join(append(headers, ""), "\r\n") +
		"Content-Length: " + strconv.Itoa(len(body)) + "\r\n\r\n" + body
}

// exchangeRaw sends what is one request and returns the status of the answer, and its body.
func exchangeRaw(t *testing.T, address, request string) (status int, header http.Header, body string) {
	t.Helper()
	c, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if err := c.SetDeadline(time.Now().Add(20 * time.Second)); err != nil {
		t.Fatal(err)
	}
	go io.WriteString(c, request) // a server that refuses it may read no more
	method, _, _ := strings.Cut(request, " ")
	in := bufio.NewReader(c)
	for {
		answer, err := http.ReadResponse(in, &http.Request{Method: method})
		if err != nil {
			t.Fatalf("%.80q: %v", request, err)
		}
		text, err := io.ReadAll(answer.Body)
		if err != nil {
			t.Fatalf("%.80q: %v", request, err)
		}
		if answer.StatusCode != http.StatusContinue {
			return answer.StatusCode, answer.Header, string(text)
		}
	}
}

func openQueue(t *testing.T) *queue.Service {
	t.Helper()
	q, err := queue.Open(queue.Options{Ephemeral: true})
	if err == nil {
		err = q.CreateQueue(t.Context(), "q", nil, nil)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { q.Close() })
	return q
}

// TestBothServersAnswerAlike sends the same bytes to both. Of what is no request of the protocol only the kind of
// refusal is compared.
func TestBothServersAnswerAlike(t *testing.T) {
	ids := regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f-]{27}`)
	q := openQueue(t)
	if err := q.CreateQueue(t.Context(), "empty", nil, nil); err != nil {
		t.Fatal(err)
	}
	endpoint := New(Options{Queues: q, AnyCredentials: true})
	address := map[string]string{}
	for kind, make := range servers {
		address[kind] = start(t, make(endpoint))
	}
	send := `{"QueueUrl":"q","MessageBody":"x"}`
	for _, row := range []struct {
		name, request string
		status        int
		loose         bool // what is not a request of the protocol: the texts differ
	}{
		{"a send", post("SendMessage", send), 200, false},
		{"a send without a body", post("SendMessage", `{"QueueUrl":"q"}`), 400, false},
		{"a send to no queue", post("SendMessage", `{"MessageBody":"x"}`), 400, false},
		{"a send to an unknown queue", post("SendMessage", `{"QueueUrl":"none","MessageBody":"x"}`), 400, false},
		{"a send of a long text", post("SendMessage", `{"QueueUrl":"q","MessageBody":"`+strings.Repeat("x", 100_000)+
			`"}`), 200, false},
		{"a batch", post("SendMessageBatch",
			`{"QueueUrl":"q","Entries":[{"Id":"a","MessageBody":"x"},{"Id":"b","MessageBody":""},{"Id":"c","MessageBody":"x","MessageAttributes":{"n":{"DataType":"String","StringValue":"v"}}}]}`), 200, false},
		{"a batch with nothing valid",
			post("SendMessageBatch", `{"QueueUrl":"q","Entries":[{"Id":"a","MessageBody":"x","MessageGroupId":""}]}`),
			200, false},
		{"a batch with nothing valid to an unknown queue",
			post("SendMessageBatch",
				`{"QueueUrl":"none","Entries":[{"Id":"a","MessageBody":"x","MessageGroupId":""}]}`), 400, false},
		{"an empty batch", post("SendMessageBatch", `{"QueueUrl":"q","Entries":[]}`), 400, false},
		{"a receive from an unknown queue", post("ReceiveMessage", `{"QueueUrl":"none"}`), 400, false},
		{"a receive from an empty queue", post("ReceiveMessage", `{"QueueUrl":"empty"}`), 200, false},
		{"a receive that waits", post("ReceiveMessage", `{"QueueUrl":"empty","WaitTimeSeconds":1}`), 200, false},
		{"a receive that would wait too long", post("ReceiveMessage", `{"QueueUrl":"q","WaitTimeSeconds":21}`), 400,
			false},
		{"a receive of too many", post("ReceiveMessage", `{"QueueUrl":"q","MaxNumberOfMessages":11}`), 400, false},
		{"a receive of an unknown attribute", post("ReceiveMessage", `{"QueueUrl":"q","AttributeNames":["x"]}`), 400,
			false},
		{"a delete with no receipt", post("DeleteMessage", `{"QueueUrl":"q"}`), 400, false},
		{"a delete with another's receipt", post("DeleteMessage", `{"QueueUrl":"q","ReceiptHandle":"x"}`), 400, false},
		{"a delete of several", post("DeleteMessageBatch",
			`{"QueueUrl":"q","Entries":[{"Id":"a","ReceiptHandle":"x"}]}`), 200, false},
		{"a delete of the same twice",
			post("DeleteMessageBatch",
				`{"QueueUrl":"q","Entries":[{"Id":"a","ReceiptHandle":"x"},{"Id":"a","ReceiptHandle":"x"}]}`), 400,
			false},
		{"an action that is none of the usual", post("GetQueueUrl", `{"QueueName":"q"}`), 200, false},
		{"an unknown action", post("Nothing", send), 400, false},
		{"bad JSON", post("SendMessage", "{"), 400, false},
		{"a foreign host", strings.Replace(post("SendMessage", send), "localhost", "evil.example", 1), 421, false},
		{"a host with a port", strings.Replace(post("SendMessage", send), "localhost", "LOCALHOST.:9324", 1), 200,
			false},
		{"an absolute target with a foreign host",
			strings.Replace(post("SendMessage", send), "POST /", "POST http://evil.example/", 1), 421, false},
		{"an absolute target", strings.Replace(strings.Replace(post("SendMessage", send), "localhost", "evil.example",
			1), "POST /", "POST http://localhost/", 1), 200, false},
		{"no host", strings.Replace(post("SendMessage", send), "Host: localhost\r\n", "", 1), 400, true},
		{"two hosts", post("SendMessage", send, "Host: evil.example"), 400, true},
		{"two hosts, ours last", "POST / HTTP/1.1\r\nHost: evil.example\r\n" +
			strings.TrimPrefix(post("SendMessage", send), "POST / HTTP/1.1\r\n"), 400, true},
		{"a page's request", post("SendMessage", send, "Origin: http://localhost"), 403, false},
		{"a page's request in small letters", post("SendMessage", send, "origin: null"), 403, false},
		{"a fetch", post("SendMessage", send, "Sec-Fetch-Site: same-origin"), 403, false},
		{"a browser's GET", "GET /?Action=ListQueues HTTP/1.1\r\nHost: localhost\r\nUser-Agent: Mozilla/5.0\r\n\r\n",
			403, false},
		{"a GET", "GET /?Action=GetQueueUrl&QueueName=q HTTP/1.1\r\nHost: localhost\r\n\r\n", 200, false},
		{"a GET with a path", "GET /000000000000/q?Action=GetQueueAttributes&AttributeName.1=DelaySeconds " +
			"HTTP/1.1\r\nHost: localhost\r\n\r\n", 200, false},
		{"a target that is no URL", "GET /%zz HTTP/1.1\r\nHost: localhost\r\n\r\n", 400, true},
		{"another method", "PUT / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0\r\n\r\n", 405, false},
		{"a HEAD", "HEAD / HTTP/1.1\r\nHost: localhost\r\n\r\n", 405, false},
		{"a form", "POST /q HTTP/1.1\r\nHost: localhost\r\nContent-Type: " +
			"application/x-www-form-urlencoded\r\nContent-Length: 37\r\n\r\nAction=GetQueueUrl&QueueName=q&x=%C3y", 400,
			false},
		{"a content type with parameters", strings.Replace(post("SendMessage", send), "json-1.0",
			"json-1.0; charset=utf-8", 1), 200, false},
		{"chunks", strings.Replace(post("SendMessage", ""), "Content-Length: 0\r\n\r\n",
			"Transfer-Encoding: chunked\r\n\r\n22\r\n"+send+"\r\n0\r\n\r\n", 1), 200, false},
		{"a caller who asks first", post("SendMessage", send, "Expect: 100-continue"), 200, false},
		{"an old protocol", strings.Replace(post("SendMessage", send), "HTTP/1.1", "HTTP/1.0", 1), 200, false},
		{"a body that is too large", post("SendMessage", strings.Repeat(" ", transport.MaxRequestBytes+1)), 413, false},
		{"a length that is none", strings.Replace(post("SendMessage", send), "Content-Length: 34", "Content-Length: x",
			1), 400, true},
		{"headers that are too large", post("SendMessage", send, "X-A: "+strings.Repeat("a", 80<<10)), 431, true},
		{"what is not HTTP", "\x16\x03\x01\r\n\r\n", 400, true},
	} {
		t.Run(row.name, func(t *testing.T) {
			status, header, body := exchangeRaw(t, address["net/http"], row.request)
			gotStatus, gotHeader, gotBody := exchangeRaw(t, address["front"], row.request)
			if status != row.status || gotStatus != row.status {
				t.Fatalf("net/http answers %d, the TCPServer %d, want %d: %s", status, gotStatus, row.status, gotBody)
			}
			if row.loose {
				return
			}
			if want, got := ids.ReplaceAllString(body, "ID"), ids.ReplaceAllString(gotBody, "ID"); got != want {
				t.Errorf("the TCPServer answers\n%s, net/http\n%s", got, want)
			}
			for _, name := range []string{"Content-Type", "Content-Length", "X-Amzn-Query-Error"} {
				if header.Get(name) != gotHeader.Get(name) {
					t.Errorf("the TCPServer answers with %s %q, net/http with %q", name, gotHeader.Get(name),
						header.Get(name))
				}
			}
			if len(gotHeader.Get(protocol.RequestIDHeader)) != 36 || gotHeader.Get("Date") == "" ||
				gotHeader.Get("Server") != "" {
				t.Errorf("headers %v", gotHeader)
			}
		})
	}
}

// TestACallerThatHungUpTakesNoMessage hangs up while a receive waits, when it has waited for longer than a
// request may take to arrive.
func TestACallerThatHungUpTakesNoMessage(t *testing.T) {
	q := openQueue(t)
	f := waitFor(t, q, 50*time.Millisecond)
	ctx, stop := context.WithTimeout(t.Context(), 10*time.Second)
	defer stop()
	if err := f.Shutdown(ctx); err != nil {
		t.Fatalf("the receive goes on although nobody is there: %v", err)
	}
	if _, err := q.Send(t.Context(), "q", []queue.Outgoing{{Body: "x"}}); err != nil {
		t.Fatal(err)
	}
	if n, err := q.Counts("q"); err != nil || n.Visible != 1 || n.InFlight != 0 {
		t.Errorf("after the caller hung up: %+v, %v", n, err)
	}
}

// waitFor starts a long poll at a TCPServer with that request timeout, or a longer one on a busy machine, and hangs up.
func waitFor(t *testing.T, q *queue.Service, patience time.Duration) *TCPServer {
	t.Helper()
	o := tcpOptions(New(Options{Queues: q, AnyCredentials: true}), nil)
	o.Request = patience
	f := transport.New(o)
	c, err := net.Dial("tcp", start(t, f))
	if err == nil {
		_, err = io.WriteString(c, post("ReceiveMessage", `{"QueueUrl":"q","WaitTimeSeconds":20}`))
	}
	if err == nil {
		err = c.SetReadDeadline(time.Now().Add(2 * patience))
	}
	if err != nil {
		t.Fatal(err)
	}
	_, ended := c.Read(make([]byte, 1))
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	if late, ok := errors.AsType[net.Error](ended); !ok || !late.Timeout() {
		if patience > 10*time.Second {
			t.Fatalf("a receive that waits was ended: %v", ended)
		}
		return waitFor(t, q, 4*patience) // it had not arrived
	}
	return f
}

// TestWhoSendsAheadIsStillThere makes a second request while the first one waits.
func TestWhoSendsAheadIsStillThere(t *testing.T) {
	q := openQueue(t)
	address := start(t, NewTCPServer(New(Options{Queues: q, AnyCredentials: true}), nil))
	c, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if _, err := io.WriteString(c, post("ReceiveMessage", `{"QueueUrl":"q","WaitTimeSeconds":20}`)+post("GetQueueUrl",
		`{"QueueName":"q"}`)); err != nil {
		t.Fatal(err)
	}
	if status, _, body := exchangeRaw(t, address,
		post("SendMessage", `{"QueueUrl":"q","MessageBody":"for who waits"}`)); status != 200 {
		t.Fatal(body)
	}
	in := bufio.NewReader(c)
	for _, want := range []string{"for who waits", "/000000000000/q"} {
		answer, err := http.ReadResponse(in, nil)
		if err != nil {
			t.Fatal(err)
		}
		if text, err := io.ReadAll(answer.Body); err != nil || !strings.Contains(string(text), want) {
			t.Errorf("answer %q (%v), want one with %q", text, err, want)
		}
	}
}

// TestAConnectionWithoutARequestIsEndedInSilence opens one, as clients do in advance, and sends nothing or half a
// request.
func TestAConnectionWithoutARequestIsEndedInSilence(t *testing.T) {
	o := tcpOptions(New(Options{Queues: openQueue(t), AnyCredentials: true}), nil)
	o.Request = 20 * time.Millisecond
	address := start(t, transport.New(o))
	for _, sent := range []string{"", "POST / HT", post("SendMessage", "{}")[:100]} {
		c, err := net.Dial("tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		if _, err := io.WriteString(c, sent); err != nil {
			t.Fatal(err)
		}
		if answer, err := io.ReadAll(c); len(answer) > 0 || err != nil {
			t.Errorf("after %q: %q, %v; want an end without an answer", sent, answer, err)
		}
	}
}

// TestARequestThatFailsInsideEndsNothingElse lets the endpoint panic.
func TestARequestThatFailsInsideEndsNothingElse(t *testing.T) {
	address := start(t, NewTCPServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/bad" {
			panic("a bug")
		}
		fmt.Fprint(w, "fine")
	}), nil))
	if status, _, _ := exchangeRaw(t, address, "GET /bad HTTP/1.1\r\nHost: localhost\r\n\r\n"); status != 500 {
		t.Errorf("status %d", status)
	}
	if status, _, body := exchangeRaw(t, address, "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"); status != 200 ||
		body != "fine" {
		t.Errorf("afterwards %d %q", status, body)
	}
}

// TestNothingOfARequestIsKeptForTheNext asks twice over one connection, with other headers.
func TestNothingOfARequestIsKeptForTheNext(t *testing.T) {
	address := start(t, NewTCPServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("X-First") != "" {
			w.Header().Set("X-Answer", "first")
			w.WriteHeader(http.StatusTeapot)
		}
		body, _ := io.ReadAll(r.Body)
		fmt.Fprintf(w, "%s %s %d %q %d", r.Method, r.URL, r.ContentLength, body, len(r.Header))
	}), nil))
	c, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	in := bufio.NewReader(c)
	for _, step := range []struct {
		request, want string
		status        int
		header        string
	}{
		{"POST /a?b=c HTTP/1.1\r\nHost: localhost\r\nX-First: 1\r\nX-Other: 2\r\nX-Other: 3\r\nContent-Length: " +
			"2\r\n\r\nhi", `POST /a?b=c 2 "hi" 3`, http.StatusTeapot, "first"},
		{"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n", `GET / 0 "" 0`, http.StatusOK, ""},
	} {
		if _, err := io.WriteString(c, step.request); err != nil {
			t.Fatal(err)
		}
		answer, err := http.ReadResponse(in, nil)
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(answer.Body)
		if err != nil || string(text) != step.want || answer.StatusCode != step.status ||
			answer.Header.Get("X-Answer") != step.header {
			t.Errorf("answer %d %q %v (%v), want %d %q", answer.StatusCode, text, answer.Header, err, step.status,
				step.want)
		}
	}
}
