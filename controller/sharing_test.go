package controller_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/muster-scale/muster"
	"github.com/muster-scale/muster/controller"
	"github.com/muster-scale/muster/controller/audit"
	"github.com/muster-scale/muster/controller/learning"
	"github.com/muster-scale/muster/policy"
	"github.com/muster-scale/muster/series"
)

// sharing is a world with n busy workers on a machine of so many cores.
func sharing(t *testing.T, cores, n int) *world {
	s := settings(t, policy.Spec{Name: "deadline"}, 10)
	s.Cores = cores
	s.Limits.Min = n
	w := newWorld(t, s)
	w.step(0)
	w.obey()
	w.inFlight = n
	w.step(time.Second, w.receiving(ones(n)...)...)
	return w
}

func ones(n int) []int {
	all := make([]int, n)
	for i := range all {
		all[i] = 1
	}
	return all
}

// works lets so many workers be busy for ten seconds, at whose end each finishes one message that took that long.
func (w *world) works(busy int) {
	for k := range 11 {
		var in []controller.Input
		for i, m := range w.members {
			m.busy = 0
			if i < busy {
				m.busy = 1
			}
			if i < busy && k == 10 {
				in = append(in, w.finish(m, done{n: 1, each: 10 * time.Second}))
				continue
			}
			in = append(in, w.say(m, 0))
		}
		w.step(time.Second, in...)
	}
}

func crowds(o controller.Outcome) string {
	var all []string
	for _, c := range o.Observation.Sharing.Crowds {
		all = append(all, fmt.Sprintf("%.0f of %.0fs with %.1f", c.Messages, c.MeanSeconds, c.Busy))
	}
	return strings.Join(all, ", ")
}

func TestDurationsAreMeasuredByTheNumberInProgress(t *testing.T) {
	w := sharing(t, 2, 4)
	for range 3 {
		w.works(4)
	}
	w.works(1)
	w.works(1)
	o := w.step(10*time.Second, w.everybody()...)
	o = w.step(time.Second)
	if got, want := crowds(o), "2 of 10s with 1.0, 12 of 10s with 4.0"; got != want {
		t.Errorf("measured %q, want %q", got, want)
	}
	if o.Observation.Sharing.Cores != 2 {
		t.Errorf("%d cores, want 2", o.Observation.Sharing.Cores)
	}

	// A controller that starts again knows the same.
	was := o.Observation.Sharing
	w.restart()
	if o = w.step(0); !cmp.Equal(was, o.Observation.Sharing) {
		t.Errorf("after a restart: %s", cmp.Diff(was, o.Observation.Sharing))
	}
	if n, _, err := audit.Verify(w.records); err != nil || n == 0 {
		t.Errorf("%d decisions recompute: %v", n, err)
	}
}

// What was begun before anybody watched belongs to no crowd, though it counts as work.
func TestWhatWasBegunUnseenBelongsToNoCrowd(t *testing.T) {
	w := sharing(t, 2, 2)
	w.step(time.Second, w.finish(w.members[0], done{n: 1, each: time.Hour}))
	w.step(10*time.Second, w.everybody()...)
	if o := w.step(time.Second); crowds(o) != "" || o.Observation.Processing.Count != 1 {
		t.Errorf("measured %q and %d durations, want none and 1", crowds(o), o.Observation.Processing.Count)
	}
}

func TestAFleetThatSharesNoMachineMeasuresNothingOfIt(t *testing.T) {
	w := sharing(t, 0, 4)
	w.works(4)
	o := w.step(10*time.Second, w.everybody()...)
	if o.Observation.Sharing != nil {
		t.Errorf("measured %+v, want nothing", o.Observation.Sharing)
	}
	for _, r := range w.records {
		if text := string(r.Body); strings.Contains(text, "crowded") || strings.Contains(text, `"sharing"`) {
			t.Errorf("recorded %s", text)
		}
	}
}

// Whatever a record says, what is kept is bounded.
func TestCrowdsAreBounded(t *testing.T) {
	w := sharing(t, 2, 1)
	l := learning.Learned{Processing: series.Add(series.Durations{}, time.Second)}
	for level := -5; level < 1000; level++ {
		l.Crowded = append(l.Crowded, learning.Crowded{Level: level, Messages: 1, Seconds: 1, Busy: 1})
	}
	body, err := json.Marshal(l)
	if err != nil {
		t.Fatal(err)
	}
	w.records = append(w.records, muster.Record{At: w.now, Kind: muster.Learned, Body: body})
	w.restart()
	if n := len(w.step(time.Second).Observation.Sharing.Crowds); n != muster.MaxCrowds {
		t.Errorf("%d crowds, want %d", n, muster.MaxCrowds)
	}
}
