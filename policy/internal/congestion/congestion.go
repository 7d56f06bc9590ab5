// Package congestion finds out whether work takes longer the more messages wait, as with a shared database whose table
// they fill, and says how many may wait for a worker then. [Trend] is what was measured. A policy has no state, so each
// decision keeps the numbers, and the next one reads them:
//
//	t := congestion.TrendOf(recent).Next(o, mean)
//	workers := backlog / t.WaitingEach(mean, boot, slots)
//	d.Kept = t.Kept()
//
// All functions are pure. When workers are launched for it is the caller's to say: see package planning.
package congestion

import (
	"math"

	"github.com/muster-scale/muster"
	"github.com/muster-scale/muster/policy/internal/rules"
)

// The names of the numbers that decisions keep.
const (
	keptAt       = "congestion_at_s"
	keptWaiting  = "congestion_waiting"
	keptMessages = "congestion_messages"
	keptWindows  = "congestion_windows"
	keptX        = "congestion_x"
	keptY        = "congestion_y"
	keptXX       = "congestion_xx"
	keptYY       = "congestion_yy"
	keptXY       = "congestion_xy"
	keptT        = "congestion_t"
	keptTT       = "congestion_tt"
	keptXT       = "congestion_xt"
	keptYT       = "congestion_yt"
)

// Trend is how durations change with the number of messages that wait: the weighted least squares of a line through
// pairs of x, the messages that waited for each worker when work began, and y, its duration in seconds.
type Trend struct {
	// At is when it was measured last, in seconds since 1970. Waiting is how many messages waited for each worker
	// lately, as a mean over about the duration of a message.
	At, Waiting float64
	// Messages and Windows count what was measured, and each window counts [forget] of the one after it.
	Messages, Windows float64
	// X to XY are the means of x, y and their products over the messages. T to YT are those with their age, counted
	// in windows in which messages ended.
	X, Y, XX, YY, XY, T, TT, XT, YT float64
}

const (
	// forget is the weight of a window in the next one.
	forget = 0.99
	// few is the least of Windows that says something, which takes 23 of them; sure is how many standard errors the
	// slope must exceed.
	few, sure = 20, 3
	// mostWaiting bounds how many messages count as waiting for a worker.
	mostWaiting = 1e4
)

// TrendOf returns the trend that the newest decision kept, or zero if it kept none.
func TrendOf(recent muster.Recent) Trend {
	var t Trend
	for _, f := range t.fields() {
		*f.value = rules.Kept(recent, f.name)
	}
	return t
}

// Kept returns the numbers of t for a decision, without those that are 0.
func (t Trend) Kept() (all []muster.Value) {
	for _, f := range t.fields() {
		switch {
		case *f.value == 0:
		case f.name == keptAt: // an instant, to the millisecond as it was read
			all = append(all, rules.Value(f.name, *f.value))
		default:
			all = append(all, rules.Value(f.name, nineDigits(*f.value)))
		}
	}
	return all
}

// nineDigits rounds v to nine digits: durations may be of milliseconds or hours, and the variance is a difference of
// two of these numbers.
func nineDigits(v float64) float64 {
	if math.Abs(v) < 1e-12 {
		return 0
	}
	scale := math.Pow(10, 8-math.Floor(math.Log10(math.Abs(v))))
	return math.Round(v*scale) / scale
}

// field is a number of a trend with the name under which decisions keep it.
type field struct {
	name  string
	value *float64
}

// fields returns all numbers of t, always in the same order.
func (t *Trend) fields() []field {
	return []field{{keptAt, &t.At}, {keptWaiting, &t.Waiting}, {keptMessages, &t.Messages}, {keptWindows, &t.Windows},
		{keptX, &t.X}, {keptY, &t.Y}, {keptXX, &t.XX}, {keptYY, &t.YY}, {keptXY, &t.XY}, {keptT, &t.T}, {keptTT, &t.TT},
		{keptXT, &t.XT}, {keptYT, &t.YT}}
}

