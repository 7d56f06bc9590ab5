package series

import (
	"time"

	"github.com/muster-scale/muster"
)

// Window keeps the durations measured during the last Length, in steps of Length/32. The zero Window is not usable; set
// Length.
//
// Window is a value: [Window.Add] returns a new one.
type Window struct {
	// Length is above zero.
	Length time.Duration
	steps  []step
}

type step struct {
	start     time.Time
	durations muster.Durations
}

const windowSteps = 32

// Add returns w with the durations measured at the instant at. Instants may come out of order.
func (w Window) Add(at time.Time, h muster.Durations) Window {
	if h.Count == 0 {
		return w
	}
	start := at.Truncate(w.step())
	steps := make([]step, 0, len(w.steps)+1)
	added := false
	for _, s := range w.steps {
		if !added && !s.start.Before(start) {
			if s.start.Equal(start) {
				s.durations = Merge(s.durations, h)
			} else {
				steps = append(steps, step{start, h})
			}
			added = true
		}
		steps = append(steps, s)
	}
	if !added {
		steps = append(steps, step{start, h})
	}
	return Window{Length: w.Length, steps: w.trimmed(steps)}
}

// trimmed drops the steps that can never count again: those older than the window before the newest step.
func (w Window) trimmed(steps []step) []step {
	oldest := steps[len(steps)-1].start.Add(-w.Length)
	for steps[0].start.Before(oldest) {
		steps = steps[1:]
	}
	return steps
}

// Durations returns what was measured within the window before now.
func (w Window) Durations(now time.Time) muster.Durations {
	var sum muster.Durations
	oldest := now.Add(-w.Length)
	for _, s := range w.steps {
		if !s.start.Before(oldest) {
			sum = Merge(sum, s.durations)
		}
	}
	return sum
}

func (w Window) step() time.Duration { return max(w.Length/windowSteps, time.Millisecond) }
