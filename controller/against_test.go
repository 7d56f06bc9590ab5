package controller_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/muster-scale/muster/controller/audit"
	"github.com/muster-scale/muster/policy"
)

func TestAContrastShowsWhatBothWouldHaveHad(t *testing.T) {
	w := newWorld(t, settings(t, policy.Spec{Name: "backlog-per-worker", Acceptable: 10, Shadow: true}, 20))
	// The fleet has 2; Muster would ask for as many as the backlog is worth.
	w.members = append(w.members, &worker{id: "a", at: t0.Add(-time.Hour)}, &worker{id: "b", at: t0.Add(-time.Hour)})
	minutes := func(backlog, minutes int) {
		w.backlog = backlog
		for range minutes * 12 {
			w.step(5 * time.Second)
		}
	}
	minutes(20, 10)
	minutes(50, 10)
	minutes(10, 20) // the last of which no record tells of
	w.restart()
	w.now = w.now.Add(time.Hour) // nobody watches
	minutes(10, 10)
	w.members = w.members[:1] // the system in charge follows
	minutes(10, 10)
	c, some, err := audit.Against(w.records)
	if err != nil || !some {
		t.Fatal(some, err)
	}
	got := fmt.Sprintf("%s: differed %v of %v, fleet %v, Muster %v, %d more, %d fewer", c.Fleet, c.Differed, c.Seconds,
		c.FleetSeconds, c.MusterSeconds, c.More, c.Fewer)
	var lines []string
	for _, d := range c.Differences {
		lines = append(lines, fmt.Sprintf("%s for %s: %d, not %d", d.From.Sub(t0), d.To.Sub(d.From), d.Desired, d.Size))
	}
	want := "f: differed 2340 of 3480, fleet 6420, Muster 6480, 3 more, 1 fewer"
	wantLines := []string{"10m5s for 10m0s: 5, not 2", "20m5s for 19m0s: 1, not 2", "1h40m5s for 10m0s: 1, not 2"}
	if got != want || fmt.Sprint(lines) != fmt.Sprint(wantLines) {
		t.Errorf("found    %s\n%q\nexpected %s\n%q", got, lines, want, wantLines)
	}
}

func TestWithoutAShadowThereIsNoContrast(t *testing.T) {
	w := newWorld(t, settings(t, policy.Spec{Name: "exact"}, 20))
	w.backlog = 3
	w.step(time.Second)
	if c, some, err := audit.Against(w.records); some || err != nil {
		t.Errorf("found %+v, %v", c, err)
	}
}
