package worker_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/muster-scale/muster/worker"
	"github.com/muster-scale/muster/worker/execution"
)

// endpoint serves f on this machine and returns work that goes there.
func endpoint(t *testing.T, o execution.EndpointOptions, f http.HandlerFunc) *execution.Endpoint {
	t.Helper()
	server := httptest.NewServer(f)
	t.Cleanup(server.Close)
	o.URL = server.URL + "/work?queue=jobs"
	e, err := execution.NewEndpoint(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(e.Close)
	return e
}

func TestEndpointPostsTheMessageAsElasticBeanstalkDoes(t *testing.T) {
	at := time.Date(2026, 3, 4, 5, 6, 7, 890e6, time.UTC)
	m := worker.Message{
		ID: "id", Queue: "jobs", Body: "{\"a\":\n1}", Group: "g", ReceiveCount: 3, Attempt: 2, SenderID: "AIDA",
		SentAt: at, FirstReceivedAt: at,
		Attributes: map[string]worker.Attribute{"kind": {Type: "String", Text: "réd"},
			"n": {Type: "Number.int", Text: "7"}, "raw": {Type: "Binary", Binary: []byte{0}}},
	}
	e := endpoint(t, execution.EndpointOptions{}, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		if string(body) != m.Body || r.Method != http.MethodPost || r.URL.String() != "/work?queue=jobs" {
			t.Errorf("got %s %s with the body %q", r.Method, r.URL, body)
		}
		for _, name := range []string{"Accept-Encoding", "Connection", "Content-Length", "User-Agent"} {
			r.Header.Del(name)
		}
		want := http.Header{
			"Content-Type": {"application/json"}, "X-Aws-Sqsd-Msgid": {"id"}, "X-Aws-Sqsd-Queue": {"jobs"},
			"X-Aws-Sqsd-First-Received-At": {"2026-03-04T05:06:07Z"}, "X-Aws-Sqsd-Receive-Count": {"3"},
			"X-Aws-Sqsd-Sender-Id": {"AIDA"},
			"X-Aws-Sqsd-Attr-Kind": {"réd"}, "X-Aws-Sqsd-Attr-N": {"7"},
			"X-Muster-Idempotency-Key": {"id"}, "X-Muster-Attempt": {"2"},
			"X-Muster-Sent-At": {"2026-03-04T05:06:07.890Z"}, "X-Muster-Group": {"g"},
		}
		if d := cmp.Diff(want, r.Header); d != "" {
			t.Error(d)
		}
	})
	if err := e.Do(t.Context(), m); err != nil {
		t.Error(err)
	}
	if err := e.Do(t.Context(),
		worker.Message{Attributes: map[string]worker.Attribute{"a": {Type: "String",
			Text: "x\r\nEvil: y"}}}); err == nil || !strings.Contains(err.Error(), "no header can hold") {
		t.Errorf("a header could be smuggled in: %v", err)
	}
}

func TestEndpointTakesNothingButAnOrderlyAnswer(t *testing.T) {
	tests := []struct {
		name, says string
		serve      http.HandlerFunc
	}{
		{"200 is success, whatever the body", "",
			func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "done, thanks") }},
		{"another success is none", "answered 202 Accepted",
			func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(202) }},
		{"an error", "answered 500 Internal Server Error", func(w http.ResponseWriter, r *http.Request) {
			w.WriteHeader(500)
			_, _ = io.Copy(w, r.Body)
		}},
		{"a redirection is not followed", "answered 307 Temporary Redirect",
			func(w http.ResponseWriter, r *http.Request) {
				http.Redirect(w, r, "http://169.254.169.254/", 307)
			}},
		{"an answer without end", "more than 65536 bytes", func(w http.ResponseWriter, r *http.Request) {
			for r.Context().Err() == nil {
				if _, err := w.Write(make([]byte, 32<<10)); err != nil {
					return
				}
			}
		}},
		{"death", "went away before it answered",
			func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			var requests atomic.Int64
			e := endpoint(t, execution.EndpointOptions{}, func(w http.ResponseWriter, r *http.Request) {
				if r.Header.Get("X-Aws-Sqsd-Msgid") == "warm" {
					return // could leave a connection that is used, and tried, again
				}
				requests.Add(1)
				test.serve(w, r)
			})
			if err := e.Do(t.Context(), worker.Message{ID: "warm"}); err != nil {
				t.Fatal(err)
			}
			err := e.Do(t.Context(), worker.Message{ID: "m", Body: "secret"})
			if test.says == "" && err != nil || test.says != "" &&
				(err == nil || !strings.Contains(err.Error(), test.says)) {
				t.Errorf("got %v, want an error that says %q", err, test.says)
			}
			if err != nil && strings.Contains(err.Error(), "secret") || errors.Is(err, worker.ErrNotBegun) {
				t.Errorf("got %v", err)
			}
			if n := requests.Load(); n != 1 {
				t.Errorf("one attempt made %d requests", n)
			}
		})
	}
}

