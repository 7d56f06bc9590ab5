package server_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/muster-scale/muster"
	"github.com/muster-scale/muster/controller"
	"github.com/muster-scale/muster/internal/exposition"
	"github.com/muster-scale/muster/policy"
	"github.com/muster-scale/muster/queue"
	"github.com/muster-scale/muster/server"
	"github.com/muster-scale/muster/worker/protocol"
)

var t0 = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// fleet is a loop that the tests move by hand.
type fleet struct {
	mu      sync.Mutex
	last    *controller.Outcome
	reports []protocol.Report
	wakes   int
	reply   protocol.Directive
	err     error
}

func (f *fleet) Report(_ context.Context, r protocol.Report) (protocol.Directive, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.err == nil {
		f.reports = append(f.reports, r)
	}
	return f.reply, f.err
}

func (f *fleet) Last() (controller.Outcome, bool) {
	if f.last == nil {
		return controller.Outcome{}, false
	}
	return *f.last, true
}

func (f *fleet) Wake() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.wakes++
}

// past is a history that holds the same records for every fleet, newest first.
type past struct {
	records []muster.Record
	err     error
}

func (p past) Last(_ context.Context, _ string, n int, kinds ...muster.RecordKind) ([]muster.Record, error) {
	if len(kinds) != 1 || kinds[0] != muster.Decided {
		return nil, errors.New("only decisions were to be read")
	}
	return p.records[:min(n, len(p.records))], p.err
}

// world is the API with two fleets: "a" has stepped, "b" has not.
type world struct {
	t      testing.TB
	token  server.Token
	a, b   *fleet
	past   past
	hosts  []string
	queues *queue.Service
	steps  []controller.Outcome
	serves http.Handler
	// standing and faults are what the set-up says of itself; nil for all is well.
	standing map[string]server.Standing
	faults   []string
}

const secret = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

func newWorld(t testing.TB, change ...func(*world)) *world {
	w := &world{t: t, token: server.NewToken(secret), b: &fleet{}, steps: outcomes(t)}
	w.a = &fleet{last: &w.steps[len(w.steps)-1], reply: protocol.Directive{Ask: protocol.Work}}
	var position int64
	for _, o := range w.steps {
		for _, r := range o.Records {
			position++
			r.Position = muster.Position{Epoch: 1, Seq: position}
			if r.Kind == muster.Decided {
				w.past.records = append([]muster.Record{r}, w.past.records...)
			}
		}
	}
	for _, c := range change {
		c(w)
	}
	metrics := server.NewMetrics(w.fleets, w.stands)
	collect := func(p *exposition.Page) {
		metrics.Collect(p)
		if w.queues != nil {
			server.CollectQueues(p, w.queues)
		}
	}
	w.serves = server.New(server.Options{Token: w.token, Fleets: w.fleets, Standing: w.stands,
		Faults: func() []string { return w.faults }, Decisions: w.past, Queues: w.queues, Metrics: collect,
		Version: "v0.0.0-test", Hosts: w.hosts})
	return w
}

func (w *world) fleets() map[string]server.Fleet { return map[string]server.Fleet{"a": w.a, "b": w.b} }

func (w *world) stands() map[string]server.Standing { return w.standing }

// outcomes are the steps of a fleet: its queue is seen with a backlog, a worker reports, and the queue is seen no more.
func outcomes(t testing.TB) []controller.Outcome {
	s, err := controller.NewSettings(controller.Settings{
		Fleet: "a", Queues: []string{"jobs"}, Spec: policy.Spec{Name: "exact", Processing: 3 * time.Second,
			PricePerHour: 0.25}, Objective: muster.Objective{Latency: 30 * time.Second, Quantile: 0.99},
		Limits: muster.Limits{Min: 1, Max: 5, LaunchesPerHour: 100}, BootPrior: 5 * time.Second, Slots: 2,
	})
	if err != nil {
		t.Fatal(err)
	}
	st, err := s.Restore(muster.Position{Epoch: 1}, nil)
	if err != nil {
		t.Fatal(err)
	}
	var all []controller.Outcome
	step := func(seconds int, in ...controller.Input) {
		o := s.Step(st, t0.Add(time.Duration(seconds)*time.Second), in)
		all, st = append(all, o), o.Next
	}
	seen := func(seconds int, backlog float64, ids ...string) []controller.Input {
		at := t0.Add(time.Duration(seconds) * time.Second)
		l := muster.Listing{At: at}
		for _, id := range ids {
			l.Members = append(l.Members, muster.Member{ID: id, LaunchedAt: t0})
		}
		return []controller.Input{controller.Listed{Listing: l},
			controller.Measured{QueueObservation: muster.QueueObservation{Queue: "jobs",
				Backlog: muster.Measured(at, backlog), InFlight: muster.Measured(at, 1), Delayed: muster.Unknown(at,
					"not asked for"), OldestAge: muster.Measured(at, 2.5)}}}
	}
	report := controller.Reported{Report: protocol.Report{Fleet: "a", Member: "m1", Worker: "m1", Seq: 1,
		At: t0.Add(time.Second), State: protocol.Receiving, Slots: 2, Busy: 1}}
	step(0, seen(0, 0, "m1")...)
	step(1, append(seen(1, 40, "m1"), report)...)
	step(2, seen(2, 39, "m1")...)
	return all
}

// ask sends a request to the API. The token is the API's, and the host loopback, unless a change says otherwise.
func (w *world) ask(method, path, body string, change ...func(*http.Request)) *httptest.ResponseRecorder {
	r := httptest.NewRequest(method, path, strings.NewReader(body))
	r.Host = "127.0.0.1:9325"
	r.Header.Set("Authorization", "Bearer "+secret)
	for _, c := range change {
		c(r)
	}
	answer := httptest.NewRecorder()
	w.serves.ServeHTTP(answer, r)
	return answer
}

func header(name, value string) func(*http.Request) {
	return func(r *http.Request) {
		r.Header.Del(name)
		if value != "" {
			r.Header.Set(name, value)
		}
	}
}

func bearer(token string) func(*http.Request) { return header("Authorization", "Bearer "+token) }

func host(name string) func(*http.Request) { return func(r *http.Request) { r.Host = name } }

// wants fails the test unless the answer has the code and its body says all of the texts.
func wants(t *testing.T, answer *httptest.ResponseRecorder, code int, texts ...string) {
	t.Helper()
	body, _ := io.ReadAll(answer.Result().Body)
	if answer.Code != code {
		t.Errorf("found status %d, want %d: %s", answer.Code, code, body)
	}
	for _, text := range texts {
		if !strings.Contains(string(body), text) {
			t.Errorf("found the body %q, want one that says %q", body, text)
		}
	}
}
