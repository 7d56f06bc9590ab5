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
	// Durations are those of all messages that finished in the window.
	Durations series.Durations

	arrivals []arrivals
	services []services
}

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
	notes := []string{fmt.Sprintf("%d messages arrived from %s to %s; arrivals are placed at random within the "+
		"intervals in which they were counted (5 s to 10 s)", w.Messages, stamp(w.From), stamp(w.To))}
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
	add(w.To.Sub(w.From)-w.Covered >= time.Minute, "in %s of %s arrivals were not counted; the trace has nothing in "+
		"that time",
		render.Rounded(w.To.Sub(w.From)-w.Covered), render.Rounded(w.To.Sub(w.From)))
	add(w.Waiting > 0, "%d messages were in the queue already when the window began, and are left out", w.Waiting)
	add(w.Failed > 0, "%d failed attempts are left out", w.Failed)
	return notes
}

// stamp renders an instant for a person, in UTC.
func stamp(t time.Time) string { return t.UTC().Format("2006-01-02 15:04:05Z") }
