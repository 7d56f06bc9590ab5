package muster

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// Verdict says what becomes of a decision.
type Verdict string

// The verdicts.
const (
	// Apply sets the desired size.
	Apply Verdict = "apply"
	// Hold leaves the size as it is; the decision's Reason says why.
	Hold Verdict = "hold"
	// Shadow records the decision and changes nothing: the system in charge keeps sizing the fleet.
	Shadow Verdict = "shadow"
	// Delegate leaves the size to the cloud's own target tracking.
	Delegate Verdict = "delegate"
)

// Reason names why a decision holds. Reasons are few and stable, so that metrics can count them.
type Reason string

// The reasons.
const (
	// Steady: the recommendation equals the desired size.
	Steady Reason = "steady"
	// UnknownBacklog, UnknownInFlight, UnknownProcessing and UnknownCapacity: a signal the policy needs is unknown.
	UnknownBacklog    Reason = "unknown_backlog"
	UnknownInFlight   Reason = "unknown_in_flight"
	UnknownProcessing Reason = "unknown_processing"
	UnknownCapacity   Reason = "unknown_capacity"
	// UnknownTrees: the store of trees cannot be read, so the messages that running trees will send are unknown.
	UnknownTrees Reason = "unknown_trees"
	// UnknownMetric: the metric-math expression has no value, or none that allows a decrease.
	UnknownMetric Reason = "unknown_metric"
	// Stabilising: the recommendation has not lasted for the stabilisation window.
	Stabilising Reason = "stabilising"
	// CoolingDown: the last change is too recent for another step.
	CoolingDown Reason = "cooling_down"
	// RateLimited: the size may not change that fast.
	RateLimited Reason = "rate_limited"
	// LaunchesFailing: members do not start; the next attempt waits.
	LaunchesFailing Reason = "launches_failing"
	// NoRoom: draining and lost members still count against the maximum, so that nothing can be launched.
	NoRoom Reason = "no_room"
	// LaunchBudget: the launch attempts of the last hour have reached [Limits].LaunchesPerHour.
	LaunchBudget Reason = "launch_budget"
	// Contested: another controller sizes the fleet's own service too, see [Drift].
	Contested Reason = "contested"
	// OverBudget: more workers would cost more in an hour than the budget allows.
	OverBudget Reason = "over_budget"
	// Paused: an operator paused the fleet. ScaleInHeld: an operator holds its scale-in.
	Paused      Reason = "paused"
	ScaleInHeld Reason = "scale_in_held"
)

// Value is one named number in a term.
type Value struct {
	// Name is the word for the number, with its unit where it has one ("mpd_s").
	Name string `json:"name"`
	// Value is finite.
	Value float64 `json:"value"`
}

// Term is one step of a decision's arithmetic.
type Term struct {
	// Rule names the policy or limit, as written in the configuration.
	Rule string `json:"rule"`
	// In holds the numbers that went in, in the order a person would read them.
	In []Value `json:"in,omitzero"`
	// Out is the size that came out.
	Out int `json:"out"`
	// Why says the same in words.
	Why string `json:"why"`
}

// Decision is the size that a policy decides for a fleet, with everything that led to it. It is a function of the
// observation and the recent decisions alone: a recomputation from its record gives equal bytes for the same policy
// revision.
type Decision struct {
	Fleet string    `json:"fleet"`
	At    time.Time `json:"at"`
	// Policy is the policy's name and revision, as in "exact/2".
	Policy string `json:"policy"`
	// Previous is the desired size before the decision. Wish is the recommendation: the policy's size before windows,
	// rates and limits. Desired is the result, and [Limits] hold for it.
	Previous int `json:"previous"`
	Wish     int `json:"wish"`
	Desired  int `json:"desired"`
	// Floor is the size down to which workers may stop by themselves without a new decision. 0 <= Floor <= Desired.
	Floor int `json:"floor"`
	// IdleStop lets workers above Floor become ready to stop by themselves once they were without a message for so
	// long; zero leaves that to the configuration of the workers.
	IdleStop time.Duration `json:"idle_stop_ns,omitzero"`
	Verdict  Verdict       `json:"verdict"`
	// Reason is set when the verdict is Hold.
	Reason Reason `json:"reason,omitzero"`
	// Trail holds the terms in the order in which they were applied; the policy's own comes first.
	Trail []Term `json:"trail"`
	// Kept holds the numbers that the policy reads from [Past] at its next decision, at most [MaxKept] of them. It is
	// the only memory of a policy.
	Kept []Value `json:"kept,omitzero"`
}

