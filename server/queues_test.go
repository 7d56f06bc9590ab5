package server_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/muster-scale/muster/queue"
	"github.com/muster-scale/muster/server"
)

// withQueues gives the world a queue service that holds the named queues.
func withQueues(t testing.TB, names ...string) func(*world) {
	return func(w *world) {
		s, err := queue.Open(queue.Options{Ephemeral: true})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { s.Close() })
		for _, name := range names {
			var fifo map[string]string
			if strings.HasSuffix(name, ".fifo") {
				fifo = map[string]string{"FifoQueue": "true"}
			}
			if err := s.CreateQueue(t.Context(), name, fifo, nil); err != nil {
				t.Fatal(err)
			}
		}
		w.queues = s
	}
}

func (w *world) send(name string, messages ...queue.Outgoing) {
	w.t.Helper()
	sent, err := w.queues.Send(w.t.Context(), name, messages)
	for _, one := range sent {
		err = errors.Join(err, one.Err)
	}
	if err != nil {
		w.t.Fatal(err)
	}
}

// masked takes the ids out of an answer, which are random.
func masked(body []byte) []byte {
	return regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}`).ReplaceAll(body,
		[]byte("ID"))
}

func TestPeekShowsEverythingAboutAMessage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, withQueues(t, "q", "q.fifo"))
		delay := time.Minute
		w.send("q", queue.Outgoing{Body: "<first>", GroupID: "tenant", Trace: "Root=1",
			Attributes: map[string]queue.Attribute{
				"size": {Type: "Number", Value: []byte("7")}, "thumb": {Type: "Binary.png", Value: []byte{0, 255}}}})
		time.Sleep(1500 * time.Millisecond)
		if got, err := w.queues.Receive(t.Context(), "q", queue.ReceiveOptions{}); err != nil || len(got) != 1 {
			t.Fatal(got, err)
		}
		w.send("q", queue.Outgoing{Body: "later", Delay: &delay}, queue.Outgoing{Body: "now"})
		w.send("q.fifo", queue.Outgoing{Body: "ordered", GroupID: "g", DeduplicationID: "d"})
		time.Sleep(time.Second)
		for _, name := range []string{"q", "q.fifo"} {
			answer := w.ask("GET", "/v1/queues/"+name+"/messages", "")
			wants(t, answer, http.StatusOK)
			golden(t, "peek-"+name+".json", masked(indented(t, answer.Body.Bytes(), time.Time{})))
		}
		if c, _ := w.queues.Counts("q"); c.Received != 1 || c.InFlight != 1 || c.Visible != 1 {
			t.Errorf("peeking changed the queue: %+v", c)
		}
	})
}

func TestPeekTakesWhatItIsAskedFor(t *testing.T) {
	w := newWorld(t, withQueues(t, "q"))
	delay := time.Minute
	for i := range 15 {
		w.send("q", queue.Outgoing{Body: strconv.Itoa(i)})
	}
	w.send("q", queue.Outgoing{Body: "later", Delay: &delay})
	if got, err := w.queues.Receive(t.Context(), "q", queue.ReceiveOptions{Max: 2}); err != nil || len(got) != 2 {
		t.Fatal(got, err)
	}
	for query, want := range map[string]string{
		"": "0 in-flight, 1 in-flight, 2 waiting, 3 waiting, 4 waiting, 5 waiting, 6 " +
			"waiting, 7 waiting, 8 waiting, 9 waiting",
		"?limit=1":                   "0 in-flight",
		"?from=waiting&limit=2":      "2 waiting, 3 waiting",
		"?from=in-flight&limit=1000": "0 in-flight, 1 in-flight",
		"?from=delayed":              "later delayed",
	} {
		answer := w.ask("GET", "/v1/queues/q/messages"+query, "")
		wants(t, answer, http.StatusOK)
		var got server.PeekAnswer
		if err := json.Unmarshal(answer.Body.Bytes(), &got); err != nil {
			t.Fatal(err)
		}
		var all []string
		for _, m := range got.Messages {
			all = append(all, m.Body+" "+m.State)
		}
		if have := strings.Join(all, ", "); have != want {
			t.Errorf("%q: found %s, want %s", query, have, want)
		}
	}
}

func TestPeekRefuses(t *testing.T) {
	w := newWorld(t, withQueues(t, "q"))
	for path, row := range map[string]struct {
		code int
		says string
	}{
		"q/messages?limit=0":                    {400, "limit: found 0, allowed is 1 to 1000"},
		"q/messages?limit=1001":                 {400, "allowed is 1 to 1000"},
		"q/messages?limit=many":                 {400, `found \"many\"`},
		"q/messages?from=visible":               {400, "allowed is waiting, in-flight, delayed or damaged"},
		"q/messages?body=some":                  {400, "allowed is full or short"},
		"none/messages":                         {404, `there is no queue \"none\"`},
		"none/export":                           {404, `there is no queue \"none\"`},
		strings.Repeat("n", 5000) + "/messages": {404, "there is no queue"},
	} {
		answer := w.ask("GET", "/v1/queues/"+path, "")
		if answer.Body.Len() > 500 {
			t.Errorf("%.40s: the answer is %d bytes long", path, answer.Body.Len())
		}
		wants(t, answer, row.code, row.says)
	}
}

