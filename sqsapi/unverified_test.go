package sqsapi

import (
	"bufio"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"

	"github.com/muster-scale/muster/internal/accept"
	"github.com/muster-scale/muster/sqsapi/internal/protocol"
	"github.com/muster-scale/muster/sqsapi/internal/transport"
)

// unverifiedTest is an endpoint with keys, and a way to send it parts of requests.
type unverifiedTest struct {
	t       *testing.T
	api     *api
	address string
	keys    Keys
}

func serveUnverified(t *testing.T, kind string, budget int64) *unverifiedTest {
	t.Helper()
	u := &unverifiedTest{t: t, keys: Keys{AccessKeyID: "AKIATEST", SecretAccessKey: "secret"}}
	u.api = newAPI(Options{Queues: openQueue(t), Keys: u.keys})
	u.api.unverified = accept.NewBudget(budget)
	u.address = start(t, servers[kind](u.api))
	return u
}

// head is the head of a send with a body of that length, signed with a secret at a time.
func (u *unverifiedTest) head(secret string, at time.Time, body string, length int, headers ...string) string {
	u.t.Helper()
	r, err := http.NewRequestWithContext(u.t.Context(), http.MethodPost, "http://"+u.address, nil)
	if err != nil {
		u.t.Fatal(err)
	}
	r.Header.Set("Content-Type", protocol.JSONType)
	r.Header.Set(protocol.TargetHeader, protocol.TargetPrefix+"SendMessage")
	sum := sha256.Sum256([]byte(body))
	credentials := aws.Credentials{AccessKeyID: u.keys.AccessKeyID, SecretAccessKey: secret}
	if err := v4.NewSigner().SignHTTP(u.t.Context(), credentials, r, hex.EncodeToString(sum[:]), "sqs", "us-east-1",
		at); err != nil {
		u.t.Fatal(err)
	}
	var b strings.Builder
	fmt.Fprintf(&b, "POST / HTTP/1.1\r\nHost: %s\r\nContent-Length: %d\r\n", u.address, length)
	for name, values := range r.Header {
		fmt.Fprintf(&b, "%s: %s\r\n", name, values[0])
	}
	return b.String() + strings.Join(append(headers, ""), "\r\n") + "\r\n"
}

func (u *unverifiedTest) dial() net.Conn {
	u.t.Helper()
	c, err := net.Dial("tcp", u.address)
	if err == nil {
		err = c.SetDeadline(time.Now().Add(20 * time.Second))
	}
	if err != nil {
		u.t.Fatal(err)
	}
	u.t.Cleanup(func() { c.Close() })
	return c
}

// TestARequestIsJudgedByItsHead sends heads that cannot be right, and only the begin of the body: the rest is not
// waited for.
func TestARequestIsJudgedByItsHead(t *testing.T) {
	for kind := range servers {
		u := serveUnverified(t, kind, transport.UnverifiedBytes)
		now := time.Now()
		for _, row := range []struct {
			name         string
			head         func(length int) string
			length, sent int
			status       int
		}{
			{"no signature", func(n int) string {
				return fmt.Sprintf("POST / HTTP/1.1\r\nHost: %s\r\nContent-Type: %s\r\nX-Amz-Target: "+
					"AmazonSQS.SendMessage\r\nContent-Length: %d\r\n\r\n", u.address, protocol.JSONType, n)
			}, 7 << 20, 16 << 10, 403},
			{"a signature that is none", func(n int) string {
				return strings.Replace(u.head("secret", now, "", n), "Signature=", "Signature=x", 1)
			}, 7 << 20, 16 << 10, 403},
			{"an unknown key", func(n int) string {
				return strings.Replace(u.head("secret", now, "", n), "AKIATEST", "AKIAOTHER", 1)
			}, 7 << 20, 16 << 10, 403},
			{"an old date", func(n int) string { return u.head("secret", now.Add(-time.Hour), "", n) }, 7 << 20,
				16 << 10, 403},
			{"a foreign host", func(n int) string {
				return strings.Replace(u.head("secret", now, "", n), "Host: "+u.address, "Host: evil.example", 1)
			}, 7 << 20, 16 << 10, 421},
			{"a length beyond the limit", func(n int) string { return u.head("secret", now, "", n) },
				transport.MaxRequestBytes + 1, 16 << 10, 413},
			{"a short body", func(n int) string { return u.head("secret", now.Add(-time.Hour), "", n) }, 60_000, 20_000,
				403},
			{"a caller who asks first", func(n int) string {
				return u.head("secret", now.Add(-time.Hour), "", n, "Expect: 100-continue")
			}, 7 << 20, 0, 403},
			{"a caller who asks first for a host that is not here", func(n int) string {
				return strings.Replace(u.head("secret", now, "", n, "Expect: 100-continue"), "Host: "+u.address,
					"Host: evil.example", 1)
			}, 100, 0, 421},
			{"a caller who asks first and may go on", func(n int) string {
				return u.head("secret", now, "", n, "Expect: 100-continue")
			}, 7 << 20, 0, 100},
		} {
			t.Run(kind+"/"+row.name, func(t *testing.T) {
				u.t = t
				c := u.dial()
				if _, err := io.WriteString(c, row.head(row.length)+strings.Repeat(" ", row.sent)); err != nil {
					t.Fatal(err)
				}
				answer, err := http.ReadResponse(bufio.NewReader(c), nil)
				if err != nil || answer.StatusCode != row.status {
					t.Errorf("answer %v, %v; want %d", answer, err, row.status)
				}
			})
		}
		// of who may go on
		if used := u.api.unverified.Used(); used > 2*transport.ConnBytes+transport.TrustedBytes+1024 {
			t.Errorf("%s: %d bytes are held at the end", kind, used)
		}
	}
}

