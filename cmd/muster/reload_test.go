package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/muster-scale/muster"
	"github.com/muster-scale/muster/config"
	"github.com/muster-scale/muster/server"
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
func runningUp(t *testing.T, h *fullHistory, log *lines, fleets string) (*local, *reloader) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "muster.yaml")
	write(t, path, fleets)
	c, err := config.Load(path)
	if err != nil {
		t.Fatal(err)
	}
	l, err := openLocal(
		t.Context(),
		c,
		localOptions{logger: newLogger(log, slog.LevelInfo), ephemeral: true, notify: func(outcome) {}},
	)
	if err != nil {
		t.Fatal(err)
	}
	h.store, l.history = l.history, h
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- l.run(ctx) }()
	t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			t.Errorf("run: %v", err)
		}
		l.close()
	})
	return l, &reloader{local: l, path: path, now: c}
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
func readyz(t *testing.T, l *local) string {
	t.Helper()
	answer, err := http.Get(l.apiURL() + "/readyz")
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
	var text bytes.Buffer
	if err := printStatus(
		&text,
		server.NewStatus(development, time.Now(), l.fleets.served(), l.fleets.standing()),
		func(string) string { return "" },
	); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(text.String(), "others: the fleet is not sized since") ||
		!strings.Contains(text.String(), "the disk is full; ") ||
		!strings.Contains(text.String(), "jobs: holding at 0") {
		t.Errorf("status says\n%s", &text)
	}
	at := *l.config
	at.Listen.API = l.api.Addr().String()
	if found := fmt.Sprint(
		running(t.Context(), &global{}, &at),
	); !strings.Contains(found, "{others muster up wrong the fleet is not sized since") ||
		!strings.Contains(found, "sizes 1 of 2 fleets") {
		t.Errorf("doctor finds %s", found)
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
