package policy

import "github.com/muster-scale/muster"

// Shadow turns what would be applied into what is only recorded, because another system sizes the fleet. A hold stays a
// hold.
type Shadow struct {
	Of muster.Policy
}

// Decide implements [muster.Policy].
func (p Shadow) Decide(o muster.Observation, recent muster.Recent) muster.Decision {
	d := p.Of.Decide(o, recent)
	if d.Verdict == muster.Apply {
		d.Verdict = muster.Shadow
	}
	return d
}
