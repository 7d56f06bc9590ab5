package peer

import (
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/muster-scale/muster"
)

// turn is one decision in the making.
type turn struct {
	rule string
	o    muster.Observation
	d    muster.Decision
	// keep is what the decision leaves for the next one, wish the wish in force.
	keep notes
	wish int
	// struck is when the clock of the peer struck that this turn belongs to, in seconds since 1970.
	struck float64
}

// begin starts the decision of the named peer with the size as it is. Of what the last decision kept it takes over the
// given names: those of another policy, which ran before, are forgotten.
func begin(o muster.Observation, recent muster.Recent, rule string, names ...string) *turn {
	desired := o.Capacity.Desired
	t := &turn{rule: rule, o: o, wish: desired, d: muster.Decision{
		Fleet: o.Fleet, At: o.At, Policy: rule + "/1",
		Previous: desired, Wish: desired, Desired: desired, Floor: desired,
		Verdict: muster.Apply,
	}}
	if len(recent) == 0 {
		return t
	}
	last := recent[len(recent)-1]
	t.wish = last.Wish
	for _, name := range names {
		if v, ok := last.Find(name); ok {
			t.keep.set(name, v)
		}
	}
	return t
}

// settle ends the turn with n workers, none of which leaves by itself.
func (t *turn) settle(n int, in []muster.Value, format string, args ...any) muster.Decision {
	d := t.d
	n = max(0, n)
	d.Wish, d.Floor, d.Kept = n, n, t.keep
	return d.With(muster.Term{Rule: t.rule, In: in, Out: n, Why: fmt.Sprintf(format, args...)})
}

// hold ends the turn with the size as it is. The wish in force stays too.
func (t *turn) hold(reason muster.Reason, in []muster.Value, format string, args ...any) muster.Decision {
	d := t.d
	d.Wish, d.Kept = t.wish, t.keep
	return d.Held(reason, muster.Term{Rule: t.rule, In: in, Why: fmt.Sprintf(format, args...)})
}

// between ends a turn in which no clock of the peer struck.
func (t *turn) between() muster.Decision {
	return t.hold(muster.Steady, nil, "between two looks at the queue")
}

// need names signals that a peer cannot do without.
type need int

const (
	needBacklog need = 1 << iota
	needInFlight
	needCapacity

	needWork = needBacklog | needInFlight
)

// missing says which needed signal is unknown, if any.
func (t *turn) missing(n need) (reason muster.Reason, why string) {
	if n&needCapacity != 0 && !t.o.Capacity.Known {
		return muster.UnknownCapacity, "the fleet could not be listed: " + t.o.Capacity.Reason
	}
	if s := t.o.Backlog(); n&needBacklog != 0 && !s.Known {
		return muster.UnknownBacklog, "the backlog is " + s.String()
	}
	if s := t.o.InFlight(); n&needInFlight != 0 && !s.Known {
		return muster.UnknownInFlight, "the number of messages in flight is " + s.String()
	}
	return "", ""
}

// lacks returns a hold, and true, while a needed signal is unknown.
func (t *turn) lacks(n need) (muster.Decision, bool) {
	reason, why := t.missing(n)
	if reason == "" {
		return muster.Decision{}, false
	}
	return t.hold(reason, nil, "%s", why), true
}

// work returns backlog plus in flight.
func work(o muster.Observation) float64 {
	return min(o.Backlog().Value+o.InFlight().Value, math.MaxFloat64)
}

// slots returns the slots of a worker, above zero.
func slots(o muster.Observation) float64 {
	if s := o.Capacity.SlotsPerWorker; s > 0 && !math.IsInf(s, 0) {
		return s
	}
	return 1
}

// workers rounds up to a size, forgiving the rounding error of a division that should have been whole. What is no
// number is 0.
func workers(v float64) int {
	if !(v > 0) {
		return 0
	}
	return int(min(math.Ceil(v-1e-9), math.MaxInt32))
}

// clamp returns n within low and high; high wins.
func clamp(n, low, high int) int { return min(max(n, low), high) }

// num is a named number; what is not finite becomes the nearest number that is.
func num(name string, v float64) muster.Value {
	if math.IsNaN(v) {
		v = 0
	}
	return muster.Value{Name: name, Value: max(-math.MaxFloat64, min(v, math.MaxFloat64))}
}

// seconds returns an instant as seconds since 1970, good to a microsecond.
func seconds(at time.Time) float64 { return float64(at.Unix()) + float64(at.Nanosecond())/1e9 }

// tick is how far two instants may differ and still count as the same.
const tick = 1e-6

// notes are the numbers a peer keeps from one decision to the next.
type notes []muster.Value

// get returns the number of the given name, and whether there is one.
func (n notes) get(name string) (float64, bool) { return muster.Past{Kept: n}.Find(name) }

// or returns the number of the given name, or otherwise.
func (n notes) or(name string, otherwise float64) float64 {
	if v, ok := n.get(name); ok {
		return v
	}
	return otherwise
}

// set keeps a finite number under a name, and drops the name for one that is not finite.
func (n *notes) set(name string, v float64) {
	i := slices.IndexFunc(*n, func(x muster.Value) bool { return x.Name == name })
	switch finite := !math.IsNaN(v) && !math.IsInf(v, 0); {
	case !finite && i >= 0:
		*n = slices.Delete(*n, i, i+1)
	case finite && i >= 0:
		(*n)[i].Value = v
	case finite && len(*n) < muster.MaxKept:
		*n = append(*n, muster.Value{Name: name, Value: v})
	}
}

// drop forgets a name.
func (n *notes) drop(name string) { n.set(name, math.NaN()) }

// due tells whether the clock kept under a name strikes at the instant at, and returns the instant it should have
// struck at. The first stroke comes after first. The next one is a period after the last, however late that was
// noticed, so that a controller that steps every second keeps the peer's own pace; strokes that were missed are not
// made up for.
func (n *notes) due(name string, at time.Time, period, first time.Duration) (struck float64, due bool) {
	now, every := seconds(at), period.Seconds()
	next, ok := n.get(name)
	switch {
	case !ok:
		next = now + first.Seconds()
	case next > now+every+tick: // the clock was set back
		next = now
	}
	if now < next-tick {
		n.set(name, next)
		return 0, false
	}
	if now-next >= every {
		next = now
	}
	n.set(name, next+every)
	return next, true
}

// lastChange returns when desired last rose, or last fell, among the recent decisions.
func lastChange(recent muster.Recent, up bool) (time.Time, bool) {
	for i := len(recent) - 1; i >= 0; i-- {
		if p := recent[i]; p.Desired != p.Previous && (p.Desired > p.Previous) == up {
			return p.At, true
		}
	}
	return time.Time{}, false
}

// within tells whether desired changed, in one of the directions given, less than a time ago.
func within(o muster.Observation, recent muster.Recent, d time.Duration, directions ...bool) (ago time.Duration,
	is bool) {
	for _, up := range directions {
		if at, ok := lastChange(recent, up); ok && o.At.Sub(at) < d && (!is || o.At.Sub(at) < ago) {
			ago, is = o.At.Sub(at), true
		}
	}
	return ago, is
}

const (
	up   = true
	down = false
)
