package report

import (
	"time"

	"github.com/muster-scale/muster"
	"github.com/muster-scale/muster/sim"
	"github.com/muster-scale/muster/sim/scoring"
)

const (
	// maxColumns bounds the columns that a recorder keeps. A column has the least and the largest value of each curve,
	// so a curve has at most twice as many points.
	maxColumns = 1000
	// maxMarks bounds the decisions that a recorder keeps.
	maxMarks = 2000
	// maxSentence bounds the text of one decision, in bytes.
	maxSentence = 1000
	// finest is the width of a column at the start of a run: the least time between two steps of the controller. Widths
	// double as the run gets longer.
	finest = 50 * time.Millisecond
	// rateOver is the least time over which the rate of arrivals is measured. A burst within less time counts as one
	// over so long.
	rateOver = time.Second
)

// Recorder keeps the curves and the decisions of one run in bounded memory, however long the run is. Views that come
// too close together are merged: of a curve the least, the largest and the last value remain, of the decisions the
// largest change. [NewRecorder] makes one for each run. It must not be used by several goroutines.
type Recorder struct {
	// objective and curves go into the Run.
	objective muster.Objective
	curves    Curves
	width     time.Duration // columns that begin within the same multiple of it are one
	markWidth time.Duration // the same for decisions
	interval  interval
}

// interval is the time over which arrivals are being counted at present.
type interval struct {
	from time.Duration
	sent int64 // messages sent before it
}

// NewRecorder returns a recorder for a run with the given objective. The latency is drawn beside the age of the oldest
// message, and the quantile beside the attainment.
func NewRecorder(objective muster.Objective) *Recorder {
	return &Recorder{objective: objective, width: finest, markWidth: finest}
}

// Stepped records the outcome of one step of the controller. It is made for [sim.Options.Stepped], and views must come
// in the order of their times.
func (r *Recorder) Stepped(v sim.View) {
	// What a view does not tell stays unknown, such as the desired count before the first decision.
	c := column{at: v.At, sentAt: none}
	c.values[backlog] = only(float64(v.Backlog))
	c.values[age] = only(v.OldestAge.Seconds())
	c.values[live] = only(float64(v.Live))
	c.values[inService] = only(float64(v.Ready))
	c.values[busy] = only(float64(v.Busy))
	if v.Outcome.Ready {
		c.values[desired] = only(float64(v.Outcome.Decision.Desired))
		r.decided(v)
	}
	// The controller steps every 50 ms at times. A rate over so short a time would show a single message as a burst.
	if past := v.At - r.interval.from; past >= rateOver {
		c.fastest = float64(v.Sent-r.interval.sent) / past.Seconds()
		c.sent, c.sentAt = v.Sent, v.At
		r.interval = interval{from: v.At, sent: v.Sent}
	}
	k := &r.curves
	k.end, k.sent = v.At, v.Sent
	// The view belongs to the newest column if both begin within the same multiple of the width.
	if n := len(k.columns); n > 0 && k.columns[n-1].at/r.width == v.At/r.width {
		k.columns[n-1] = k.columns[n-1].with(c)
		return
	}
	if k.columns == nil {
		k.columns = make([]column, 0, maxColumns+1)
	}
	k.columns = append(k.columns, c)
	for len(k.columns) > maxColumns {
		// Twice the width joins at most two columns each, so it may take several rounds.
		r.width *= 2
		k.columns = merged(k.columns, r.width)
	}
}

// decided records a decision if it changes the desired count.
func (r *Recorder) decided(v sim.View) {
	d := v.Outcome.Decision
	if d.Desired == d.Previous {
		return
	}
	k := &r.curves
	k.changes++
	m := mark{at: v.At, from: d.Previous, to: d.Desired}
	if n := len(k.marks); n > 0 && k.marks[n-1].at/r.markWidth == m.at/r.markWidth {
		last := &k.marks[n-1]
		// The largest change of several explains the curve best; the others are only counted.
		if last.size() >= m.size() {
			last.others++
			return
		}
		m.others = last.others + 1
		k.marks = k.marks[:n-1]
	}
	m.sentence = shortened(d.Sentence(), maxSentence)
	k.marks = append(k.marks, m)
	for len(k.marks) > maxMarks {
		r.markWidth *= 2
		k.marks = merged(k.marks, r.markWidth)
	}
}

// Run joins the recorded curves to the result of the run. The recorder must not be used after that.
func (r *Recorder) Run(result scoring.Result) Run {
	return Run{Result: result, Objective: r.objective, Curves: r.curves}
}

// merger is something with a time that can be merged with its successor.
type merger[T any] interface {
	when() time.Duration
	with(later T) T
}

// merged joins neighbours that begin within the same multiple of width. It changes the given slice.
func merged[T merger[T]](all []T, width time.Duration) []T {
	kept := all[:0]
	for _, next := range all {
		if n := len(kept); n > 0 && kept[n-1].when()/width == next.when()/width {
			kept[n-1] = kept[n-1].with(next)
			continue
		}
		kept = append(kept, next)
	}
	return kept
}

// shortened cuts text to at most n bytes, at the edge of a character.
func shortened(text string, n int) string {
	if len(text) <= n {
		return text
	}
	n -= len("…")
	for n > 0 && text[n]&0xc0 == 0x80 {
		n--
	}
	return text[:n] + "…"
}
