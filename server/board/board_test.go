package board_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/muster-scale/muster"
	"github.com/muster-scale/muster/controller"
	"github.com/muster-scale/muster/history"
	"github.com/muster-scale/muster/history/curves"
	"github.com/muster-scale/muster/incident"
	"github.com/muster-scale/muster/internal/joblog"
	"github.com/muster-scale/muster/policy"
	"github.com/muster-scale/muster/queue"
	"github.com/muster-scale/muster/server"
	"github.com/muster-scale/muster/server/board"
	"github.com/muster-scale/muster/tree"
	"github.com/muster-scale/muster/worker/protocol"
)

var update = flag.Bool("update", false, "write the golden files anew")

var t0 = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// fleet is a loop that the tests step by hand.
type fleet struct {
	t        testing.TB
	settings controller.Settings
	past     *history.Memory

	mu   sync.Mutex
	next controller.State
	last controller.Outcome
	seen bool
}

// Report implements [server.Fleet].
func (f *fleet) Report(context.Context, protocol.Report) (protocol.Directive, error) {
	return protocol.Directive{}, errors.New("the test sends no reports here")
}

// Last implements [server.Fleet].
func (f *fleet) Last() (controller.Outcome, bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.last, f.seen
}

// Wake implements [server.Fleet].
func (f *fleet) Wake() {}

// newFleet returns a fleet that serves the queue of the same name.
func newFleet(t testing.TB, past *history.Memory, name string) *fleet {
	t.Helper()
	s, err := controller.NewSettings(controller.Settings{
		Fleet: name, Queues: []string{name}, Spec: policy.Spec{Name: "exact", Processing: 3 * time.Second,
			PricePerHour: 0.25}, Objective: muster.Objective{Latency: 30 * time.Second, Quantile: 0.99},
		Limits: muster.Limits{Min: 1, Max: 5, LaunchesPerHour: 100}, BootPrior: 5 * time.Second, Slots: 2,
	})
	if err != nil {
		t.Fatal(err)
	}
	at, err := past.Begin(t.Context(), name)
	if err != nil {
		t.Fatal(err)
	}
	f := &fleet{t: t, settings: s, past: past}
	if f.next, err = s.Restore(at, nil); err != nil {
		t.Fatal(err)
	}
	return f
}

// step steps the fleet at a time, records the outcome as the live loop does, and returns it.
func (f *fleet) step(at time.Time, in ...controller.Input) controller.Outcome {
	f.t.Helper()
	f.mu.Lock()
	defer f.mu.Unlock()
	o := f.settings.Step(f.next, at, in)
	if len(o.Records) > 0 {
		p, err := f.past.Append(f.t.Context(), f.settings.Fleet, f.next.Position, o.Records...)
		if err != nil {
			f.t.Fatal(err)
		}
		o.Next.Position = p
	}
	f.last, f.next, f.seen = o, o.Next, true
	return o
}

// reading is a reading of the queue and the members. A negative backlog is unknown.
func (f *fleet) reading(at time.Time, backlog, oldest float64, ids ...string) []controller.Input {
	l := muster.Listing{At: at}
	for _, id := range ids {
		l.Members = append(l.Members, muster.Member{ID: id, LaunchedAt: t0})
	}
	q := muster.QueueObservation{Queue: f.settings.Queues[0], Backlog: muster.Measured(at, backlog),
		InFlight: muster.Measured(at, 1), Delayed: muster.Measured(at, 0), OldestAge: muster.Measured(at, oldest)}
	if backlog < 0 {
		q.Backlog = muster.Unknown(at, "the queue does not answer")
	}
	return []controller.Input{controller.Listed{Listing: l}, controller.Measured{QueueObservation: q}}
}

// world is a server with a board of three fleets: thumbs works, blind has a queue that does not answer, and fresh was
// not read yet.
type world struct {
	t              testing.TB
	thumbs, blind  *fleet
	fresh          *fleet
	past           *history.Memory
	queues         *queue.Service
	curves         *curves.Store
	live           *board.Live
	serves         http.Handler
	token          server.Token
	mu             sync.Mutex
	now            time.Time
	gone           map[string]bool
	faults         []string
	incidents      server.Incidents
	logs           string
	steps          int
	configurations board.Configuration
}

