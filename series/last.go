package series

import (
	"time"

	"github.com/muster-scale/muster"
)

// Last keeps the last durations that were measured, however long ago: those of the newest hours that have Least of them
// together. Where work is rare, a [Window] forgets a duration before the next one is measured; Last has as many to
// estimate from as there are.
//
// Hours are those of the clock, because the history keeps old measurements by the hour: a Last rebuilt from it equals
// the lost one.
//
// The zero Last keeps nothing; set Least and Longest. Last is a value: [Last.Add] and [Last.At] return a new one.
type Last struct {
	// Least is how many durations it keeps, if so many were measured. Longest is how far back at most, to the hour.
	// They must not change once something was added.
	Least   int64
	Longest time.Duration
	// ended are the hours before the newest one in which something was measured, oldest first; replaced, never changed.
	// There are at most Least, because each has a duration.
	ended  []lastHour
	newest lastHour
	// estimate is that of all hours but the first aged ones; valid while known is true.
	estimate muster.Estimate
	aged     int
	known    bool
}

// lastHour holds the n durations of the hour that begins at start.
type lastHour struct {
	step
	n int64
}

// plus returns h with the durations d.
func (h lastHour) plus(d Durations) lastHour {
	h.histogram, h.n = h.histogram.plus(d), h.n+d.Count
	return h
}

// Add returns l with the durations h, measured at the instant at. Those from before the newest hour count there. h is
// not changed.
func (l Last) Add(at time.Time, h Durations) Last {
	if l.Least <= 0 || h.Count <= 0 {
		return l
	}
	l.known = false
	switch start := at.Truncate(time.Hour).UnixNano(); {
	case l.newest.n == 0:
		l.newest = lastHour{step: step{start: start}}.plus(h)
	case start <= l.newest.start:
		l.newest = l.newest.plus(h)
	default:
		// The new hour may stay nearly empty, so those before it must have enough without it.
		n, from := l.newest.n, len(l.ended)
		for from > 0 && n < l.Least {
			from--
			n += l.ended[from].n
		}
		kept := l.ended[from:]
		l.ended = append(append(make([]lastHour, 0, len(kept)+1), kept...), l.newest)
		l.newest = lastHour{step: step{start: start}}.plus(h)
	}
	return l
}

// Whole tells whether the hours before the newest one have Least durations together without those that began before
// since: what was measured before them counts no more, now or later. It is true where nothing is kept.
func (l Last) Whole(since time.Time) bool {
	n := int64(0)
	for i := len(l.ended) - 1; i >= 0 && l.ended[i].start >= since.UnixNano(); i-- {
		n += l.ended[i].n
	}
	return n >= l.Least
}

// At returns the estimate at now, without a prior. It also returns l with the estimate cached: reading it again costs
// next to nothing until something is added or grows too old.
func (l Last) At(now time.Time) (Last, muster.Estimate) {
	oldest := now.Add(-l.Longest).UnixNano()
	aged := 0
	for aged < len(l.ended) && l.ended[aged].start < oldest {
		aged++
	}
	if l.newest.n > 0 && l.newest.start < oldest {
		aged = len(l.ended) + 1
	}
	if l.known && aged == l.aged {
		return l, l.estimate
	}
	var t tally
	if aged <= len(l.ended) {
		t.add(l.newest.histogram)
	}
	for i := len(l.ended) - 1; i >= aged && t.count < l.Least; i-- {
		t.add(l.ended[i].histogram)
	}
	l.estimate, l.aged, l.known = t.estimate(), aged, true
	return l, l.estimate
}
