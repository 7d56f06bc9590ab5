package policy

import (
	"fmt"

	"github.com/muster-scale/muster"
)

// Cautious turns a fall into a hold while a signal that could speak against it is unknown: the backlog or the messages
// in flight of any queue, or the capacity. Unknown is not zero.
type Cautious struct {
	Of muster.Policy
}

// Decide implements [muster.Policy].
func (p Cautious) Decide(o muster.Observation, recent muster.Recent) muster.Decision {
	d := p.Of.Decide(o, recent)
	reason, why := missing(o)
	if reason == "" {
		return d
	}
	if d.Desired >= d.Previous {
		d.Floor = d.Desired
		return d
	}
	d = d.Held(reason, muster.Term{Rule: "caution", Why: "no decrease while " + why})
	d.Floor = d.Desired
	return d
}

func missing(o muster.Observation) (muster.Reason, string) {
	if !o.Capacity.Known {
		return muster.UnknownCapacity, "the fleet cannot be listed: " + o.Capacity.Reason
	}
	if len(o.Queues) == 0 {
		if o.Capacity.Lost > 0 {
			return muster.UnknownInFlight, fmt.Sprintf("%d workers are silent, and only workers know of the work",
				o.Capacity.Lost)
		}
		return "", ""
	}
	if s := o.Backlog(); !s.Known {
		return muster.UnknownBacklog, "the backlog is " + s.String()
	}
	if s := o.InFlight(); !s.Known {
		return muster.UnknownInFlight, "the number of messages in flight is " + s.String()
	}
	return "", ""
}
