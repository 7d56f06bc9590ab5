package variants

import (
	"time"

	"github.com/muster-scale/muster/sim"
)

// points is how many values each curve of a run has at most.
const points = 300

// Curves are those of one run, as columns with one value for each step. A value is the largest of its step, so that no
// peak is lost.
type Curves struct {
	// StepSeconds is the width of a value; the first one begins with the window.
	StepSeconds float64   `json:"step_s"`
	Desired     []int     `json:"desired"`
	InService   []int     `json:"in_service"`
	Backlog     []int     `json:"backlog"`
	OldestAge   []float64 `json:"oldest_age_s"`
}

// recorder makes curves from the steps of a run.
type recorder struct {
	step time.Duration
	all  Curves
	last sim.View
	seen bool
}

// newCurves returns a recorder for a run whose messages come within span.
func newCurves(span time.Duration) *recorder {
	step := max(time.Second, (span/points+1).Truncate(time.Second)+time.Second)
	return &recorder{step: step, all: Curves{StepSeconds: step.Seconds(), Desired: []int{}, InService: []int{},
		Backlog: []int{}, OldestAge: []float64{}}}
}

// see takes a step. No step is made where nothing can change, so its state holds until the next one. What comes after
// the window is left out: there the run only works off the rest.
func (r *recorder) see(v sim.View) {
	at := int(v.At / r.step)
	if r.seen {
		r.until(at)
	}
	if at < points {
		r.grow(at)
		r.put(at, v)
	}
	r.last, r.seen = sim.View{At: v.At, Backlog: v.Backlog, OldestAge: v.OldestAge, Ready: v.Ready}, true
	r.last.Outcome.Decision.Desired = v.Outcome.Decision.Desired
}

// until repeats the last state up to a value.
func (r *recorder) until(at int) {
	for i := len(r.all.Desired); i <= min(at, points-1); i++ {
		r.grow(i)
		v := r.last
		if v.Backlog > 0 { // what waits grows older
			v.OldestAge += time.Duration(i)*r.step - v.At
		}
		r.put(i, v)
	}
}

// grow makes room for a value.
func (r *recorder) grow(at int) {
	for len(r.all.Desired) <= at {
		r.all.Desired, r.all.InService = append(r.all.Desired, 0), append(r.all.InService, 0)
		r.all.Backlog, r.all.OldestAge = append(r.all.Backlog, 0), append(r.all.OldestAge, 0)
	}
}

// put folds a state into a value.
func (r *recorder) put(at int, v sim.View) {
	r.all.Desired[at] = max(r.all.Desired[at], v.Outcome.Decision.Desired)
	r.all.InService[at] = max(r.all.InService[at], v.Ready)
	r.all.Backlog[at] = max(r.all.Backlog[at], v.Backlog)
	r.all.OldestAge[at] = max(r.all.OldestAge[at], v.OldestAge.Seconds())
}

// ended returns the curves.
func (r *recorder) ended() Curves { return r.all }