func TestEndpointIsNotReadyWhileNothingListens(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := l.Addr().String()
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	e, err := execution.NewEndpoint(t.Context(), execution.EndpointOptions{URL: "http://" + address, Slots: 3})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	if err := e.Do(t.Context(), worker.Message{}); !errors.Is(err, worker.ErrNotBegun) || e.Ready() != 0 {
		t.Errorf("got %v and %d ready, want work that did not begin", err, e.Ready())
	}
	if l, err = net.Listen("tcp", address); err != nil {
		t.Fatal(err)
	}
	server := &http.Server{Handler: http.HandlerFunc(func(http.ResponseWriter, *http.Request) {})}
	go func() { _ = server.Serve(l) }()
	<-e.Changed()
	if err := e.Do(t.Context(), worker.Message{}); err != nil || e.Ready() != 3 {
		t.Errorf("got %v and %d ready", err, e.Ready())
	}
	if err := server.Close(); err != nil {
		t.Fatal(err)
	}
	if err := e.Do(t.Context(), worker.Message{}); !errors.Is(err, worker.ErrNotBegun) {
		t.Errorf("got %v after the end of the server", err)
	}
}

func TestEndpointGivesUpAtTheTimeLimit(t *testing.T) {
	e := endpoint(t, execution.EndpointOptions{}, func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		<-r.Context().Done()
	})
	ctx, cancel := context.WithTimeoutCause(t.Context(), 100*time.Millisecond, worker.ErrTimeLimit)
	defer cancel()
	if err := e.Do(ctx, worker.Message{}); !errors.Is(err, worker.ErrTimeLimit) {
		t.Errorf("got %v", err)
	}
}

func TestEndpointSettlesEachMessageOfABatch(t *testing.T) {
	tests := []struct {
		name, answer string
		// wants has a text for each message; empty is success.
		wants [3]string
	}{
		{"nothing said is all done", "", [3]string{}},
		{"no failures", `{"failed":[]}`, [3]string{}},
		{"one failure", `{"failed":[{"delivery":"$1","error":"bad"}]}`, [3]string{"", `"bad"`, ""}},
		{"a failure without a reason", `{"failed":[{"delivery":"$0"}]}`, [3]string{"without a reason", "", ""}},
		{"an unknown delivery", `{"failed":[{"delivery":"nonesuch"}]}`, [3]string{"unknown", "unknown", "unknown"}},
		{"a delivery twice", `{"failed":[{"delivery":"$2"},{"delivery":"$2"}]}`,
			[3]string{"named before", "named before", "named before"}},
		{"garbage", "<html>secret", [3]string{"not JSON", "not JSON", "not JSON"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			e := endpoint(t, execution.EndpointOptions{Batch: 3}, func(w http.ResponseWriter, r *http.Request) {
				var request struct {
					Messages []struct{ Delivery, Body string }
				}
				if err := json.NewDecoder(r.Body).Decode(&request); err != nil || len(request.Messages) != 3 ||
					request.Messages[1].Body != "b" {
					t.Errorf("got %+v, %v", request, err)
					return
				}
				answer := test.answer
				for i, m := range request.Messages {
					answer = strings.ReplaceAll(answer, fmt.Sprint("$", i), m.Delivery)
				}
				fmt.Fprint(w, answer)
			})
			errs := e.DoBatch(t.Context(), []worker.Message{{ID: "1", Body: "a"}, {ID: "2", Body: "b"},
				{ID: "3", Body: "c"}})
			for i, err := range errs {
				want := test.wants[i]
				if (err == nil) != (want == "") || err != nil &&
					(!strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "secret")) {
					t.Errorf("message %d: got %v, want %q", i, err, want)
				}
			}
		})
	}
}

func TestEndpointIsOnThisMachine(t *testing.T) {
	tests := []struct{ url, says string }{
		{"http://127.0.0.1:8080/work", ""},
		{"http://127.9.9.9/", ""},
		{"http://[::1]:80", ""},
		{"http://localhost:8080", ""},
		{"http://10.0.0.1/", "only this machine"},
		{"http://169.254.169.254/latest", "only this machine"},
		{"http://[::ffff:169.254.169.254]/", "only this machine"},
		{"http://0.0.0.0:80/", "only this machine"},
		{"http://localhost.example.com/", "only this machine"},
		{"http://127.0.0.1.nip.io/", "only this machine"},
		{"https://127.0.0.1/", "one like http://127.0.0.1:8080/path"},
		{"http://user:password@127.0.0.1/", "one like"},
		{"ftp://127.0.0.1/", "one like"},
		{"127.0.0.1:8080", "one like"},
		{"", "one like"},
	}
	for _, test := range tests {
		t.Run(test.url, func(t *testing.T) {
			e, err := execution.NewEndpoint(t.Context(), execution.EndpointOptions{URL: test.url})
			if err == nil {
				e.Close()
			}
			if test.says == "" && err != nil || test.says != "" &&
				(err == nil || !strings.Contains(err.Error(), test.says)) {
				t.Errorf("got %v, want %q", err, test.says)
			}
		})
	}
}
