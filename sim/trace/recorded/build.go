package recorded

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"time"

	"github.com/muster-scale/muster"
	"github.com/muster-scale/muster/controller"
	"github.com/muster-scale/muster/controller/learning"
	"github.com/muster-scale/muster/roster"
	"github.com/muster-scale/muster/series"
	"github.com/muster-scale/muster/sim/trace"
)

const (
	// longestSilence is the longest time between two recorded decisions of a running controller, which records one each
	// minute. A longer one is a gap.
	longestSilence = 3 * time.Minute
	// fine is the longest interval of an unfolded record that counts as exact, came the length of a folded one, and
	// longest that of an interval whose arrivals have a known time.
	fine    = time.Minute
	came    = 5 * time.Minute
	longest = 2 * came
)

// reader is the part of a history that [Read] needs.
type reader interface {
	Read(ctx context.Context, fleet string, since time.Time, yield func(muster.Record) bool) error
}

// Read reads the records of a fleet from the instant from until to. A window without any record is no error: it has
// no message, and all of it is a gap. It is an error if to is not after from, or if the history cannot be read.
func Read(ctx context.Context, h reader, fleet string, from, to time.Time) (Window, error) {
	b, err := New(fleet, from, to)
	if err != nil {
		return Window{}, err
	}
	if err := h.Read(ctx, fleet, from, b.Add); err != nil {
		return Window{}, err
	}
	return b.Window(), nil
}

// Newest returns the newest part of w that has at most most messages, and w itself if it has no more. It reads that
// part again. It is an error if more messages arrived in one interval of the records.
func Newest(ctx context.Context, h reader, w Window, most int64) (Window, error) {
	for w.Messages > most {
		from, n := w.To, int64(0)
		for _, a := range slices.Backward(w.arrivals) {
			if n += a.n; n > most-1 { // a cut interval may round up
				break
			}
			from = w.From.Add(a.from)
		}
		if !from.Before(w.To) {
			return w, fmt.Errorf("replay fleet %s: more than %d messages arrived in %s; that is too much for a replay",
				w.Fleet, most, w.arrivals[len(w.arrivals)-1].to-w.arrivals[len(w.arrivals)-1].from)
		}
		var err error
		if w, err = Read(ctx, h, w.Fleet, from, w.To); err != nil {
			return w, err
		}
	}
	return w, nil
}

// Builder collects the records of a window. Make it with [New]. Only one goroutine may use it.
type Builder struct {
	w Window
	// part is how far the arrivals so far are ahead of whole messages: a fraction, or below 0 after a correction. sent
	// is the newest total of each queue.
	part float64
	sent map[string]float64
	// last is the end of the newest interval with arrivals.
	last time.Duration
	// known is the instant up to which arrivals are known to be counted; counting is true if they still were there.
	known    time.Time
	counting bool
	// began is true once the first decision was seen; decision is the newest one.
	began    bool
	decision held
	// first and newest bound the time of which there are records; zero without any.
	first, newest time.Time
}

// New returns a Builder for the records of a fleet between two instants.
func New(fleet string, from, to time.Time) (*Builder, error) {
	if !to.After(from) {
		return nil, fmt.Errorf("read what was recorded of fleet %s: found the window %s to %s, want an end after the "+
			"start", fleet, stamp(from), stamp(to))
	}
	if span := to.Sub(from); span > trace.MaxTime {
		return nil, fmt.Errorf("read what was recorded of fleet %s: found a window of %s, at most %s is allowed", fleet,
			span, trace.MaxTime)
	}
	return &Builder{w: Window{Fleet: fleet, From: from, To: to}, known: from, sent: map[string]float64{}}, nil
}

// Add takes the next record, in the order of the history, and returns false once the window has ended. Records of other
// kinds, and those that cannot be read, change nothing.
func (b *Builder) Add(r muster.Record) bool {
	if r.At.Before(b.w.From) {
		return true
	}
	if r.At.After(b.w.To) {
		return false
	}
	switch r.Kind {
	case muster.Learned:
		var l learning.Learned
		if json.Unmarshal(r.Body, &l) == nil {
			b.learned(r.At, &l)
		}
	case muster.Decided:
		var d decided
		if _, lost := controller.Unencodable(r); !lost && json.Unmarshal(r.Body, &d) == nil {
			b.decided(r.At, &d)
		}
	case muster.Changed:
		var c controller.Changed
		if json.Unmarshal(r.Body, &c) == nil && c.What == roster.Left {
			b.decision.desired = c.Desired // no decision did that: the worker stopped by itself
		}
	}
	return true
}

// decided is the part of [controller.Decided] that a Builder reads.
type decided struct {
	Observation struct {
		Objective muster.Objective `json:"objective"`
		Queues    []struct {
			Sent     muster.Sample `json:"sent"`
			Backlog  muster.Sample `json:"backlog"`
			InFlight muster.Sample `json:"in_flight"`
		} `json:"queues"`
		Capacity muster.Capacity `json:"capacity"`
	} `json:"observation"`
	Decision struct {
		Previous int `json:"previous"`
		Desired  int `json:"desired"`
	} `json:"decision"`
}

// decided notes whether arrivals were counted until a decision.
func (b *Builder) decided(at time.Time, d *decided) {
	o := &d.Observation
	b.decision = b.w.Past.decided(b.decision, at, d)
	b.span(at, at)
	counted := len(o.Queues) > 0
	present, known := 0.0, true
	for _, q := range o.Queues {
		counted = counted && q.Sent.Known
		known = known && q.Backlog.Known && q.InFlight.Known
		present += q.Backlog.Value + q.InFlight.Value
	}
	b.w.Unreported = b.w.Unreported || o.Capacity.Unreported
	if !b.began && known {
		b.w.Waiting = int64(math.Round(present))
	}
	b.began = true
	b.cover(at, (b.counting || counted) && at.Sub(b.known) <= longestSilence)
	b.counting = counted
}