func newWorld(t testing.TB) *world {
	t.Helper()
	w := &world{t: t, past: history.NewMemory(), now: t0, logs: t.TempDir(), gone: map[string]bool{},
		incidents: server.Incidents{Open: []incident.Incident{}}}
	w.thumbs, w.blind, w.fresh = newFleet(t, w.past, "thumbs"), newFleet(t, w.past, "blind"), newFleet(t, w.past,
		"fresh")
	var err error
	if w.queues, err = queue.Open(queue.Options{Ephemeral: true}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { w.queues.Close() })
	if w.curves, _, err = curves.Open(t.Context(), ""); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { w.curves.Close(context.Background(), t0) })
	w.live = board.New(board.Options{
		Fleets: w.fleets, Faults: func() []string { return w.faults },
		Incidents:     func() server.Incidents { return w.incidents },
		Configuration: func() board.Configuration { return w.configurations },
		Version:       "v0.0.0-test", History: w.past, Curves: w.curves, Logs: w.logs, Queues: w.queues,
		Trees: func(context.Context) ([]tree.Root, error) {
			return []tree.Root{{ID: "photos-1", Queue: "http://127.0.0.1:9324/000000000000/thumbs", State: tree.Running,
				Counts: tree.Counts{Created: 7, Done: 4, Failed: 1, Waiting: 1, Out: 1}, SubmittedAt: t0,
				Levels: []tree.Level{{Created: 1, Done: 1}, {Created: 6, Done: 3, Failed: 1}}}}, nil
		},
		Now: w.clock,
	})
	if w.token, err = server.LoadOrCreateToken(filepath.Join(t.TempDir(), "api-token")); err != nil {
		t.Fatal(err)
	}
	w.serves = server.New(server.Options{Token: w.token, Fleets: w.fleets, Routes: w.live.Routes()})
	return w
}

// clock is the time of the world.
func (w *world) clock() time.Time {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.now
}

func (w *world) fleets() map[string]server.Fleet {
	all := map[string]server.Fleet{"thumbs": w.thumbs, "blind": w.blind, "fresh": w.fresh}
	w.mu.Lock()
	defer w.mu.Unlock()
	for name := range w.gone {
		delete(all, name)
	}
	return all
}

// advance lets the fleets step at the next second, with a backlog for thumbs.
func (w *world) advance(backlog, oldest float64) {
	w.t.Helper()
	w.mu.Lock()
	w.now = w.now.Add(time.Second)
	w.steps++
	now := w.now
	w.mu.Unlock()
	in := w.thumbs.reading(now, backlog, oldest, "m1")
	in = append(in, controller.Reported{Report: protocol.Report{Fleet: "thumbs", Member: "m1", Worker: "m1",
		Seq: int64(w.steps), At: now, State: protocol.Receiving, Slots: 2, Busy: 1}})
	w.live.See(w.thumbs.step(now, in...))
	w.live.See(w.blind.step(now, w.blind.reading(now, -1, 0, "b1")...))
	for name, s := range w.live.Samples(now) {
		w.curves.Add(name, now, s)
	}
}

// ask sends a request with the token and returns the answer.
func (w *world) ask(method, path, body string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(method, path, strings.NewReader(body))
	r.Host = "127.0.0.1:9325"
	r.Header.Set("Authorization", "Bearer "+w.token.Reveal())
	answer := httptest.NewRecorder()
	w.serves.ServeHTTP(answer, r)
	return answer
}

// get decodes the answer to a GET, which must be 200.
func get[T any](w *world, path string) (into T) {
	w.t.Helper()
	answer := w.ask("GET", path, "")
	if answer.Code != http.StatusOK {
		w.t.Fatalf("GET %s: found %d: %s", path, answer.Code, answer.Body)
	}
	if err := json.Unmarshal(answer.Body.Bytes(), &into); err != nil {
		w.t.Fatalf("GET %s: %v", path, err)
	}
	return into
}

