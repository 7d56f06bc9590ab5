package app

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/muster-scale/muster"
	"github.com/muster-scale/muster/config"
	"github.com/muster-scale/muster/controller"
	"github.com/muster-scale/muster/internal/host"
	"github.com/muster-scale/muster/kinds"
)

// fullHistory is a history that takes nothing new while it is full.
type fullHistory struct {
	store
	mu   sync.Mutex
	full bool
}

func (h *fullHistory) set(full bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.full = full
}

func (h *fullHistory) Begin(ctx context.Context, fleet string) (muster.Position, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.full {
		return muster.Position{}, errors.New("the disk is full")
	}
	return h.store.Begin(ctx, fleet)
}

// lines gathers what is logged.
type lines struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// runningUp starts what `muster up` runs for a file with the fleets given, and ends it with the test.
func runningUp(t *testing.T, h *fullHistory, log *lines, fleets string) (*App, *reloader) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "muster.yaml")
	write(t, path, fleets)
	c, err := kinds.Load(path)
	if err != nil {
		t.Fatal(err)
	}
	l, err := Open(
		t.Context(),
		c,
		Options{Logger: slog.New(slog.NewTextHandler(log, nil)), Ephemeral: true, Notify: func(controller.Outcome) {}},
	)
	if err != nil {
		t.Fatal(err)
	}
	h.store, l.history = l.history, h
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- l.Run(ctx) }()
	t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			t.Errorf("run: %v", err)
		}
		l.Close()
	})
	return l, &reloader{app: l, path: path, now: c}
}

