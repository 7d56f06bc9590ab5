package sim

import (
	"math"
	"time"

	"github.com/muster-scale/muster"
	"github.com/muster-scale/muster/controller"
)

const (
	// plannedSkip bounds a skip under the policy deadline while members exist: the workers that it keeps follow the
	// arrivals and the pace of the last minutes, down and up again.
	plannedSkip = 15 * time.Second
	// fewArrivals is how many messages in five minutes let polls be left out under the policy deadline. After more of
	// them what it keeps may change in each poll.
	fewArrivals = 2.5
	// wholePolls is for how many polls a whole number of workers must have been needed to count as constant. What is
	// needed is told to three digits, so a number that grows slowly looks whole for a while.
	wholePolls = 12
)

// planned is what the newest step under the policy deadline went by. Some of what deadline decides holds for a few
// polls only; none of these polls may be left out.
type planned struct {
	// arrived is how many messages came within the last five minutes, as far as the controller knows.
	arrived float64
	// late is true where a worker that is launched for a message comes too late for more than one in a hundred. Then
	// deadline keeps workers in advance, and may launch some at any time until five minutes after a message.
	late bool
	// paced is true while the messages that finished within the last two minutes count.
	paced bool
	// needed is what deadline needs for the messages that wait, since the time neededAt.
	needed   needed
	neededAt int64
}

// needed is how many more workers the policy deadline needs for the messages that wait, rounded down and up.
//
// The number grows with time, and deadline launches at the last moment at which fewer workers are enough than later. So
// that this moment does not lie between two polls, the number must be the same at both.
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

// note takes in a step.
func (p *planned) note(now int64, o controller.Outcome) {
	x := &o.Observation
	p.arrived, p.paced = x.Arrivals.FiveMinutes*300, x.Pace.Finished > 0
	p.late = x.Boot.P95Seconds+x.Processing.P99Seconds > 0.9*x.Objective.Latency.Seconds()
	if n := neededBy(&o.Decision); n != p.needed {
		p.needed, p.neededAt = n, now
	}
}

// longestPlanned is [run.longest] as far as the policy deadline bounds it, when nothing has happened for the time
// quiet.
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
		return min(plannedSkip, quiet/16) // messages in progress tell more about the work the longer they take
	case r.live > 0:
		return plannedSkip
	}
	return longestSkip
}