func TestAPeekIsBounded(t *testing.T) {
	w := newWorld(t, withQueues(t, "q"))
	for range 12 {
		w.send("q", queue.Outgoing{Body: strings.Repeat("é", queue.MaxBytes/2)})
	}
	for query, want := range map[string]struct {
		n    int
		cut  bool
		body int
	}{
		"?limit=20":            {8, true, queue.MaxBytes},
		"?limit=8":             {8, false, queue.MaxBytes},
		"?limit=20&body=short": {12, false, 2 * server.ShortBody},
	} {
		var got server.PeekAnswer
		if err := json.Unmarshal(w.ask("GET", "/v1/queues/q/messages"+query, "").Body.Bytes(), &got); err != nil {
			t.Fatal(err)
		}
		if len(got.Messages) != want.n || got.Cut != want.cut {
			t.Errorf("%s: found %d messages, cut %t; want %d, %t", query, len(got.Messages), got.Cut, want.n, want.cut)
		}
		if m := got.Messages[0]; len(m.Body) != want.body || m.BodyBytes != queue.MaxBytes ||
			m.BodyCut != (want.body < queue.MaxBytes) {
			t.Errorf("%s: found a body of %d bytes of %d, cut %t", query, len(m.Body), m.BodyBytes, m.BodyCut)
		}
	}
}

func TestQueuesAreNamed(t *testing.T) {
	wants(t, newWorld(t, withQueues(t, "b", "a")).ask("GET", "/v1/queues", ""), http.StatusOK,
		`{"queues":["a","b"],"counts":{"a":{"retrying":0,"visible":0,"in_flight":0,"delayed":0,"damaged":0},"b":{`)
	wants(t, newWorld(t, withQueues(t)).ask("GET", "/v1/queues", ""), http.StatusOK, `{"queues":[],"counts":{}}`)
	for _, path := range []string{"", "/q/messages", "/q/export"} {
		wants(t, newWorld(t).ask("GET", "/v1/queues"+path, ""), http.StatusNotFound, "no embedded queues")
	}
	wants(t, newWorld(t).ask("POST", "/v1/queues/q/messages", "{}"), http.StatusNotFound, "no embedded queues")
}

func TestLinesAreLoadedUpToTheFirstWrongOne(t *testing.T) {
	for _, row := range []struct {
		name, queue, body string
		code              int
		want              string
		stored            int
	}{
		{"good lines", "q", "{\"body\":\"a\"}\n\n{\"body\":\"b\"}", 200, `{"sent":2,"duplicates":0}`, 2},
		{"nothing", "q", "", 200, `{"sent":0,"duplicates":0}`, 0},
		{"a wrong line", "q", "{\"body\":\"a\"}\nb\n{\"body\":\"c\"}", 422,
			`{"sent":1,"duplicates":0,"line":2,"error":"invalid character`, 1},
		{"twice to a FIFO queue", "q.fifo",
			strings.Repeat("{\"body\":\"a\",\"group_id\":\"g\",\"deduplication_id\":\"d\"}\n", 2), 200,
			`{"sent":1,"duplicates":1}`, 1},
		{"the longest line", "q", `{"body":"` + strings.Repeat(`\u003c`, queue.MaxBytes) + `"}`, 200,
			`{"sent":1,"duplicates":0}`, 1},
		{"more than there is room for", "q", strings.Repeat("{\"body\":\"a\"}\n", server.MaxLoadBytes/12), 413,
			"too large", 0},
		{"no such queue", "none", `{"body":"a"}`, 404, `there is no queue \"none\"`, 0},
	} {
		t.Run(row.name, func(t *testing.T) {
			w := newWorld(t, withQueues(t, "q", "q.fifo"))
			wants(t, w.ask("POST", "/v1/queues/"+row.queue+"/messages", row.body), row.code, row.want)
			a, _ := w.queues.Counts("q")
			b, _ := w.queues.Counts("q.fifo")
			if n := a.Visible + b.Visible; n != row.stored {
				t.Errorf("%d messages are stored, want %d", n, row.stored)
			}
		})
	}
}

