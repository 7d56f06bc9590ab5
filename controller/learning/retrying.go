package learning

import (
	"math"
	"time"
)

// retryingOver is how long messages must be in flight without a worker that holds them to count as waiting for retry. A
// worker that has just received one has reported it by then. The round trip of reports counts instead if it is longer.
const retryingOver = 10 * time.Second

// lowWater is the minimum of a number over a recent time, kept as two minima: over the present half of that time and
// the half before. So it forgets in steps of half the time. The zero value has seen nothing.
type lowWater struct {
	// began is the start of the present half.
	began       time.Time
	now, before float64
	// full is true once there is a complete half before the present one.
	full bool
}

// add returns l with the number v at the given time; over is the time of the minimum.
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

// least returns the minimum, at least 0; it is 0 until enough was seen.
func (l lowWater) least() float64 {
	if !l.full {
		return 0
	}
	return math.Max(0, math.Min(l.now, l.before))
}