// TestWhatIsUnverifiedIsBoundedOverAllConnections sends requests of which the head may be right, but for their last
// byte.
func TestWhatIsUnverifiedIsBoundedOverAllConnections(t *testing.T) {
	for _, row := range []struct {
		name, kind    string
		budget        int64
		length, conns int
		held          int // how many may be held at a time, at most
	}{
		{"long bodies at the front", "front", 8 << 20, 1 << 20, 32, 7},
		{"short bodies at the front", "front", 1 << 20, 50_000, 64, 20},
		{"long bodies at the other server", "net/http", 8 << 20, 1 << 20, 32, 7},
	} {
		t.Run(row.name, func(t *testing.T) {
			u := serveUnverified(t, row.kind, row.budget)
			statuses := make(chan int, row.conns)
			var writers sync.WaitGroup
			end := make(chan struct{})
			var opened []net.Conn
			for range row.conns {
				c := u.dial()
				request := u.head("a guess", time.Now(), "", row.length) + strings.Repeat(" ", row.length-1)
				opened = append(opened, c)
				writers.Go(func() {
					io.WriteString(c, request) // fails where the request is refused
					<-end
					io.WriteString(c, " ")
				})
				go func() { statuses <- statusOf(c) }()
			}
			count := map[int]int{}
			for range row.conns - row.held {
				count[<-statuses]++
			}
			if count[503] != row.conns-row.held {
				t.Errorf("answers %v before the bodies were whole, want that %d are refused", count, row.conns-row.held)
			}
			if used := u.api.unverified.Used(); used > row.budget {
				t.Errorf("%d bytes are held, at most %d may be", used, row.budget)
			}
			close(end)
			for range row.held {
				if status := <-statuses; status != 403 && status != 503 {
					t.Errorf("a wrong signature is answered with %d", status)
				}
			}
			writers.Wait()
			for _, c := range opened {
				c.Close()
			}
			u.settle()
			body := `{"QueueUrl":"q","MessageBody":"` + strings.Repeat("x", row.length) + `"}`
			if row.length == 1<<20 {
				body = `{"QueueUrl":"q","MessageBody":"` + strings.Repeat("x", row.length-1000) + `"}`
			}
			c := u.dial()
			io.WriteString(c, u.head("secret", time.Now(), body, len(body))+body)
			if status := statusOf(c); status != 200 {
				t.Errorf("afterwards a good request is answered with %d", status)
			}
			c.Close()
			u.settle()
		})
	}
}

// statusOf is the status of the next answer; 0 if there is none.
func statusOf(c net.Conn) int {
	answer, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err != nil {
		return 0
	}
	return answer.StatusCode
}