func TestOnlyLoadingTakesLargeBodies(t *testing.T) {
	w := newWorld(t, withQueues(t, "q"))
	large := `{"id":"` + strings.Repeat("x", 300_000) + `"}`
	wants(t, w.ask("POST", "/v1/events", large), http.StatusRequestEntityTooLarge)
	wants(t, w.ask("POST", "/v1/queues/../events", large), http.StatusTemporaryRedirect)
	wants(t, w.ask("POST", "/v1/queues/q/messages", `{"body":"`+strings.Repeat("x", 300_000)+`"}`), http.StatusOK)
}

func TestAClosedServiceSaysSo(t *testing.T) {
	w := newWorld(t, withQueues(t, "q"))
	w.queues.Close()
	wants(t, w.ask("POST", "/v1/queues/q/messages", `{"body":"a"}`), http.StatusUnprocessableEntity, `"line":1`,
		"closed")
}

func TestAnExportSaysWhetherItIsWhole(t *testing.T) {
	w := newWorld(t, withQueues(t, "q"))
	w.send("q", queue.Outgoing{Body: "a"}, queue.Outgoing{Body: "b"})
	result := w.ask("GET", "/v1/queues/q/export", "").Result()
	lines, err := io.ReadAll(result.Body)
	if err != nil || bytes.Count(lines, []byte{'\n'}) != 2 || !strings.Contains(string(lines), `"body":"b"`) {
		t.Errorf("exported %s, %v", lines, err)
	}
	if h := result.Header; h.Get(server.ExportTotal) != "2" || result.Trailer.Get(server.ExportCount) != "2" ||
		result.Trailer.Get(server.ExportError) != "" {
		t.Errorf("found the headers %v and trailers %v", h, result.Trailer)
	}
	ended, end := context.WithCancel(t.Context())
	end()
	result = w.ask("GET", "/v1/queues/q/export", "", func(r *http.Request) { *r = *r.WithContext(ended) }).Result()
	io.Copy(io.Discard, result.Body)
	if result.Trailer.Get(server.ExportCount) != "0" || !strings.Contains(result.Trailer.Get(server.ExportError),
		"canceled") {
		t.Errorf("an export that ended early has the trailers %v", result.Trailer)
	}
}

// pipes is a listener whose connections have no buffer, so that time may be virtual and a reader that stands still is
// felt.
type pipes struct {
	made chan net.Conn
	once sync.Once
	end  chan struct{}
}

func (p *pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.made:
		return c, nil
	case <-p.end:
		return nil, net.ErrClosed
	}
}
func (p *pipes) Close() error   { p.once.Do(func() { close(p.end) }); return nil }
func (p *pipes) Addr() net.Addr { return &net.TCPAddr{} }

// TestALargeExportOutlastsTheDeadlinesOfTheServer reads slowly, for longer than any of them, and then stands still.
func TestALargeExportOutlastsTheDeadlinesOfTheServer(t *testing.T) {
	for pause, whole := range map[time.Duration]bool{25 * time.Second: true, 31 * time.Second: false} {
		t.Run(fmt.Sprintf("a pause of %s", pause), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t, withQueues(t, "q"))
				for range 6 {
					w.send("q", queue.Outgoing{Body: strings.Repeat("x", 100_000)})
				}
				l := &pipes{made: make(chan net.Conn), end: make(chan struct{})}
				s := server.NewServer(w.serves)
				served := make(chan error, 1)
				go func() { served <- s.Serve(l) }()
				defer func() { s.Close(); <-served }()
				mine, theirs := net.Pipe()
				defer mine.Close()
				l.made <- theirs
				fmt.Fprintf(mine, "GET /v1/queues/q/export HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer "+
					"%s\r\n\r\n", secret)
				resp, err := http.ReadResponse(bufio.NewReader(mine), nil)
				if err != nil {
					t.Fatal(err)
				}
				n, piece := 0, make([]byte, 200_000)
				for err == nil {
					time.Sleep(pause)
					var k int
					k, err = io.ReadFull(resp.Body, piece)
					n += bytes.Count(piece[:k], []byte{'\n'})
				}
				if got := resp.Trailer.Get(server.ExportCount) == "6" && n == 6; got != whole {
					t.Errorf("%d lines arrived, trailers %v, %v; whole is %t, want %t", n, resp.Trailer, err, got,
						whole)
				}
			})
		})
	}
}
