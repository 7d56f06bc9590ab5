package recorded

import (
	"time"

	"github.com/muster-scale/muster"
	"github.com/muster-scale/muster/controller/learning"
)

// Past is what a fleet came to in a window as it was, by the records: no simulation is in it.
type Past struct {
	// Ended counts the finished messages whose sending time is known, InTime those of them that were in time.
	Ended, InTime float64
	// Objective is that of the newest decision, by which they were judged. Other is true if another one held before.
	Objective muster.Objective
	Other     bool
	// Sized is how much of the window the number of members was known. MemberSeconds adds up the members that existed
	// in that time, and Peak is the most at a time.
	Sized         time.Duration
	MemberSeconds float64
	Peak          int
	// Changes is how often a decision changed the desired count. Workers that stopped by themselves are not in it.
	Changes int
}

// held is what a decision says until the next one.
type held struct {
	at      time.Time
	members int
	known   bool
	desired int
}

// learned adds the share of messages in time. Counts that contradict each other are left out.
func (p *Past) learned(l *learning.Learned) {
	if l.InTime >= 0 && l.InTime <= l.Ended {
		p.Ended, p.InTime = p.Ended+l.Ended, p.InTime+l.InTime
	}
}

// decided adds a decision; last is the one before.
func (p *Past) decided(last held, at time.Time, d *decided) held {
	o := &d.Observation
	p.hold(last, at)
	next := held{at: at, members: o.Capacity.Live(), known: o.Capacity.Known, desired: d.Decision.Desired}
	if next.known {
		p.Peak = max(p.Peak, next.members)
	}
	if !last.at.IsZero() && next.desired != last.desired || last.at.IsZero() && next.desired != d.Decision.Previous {
		p.Changes++
	}
	if o.Objective.Latency > 0 {
		p.Other = p.Other || p.Objective.Latency > 0 && p.Objective != o.Objective
		p.Objective = o.Objective
	}
	return next
}

// hold counts the members of the newest decision until the instant at. A longer silence than that of a running
// controller is unknown.
func (p *Past) hold(last held, at time.Time) {
	span := at.Sub(last.at)
	if last.at.IsZero() || !last.known || span <= 0 || span > longestSilence {
		return
	}
	p.Sized += span
	p.MemberSeconds += span.Seconds() * float64(last.members)
}