// span notes that there are records of the time from since until at, as far as the window has it.
func (b *Builder) span(since, at time.Time) {
	if since.Before(b.w.From) {
		since = b.w.From
	}
	if b.first.IsZero() || since.Before(b.first) {
		b.first = since
	}
	if at.After(b.newest) {
		b.newest = at
	}
}

// cover says whether arrivals were counted from the last known instant until at.
func (b *Builder) cover(at time.Time, counted bool) {
	if !at.After(b.known) {
		return
	}
	gaps := b.w.Gaps
	switch n := len(gaps); {
	case counted:
		b.w.Covered += at.Sub(b.known)
	case n > 0 && (gaps[n-1].To.Equal(b.known) || n == MaxGaps):
		gaps[n-1].To = at
	default:
		b.w.Gaps = append(gaps, Gap{b.known, at})
	}
	b.known = at
}

// learned takes the arrivals and durations of a record. The newest record before the window is unknown, so the arrivals
// of an interval that the window cuts count in proportion.
func (b *Builder) learned(at time.Time, l *learning.Learned) {
	if series.ValidCame(l.Came) {
		b.folded(l.Came)
	}
	if l.Arrived > 0 && len(l.Came) == 0 && l.Arrived < trace.MaxMessages {
		since := l.Since
		if at.Sub(since) > longest {
			since = at // nothing is known of the time between
		}
		b.span(since, at)
		b.arrive(l.Since, at, l.Arrived)
	}
	b.correct(l)
	b.w.Past.learned(l)
	b.w.Failed += max(0, l.Failed)
	if series.Valid(l.Boots) {
		b.w.Boots = series.Merge(b.w.Boots, l.Boots)
	}
	if l.Processing.Count <= 0 || !series.Valid(l.Processing) {
		return
	}
	s := services{n: l.Processing.Count}
	rest := l.Processing
	for _, name := range slices.Sorted(maps.Keys(l.Classes)) {
		d := l.Classes[name]
		if d.Count > 0 && series.Valid(d) && d.Count <= rest.Count && len(name) <= trace.MaxText {
			rest = series.Less(rest, d)
			s.classes = append(s.classes, class{name, d})
		}
	}
	if rest.Count > 0 {
		s.classes = append([]class{{"", rest}}, s.classes...)
	}
	b.w.services = append(b.w.services, s)
	b.w.Durations = series.Merge(b.w.Durations, l.Processing)
}

// folded takes the arrivals of a folded record. Each of its five minutes was counted, also one without messages.
// Decisions are not kept for as long as folded records, so only these say that a controller ran then.
func (b *Builder) folded(all []series.Came) {
	for _, c := range all {
		from := time.Unix(c.From, 0).UTC()
		end := from.Add(came)
		if end.After(b.w.From) && from.Before(b.w.To) {
			until := end
			if until.After(b.w.To) {
				until = b.w.To
			}
			b.span(from, until)
			b.cover(from, from.Sub(b.known) <= longestSilence)
			b.cover(until, true)
		}
		if c.Messages > 0 {
			b.arrive(from, end, float64(c.Messages))
		}
	}
}

// correct takes back arrivals that a later record corrects. The counts of a distributed queue are approximate, so its
// arrivals may be too many; once it is empty, the total is exact again and falls. A queue that was made anew counts
// from 0, but its record has arrivals.
func (b *Builder) correct(l *learning.Learned) {
	for _, queue := range slices.Sorted(maps.Keys(l.Sent)) {
		sent := l.Sent[queue]
		if before, known := b.sent[queue]; known && sent < before && l.Arrived == 0 {
			b.part -= before - sent
		}
		b.sent[queue] = sent
	}
}

// arrive adds the arrivals of an interval. Intervals overlap a little, because a poll takes time; messages come in
// order, so an interval begins where the one before it ended.
func (b *Builder) arrive(since, at time.Time, n float64) {
	from, to := since.Sub(b.w.From), at.Sub(b.w.From)
	span, end := to-from, b.w.To.Sub(b.w.From)
	if cut := min(to, end) - max(from, 0); span > 0 && cut < span {
		n *= max(0, cut.Seconds()/span.Seconds())
	}
	to = min(to, end)
	from = min(max(from, b.last), to)
	whole := max(0, math.Floor(b.part+n+1e-9)) // counts are sums of floating-point numbers
	b.part += n - whole
	if to < 0 || whole < 1 || b.w.Messages+int64(whole) > trace.MaxMessages {
		return
	}
	b.last = to
	b.w.Messages += int64(whole)
	switch {
	case span > longest:
		b.w.Unplaced += int64(whole)
	case span > fine:
		b.w.Coarse += int64(whole)
	}
	b.w.arrivals = append(b.w.arrivals, arrivals{from, to, int64(whole)})
}

// Window returns the result. The Builder must not be used after it.
func (b *Builder) Window() Window {
	end := b.w.To.Sub(b.known) <= longestSilence
	b.cover(b.w.To, b.counting && end)
	b.w.Past.hold(b.decision, b.w.To)
	b.w.first, b.w.newest = b.first, b.newest
	b.w.Measured = max(0, min(b.w.Messages, b.w.Durations.Count-b.w.skip()))
	return b.w
}
