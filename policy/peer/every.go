package peer

import (
	"time"

	"github.com/muster-scale/muster"
)

// Every lets a policy decide at its own pace: at the first step and then once a period. In between it holds the size,
// the wish and what the policy kept. When it looks next is kept itself, so a restart does not change the pace.
type Every struct {
	// Name is the policy's name.
	Name string
	// Period is above zero.
	Period time.Duration
	Of     muster.Policy
	// Leave is set for fleets whose workers end by themselves when they are idle, whatever the policy last said: then
	// none is kept in between.
	Leave bool
}

// everyClock is the name under which the next look is kept.
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
	if d.Kept != nil { // a policy that keeps nothing loses nothing either
		t.keep = append(notes{}, d.Kept...)
	}
	t.keep.set(everyClock, next)
	d.Kept = t.keep
	return d
}
