package series

import (
	"slices"
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
	// newest is the newest step, once begun is true, and steps are those before it. What is in steps is never changed.
	steps  []step
	newest step
	// estimate is of all steps but the first aged ones, which are too old; it counts while known is true. older adds up
	// those of them before the newest; it counts while summed is true.
	estimate muster.Estimate
	older    histogram
	aged     int

	begun, known, summed bool
}

const windowSteps = 16

// Add returns w with the durations measured at the instant at. Instants may come out of order.
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
	case start == w.newest.start: // as nearly always
		w.newest.histogram = w.newest.plus(h)
		return w
	case start > w.newest.start:
		w.steps = append(append(make([]step, 0, len(w.steps)+1), w.steps...), w.newest)
		w.newest = step{start, histogram{}.plus(h)}
	default:
		w.steps = late(w.steps, start, h)
	}
	w.steps, w.summed = w.trimmed(), false
	return w
}

// late returns other steps, which have h in the one that begins at start.
func late(steps []step, start int64, h Durations) []step {
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

// trimmed returns the steps without those that can never count again: those older than the window before the newest.
func (w Window) trimmed() []step {
	steps, oldest := w.steps, w.newest.start-int64(w.Length)
	for len(steps) > 0 && steps[0].start < oldest {
		steps = steps[1:]
	}
	return steps
}

// agedAt counts the steps, which are the first ones, that are too old at now.
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

// Durations returns what was measured within the window before now.
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

// At returns the estimate of [Window.Durations] at now, without a prior, and w with that kept: asking again costs next
// to nothing until something is added or grows too old.
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
	return w, w.estimate
}

func (w Window) step() time.Duration { return max(w.Length/windowSteps, time.Millisecond) }
