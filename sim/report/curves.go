package report

import (
	"math"
	"time"

	"github.com/muster-scale/muster"
	"github.com/muster-scale/muster/sim/scoring"
)

// Run is one run to be drawn.
type Run struct {
	// Name is what pictures and tables call the run; the policy's name when empty, with the seed where several differ.
	Name string
	// Result is what the run came to.
	Result scoring.Result
	// Objective is the objective of the run. A latency or quantile of zero is unknown and not drawn.
	Objective muster.Objective
	// Curves are what a [Recorder] kept of it. The zero Curves are those of a run that nobody watched: it has no
	// picture, and its place in the tables.
	Curves Curves
}

// Curves are the curves and the decisions of a run. They are bounded in size and must not be changed.
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

// none is an instant that does not exist.
const none = -1

// column is what happened from its first view until the column after it.
type column struct {
	at     time.Duration // of its first view
	values [quantities]extent
	// sent is how many messages were sent until sentAt, the end of the last counting of arrivals that ended in the
	// column; sentAt is none when none did. fastest is the highest rate counted, in messages per second.
	sent    int64
	sentAt  time.Duration
	fastest float64
}

// extent is how far a quantity ranged. It is known if any view told it.
type extent struct {
	least, largest, last float64
	known                bool
}

func only(v float64) extent { return extent{v, v, v, true} }

func (e extent) with(later extent) extent {
	switch {
	case !later.known:
		return e
	case !e.known:
		return later
	}
	return extent{min(e.least, later.least), max(e.largest, later.largest), later.last, true}
}

func (c column) when() time.Duration { return c.at }

func (c column) with(later column) column {
	for q := range c.values {
		c.values[q] = c.values[q].with(later.values[q])
	}
	c.fastest = max(c.fastest, later.fastest)
	if later.sentAt != none {
		c.sent, c.sentAt = later.sent, later.sentAt
	}
	return c
}

// mark is a decision that changed the size.
type mark struct {
	at       time.Duration
	from, to int
	sentence string
	others   int // smaller changes close to it, which were not kept
}

func (m mark) size() int {
	if m.to < m.from {
		return m.from - m.to
	}
	return m.to - m.from
}

func (m mark) when() time.Duration { return m.at }

// with keeps the larger of two changes; of equal ones the earlier.
func (m mark) with(later mark) mark {
	kept := m
	if later.size() > m.size() {
		kept = later
	}
	kept.others = m.others + later.others + 1
	return kept
}

// coarse returns the curves with at most so many columns and marks, both at least 1.
func (k Curves) coarse(columns, marks int) Curves {
	k.columns = fewer(k.columns, columns, k.end)
	k.marks = fewer(k.marks, marks, k.end)
	return k
}

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

// largest returns the largest value that a quantity ever had, at least 0.
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

// rate is how fast messages came over a time that ended.
type rate struct {
	from, to      time.Duration
	mean, fastest float64 // messages per second; the fastest within about a second
}

// rates returns how fast messages came, without gaps, from the start to the end of the run. The rates times their
// durations sum up to the messages sent.
func (k Curves) rates() []rate {
	var all []rate
	var past time.Duration
	var sent int64
	for _, c := range k.columns {
		if c.sentAt == none {
			continue
		}
		mean := float64(c.sent-sent) / (c.sentAt - past).Seconds()
		all = append(all, rate{past, c.sentAt, mean, max(mean, c.fastest)})
		past, sent = c.sentAt, c.sent
	}
	if rest := k.end - past; rest > 0 {
		// Too short a rest to measure a rate in belongs to the time before it.
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
