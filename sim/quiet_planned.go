package sim

import (
	"math"
	"time"

	"github.com/muster-scale/muster"
	"github.com/muster-scale/muster/controller"
)

const (
	// plannedSkip bounds a skip under the policy deadline while members exist: how many it keeps follows the arrivals
	// and the pace of the last minutes, down and up again.
	plannedSkip = 15 * time.Second
	// fewArrivals is the most messages in five minutes with which polls are left out under the policy deadline. With
	// more of them, the number of workers it keeps may change in each poll.
	fewArrivals = 2.5
	// wholePolls is how many polls a whole number of needed workers must last to count as constant. A trail has three
	// digits, so a number that grows slowly looks whole for a while.
	wholePolls = 12
)

// planned is what the newest step of the policy deadline depended on. Parts of its decision hold for a few polls only,
// and none of these polls may be left out.
type planned struct {
	// arrived is how many messages came within the last five minutes, as far as the controller knows.
	arrived float64
	// late is true where a worker that is launched for a message comes too late for more than one message in a
	// hundred. Then deadline keeps workers in advance, and may launch some until five minutes after a message.
	late bool
	// paced is true while messages that finished within the last two minutes influence the decision.
	paced bool
	// needed is what deadline needs for the messages that wait; it has been constant since the time neededAt.
	needed   needed
	neededAt int64
}

// needed is how many more workers the policy deadline needs for the messages that wait, rounded down and up.
//
// The number grows with time. Deadline launches at the last moment at which fewer workers are enough than later, and
// this moment must not lie between two polls. So a skip needs the same number at both of its ends.
type needed struct{ down, up float64 }

// neededBy reads the number from the trail of a decision. It is zero for other policies, and while no message waits.
func neededBy(d *muster.Decision) (n needed) {
	for _, t := range d.Trail {
		for _, v := range t.In {
			if v.Name == "more_needed" {
				n.down, n.up = n.down+math.Floor(v.Value), n.up+math.Ceil(v.Value)
			}
		}
	}
	return n
}

// note takes in the outcome of a step.
func (p *planned) note(now int64, o controller.Outcome) {
	x := &o.Observation
	p.arrived, p.paced = x.Arrivals.FiveMinutes*300, x.Pace.Finished > 0
	p.late = x.Boot.P95Seconds+x.Processing.P99Seconds > 0.9*x.Objective.Latency.Seconds()
	if n := neededBy(&o.Decision); n != p.needed {
		p.needed, p.neededAt = n, now
	}
}

// longestPlanned returns the longest time that a skip may take now under the policy deadline, when nothing has happened
// for the time quiet; 0 when no poll may be left out.
func (r *run) longestPlanned(quiet time.Duration) time.Duration {
	p := &r.quiet.planned
	waits := r.queue.Backlog() > 0
	works := waits && r.queue.InProgress() > 0
	whole := p.needed.up > 0 && p.needed.down == p.needed.up
	switch {
	case p.arrived > fewArrivals, p.late && (waits || p.arrived > 0), p.paced && works:
		return 0
	case whole && r.now-p.neededAt < wholePolls*int64(r.settings.Poll):
		return 0
	case works:
		// The longer messages are in progress, the more they tell about the duration of the work.
		return min(plannedSkip, quiet/16)
	case r.live > 0:
		return plannedSkip
	}
	return longestSkip
}
