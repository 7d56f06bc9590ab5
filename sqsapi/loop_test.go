package sqsapi

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/muster-scale/muster/queue"
	"github.com/muster-scale/muster/sqsapi/internal/transport"
)

// dialTCPServer connects to a TCPServer.
func dialTCPServer(t *testing.T, f *TCPServer) (*net.TCPConn, *bufio.Reader) {
	t.Helper()
	c, err := net.Dial("tcp", start(t, f))
	if err == nil {
		err = c.SetDeadline(time.Now().Add(time.Minute))
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c.(*net.TCPConn), bufio.NewReader(c)
}

func newTestFront(t *testing.T) (*TCPServer, *queue.Service) {
	t.Helper()
	q := openQueue(t)
	return NewTCPServer(New(Options{Queues: q, AnyCredentials: true}), nil), q
}

// heard reads one answer.
func heard(t *testing.T, in *bufio.Reader) (*http.Response, string) {
	t.Helper()
	r, err := http.ReadResponse(in, nil)
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(r.Body)
	if err != nil {
		t.Fatal(err)
	}
	return r, string(text)
}

// TestRequestsInPiecesAreAnsweredInTheirOrder sends several requests ahead, cut anywhere: such as are answered at once,
// with a commit, on a goroutine of their own, and by the other server.
func TestRequestsInPiecesAreAnsweredInTheirOrder(t *testing.T) {
	chance := rand.New(rand.NewPCG(1, 2))
	for range 30 {
		f, _ := newTestFront(t)
		c, in := dialTCPServer(t, f)
		var all string
		var want []string
		for i := range 12 {
			kind := chance.IntN(4)
			if i < 10 {
				kind = chance.IntN(3)
			}
			switch kind {
			case 0:
				all += post("SendMessage", fmt.Sprintf(`{"QueueUrl":"q","MessageBody":"%d"}`, i))
				want = append(want, "MD5OfMessageBody")
			case 1:
				all += post("GetQueueUrl", `{"QueueName":"q"}`)
				want = append(want, "/000000000000/q")
			case 2:
				all += post("SendMessage", `{"QueueUrl":"none","MessageBody":"x"}`)
				want = append(want, "QueueDoesNotExist")
			case 3:
				all += "GET /?Action=GetQueueUrl&QueueName=q HTTP/1.1\r\nHost: localhost\r\n\r\n"
				want = append(want, "<QueueUrl>")
			}
		}
		go func() {
			for rest := all; rest != ""; {
				n := min(len(rest), 1+chance.IntN(300))
				if _, err := io.WriteString(c, rest[:n]); err != nil {
					return
				}
				rest = rest[n:]
			}
		}()
		for i, w := range want {
			if _, got := heard(t, in); !strings.Contains(got, w) {
				t.Fatalf("answer %d is %q, want %q", i, got, w)
			}
		}
	}
}

// TestACallerWhoReadsSlowlyGetsAllOfAnAnswer that is larger than what the system holds for it.
func TestACallerWhoReadsSlowlyGetsAllOfAnAnswer(t *testing.T) {
	f, q := newTestFront(t)
	c, in := dialTCPServer(t, f)
	if err := c.SetReadBuffer(64 << 10); err != nil {
		t.Fatal(err)
	}
	body := strings.Repeat("x", queue.MaxBytes)
	for range queue.MaxBatch {
		if _, err := q.Send(t.Context(), "q", []queue.Outgoing{{Body: body}}); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := io.WriteString(c,
		post("ReceiveMessage", `{"QueueUrl":"q","MaxNumberOfMessages":10}`)+post("GetQueueUrl",
			`{"QueueName":"q"}`)); err != nil {
		t.Fatal(err)
	}
	// Others are served meanwhile.
	other, otherIn := dialTCPServer(t, f)
	if _, err := io.WriteString(other, post("GetQueueUrl", `{"QueueName":"q"}`)); err != nil {
		t.Fatal(err)
	}
	heard(t, otherIn)
	if _, text := heard(t, in); strings.Count(text, body) != queue.MaxBatch {
		t.Errorf("an answer of %d bytes", len(text))
	}
	if _, text := heard(t, in); !strings.Contains(text, "/000000000000/q") {
		t.Errorf("the next answer is %q", text)
	}
}

// TestAConnectionIsEndedAfterATime of doing nothing after an answer, or within a request, or of not reading.
func TestAConnectionIsEndedAfterATime(t *testing.T) {
	for name, row := range map[string]struct {
		set  func(*transport.Options)
		then string
	}{
		"idle": {func(o *transport.Options) { o.Idle = 30 * time.Millisecond }, ""},
		"within a request": {func(o *transport.Options) { o.Request = 30 * time.Millisecond },
			post("SendMessage", "{}")[:50]},
	} {
		t.Run(name, func(t *testing.T) {
			o := tcpOptions(New(Options{Queues: openQueue(t), AnyCredentials: true}), nil)
			o.Request, o.Idle = time.Hour, time.Hour
			row.set(&o)
			c, in := dialTCPServer(t, transport.New(o))
			if _, err := io.WriteString(c, post("GetQueueUrl", `{"QueueName":"q"}`)+row.then); err != nil {
				t.Fatal(err)
			}
			heard(t, in)
			if left, err := io.ReadAll(in); err != nil || len(left) > 0 {
				t.Errorf("then %q, %v; want the end", left, err)
			}
		})
	}
}

// TestACallerWhoSendsNoMoreIsAnswered, and then the connection ends.
func TestACallerWhoSendsNoMoreIsAnswered(t *testing.T) {
	f, _ := newTestFront(t)
	c, in := dialTCPServer(t, f)
	if _, err := io.WriteString(c, strings.Repeat(post("SendMessage", `{"QueueUrl":"q","MessageBody":"x"}`),
		3)); err != nil {
		t.Fatal(err)
	}
	if err := c.CloseWrite(); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		if r, text := heard(t, in); r.StatusCode != http.StatusOK {
			t.Error(text)
		}
	}
	if left, err := io.ReadAll(in); err != nil || len(left) > 0 {
		t.Errorf("then %q, %v; want the end", left, err)
	}
}

// TestAShutdownAnswersWhatIsUnderWay, says that the connection ends, and ends those without a request.
func TestAShutdownAnswersWhatIsUnderWay(t *testing.T) {
	q := openQueue(t)
	begun, let := make(chan struct{}), make(chan struct{})
	endpoint := New(Options{Queues: q, AnyCredentials: true})
	f := NewTCPServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		close(begun)
		<-let
		endpoint.ServeHTTP(w, r)
	}), nil)
	resting, _ := dialTCPServer(t, f)
	c, in := dialTCPServer(t, f)
	if _, err := io.WriteString(c, post("GetQueueUrl", `{"QueueName":"q"}`)); err != nil {
		t.Fatal(err)
	}
	<-begun
	ended := make(chan error, 1)
	go func() { ended <- f.Shutdown(t.Context()) }()
	if _, err := resting.Read(make([]byte, 1)); err != io.EOF {
		t.Errorf("the connection without a request: %v, want its end", err)
	}
	select {
	case err := <-ended:
		t.Errorf("the TCPServer did not wait for a running request: %v", err)
	default:
	}
	close(let)
	if r, text := heard(t, in); !r.Close || !strings.Contains(text, "/000000000000/q") {
		t.Errorf("closing: %t, %q", r.Close, text)
	}
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

