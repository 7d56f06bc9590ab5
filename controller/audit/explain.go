package audit

import (
	"encoding/json"
	"fmt"
	"math"

	"github.com/muster-scale/muster"
	"github.com/muster-scale/muster/controller"
	"github.com/muster-scale/muster/policy"
)

// Explanation says why a decision has its number, why it is no larger, and what would change it.
type Explanation struct {
	Position    muster.Position    `json:"position"`
	Decision    muster.Decision    `json:"decision"`
	Observation muster.Observation `json:"observation"`
	// Why is the decision in one sentence.
	Why string `json:"why"`
	// WhyNotMore is what keeps the size from being larger.
	WhyNotMore string `json:"why_not_more"`
	// LastChange is the last decision that set another size, in a sentence with its time; empty if this decision does.
	// The caller fills it in.
	LastChange string `json:"last_change,omitzero"`
	// Changes are the nearest larger and smaller backlogs with another size.
	Changes []Change `json:"changes"`
}

// Change is a backlog for which the policy would have decided another size.
type Change struct {
	// Backlog is a number of waiting messages, Desired the size for it.
	Backlog int `json:"backlog"`
	Desired int `json:"desired"`
	// Sentence says it in words.
	Sentence string `json:"sentence"`
}

// maxProbe is the largest backlog that is tried.
const maxProbe = 1 << 30

// Explain explains a recorded decision, given the recent decisions before it.
func Explain(r muster.Record, recent muster.Recent) (Explanation, error) {
	var spec policy.Spec
	var body controller.Decided
	if err := json.Unmarshal(r.Shared, &spec); err != nil {
		return Explanation{}, fmt.Errorf("explain decision %d: read its policy: %w", r.Position.Seq, err)
	}
	if err := json.Unmarshal(r.Body, &body); err != nil {
		return Explanation{}, fmt.Errorf("explain decision %d: read its record: %w", r.Position.Seq, err)
	}
	p, err := policy.New(spec)
	if err != nil {
		return Explanation{}, fmt.Errorf("explain decision %d: build its policy: %w", r.Position.Seq, err)
	}
	e := ExplainDecision(p, body.Observation, recent, body.Decision)
	e.Position = r.Position
	return e, nil
}

// ExplainDecision explains the decision d of the policy p. It finds the backlogs that would change it by calling p with
// other backlogs, at most some hundred times. All other fields of the observation stay as they were.
func ExplainDecision(p muster.Policy, o muster.Observation, recent muster.Recent, d muster.Decision) Explanation {
	e := Explanation{Decision: d, Observation: o, Why: d.Sentence(), WhyNotMore: whyNotMore(o, d), Changes: []Change{}}
	backlog, known := o.Backlog().Count()
	if !known {
		return e
	}
	at := func(backlog int) int { return p.Decide(withBacklog(o, backlog), recent).Desired }
	if more, ok := search(backlog, maxProbe, func(b int) bool { return at(b) > d.Desired }); ok {
		e.Changes = append(e.Changes,
			Change{more, at(more), fmt.Sprintf("%d at a backlog of %d or more", at(more), more)})
	}
	// A fall is searched by the number of messages fewer, so that search can look for the smallest number again.
	if fewer, ok := search(0, backlog, func(n int) bool { return at(backlog-n) < d.Desired }); ok {
		b := backlog - fewer
		e.Changes = append(e.Changes, Change{b, at(b), fmt.Sprintf("%d at a backlog of %d or less", at(b), b)})
	}
	return e
}

// search returns the smallest n in (from, to] for which is holds. It doubles its steps and then bisects, which is right
// only if is, once true, stays true for larger n. Policies are monotonic in the backlog; a test holds that.
func search(from, to int, is func(int) bool) (int, bool) {
	low, step := from, 1
	for low < to && !is(min(low+step, to)) {
		low = min(low+step, to)
		step *= 2
	}
	if low >= to {
		return 0, false
	}
	high := min(low+step, to)
	for high-low > 1 {
		if mid := low + (high-low)/2; is(mid) {
			high = mid
		} else {
			low = mid
		}
	}
	return high, true
}

// withBacklog returns o with the given number of waiting messages in all. The first queues keep theirs as far as
// possible; the last one takes the rest.
func withBacklog(o muster.Observation, backlog int) muster.Observation {
	queues := append([]muster.QueueObservation(nil), o.Queues...)
	rest := float64(backlog)
	for i := range queues {
		v := math.Min(rest, queues[i].Backlog.Value)
		if i == len(queues)-1 {
			v = rest
		}
		queues[i].Backlog.Value = v
		rest -= v
	}
	o.Queues = queues
	o.Waiting = waitingOf(o.Waiting, float64(backlog))
	return o
}

// waitingOf returns the groups with the given number of messages in all. Surplus messages are removed from the newest
// groups; missing ones are added with age 0.
func waitingOf(groups []muster.Waiting, messages float64) []muster.Waiting {
	if len(groups) == 0 {
		return nil
	}
	var kept []muster.Waiting
	for _, g := range groups {
		g.Messages = math.Min(g.Messages, messages)
		if messages -= g.Messages; g.Messages > 0 {
			kept = append(kept, g)
		}
	}
	switch n := len(kept); {
	case messages <= 0:
	case n == muster.MaxGroups:
		kept[n-1].Messages += messages
	default:
		kept = append(kept, muster.Waiting{Messages: messages})
	}
	return kept
}

// whyNotMore returns the maximum, or else the last term that lowered the size, or else the policy's own term.
func whyNotMore(o muster.Observation, d muster.Decision) string {
	if d.Desired >= o.Limits.Max {
		return fmt.Sprintf("%d is the maximum", d.Desired)
	}
	for i := len(d.Trail) - 1; i > 0; i-- {
		if d.Trail[i].Out < d.Trail[i-1].Out {
			return d.Trail[i].Why
		}
	}
	if len(d.Trail) == 0 {
		return ""
	}
	return "the policy needs no more: " + d.Trail[0].Why
}
