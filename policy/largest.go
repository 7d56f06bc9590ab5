package policy

import (
	"fmt"

	"github.com/muster-scale/muster"
	"github.com/muster-scale/muster/policy/internal/rules"
)

// Largest takes the largest size that any of its policies recommends. While one of them holds because a signal is
// unknown, the others may raise the size and none may lower it: the one that holds could have needed more.
type Largest struct {
	// Of holds at least one policy.
	Of []muster.Policy
}

// Decide implements [muster.Policy].
func (p Largest) Decide(o muster.Observation, recent muster.Recent) muster.Decision {
	d := rules.Begin(o, "largest/1")
	var best, held *muster.Decision
	floor := 0
	var trail []muster.Term
	for _, of := range p.Of {
		x := of.Decide(o, recent)
		trail = append(trail, x.Trail...)
		floor = max(floor, x.Floor)
		if d.Kept == nil {
			d.Kept = x.Kept // of two parts that keep numbers, the first one's count
		}
		switch {
		case x.Verdict == muster.Hold && held == nil:
			held = &x
		case x.Verdict != muster.Hold && (best == nil || x.Desired > best.Desired):
			best = &x
		}
	}
	d.Trail = trail
	if held != nil && (best == nil || best.Desired <= d.Previous) {
		return d.Held(held.Reason, muster.Term{Rule: "largest", Why: "a policy holds, so the size does not fall"})
	}
	d.Floor = floor
	return d.With(muster.Term{Rule: "largest", Out: best.Desired,
		Why: fmt.Sprintf("the largest is %d, of %s", best.Desired, best.Policy)})
}

// buildLargest builds the policies of a checked Spec without combinators, which apply to the result alone.
func buildLargest(s Spec) muster.Policy {
	var p Largest
	for _, of := range s.Largest {
		k, _ := kindOf(of.Name)
		p.Of = append(p.Of, k.build(of))
	}
	return p
}

// checkLargest returns the faults of the list. A policy in it has no limits of its own, and is not "largest" itself, so
// that the trail stays readable.
func checkLargest(s Spec) []error {
	if len(s.Largest) < 2 || len(s.Largest) > 8 {
		return []error{&Fault{"policy.largest", fmt.Sprintf("%d of them", len(s.Largest)), "2 to 8 policies"}}
	}
	var faults []error
	for _, of := range s.Largest {
		if of.Name == "largest" || of.HeadroomWorkers != 0 || of.HeadroomPercent != 0 || of.PricePerHour != 0 ||
			of.BudgetPerHour != 0 || of.Out != (Shape{}) || of.In != (Shape{}) || of.Shadow {
			faults = append(faults, &Fault{"policy.largest", fmt.Sprintf("%q", of.Name),
				"any other policy, without limits of its own"})
			continue
		}
		if err := of.Check(); err != nil {
			faults = append(faults, err)
		}
	}
	return faults
}
