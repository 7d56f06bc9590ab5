package series

import (
	"time"

	"github.com/muster-scale/muster"
)

// Window keeps the durations measured during the last Length, in steps of Length/16. The zero Window is not usable; set
// Length.
//
// Window is a value: [Window.Add] and [Window.At] return a new one.
type Window struct {
	// Length is above zero.
	Length time.Duration
	steps  []step
	// estimate is of all steps but the first aged ones, which are too old; it counts while known is true.
	estimate muster.Estimate
	aged     int
	known    bool
}

const windowSteps = 16

// Add returns w with the durations measured at the instant at. Instants may come out of order.
func (w Window) Add(at time.Time, h muster.Durations) Window {
	if h.Count == 0 {
		return w
	}
	start := at.Truncate(w.step()).UnixNano()
	steps := make([]step, 0, len(w.steps)+1)
	added := false
	for _, s := range w.steps {
		if !added && s.start >= start {
			if s.start == start {
				s = newStep(s.start, Merge(s.durations(), h))
			} else {
				steps = append(steps, newStep(start, h))
			}
			added = true
		}
		steps = append(steps, s)
	}
	if !added {
		steps = append(steps, newStep(start, h))
	}
	return Window{Length: w.Length, steps: w.trimmed(steps)}
}

// trimmed drops the steps that can never count again: those older than the window before the newest step.
func (w Window) trimmed(steps []step) []step {
	oldest := steps[len(steps)-1].start - int64(w.Length)
	for steps[0].start < oldest {
		steps = steps[1:]
	}
	return steps
}

// agedAt counts the steps, which are the first ones, that are too old at now.
func (w Window) agedAt(now time.Time) (aged int) {
	oldest := now.Add(-w.Length).UnixNano()
	for aged < len(w.steps) && w.steps[aged].start < oldest {
		aged++
	}
	return aged
}

// Durations returns what was measured within the window before now.
func (w Window) Durations(now time.Time) muster.Durations {
	var t tally
	for _, s := range w.steps[w.agedAt(now):] {
		t.add(s)
	}
	return t.sum()
}

// At returns the estimate of [Window.Durations] at now, without a prior, and w with that kept: asking again costs next to
// nothing until something is added or grows too old.
func (w Window) At(now time.Time) (Window, muster.Estimate) {
	if aged := w.agedAt(now); !w.known || aged != w.aged {
		w.estimate, w.aged, w.known = Estimate(w.Durations(now), 0), aged, true
	}
	return w, w.estimate
}

func (w Window) step() time.Duration { return max(w.Length/windowSteps, time.Millisecond) }
