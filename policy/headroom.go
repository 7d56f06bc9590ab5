package policy

import (
	"fmt"

	"github.com/muster-scale/muster"
	"github.com/muster-scale/muster/internal/render"
	"github.com/muster-scale/muster/policy/internal/rules"
)

// Headroom keeps some workers above the size that the work itself occupies:
//
//	desired >= floor + max(Workers, ceil(floor Percent / 100))
//
// floor is the floor of the wrapped decision.
type Headroom struct {
	// Of is the policy that says what the work needs.
	Of muster.Policy
	// Workers is how many to keep, Percent how many per hundred needed ones, rounded up. At most one is above zero.
	Workers int
	Percent float64
}

// Decide implements [muster.Policy].
func (p Headroom) Decide(o muster.Observation, recent muster.Recent) muster.Decision {
	d := p.Of.Decide(o, recent)
	if d.Verdict == muster.Hold || (p.Workers == 0 && p.Percent == 0) {
		return d
	}
	// The floor is what the work occupies. Adding to desired instead would compound for a policy that starts from the
	// present size.
	warm := max(p.Workers, rules.Ceil(float64(d.Floor)*p.Percent/100))
	floor := d.Floor + warm
	if floor >= o.Capacity.Active() {
		d.IdleStop = 0
	}
	if floor <= d.Desired {
		d.Floor = floor
		return d
	}
	needed := d.Floor
	d = d.With(muster.Term{
		Rule: "headroom", In: []muster.Value{rules.Value("needed", float64(needed)),
			rules.Value("warm", float64(warm))},
		Out: floor,
		Why: fmt.Sprintf("%s kept warm above the %d needed", render.Plural(warm, "worker"), needed),
	})
	d.Floor = floor
	return d
}
