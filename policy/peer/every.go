package peer

import (
	"time"

	"github.com/muster-scale/muster"
)

// Every gives a policy its own pace: it decides at the first step and then once a period. In between, Every holds the
// size, the recommendation and the kept numbers. The time of the next decision is a kept number too, so a restart does
// not change the pace.
type Every struct {
	// Name is the policy's name.
	Name string
	// Period is above zero.
	Period time.Duration
	Of     muster.Policy
	// Leave is set for fleets whose workers stop by themselves when idle, whatever the policy decided last: then the
	// floor is 0 between decisions.
	Leave bool
}

// everyClock is the name of the kept time of the next decision.
const everyClock = "next_s"

// Decide implements [muster.Policy].
func (p Every) Decide(o muster.Observation, recent muster.Recent) muster.Decision {
	t := begin(o, recent, p.Name)
	if len(recent) > 0 {
		t.keep = append(t.keep, recent[len(recent)-1].Kept...)
	}
	if _, due := t.keep.due(everyClock, o.At, p.Period, 0); !due {
		d := t.between()
		if p.Leave && o.Backlog().Known && o.InFlight().Known && o.Capacity.Known {
			d.Floor = 0
		}
		return d
	}
	d := p.Of.Decide(o, recent)
	next, _ := t.keep.get(everyClock)
	if d.Kept != nil { // a policy that keeps nothing must not delete what another kept
		t.keep = append(notes{}, d.Kept...)
	}
	t.keep.set(everyClock, next)
	d.Kept = t.keep
	return d
}
