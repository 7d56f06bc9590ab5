package app

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/muster-scale/muster/history"
	"github.com/muster-scale/muster/kinds"
	"github.com/muster-scale/muster/leader"
	"github.com/muster-scale/muster/leader/leasetest"
)

// oneOfSeveral starts an App that shares its fleets with others.
func oneOfSeveral(t *testing.T, name string, past *history.Memory, leases leader.Store) (a *App, stop func()) {
	t.Helper()
	c, err := kinds.Parse("m.yaml", fmt.Appendf(nil, "version: 1\ndata: %q\n"+
		"listen: {queue: '127.0.0.1:0', api: '127.0.0.1:0'}\nfleets:\n"+
		"  - {name: one, queue: one, max: 1, workers: {command: ['true']}}\n"+
		"  - {name: two, queue: two, max: 1, workers: {command: ['true']}}\n", filepath.Join(t.TempDir(), name)))
	if err != nil {
		t.Fatal(err)
	}
	a, err = Open(t.Context(), c, Options{})
	if err != nil {
		t.Fatal(err)
	}
	a.history.Close()
	a.history = past
	a.share(leases, name)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- a.Run(ctx) }()
	return a, func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
		a.Close()
	}
}

func answerOf(t *testing.T, a *App) string {
	t.Helper()
	answer, err := http.Get(a.APIURL() + "/readyz")
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	text, _ := io.ReadAll(answer.Body)
	return fmt.Sprint(answer.StatusCode, " ", strings.TrimSpace(string(text)))
}

// until waits for a text.
func until(t *testing.T, what string, found func() string, want string) {
	t.Helper()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for began := time.Now(); !strings.HasPrefix(found(), want); {
		if <-tick.C; time.Since(began) > 10*time.Second {
			t.Fatalf("%s: found %q, want %q", what, found(), want)
		}
	}
}

func TestAStandbyServesAndFollows(t *testing.T) {
	past, leases := history.NewMemory(), leasetest.NewMemory()
	first, stopFirst := oneOfSeveral(t, "first", past, leases)
	until(t, "the first", func() string { return answerOf(t, first) }, "200 ready")
	second, stopSecond := oneOfSeveral(t, "second", past, leases)
	defer stopSecond()
	until(t, "the second", func() string { return answerOf(t, second) }, "200 standby")
	until(t, "the second's status", func() string { return second.standing()["one"].Leader }, "first")
	if s := second.standing()["two"]; s.Phase != "standby" || len(second.served()) != 2 {
		t.Errorf("the second says of a fleet that the first leads: %+v", s)
	}
	stopFirst()
	until(t, "the second after the first", func() string { return answerOf(t, second) }, "200 ready")
	p, err := past.Begin(t.Context(), "one")
	if err != nil || p.Epoch != 3 {
		t.Errorf("after two controllers the history is at %+v, %v; want epoch 3", p, err)
	}
}
