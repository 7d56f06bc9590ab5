package prometheus_test

import (
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/muster-scale/muster"
	"github.com/muster-scale/muster/internal/host"
	"github.com/muster-scale/muster/kind"
	"github.com/muster-scale/muster/source/prometheus"
)

// TestARealPrometheusIsAsked has the program that Debian packages scrape a page and answer queries: numbers are read,
// and what it no longer sees becomes unknown, never zero. It needs the program prometheus.
func TestARealPrometheusIsAsked(t *testing.T) {
	program, err := exec.LookPath("prometheus")
	if err != nil {
		t.Skip("the program prometheus is not installed; on Debian: apt-get install prometheus")
	}
	var gone atomic.Bool
	page := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, "up_to_date 1\n")
		if !gone.Load() {
			fmt.Fprint(w, "waiting{queue=\"work\"} 41\nwaiting{queue=\"more\"} 1\nempty 0\nbroken NaN\n")
		}
	}))
	defer page.Close()
	url := runPrometheus(t, program, strings.TrimPrefix(page.URL, "http://"))
	look := func() muster.QueueObservation {
		return observe(t, prometheus.Options{Queue: "f", URL: url, Queries: map[kind.Quantity]string{
			kind.Backlog: `sum(waiting)`, kind.InFlight: `empty`, kind.Delayed: `waiting`,
			kind.OldestAge: `broken`, kind.Processing: `vector(`,
		}})
	}
	q := until(t, look, func(q muster.QueueObservation) bool { return q.Backlog.Known })
	if q.Backlog.Value != 42 || !q.InFlight.Known || q.InFlight.Value != 0 {
		t.Errorf("found %+v and %+v, want 42 that wait and a zero", q.Backlog, q.InFlight)
	}
	for _, unknown := range []struct{ got, want string }{
		{q.Delayed.Reason, "2 series where one is meant"},
		{q.OldestAge.Reason, `"NaN", which is no number`},
		{q.Published.Value().ProcessingMean.Reason, "refuses the query: "},
	} {
		if !strings.Contains(unknown.got, unknown.want) {
			t.Errorf("found %q, want %q", unknown.got, unknown.want)
		}
	}
	gone.Store(true)
	q = until(t, look, func(q muster.QueueObservation) bool { return !q.Backlog.Known })
	if !strings.Contains(q.Backlog.Reason, "absent or stale") || q.InFlight.Known {
		t.Errorf("found %+v and %+v for series that are no longer there, want both unknown", q.Backlog, q.InFlight)
	}
}

// runPrometheus runs the program on a free port until the test ends. It scrapes the target five times a second.
func runPrometheus(t *testing.T, program, target string) (url string) {
	t.Helper()
	dir := t.TempDir()
	file := filepath.Join(dir, "prometheus.yml")
	text := "global: {scrape_interval: 200ms, scrape_timeout: 200ms}\nscrape_configs: [{job_name: it, " +
		"static_configs: [{targets: ['" + target + "']}]}]\n"
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := free.Addr().String()
	free.Close()
	said, err := os.Create(filepath.Join(dir, "log"))
	if err != nil {
		t.Fatal(err)
	}
	defer said.Close()
	run := exec.CommandContext(t.Context(), program, "--config.file="+file, "--storage.tsdb.path="+
		filepath.Join(dir, "data"),
		"--web.listen-address="+address, "--storage.tsdb.retention.time=1h")
	run.Stdout, run.Stderr = said, said
	if err := run.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = run.Process.Kill()
		_ = run.Wait()
		if text, err := os.ReadFile(said.Name()); err == nil && t.Failed() {
			t.Logf("prometheus said:\n%s", text)
		}
	})
	return "http://" + address
}

// until looks until what is seen is as wanted, for a minute at most.
func until(t *testing.T, look func() muster.QueueObservation,
	is func(muster.QueueObservation) bool) muster.QueueObservation {
	t.Helper()
	for end := time.Now().Add(time.Minute); ; {
		q := look()
		if is(q) {
			return q
		}
		if time.Now().After(end) || host.Sleep(t.Context(), 100*time.Millisecond) != nil {
			t.Fatalf("last seen: %+v", q)
		}
	}
}
