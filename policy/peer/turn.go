package peer

import (
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/muster-scale/muster"
)

// turn is one decision under construction.
type turn struct {
	rule string
	o    muster.Observation
	d    muster.Decision
	// keep holds the numbers for the next decision, wish the recommendation in force.
	keep notes
	wish int
	// struck is the time, in seconds since 1970, at which the peer's clock was due for this turn.
	struck float64
}

// begin starts the decision of the named peer at the present size. It takes over the given names from the numbers that
// the last decision kept; numbers of another policy that ran before are dropped.
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

// settle ends the turn with n workers, none of which stops by itself. The other arguments explain it in the trail.
func (t *turn) settle(n int, in []muster.Value, format string, args ...any) muster.Decision {
	d := t.d
	n = max(0, n)
	d.Wish, d.Floor, d.Kept = n, n, t.keep
	return d.With(muster.Term{Rule: t.rule, In: in, Out: n, Why: fmt.Sprintf(format, args...)})
}

// hold ends the turn at the present size, with the recommendation in force.
func (t *turn) hold(reason muster.Reason, in []muster.Value, format string, args ...any) muster.Decision {
	d := t.d
	d.Wish, d.Kept = t.wish, t.keep
	return d.Held(reason, muster.Term{Rule: t.rule, In: in, Why: fmt.Sprintf(format, args...)})
}

// between ends a turn in which no clock of the peer was due.
func (t *turn) between() muster.Decision {
	return t.hold(muster.Steady, nil, "between two polls of the queue")
}

// need is a set of signals that a peer needs.
type need int

const (
	needBacklog need = 1 << iota
	needInFlight
	needCapacity

	needWork = needBacklog | needInFlight
)

// missing returns the first needed signal that is unknown, if any.
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

// lacks returns a hold, and true, if a needed signal is unknown.
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

// workers rounds v up to a size. It forgives the rounding error of a division that should be whole; not-a-number is 0.
func workers(v float64) int {
	if !(v > 0) {
		return 0
	}
	return int(min(math.Ceil(v-1e-9), math.MaxInt32))
}

// clamp returns n between low and high; high wins if they contradict.
func clamp(n, low, high int) int { return min(max(n, low), high) }

// num returns a named number. Infinities become the largest finite number, not-a-number becomes 0: a term must be
// finite.
func num(name string, v float64) muster.Value {
	if math.IsNaN(v) {
		v = 0
	}
	return muster.Value{Name: name, Value: max(-math.MaxFloat64, min(v, math.MaxFloat64))}
}

// seconds returns a time as seconds since 1970, precise to a microsecond.
func seconds(at time.Time) float64 { return float64(at.Unix()) + float64(at.Nanosecond())/1e9 }

// tick is the difference up to which two times count as the same.
const tick = 1e-6

// notes are the numbers that a peer keeps from one decision to the next.
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

// set keeps a finite number under a name, and drops the name for one that is not finite. A decision has room for
// [muster.MaxKept] numbers; more are dropped.
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

// drop deletes a name.
func (n *notes) drop(name string) { n.set(name, math.NaN()) }

// due tells whether the clock kept under a name is due at the given time, and returns the time at which it was due. It
// is first due after first, and then once a period after the last due time, however late that was noticed. So the pace
// stays the peer's own when the controller steps every second. Missed times are not made up for.
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

// lastChange returns the time of the last rise, or the last fall, of desired among the recent decisions.
func lastChange(recent muster.Recent, up bool) (time.Time, bool) {
	for i := len(recent) - 1; i >= 0; i-- {
		if p := recent[i]; p.Desired != p.Previous && (p.Desired > p.Previous) == up {
			return p.At, true
		}
	}
	return time.Time{}, false
}

// within tells whether desired changed in one of the given directions less than d ago.
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