// Next returns the trend after an observation, in which work takes mean seconds. It measures once in each window of
// [muster.Pace]: the messages that ended in it began about a duration ago, when Waiting messages waited for each
// worker. Without a worker in service nothing is measured.
func (t Trend) Next(o muster.Observation, mean float64) Trend {
	now, window, workers := rules.Seconds(o.At), o.Pace.Over().Seconds(), float64(o.Capacity.InService())
	if !o.Backlog().Known || workers == 0 || now-t.At < window {
		return t
	}
	x := math.Min(mostWaiting, o.Backlog().Value/workers)
	if t.At == 0 && x == 0 {
		return t // no message has waited yet
	}
	if n := o.Pace.Finished; n > 0 && t.At > 0 {
		y, before := o.Pace.Seconds/n, forget*t.Messages
		mix := func(mean *float64, v float64) { *mean = (before**mean + n*v) / (before + n) }
		t.TT, t.T, t.XT, t.YT = t.TT+2*t.T+1, t.T+1, t.XT+t.X, t.YT+t.Y // all are a window older
		for _, ofNew := range []*float64{&t.TT, &t.T, &t.XT, &t.YT} {
			mix(ofNew, 0)
		}
		mix(&t.X, t.Waiting)
		mix(&t.Y, y)
		mix(&t.XX, t.Waiting*t.Waiting)
		mix(&t.YY, y*y)
		mix(&t.XY, t.Waiting*y)
		t.Messages, t.Windows = before+n, forget*t.Windows+1
	}
	if t.At == 0 {
		t.Waiting = x
	}
	t.Waiting += (x - t.Waiting) * (1 - math.Exp(-(now-t.At)/math.Max(mean, window/2)))
	t.At = now
	return t
}

// Slope returns by which share of the duration without waiting messages the work takes longer for each message that
// waits for a worker. The line is
//
//	slope = cov(x, y) / var(x)
//	error = sqrt((var(y) - slope cov(x, y)) / var(x) / (windows - 3))
//
// of which three errors are subtracted from the slope. It is 0 where nothing is left, or where few windows were
// measured. Windows count and not messages, because those of one window waited together. What follows a line over the
// time does not count in x, y and their product: work may change for another reason while the queue grows or shrinks.
func (t Trend) Slope() float64 {
	varX, varY, cov := t.XX-t.X*t.X, t.YY-t.Y*t.Y, t.XY-t.X*t.Y
	if varT, xt, yt := t.TT-t.T*t.T, t.XT-t.X*t.T, t.YT-t.Y*t.T; varT > 0 {
		varX, varY, cov = varX-xt*xt/varT, varY-yt*yt/varT, cov-xt*yt/varT
	}
	if t.Windows < few || varX <= 0 || cov <= 0 {
		return 0
	}
	slope := cov / varX
	slope -= sure * math.Sqrt(math.Max(0, varY-slope*cov)/varX/(t.Windows-3))
	alone := t.Y - slope*t.X
	if slope <= 0 || alone <= 0 {
		return 0
	}
	return slope / alone
}

// WaitingEach returns how many messages may wait for a worker of so many slots where work of mean seconds takes longer
// the more wait, at least one for each slot; infinite where it does not. For n workers that work off N messages,
//
//	cost(n) = n (b + i) + N m y N / (2 n s)   with i = m (1 - 1/s) / 2
//	N / n   = sqrt(2 s (b + i) / (m y))
//
// b is the boot time, m the mean duration, y the slope, s the slots. A worker costs its boot, and i for the slots that
// are idle while its last messages end. While N messages are worked off, N / 2 n of them wait for a worker on average.
func (t Trend) WaitingEach(mean, boot, slots float64) float64 {
	slope := t.Slope()
	if slope == 0 {
		return math.Inf(1)
	}
	idle := mean * (1 - 1/slots) / 2
	return math.Max(slots, math.Sqrt(2*slots*(boot+idle)/(mean*slope)))
}