// golden compares JSON to a file in testdata. The random part of cursors is taken out.
func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	got = regexp.MustCompile(`[0-9a-f]{8}-(\d+\.\d+)`).ReplaceAll(got, []byte("c0ffee00-$1"))
	var b bytes.Buffer
	if err := json.Indent(&b, got, "", "  "); err != nil {
		t.Fatalf("%v in %s", err, got)
	}
	path := filepath.Join("testdata", name)
	if *update {
		if err := errors.Join(os.MkdirAll("testdata", 0o755), os.WriteFile(path, b.Bytes(), 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatalf("%v; make it with go test ./server/board -update", err)
	}
	if diff := cmp.Diff(string(want), b.String()); diff != "" {
		t.Errorf("%s (-want +got); if that is meant, run go test ./server/board -update:\n%s", path, diff)
	}
}

// told makes a world with some history: a backlog comes, grows and is late, a message failed, and one is a dead letter.
func told(t *testing.T) *world {
	w := newWorld(t)
	for _, attributes := range []struct {
		name string
		of   map[string]string
	}{{"thumbs-dead", nil}, {"thumbs", map[string]string{"RedrivePolicy": `{"deadLetterTargetArn":` +
		`"arn:aws:sqs:us-east-1:000000000000:thumbs-dead","maxReceiveCount":3}`}}} {
		if err := w.queues.CreateQueue(t.Context(), attributes.name, attributes.of, nil); err != nil {
			t.Fatal(err)
		}
	}
	log := joblog.Open(w.logs, "thumbs", "m1", nil)
	log.Write(joblog.Record{At: t0, Kind: joblog.Failed, Message: "6f1c", Text: "exit status 1",
		Failure: &joblog.Failure{At: t0, Fleet: "thumbs", Member: "m1", Queue: "thumbs", Message: "6f1c", Attempt: 2,
			Error: "exit status 1", Output: "convert: not found", TookSeconds: 0.2}})
	log.Write(joblog.Record{At: t0.Add(time.Second), Kind: joblog.Output, Message: "77aa", Stream: "stdout",
		Text: "done"})
	if err := log.Close(); err != nil {
		t.Fatal(err)
	}
	for _, s := range [][2]float64{{0, 0}, {4, 1}, {40, 2.5}, {60, 31}, {60, 32}} {
		w.advance(s[0], s[1])
	}
	w.faults = []string{"the configuration was not applied"}
	return w
}

// TestTheAPIPageNamesEveryRoute compares docs/api.md with the routes.
func TestTheAPIPageNamesEveryRoute(t *testing.T) {
	text, err := os.ReadFile("../../docs/api.md")
	if err != nil {
		t.Fatal(err)
	}
	names := strings.NewReplacer("{fleet}", "NAME", "{queue}", "NAME", "{position}", "EPOCH.SEQ")
	for _, r := range newWorld(t).live.Routes() {
		if !strings.Contains(string(text), "`"+names.Replace(r.Pattern)) {
			t.Errorf("docs/api.md does not name %s", names.Replace(r.Pattern))
		}
	}
}

func TestTheAnswersAreAsDocumented(t *testing.T) {
	w := told(t)
	var c board.InForce
	c.Begin("/etc/muster/muster.yaml", []board.Value{{Path: "listen.api", Value: "127.0.0.1:9325", Source: "default"},
		{Path: "fleets[0].name", Value: "thumbs", Source: "file", Line: 11},
		{Path: "fleets[0].limits.max", Value: "5", Source: "file", Line: 12}})
	c.Reloaded(t0, []board.Value{{Path: "listen.api", Value: "127.0.0.1:9425", Source: "file", Line: 2},
		{Path: "fleets[0].name", Value: "thumbs", Source: "file", Line: 11},
		{Path: "fleets[0].limits.max", Value: "6", Source: "file", Line: 12}}, "listen takes effect at the next start")
	refused := "muster.yaml:12: limits.max: found 0, allowed is 1 to 10000"
	c.Refused(t0.Add(time.Minute), refused)
	w.configurations = c.Configuration(refused, "listen")
	for name, path := range map[string]string{
		"board.json":         "/v1/board",
		"fleet.json":         "/v1/fleets/thumbs",
		"series.json":        "/v1/fleets/thumbs/series?window=10s&points=10",
		"curves.json":        "/v1/curves?fleets=thumbs,blind&window=10s&points=5",
		"decisions.json":     "/v1/fleets/thumbs/decisions?changes=1",
		"decision.json":      "/v1/decisions/" + get[board.Decisions](w, "/v1/fleets/thumbs/decisions").Decisions[0].ID,
		"logs.json":          "/v1/fleets/thumbs/logs?failed=1",
		"trees.json":         "/v1/trees",
		"configuration.json": "/v1/configuration",
	} {
		t.Run(name, func(t *testing.T) {
			answer := w.ask("GET", path, "")
			body, _ := io.ReadAll(answer.Body)
			if answer.Code != http.StatusOK {
				t.Fatalf("found %d: %s", answer.Code, body)
			}
			golden(t, name, body)
		})
	}
}