// settle waits until nothing unverified is held any more.
func (u *unverifiedTest) settle() {
	u.t.Helper()
	for begun := time.Now(); u.api.unverified.Used() != 0; {
		if time.Since(begun) > 20*time.Second {
			u.t.Fatalf("%d bytes stay held", u.api.unverified.Used())
		}
		<-time.After(time.Millisecond)
	}
}

// pooled serves an endpoint at a pool of so many connections.
func pooled(t *testing.T, kind string, limit int) (u *unverifiedTest, p *accept.Pool, s server) {
	t.Helper()
	u = &unverifiedTest{t: t}
	u.api = newAPI(Options{Queues: openQueue(t), AnyCredentials: true})
	p, s = accept.NewPool(limit, nil), servers[kind](u.api)
	inner, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l := p.Listen("the SQS endpoint", inner, 0)
	go s.Serve(l)
	t.Cleanup(func() { s.Close(); l.Close() })
	u.address = inner.Addr().String()
	return u, p, s
}

// TestIdleConnectionsMakeRoom opens many more than there is room for, beside connections that are used.
func TestIdleConnectionsMakeRoom(t *testing.T) {
	for kind := range servers {
		t.Run(kind, func(t *testing.T) {
			u, p, s := pooled(t, kind, 8)
			ask := func(c net.Conn, in *bufio.Reader, request string) {
				t.Helper()
				if _, err := io.WriteString(c, request); err != nil {
					t.Fatal(err)
				}
				if r, text := heard(t, in); r.StatusCode != 200 {
					t.Fatal(text)
				}
			}
			known := u.dial()
			knownIn := bufio.NewReader(known)
			ask(known, knownIn, post("GetQueueUrl", `{"QueueName":"q"}`))
			other := u.dial() // fasthttp serves it
			otherIn := bufio.NewReader(other)
			ask(other, otherIn, "GET /?Action=GetQueueUrl&QueueName=q HTTP/1.1\r\nHost: localhost\r\n\r\n")
			u.await(p, 0)
			waits := u.dial()
			waiting := make(chan string, 1)
			go func() {
				in := bufio.NewReader(waits)
				io.WriteString(waits, post("ReceiveMessage", `{"QueueUrl":"q","WaitTimeSeconds":20}`))
				if r, err := http.ReadResponse(in, nil); err == nil {
					text, _ := io.ReadAll(r.Body)
					waiting <- string(text)
				}
				close(waiting)
			}()
			u.await(p, 1)
			for i := range 100 {
				c := u.dial()
				if i%3 == 0 {
					io.WriteString(c, "POST / HT") // half a request
				}
				if i%3 == 1 {
					io.WriteString(c, "GET /?Act") // half a request of another kind
				}
			}
			for range 3 {
				ask(known, knownIn, post("GetQueueUrl", `{"QueueName":"q"}`))
				ask(other, otherIn, "GET /?Action=GetQueueUrl&QueueName=q HTTP/1.1\r\nHost: localhost\r\n\r\n")
			}
			ask(known, knownIn, post("SendMessage", `{"QueueUrl":"q","MessageBody":"for who waits"}`))
			if text := <-waiting; !strings.Contains(text, "for who waits") {
				t.Errorf("who waits is told %q", text)
			}
			if open := p.Open(); open > 8+32 {
				t.Errorf("%d connections are open", open)
			}
			stop, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), time.Second)
			defer cancel()
			if s.Shutdown(stop) != nil {
				s.Close()
			}
			for begun := time.Now(); p.Open() > 0; <-time.After(time.Millisecond) {
				if time.Since(begun) > 10*time.Second {
					t.Fatalf("%d connections are never given up", p.Open())
				}
			}
			// A connection is closed before whoever served it has put away what it had sent.
			for begun := time.Now(); u.api.unverified.Used() > 0; <-time.After(time.Millisecond) {
				if time.Since(begun) > 10*time.Second {
					t.Fatalf("%d bytes are never given back", u.api.unverified.Used())
				}
			}
		})
	}
}

// await waits until so many connections serve a request.
func (u *unverifiedTest) await(p *accept.Pool, serving int) {
	u.t.Helper()
	for begun := time.Now(); p.Serving() != serving; <-time.After(time.Millisecond) {
		if time.Since(begun) > 10*time.Second {
			u.t.Fatalf("%d connections serve a request, want %d", p.Serving(), serving)
		}
	}
}
