package series

import (
	"slices"
	"time"

	"github.com/muster-scale/muster"
)

// Window keeps the durations measured during the last Length, in steps of Length/16. A duration therefore counts for
// Length, and at most a sixteenth of it longer. The zero Window is not usable; set Length.
//
// Window is a value: [Window.Add] and [Window.At] return a new one. The state of a fleet has a dozen of them and is
// copied at every step, so the old steps are shared and never changed.
type Window struct {
	// Length is above zero. It must not change once something was added.
	Length time.Duration
	// newest is the newest step, valid while begun is true; steps are the earlier ones, oldest first. The elements of
	// steps are shared between windows and never change.
	steps  []step
	newest step
	// The next four fields are a cache for repeated reading. estimate summarises all steps except the first aged ones,
	// which are too old; it is valid while known is true, and so is hung, which is that of [Window.Hung]. older is the
	// sum of the counted steps before the newest, valid while summed is true: then only the newest step has to be
	// added.
	estimate muster.Estimate
	hung     float64
	older    histogram
	aged     int

	begun, known, summed bool
}

// windowSteps is the number of steps in a window. More would forget more evenly and cost more memory.
const windowSteps = 16

// Add returns w with the durations h, measured at the instant at. Instants may come out of order. h is not changed.
func (w Window) Add(at time.Time, h Durations) Window {
	if h.Count == 0 {
		return w
	}
	w.known = false
	start := at.Truncate(w.step()).UnixNano()
	switch {
	case !w.begun:
		w.newest, w.begun = step{start, histogram{}.plus(h)}, true
		return w
	case start == w.newest.start: // the usual case
		w.newest.histogram = w.newest.plus(h)
		return w
	case start > w.newest.start:
		last := w.newest
		w.newest = step{start, histogram{}.plus(h)}
		kept := w.trimmed()
		w.steps = append(append(make([]step, 0, len(kept)+1), kept...), last)
	default:
		w.steps = addLate(w.steps, start, h)
	}
	w.steps, w.summed = w.trimmed(), false
	return w
}

// addLate returns a copy of steps with h added to the step that begins at start. It inserts that step if there is none.
func addLate(steps []step, start int64, h Durations) []step {
	i := len(steps)
	for i > 0 && steps[i-1].start >= start {
		i--
	}
	if i < len(steps) && steps[i].start == start {
		steps = slices.Clone(steps)
		steps[i].histogram = steps[i].plus(h)
		return steps
	}
	return slices.Insert(slices.Clip(steps), i, step{start, histogram{}.plus(h)})
}

// trimmed returns the steps without those that can never count again: steps that began more than Length before the
// newest.
func (w Window) trimmed() []step {
	steps, oldest := w.steps, w.newest.start-int64(w.Length)
	for len(steps) > 0 && steps[0].start < oldest {
		steps = steps[1:]
	}
	return steps
}

// agedAt returns how many steps, from the oldest on, are too old at now. The newest one counts last.
func (w *Window) agedAt(now time.Time) (aged int) {
	oldest := now.Add(-w.Length).UnixNano()
	for aged < len(w.steps) && w.steps[aged].start < oldest {
		aged++
	}
	if w.begun && w.newest.start < oldest {
		aged++
	}
	return aged
}

// Durations returns the measurements of the last Length before now.
func (w Window) Durations(now time.Time) Durations {
	var t tally
	aged := w.agedAt(now)
	for _, s := range w.steps[min(aged, len(w.steps)):] {
		t.add(s.histogram)
	}
	if w.begun && aged <= len(w.steps) {
		t.add(w.newest.histogram)
	}
	return t.sum()
}

// At returns the estimate of [Window.Durations] at now, without a prior. It also returns w with the estimate cached:
// reading it again costs next to nothing until something is added or grows too old.
func (w Window) At(now time.Time) (Window, muster.Estimate) {
	aged := w.agedAt(now)
	if w.known && aged == w.aged {
		return w, w.estimate
	}
	var t tally
	if w.summed && aged == w.aged {
		t.add(w.older)
	} else {
		for _, s := range w.steps[min(aged, len(w.steps)):] {
			t.add(s.histogram)
		}
		w.older, w.summed = t.histogram(), true
	}
	if w.begun && aged <= len(w.steps) {
		t.add(w.newest.histogram)
	}
	w.estimate, w.aged, w.known = t.estimate(), aged, true
	if w.hung = 0; t.count > 0 {
		w.hung = t.secondsOver(muster.HangsBeyond*w.estimate.P99Seconds) / float64(t.count)
	}
	return w, w.estimate
}

// Hung returns how many seconds of the mean come from what durations last beyond [muster.HangsBeyond] times the 99th
// percentile. It is that of the newest [Window.At].
func (w Window) Hung() float64 { return w.hung }

// step returns the width of a step, at least a millisecond.
func (w Window) step() time.Duration { return max(w.Length/windowSteps, time.Millisecond) }
