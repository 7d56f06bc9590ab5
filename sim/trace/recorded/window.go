package recorded

import (
	"fmt"
	"math"
	"time"

	"github.com/muster-scale/muster/internal/render"
	"github.com/muster-scale/muster/series"
)

// Window is what the history says about the arrivals and durations of one fleet between two instants. Nothing changes
// it after it was made.
type Window struct {
	Fleet string
	// From and To bound the window; From is the start of the trace.
	From, To time.Time
	// Messages is how many messages arrived. Coarse counts those of them that are known to a five-minute interval only,
	// Unplaced those of an interval longer than ten minutes, in which arrivals were not counted.
	Messages, Coarse, Unplaced int64
	// Measured is how many messages get a recorded duration of their own; the others get one of the same time.
	Measured int64
	// Waiting is how many messages were in the queue when the window began. They are not in the trace. It is 0 if
	// that is unknown.
	Waiting int64
	// Failed counts failed attempts, which are not in the trace.
	Failed int64
	// Covered is how much of the window arrivals were counted. Gaps are the other times, in order: at most MaxGaps, the
	// last of which then reaches to the end of the window.
	Covered time.Duration
	Gaps    []Gap
	// Unreported is true for a fleet whose workers do not report: its arrivals are estimates from a stated mean
	// duration, and no duration was measured.
	Unreported bool
	// Durations are those of all messages that finished in the window, Boots the boot times of members that did not
	// come from a warm pool.
	Durations, Boots series.Durations
	// Past is what the fleet came to in the window as it was.
	Past Past
	// AskedFrom and AskedTo bound the window that [Window.Trimmed] shortened; both are zero otherwise.
	AskedFrom, AskedTo time.Time

	arrivals []arrivals
	services []services
	// first and newest bound the time of which there are records.
	first, newest time.Time
}

// Trimmed returns the window without the time before its first record and after its last one. Nothing is known there:
// a simulated fleet must not be paid for it. A few minutes that a running controller may be silent stay.
func (w Window) Trimmed() Window {
	from, to := w.From, w.To
	if w.first.Sub(from) > longestSilence {
		from = w.first
	}
	if to.Sub(w.newest) > longestSilence && w.newest.After(from) {
		to = w.newest
	}
	if w.first.IsZero() || from.Equal(w.From) && to.Equal(w.To) {
		return w
	}
	skipped := from.Sub(w.From)
	w.AskedFrom, w.AskedTo = w.From, w.To
	w.From, w.To = from, to
	all := w.arrivals
	w.arrivals = make([]arrivals, len(all))
	for i, a := range all {
		w.arrivals[i] = arrivals{max(0, a.from-skipped), max(0, a.to-skipped), a.n}
	}
	var gaps []Gap
	for _, g := range w.Gaps {
		if g.From.Before(from) {
			g.From = from
		}
		if g.To.After(to) {
			g.To = to
		}
		if g.To.After(g.From) {
			gaps = append(gaps, g)
		}
	}
	w.Gaps = gaps
	return w
}

// Uncounted returns how much of the window arrivals were not counted.
func (w Window) Uncounted() time.Duration { return max(0, w.To.Sub(w.From)-w.Covered) }

// Gap is a time within a window in which arrivals were not counted: no controller ran, or a queue could not be read.
type Gap struct {
	From time.Time `json:"from"`
	To   time.Time `json:"to"`
}

// MaxGaps bounds the gaps of a window.
const MaxGaps = 1000

// arrivals are n messages that came between two times since the start of the window.
type arrivals struct {
	from, to time.Duration
	n        int64
}

// services are the durations that were recorded together, by message class. The classes are sorted by name.
type services struct {
	classes []class
	n       int64
}

// class has the durations of one message class; the empty name stands for messages without one.
type class struct {
	name      string
	durations series.Durations
}

// Share returns the covered share of the window, from 0 to 1.
func (w Window) Share() float64 {
	if span := w.To.Sub(w.From); span > 0 {
		return math.Max(0, math.Min(1, w.Covered.Seconds()/span.Seconds()))
	}
	return 0
}

// Notes say in sentences how the trace was reconstructed and what it lacks, the most important one first.
func (w Window) Notes() []string {
	if w.Messages == 0 {
		return []string{fmt.Sprintf("no message arrived from %s to %s in the %s in which arrivals were counted",
			stamp(w.From), stamp(w.To), render.Rounded(w.Covered))}
	}
	notes := []string{fmt.Sprintf("%s arrived from %s to %s; arrivals are placed at random within the intervals in "+
		"which they were counted (5 s to 10 s)", render.Plural(int(w.Messages), "message"), stamp(w.From), stamp(w.To))}
	add := func(when bool, format string, args ...any) {
		if when {
			notes = append(notes, fmt.Sprintf(format, args...))
		}
	}
	drawn := w.Messages - w.Measured
	add(w.Coarse > 0, "%d of them are known to five minutes only, because the history folds records older than a day: "+
		"shorter bursts are lost", w.Coarse)
	add(w.Unplaced > 0, "%d of them came while arrivals were not counted, at an unknown time", w.Unplaced)
	add(w.Unreported, "the workers do not report: arrivals are estimates, and durations are unknown")
	add(!w.Unreported && w.Durations.Count == 0, "no duration of a message was recorded")
	add(w.Durations.Count > 0 && drawn > 0, "%d of them have a duration drawn from those of the same time, because "+
		"their own was not recorded", drawn)
	add(!w.AskedFrom.IsZero(), "the window from %s to %s is incomplete: there are records from %s to %s only",
		stamp(w.AskedFrom), stamp(w.AskedTo), stamp(w.From), stamp(w.To))
	add(w.Uncounted() >= time.Minute, "in %s of %s arrivals were not counted; the trace has nothing in that time",
		render.Rounded(w.Uncounted()), render.Rounded(w.To.Sub(w.From)))
	add(w.Waiting > 0, "left out: %s that waited when the window began", render.Plural(int(w.Waiting), "message"))
	add(w.Failed > 0, "left out: %s", render.Plural(int(w.Failed), "failed attempt"))
	return notes
}

// stamp renders an instant for a person, in UTC.
func stamp(t time.Time) string { return t.UTC().Format("2006-01-02 15:04:05Z") }
