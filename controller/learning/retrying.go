package learning

import (
	"math"
	"time"
)

// retryingOver is for how long messages must be in flight without a worker that holds them to count as waiting for a
// retry, at least and for the round trip of reports: a worker that just received one has reported by then.
const retryingOver = 10 * time.Second

// lowWater is the least of a number over some time, to half of that: over the present half and the one before. The zero
// one has seen nothing.
type lowWater struct {
	// began is when the present half began.
	began       time.Time
	now, before float64
	// full is true once a whole half lies before the present one.
	full bool
}

// add returns l with the number as it is at an instant, where the least over the time over is asked for.
func (l lowWater) add(at time.Time, v float64, over time.Duration) lowWater {
	switch age := at.Sub(l.began); {
	case l.began.IsZero() || age < 0 || age > 2*over:
		return lowWater{began: at, now: v}
	case age >= over/2:
		return lowWater{began: at, now: v, before: l.now, full: true}
	}
	l.now = math.Min(l.now, v)
	return l
}

// least is 0 until enough was seen.
func (l lowWater) least() float64 {
	if !l.full {
		return 0
	}
	return math.Max(0, math.Min(l.now, l.before))
}
