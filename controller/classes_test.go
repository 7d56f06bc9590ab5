package controller_test

import (
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/muster-scale/muster/controller"
	"github.com/muster-scale/muster/policy"
	"github.com/muster-scale/muster/series"
	"github.com/muster-scale/muster/worker/protocol"
)

// done is a report of messages that are done: so many of each class, which all take the same time.
type done struct {
	class string
	n     int
	each  time.Duration
}

func (w *world) finish(m *worker, all ...done) controller.Input {
	r := w.say(m, 0).(controller.Reported)
	for _, d := range all {
		for range d.n {
			r.Finished++
			r.Processing = series.Add(r.Processing, d.each)
			if d.class != "" {
				if r.Classes == nil {
					r.Classes = map[string]series.Durations{}
				}
				r.Classes[d.class] = series.Add(r.Classes[d.class], d.each)
			}
		}
	}
	return r
}

// classified is a world with one busy worker.
func classified(t *testing.T) (*world, *worker) {
	w := newWorld(t, settings(t, policy.Spec{Name: "deadline"}, 10))
	w.backlog = 1
	w.step(0)
	w.obey()
	w.backlog, w.inFlight = 0, 1
	w.step(time.Second, w.receiving(1)...)
	return w, w.members[0]
}

// says renders classes: name, share, how many ended lately, mean.
func classes(o controller.Outcome) (all []string) {
	for _, c := range o.Observation.Classes {
		all = append(all, fmt.Sprintf("%s %.2f %.0f %.0fs", c.Name, c.Share, c.Finished, c.Processing.MeanSeconds))
	}
	return all
}

func TestTheMixOfClassesIsObserved(t *testing.T) {
	for _, row := range []struct {
		name string
		done []done
		want []string
	}{
		{"no class", []done{{"", 4, time.Second}}, nil},
		{"one class says no more than all", []done{{"a", 4, time.Second}}, nil},
		{"two classes", []done{{"long", 1, 20 * time.Second}, {"short", 3, time.Second}},
			[]string{"long 0.25 1 20s", "short 0.75 3 1s"}},
		{"one class and messages without", []done{{"", 1, 2 * time.Second}, {"a", 1, 8 * time.Second}},
			[]string{" 0.50 1 2s", "a 0.50 1 8s"}},
	} {
		t.Run(row.name, func(t *testing.T) {
			w, m := classified(t)
			w.step(6*time.Second, w.finish(m, row.done...))
			o := w.step(6*time.Second, w.say(m, 0))
			if diff := cmp.Diff(row.want, classes(o)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			w.restart()
			if diff := cmp.Diff(row.want, classes(w.step(0, w.say(m, 0)))); diff != "" {
				t.Errorf("after a restart (-want +got):\n%s", diff)
			}
		})
	}
}

func TestTheMixIsThatOfTheLastMinutes(t *testing.T) {
	w, m := classified(t)
	for range 30 {
		w.step(10*time.Second, w.finish(m, done{"short", 9, time.Second}, done{"long", 1, 20 * time.Second}))
	}
	for range 18 {
		w.step(10*time.Second, w.finish(m, done{"short", 1, time.Second}, done{"long", 1, 20 * time.Second}))
	}
	c := w.step(10*time.Second, w.say(m, 0)).Observation.Classes
	if len(c) != 2 || math.Abs(c[0].Share-0.5) > 0.03 || c[0].Processing.Count != 48 || c[1].Processing.Count != 288 {
		t.Errorf("found %+v, want half of each lately", c)
	}
	// When nothing ended lately, all that was measured tells.
	c = w.step(10*time.Minute, w.say(m, 0)).Observation.Classes
	if len(c) != 2 || math.Abs(c[0].Share-48./336) > 1e-9 || c[0].Finished != 0 {
		t.Errorf("after ten quiet minutes found %+v, want a seventh long", c)
	}
}

func TestTheClassesOfAFleetAreBounded(t *testing.T) {
	w, m := classified(t)
	for i := range 60 {
		w.step(6*time.Second, w.finish(m, done{fmt.Sprint("class", i), 2, time.Second}, done{"", 1, time.Second}))
	}
	o := w.step(6*time.Second, w.say(m, 0))
	count, share := int64(0), 0.0
	for _, c := range o.Observation.Classes {
		count += c.Processing.Count
		share += c.Share
	}
	if n := len(o.Observation.Classes); n != protocol.MaxClasses+2 || count != 180 || math.Abs(share-1) > 1e-9 {
		t.Errorf("found %d classes with %d durations and shares of %v in all, want %d with 180 and 1", n, count, share,
			protocol.MaxClasses+2)
	}
	// Those that came no more make room.
	for range 3 {
		w.step(7*time.Hour, w.finish(m, done{"new", 1, time.Second}, done{"newer", 1, time.Second}))
	}
	if got := w.step(6*time.Second, w.say(m, 0)).Observation.Classes; len(got) != 2 || got[0].Name != "new" {
		t.Errorf("found %+v, want the two new ones alone", got)
	}
}