// MaxKept bounds [Decision].Kept, because history stores these numbers with every decision.
const MaxKept = 16

// With returns d with the term t appended to its trail and t.Out as its desired size. The trail of d is copied, so that
// two decisions made from one never share a term.
func (d Decision) With(t Term) Decision {
	d.Trail = append(append(make([]Term, 0, len(d.Trail)+1), d.Trail...), t)
	d.Desired = t.Out
	d.Floor = min(d.Floor, d.Desired)
	return d
}

// Held returns d as a hold at the previous size, for the given reason, with a term that says why.
func (d Decision) Held(reason Reason, t Term) Decision {
	t.Out = d.Previous
	d = d.With(t)
	d.Verdict, d.Reason = Hold, reason
	return d
}

// Sentence renders the decision in one sentence: the change of size first, then the reason of each term.
func (d Decision) Sentence() string {
	var what string
	switch {
	case d.Verdict == Hold:
		what = fmt.Sprintf("holding at %d", d.Desired)
	case d.Verdict == Shadow:
		what = fmt.Sprintf("would set %d (now %d)", d.Desired, d.Previous)
	case d.Verdict == Delegate:
		what = "left to the cloud"
	case d.Desired > d.Previous:
		what = fmt.Sprintf("up from %d to %d", d.Previous, d.Desired)
	case d.Desired < d.Previous:
		what = fmt.Sprintf("down from %d to %d", d.Previous, d.Desired)
	default:
		what = fmt.Sprintf("staying at %d", d.Desired)
	}
	why := make([]string, 0, len(d.Trail))
	for _, t := range d.Trail {
		if t.Why != "" {
			why = append(why, t.Why)
		}
	}
	return what + ": " + strings.Join(why, "; ")
}

// Past is the part of a decision that later decisions read. Its numbers hold from At until the At of the next entry.
type Past struct {
	At      time.Time `json:"at"`
	Wish    int       `json:"wish"`
	Desired int       `json:"desired"`
	// Previous is the desired size before.
	Previous int `json:"previous"`
	// Kept are the numbers that the policy kept for its next decision.
	Kept []Value `json:"kept,omitzero"`
}

// Find returns the kept number of the given name; ok is false if there is none.
func (p Past) Find(name string) (value float64, ok bool) {
	for _, v := range p.Kept {
		if v.Name == name {
			return v.Value, true
		}
	}
	return 0, false
}

// MaxRecent bounds a [Recent]. The oldest entries go first.
const MaxRecent = 4096

// Recent are the recent decisions of one fleet, oldest first. Equal neighbours are merged, so that it is the same
// whether every decision was recorded or only the changes.
type Recent []Past

// With returns r after the decision d, without the entries that ended more than keep before d. r itself is not changed.
func (r Recent) With(d Decision, keep time.Duration) Recent {
	from := 0
	// An entry holds until the next one begins: it may go only when its successor is old enough.
	for from+1 < len(r) && !r[from+1].At.After(d.At.Add(-keep)) {
		from++
	}
	if d.Verdict == Shadow {
		d.Desired = d.Previous // nothing was done: the size is the one that the system in charge set
	}
	from = max(from, len(r)-MaxRecent+1)
	next := make(Recent, 0, len(r)-from+1)
	next = append(next, r[from:]...)
	if n := len(next); n > 0 && next[n-1].Wish == d.Wish && next[n-1].Desired == d.Desired && d.Previous == d.Desired &&
		slices.Equal(next[n-1].Kept, d.Kept) {
		return next
	}
	return append(next, Past{At: d.At, Wish: d.Wish, Desired: d.Desired, Previous: d.Previous, Kept: d.Kept})
}

// Since returns the entries that held at any time from start on. The first of them may have begun before start.
func (r Recent) Since(start time.Time) Recent {
	for i := len(r) - 1; i >= 0; i-- {
		if !r[i].At.After(start) {
			return r[i:]
		}
	}
	return r
}