// TestCloseEndsARequestUnderWay.
func TestCloseEndsARequestUnderWay(t *testing.T) {
	f, _ := newTestFront(t)
	c, in := dialTCPServer(t, f)
	if _, err := io.WriteString(c, post("ReceiveMessage", `{"QueueUrl":"q","WaitTimeSeconds":20}`)); err != nil {
		t.Fatal(err)
	}
	other, otherIn := dialTCPServer(t, f)
	if _, err := io.WriteString(other, post("GetQueueUrl", `{"QueueName":"q"}`)); err != nil {
		t.Fatal(err)
	}
	heard(t, otherIn) // by now the first one came, too, or is cut before it is read
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	if left, err := io.ReadAll(in); len(left) > 0 {
		t.Errorf("%q, %v; want the end", left, err)
	}
}

// TestAPanicEndsItsConnectionAlone, or is answered.
func TestAPanicEndsItsConnectionAlone(t *testing.T) {
	endpoint := newAPI(Options{Queues: openQueue(t), Keys: Keys{"key", "secret"}})
	endpoint.signatures.Now = func() time.Time { panic("a bug") } // where signatures are checked
	f := NewTCPServer(endpoint, nil)
	signed := "Authorization: AWS4-HMAC-SHA256 Credential=key/20260101/us-east-1/sqs/aws4_request, " +
		"SignedHeaders=host, Signature=" + strings.Repeat("0", 64)
	for _, row := range []struct{ action, answer string }{{"SendMessage", ""}, {"ReceiveMessage", ""},
		{"ListQueues", "500"}} {
		c, in := dialTCPServer(t, f)
		if _, err := io.WriteString(c, post(row.action, `{"QueueUrl":"q","MessageBody":"x"}`, signed)); err != nil {
			t.Fatal(err)
		}
		if row.answer == "" {
			if left, err := io.ReadAll(in); len(left) > 0 {
				t.Errorf("%s: %q, %v; want the end", row.action, left, err)
			}
			continue
		}
		if r, _ := heard(t, in); r.StatusCode != http.StatusInternalServerError {
			t.Errorf("%s: status %d", row.action, r.StatusCode)
		}
	}
}

// TestATCPServerServesSeveralListeners, as long as one is left.
func TestATCPServerServesSeveralListeners(t *testing.T) {
	f, _ := newTestFront(t)
	for range 2 {
		c, in := dialTCPServer(t, f)
		if _, err := io.WriteString(c, post("GetQueueUrl", `{"QueueName":"q"}`)); err != nil {
			t.Fatal(err)
		}
		if r, text := heard(t, in); r.StatusCode != http.StatusOK {
			t.Error(text)
		}
	}
	if err := f.Shutdown(context.Background()); err != nil {
		t.Error(err)
	}
}

// Two callers send at the same moment and wait for both answers, so no other event ends the wait of an answer that was
// left. One call is committed by the loop itself, the other one runs on a goroutine of its own and ends meanwhile.
func TestNoAnswerWaitsForAnotherRequest(t *testing.T) {
	f, _ := newTestFront(t)
	address := start(t, f)
	form := "Action=GetQueueUrl&QueueName=q"
	requests := []string{
		post("SendMessage", `{"QueueUrl":"q","MessageBody":"x"}`),
		fmt.Sprintf("POST / HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/x-www-form-urlencoded\r\n"+
			"Content-Length: %d\r\n\r\n%s", len(form), form),
	}
	var callers []net.Conn
	var in []*bufio.Reader
	for range requests {
		c, err := net.Dial("tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		callers, in = append(callers, c), append(in, bufio.NewReader(c))
	}
	for range 3000 {
		for i, c := range callers {
			c.SetDeadline(time.Now().Add(10 * time.Second))
			if _, err := io.WriteString(c, requests[i]); err != nil {
				t.Fatal(err)
			}
		}
		for i := range callers {
			if r, text := heard(t, in[i]); r.StatusCode != http.StatusOK {
				t.Fatalf("found %d %s", r.StatusCode, text)
			}
		}
	}
}