func write(t *testing.T, path, fleets string) {
	t.Helper()
	text := "version: 1\ndata: data\nlisten: {queue: \"127.0.0.1:0\", api: \"127.0.0.1:0\"}\nfleets:\n" + fleets
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func oneFleet(name string) string {
	return fmt.Sprintf("  - {name: %s, queue: %s, max: 1, workers: {command: [cat]}}\n", name, name)
}

// readyz asks the running API, as a probe does.
func readyz(t *testing.T, l *App) string {
	t.Helper()
	answer, err := http.Get(l.APIURL() + "/readyz")
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	var text bytes.Buffer
	text.ReadFrom(answer.Body)
	return fmt.Sprintf("%d %s", answer.StatusCode, strings.TrimSpace(text.String()))
}

func TestAFleetThatIsAddedWhileTheHistoryIsFullIsDegradedAndStartsLater(t *testing.T) {
	h, log := &fullHistory{}, &lines{}
	l, r := runningUp(t, h, log, oneFleet("jobs"))
	waitUntil(
		t,
		20*time.Millisecond,
		func() bool { return readyz(t, l) == "200 ready" },
		func() string { return readyz(t, l) },
	)
	// A muster up that serves no fleet yet is ready too: the fleet must have begun its history before the disk is full.
	waitUntil(
		t,
		20*time.Millisecond,
		func() bool {
			jobs, served := l.fleets.served()["jobs"]
			if !served {
				return false
			}
			_, decided := jobs.Last()
			return decided
		},
		log.String,
	)
	h.set(true)
	write(t, r.path, oneFleet("jobs")+oneFleet("others"))
	if said := r.reload(t.Context(), false); said != "the configuration was read again: fleet others is new" {
		t.Errorf("it said %q", said)
	}
	waitUntil(
		t,
		20*time.Millisecond,
		func() bool { return strings.Contains(log.String(), "fleet others does not run, next try at") },
		log.String,
	)
	const degraded = "200 degraded: 1 of 2 fleets are not sized as configured; muster status says why"
	waitUntil(
		t,
		20*time.Millisecond,
		func() bool { return readyz(t, l) == degraded },
		func() string { return readyz(t, l) },
	)
	standing, last := l.fleets.standing(), l.fleets.served()
	if s := standing["others"]; !strings.Contains(s.Failure, "the disk is full") || s.RetryAt.IsZero() {
		t.Errorf("others stands at %+v, want the failure and when it is tried again", s)
	}
	if s := standing["jobs"]; s.Failure != "" {
		t.Errorf("jobs stands at %+v, want no failure", s)
	}
	if o, ok := last["jobs"].Last(); !ok || o.Decision.Desired != 0 {
		t.Errorf("jobs was decided to have %d, %v; want to be held at 0", o.Decision.Desired, ok)
	}
	if counts, err := l.queues.Counts("others"); err != nil || counts.Visible != 0 {
		t.Errorf("its queue: %+v, %v; want an empty queue that is served", counts, err)
	}
	h.set(false)
	waitUntil(
		t,
		50*time.Millisecond,
		func() bool { return readyz(t, l) == "200 ready" },
		func() string { return readyz(t, l) },
	)
	waitUntil(
		t,
		50*time.Millisecond,
		func() bool { return strings.Contains(log.String(), "fleet others runs again") },
		log.String,
	)
}

func TestAConfigurationWithAFaultIsSaidUntilItIsMended(t *testing.T) {
	l, r := runningUp(t, &fullHistory{}, &lines{}, oneFleet("jobs"))
	write(t, r.path, "  - {name: jobs, queue: jobs, min: 2, max: 1, workers: {command: [cat]}}\n")
	if said := r.reload(t.Context(), false); !strings.Contains(said, "was not taken over") {
		t.Errorf("it said %q", said)
	}
	if faults := l.faults.list(); len(faults) != 1 || !strings.Contains(faults[0], "muster.yaml:5") {
		t.Errorf("the faults are %q", faults)
	}
	write(t, r.path, oneFleet("jobs"))
	if said := r.reload(t.Context(), false); said != "the configuration was read again: nothing in it has changed" {
		t.Errorf("it said %q", said)
	}
	if faults := l.faults.list(); len(faults) != 0 {
		t.Errorf("the faults are %q after the file was mended", faults)
	}
}

// TestAQueueWhoseEventsAreReceivedTakesNoWorkUntilTheNextStart moves a queue from the events to a fleet: its messages
// would be deleted as events.
func TestAQueueWhoseEventsAreReceivedTakesNoWorkUntilTheNextStart(t *testing.T) {
	const queue = `"http://127.0.0.1:1/000000000000/moved"`
	l, r := runningUp(t, &fullHistory{}, &lines{}, oneFleet("jobs")+"events: [{queue: "+queue+"}]\n")
	moved := oneFleet("jobs") + "  - {name: moved, queue: " + queue + ", max: 1, workers: {command: [cat]}}\n"
	write(t, r.path, moved)
	said := r.reload(t.Context(), false)
	if !strings.Contains(said, "was not taken over") || !strings.Contains(said, "start muster up again") {
		t.Errorf("it said %q", said)
	}
	c, err := kinds.Load(r.path)
	if err != nil {
		t.Fatal(err)
	}
	lines, err := l.Reload(t.Context(), c)
	if err != nil || len(lines) != 1 || !strings.Contains(lines[0], "was not taken over") {
		t.Errorf("handed over, it said %q, %v", lines, err)
	}
	if _, there := l.fleets.served()["moved"]; there {
		t.Error("the fleet was started")
	}
}

// waitUntil waits until something is so, and fails the test when it takes longer than 20 s.
func waitUntil(t *testing.T, every time.Duration, is func() bool, otherwise func() string) {
	t.Helper()
	ctx, stop := context.WithTimeout(t.Context(), 2*time.Minute)
	defer stop()
	for !is() {
		if host.Sleep(ctx, every) != nil {
			t.Fatal(otherwise())
		}
	}
}

// TestAConfigurationIsHandedToARunningApp also tells that what has stopped takes none.
func TestAConfigurationIsHandedToARunningApp(t *testing.T) {
	one := "fleets: [{name: one, queue: q, max: 1, workers: {command: 'true'}}]"
	parse := func(text string) *config.Config {
		c, err := kinds.Parse("m.yaml", []byte("version: 1\n"+text))
		if err != nil {
			t.Fatal(err)
		}
		c.Data, c.Listen = t.TempDir(), config.Listen{Queue: "127.0.0.1:0", API: "127.0.0.1:0"}
		return c
	}
	began := parse(one)
	a, err := Open(t.Context(), began, Options{Ephemeral: true, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- a.Run(ctx) }()
	both := *began
	both.Fleets = append(slices.Clone(began.Fleets), parse(strings.ReplaceAll(one, "one", "two")).Fleets...)
	said, err := a.Reload(t.Context(), &both)
	if err != nil || len(said) == 0 {
		t.Errorf("the second fleet: found %q, %v; want what was done", said, err)
	}
	if _, there := a.Fleets()["two"]; !there {
		t.Errorf("found %v, want the fleet two", slices.Collect(maps.Keys(a.Fleets())))
	}
	if a.Current() != &both || a.inForce.Configuration("").LastReload == nil {
		t.Error("the dashboard shows another configuration than the one in force")
	}
	if said, err := a.Reload(t.Context(), &both); err != nil || len(said) != 0 {
		t.Errorf("the same again: found %q, %v; want nothing", said, err)
	}
	stop()
	if err := <-ended; err != nil {
		t.Errorf("run: %v", err)
	}
	if _, err := a.Reload(t.Context(), began); err == nil {
		t.Error("a configuration was put in force after the end")
	}
	if err := a.Close(); err != nil {
		t.Error(err)
	}
}
