package report

import (
	"math"
	"time"

	"github.com/muster-scale/muster"
	"github.com/muster-scale/muster/sim/scoring"
)

// Run is one run to be drawn.
type Run struct {
	// Name is the name of the run in pictures and tables. When it is empty, it is the policy's name, with the seed
	// where several runs would have the same.
	Name string
	// Result is what the run came to.
	Result scoring.Result
	// Objective is the objective of the run. A latency or quantile of zero is unknown and not drawn.
	Objective muster.Objective
	// Curves are what a [Recorder] kept of the run. Zero Curves belong to a run without a recorder: it is in the tables
	// and has no picture.
	Curves Curves
}

// Curves are the curves and the decisions of a run. Their size is bounded, and they must not be changed.
type Curves struct {
	columns []column
	marks   []mark
	end     time.Duration // of the last view
	sent    int64         // messages sent until then
	changes int           // decisions that changed the size, kept or not
}

// The quantities that are known at each view.
const (
	backlog = iota
	age     // seconds
	desired
	inService
	busy
	live
	quantities
)

// none is a time that does not exist.
const none = -1

// column is what happened from its first view until the next column.
type column struct {
	at     time.Duration // of its first view
	values [quantities]extent
	// Arrivals are counted over times of their own, of which one or several may end in the column. sent is the number
	// of messages sent until sentAt, the end of the last one; sentAt is none when none ended here. fastest is the
	// highest rate, in messages per second.
	sent    int64
	sentAt  time.Duration
	fastest float64
}

// extent is the range of a quantity within a column. It is known if any view had a value.
type extent struct {
	least, largest, last float64
	known                bool
}

// only returns the extent of a single value.
func only(v float64) extent { return extent{v, v, v, true} }

// with returns the extent of e and a later extent together.
func (e extent) with(later extent) extent {
	switch {
	case !later.known:
		return e
	case !e.known:
		return later
	}
	return extent{min(e.least, later.least), max(e.largest, later.largest), later.last, true}
}

// when implements [merger].
func (c column) when() time.Duration { return c.at }

// with returns the column of c and the one behind it together.
func (c column) with(later column) column {
	// Each quantity is joined by itself, because it can be unknown in one of the two.
	for q := range c.values {
		c.values[q] = c.values[q].with(later.values[q])
	}
	c.fastest = max(c.fastest, later.fastest)
	if later.sentAt != none {
		c.sent, c.sentAt = later.sent, later.sentAt
	}
	return c
}

// mark is a decision that changed the desired count.
type mark struct {
	at       time.Duration
	from, to int
	sentence string
	others   int // smaller changes close to it, which are not kept
}

// size returns by how many members the desired count changed.
func (m mark) size() int {
	if m.to < m.from {
		return m.from - m.to
	}
	return m.to - m.from
}

// when implements [merger].
func (m mark) when() time.Duration { return m.at }

// with returns the larger of two changes, and the earlier one of equal changes.
func (m mark) with(later mark) mark {
	kept := m
	if later.size() > m.size() {
		kept = later
	}
	// The one that is not kept counts as one more.
	kept.others = m.others + later.others + 1
	return kept
}

// coarse returns the curves with at most so many columns and marks, each at least 1.
func (k Curves) coarse(columns, marks int) Curves {
	k.columns = fewer(k.columns, columns, k.end)
	k.marks = fewer(k.marks, marks, k.end)
	return k
}

// fewer merges neighbours until at most n are left, up to the time end.
func fewer[T merger[T]](all []T, n int, end time.Duration) []T {
	if len(all) <= n {
		return all
	}
	// A column at a multiple of the width begins a new one, so that n columns have room for n-1 widths.
	width := end/time.Duration(max(1, n-1)) + 1
	if n == 1 {
		width = end + 1
	}
	return merged(append([]T(nil), all...), width)
}

// largest returns the largest value that any of the quantities had; at least 0.
func (k Curves) largest(of ...int) float64 {
	m := 0.0
	for _, c := range k.columns {
		for _, q := range of {
			if c.values[q].known {
				m = max(m, c.values[q].largest)
			}
		}
	}
	return m
}

// rate is the rate of messages over a past time.
type rate struct {
	from, to      time.Duration
	mean, fastest float64 // messages per second; the fastest within about a second
}

// rates returns the rates of messages from the start to the end of the run, without gaps. The sum of the rates times
// their durations is the number of messages sent.
func (k Curves) rates() []rate {
	var all []rate
	var past time.Duration
	var sent int64
	for _, c := range k.columns {
		if c.sentAt == none {
			continue
		}
		// The mean is over the time since the counting before, which may have begun in an earlier column.
		mean := float64(c.sent-sent) / (c.sentAt - past).Seconds()
		all = append(all, rate{past, c.sentAt, mean, max(mean, c.fastest)})
		past, sent = c.sentAt, c.sent
	}
	if rest := k.end - past; rest > 0 {
		// A rest that is too short to measure a rate in belongs to the time before it.
		if n := len(all); n > 0 {
			last := &all[n-1]
			before := float64(last.mean * (last.to - last.from).Seconds())
			last.to = k.end
			last.mean = (before + float64(k.sent-sent)) / (last.to - last.from).Seconds()
			last.fastest = max(last.fastest, last.mean)
		} else {
			mean := float64(k.sent) / rest.Seconds()
			all = append(all, rate{0, k.end, mean, mean})
		}
	}
	return all
}

// finite tells whether v can be drawn.
func finite(v float64) bool { return !math.IsNaN(v) && !math.IsInf(v, 0) }
