package recorded

import (
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/muster-scale/muster/series"
	"github.com/muster-scale/muster/sim/trace"
	"github.com/muster-scale/muster/sim/trace/internal/chance"
)

// Options say what of a trace the records leave open. The zero value is usable.
type Options struct {
	// Seed draws where messages arrive in their interval and in which order durations follow.
	Seed uint64
	// Mean is the duration of every message if none was recorded; zero for unknown.
	Mean time.Duration
}

// ErrNothing means that a window has no message to replay.
var ErrNothing = errors.New("no message was recorded")

// ErrNoDurations means that no duration was recorded, so that the trace cannot say how long the work takes.
var ErrNoDurations = errors.New("no duration of a message was recorded; state the mean, as in processing: 10s")

// Trace returns the recorded messages as a trace. The error matches [ErrNothing] or [ErrNoDurations].
func (w Window) Trace(o Options) (trace.Trace, error) {
	what := fmt.Sprintf("replay what was recorded of fleet %s from %s to %s", w.Fleet, stamp(w.From), stamp(w.To))
	switch {
	case w.Messages == 0:
		return trace.Trace{}, fmt.Errorf("%s: %w", what, ErrNothing)
	case w.Durations.Count == 0 && o.Mean <= 0:
		return trace.Trace{}, fmt.Errorf("%s: %w", what, ErrNoDurations)
	}
	return trace.Trace{Name: w.Fleet + ", recorded", Open: func() (trace.Reader, error) {
		return &generator{
			w: &w, mean: o.Mean, places: chance.New(o.Seed, chance.ForArrivals),
			order: chance.New(o.Seed, chance.ForServices), services: w.services, skip: w.skip(),
		}, nil
	}}, nil
}

// skip returns how many of the first durations belong to messages that came before the window. A window that began
// with more messages than it finished keeps them all: then the durations are at least those of the same time.
func (w Window) skip() int64 {
	if w.Waiting < w.Durations.Count {
		return w.Waiting
	}
	return 0
}

// generator reads the messages of a window. It keeps one interval and one histogram.
type generator struct {
	w             *Window
	mean          time.Duration
	places, order *chance.Stream
	// interval is the index of the present interval, made how many of its messages were returned, and place the
	// logarithm of the share of the interval behind the newest one.
	interval int
	made     int64
	place    float64
	last     time.Duration
	// services are the histograms from the present one on, skip how many durations of them to leave out. returned
	// counts all messages, and due is the number of messages after which the present histogram ends.
	services      []services
	skip          int64
	returned, due int64
	counted       int64
	left          []choice
	lefts         int64
}

// choice is one duration of a histogram, with how often it is left to draw.
type choice struct {
	class string
	took  time.Duration
	n     int64
}

// Next implements [trace.Reader].
func (g *generator) Next() (trace.Message, error) {
	for g.interval < len(g.w.arrivals) && g.made == g.w.arrivals[g.interval].n {
		g.interval, g.made, g.place = g.interval+1, 0, 0
	}
	if g.interval == len(g.w.arrivals) {
		return trace.Message{}, io.EOF
	}
	in := g.w.arrivals[g.interval]
	// The share of the interval behind the k-th of n random places is that behind the one before, times U^(1/(n-k+1)).
	g.place += chance.Ln(1-g.places.Uniform()) / float64(in.n-g.made)
	offset := time.Duration((1 - chance.Exp(g.place)) * float64(in.to-in.from))
	g.last = max(g.last, in.from+min(offset, in.to-in.from))
	g.made++
	m := trace.Message{Arrival: g.last, Service: g.mean}
	if len(g.services) > 0 {
		m.Service, m.Class = g.service()
	}
	g.returned++
	return m, nil
}

// service draws the duration of the next message. Where arrivals outnumber durations, each histogram serves
// proportionally more messages, so that durations stay at their time.
func (g *generator) service() (time.Duration, string) {
	for g.returned >= g.due && (len(g.services) > 1 || g.counted == 0) {
		if g.counted > 0 {
			g.services = g.services[1:]
		}
		g.open()
	}
	if g.lefts == 0 {
		g.refill()
	}
	at := int64(g.order.Uniform() * float64(g.lefts))
	for i := range g.left {
		c := &g.left[i]
		if at < c.n {
			c.n--
			g.lefts--
			return c.took, c.class
		}
		at -= c.n
	}
	return g.mean, "" // not reached: the numbers left add up to lefts
}

// open makes the first of the services the present one.
func (g *generator) open() {
	n := g.services[0].n
	skipped := min(n, g.skip)
	g.skip -= skipped
	g.counted += n - skipped
	total := g.w.Durations.Count - g.w.skip()
	g.due = g.counted
	if g.w.Messages > total {
		g.due = int64(float64(g.counted) / float64(total) * float64(g.w.Messages))
	}
	g.refill()
	if g.counted == 0 {
		g.services = g.services[1:] // every duration belongs to earlier messages
	}
}

// refill makes every duration of the present histogram available again.
func (g *generator) refill() {
	g.left, g.lefts = g.left[:0], 0
	for _, c := range g.services[0].classes {
		scale := scaleOf(c.durations)
		for _, b := range c.durations.Buckets {
			took := time.Duration(valueOf(b) * scale * float64(time.Second))
			g.left = append(g.left, choice{c.name, min(max(0, took), trace.MaxTime), b.Count})
			g.lefts += b.Count
		}
	}
}

// valueOf returns the duration in seconds that a bucket stands for.
func valueOf(b series.Bucket) float64 {
	return series.Quantile(series.Durations{Count: 1, Buckets: []series.Bucket{{Index: b.Index, Count: 1}}}, 0.5)
}

// scaleOf returns the factor that makes the mean of a histogram exact. Durations beyond the outermost buckets would
// need a large factor for all; then there is none.
func scaleOf(d series.Durations) float64 {
	sum := 0.0
	for _, b := range d.Buckets {
		sum += valueOf(b) * float64(b.Count)
	}
	if scale := d.SumSeconds / sum; sum > 0 && scale > 1-2*series.Accuracy && scale < 1+2*series.Accuracy {
		return scale
	}
	return 1
}
