package advice

import (
	"encoding/json"
	"time"

	"github.com/muster-scale/muster"
	"github.com/muster-scale/muster/controller"
	"github.com/muster-scale/muster/controller/learning"
	"github.com/muster-scale/muster/roster"
	"github.com/muster-scale/muster/series"
	"github.com/muster-scale/muster/worker/protocol"
)

// longestHold is the longest time for which a recorded decision counts. A controller records one each minute.
const longestHold = 3 * time.Minute

// Collector measures a window from the records of a fleet's history. Make it with [NewCollector]. Only one goroutine
// may use it.
type Collector struct {
	m        Measured
	from, to time.Time
	// last is the newest decision; its numbers hold until the next.
	last seen
	// busy adds up busy slots over time, and slots all slots, both in slot-seconds; members adds up members in service.
	busy, slots, members float64
	// worked adds up the durations of attempts, in seconds. Where they are known it replaces busy: decisions are
	// recorded when they change and once a minute, so they hardly see work that takes seconds.
	worked float64
	batch  int
}

// seen is what a Collector keeps of one decision.
type seen struct {
	at          time.Time
	slots, busy int
	members     int
	aboveMax    bool
	known       bool
}

// NewCollector returns a Collector for the window between two instants. batch is how many messages a slot handles at a
// time.
func NewCollector(from, to time.Time, batch int) *Collector {
	return &Collector{m: Measured{Window: max(0, to.Sub(from))}, from: from, to: to, batch: batch}
}

// Add takes the next record, in the order of the history, and returns false once the window has ended. Records that
// cannot be read change nothing.
func (c *Collector) Add(r muster.Record) bool {
	if r.At.Before(c.from) {
		return true
	}
	if r.At.After(c.to) {
		return false
	}
	switch r.Kind {
	case muster.Learned:
		var l learning.Learned
		if json.Unmarshal(r.Body, &l) == nil {
			c.learned(r.At, l)
		}
	case muster.Decided:
		var d decided
		if _, lost := controller.Unencodable(r); !lost && json.Unmarshal(r.Body, &d) == nil {
			c.decided(r.At, d)
		}
	case muster.Changed:
		var x controller.Changed
		if json.Unmarshal(r.Body, &x) == nil && x.What == roster.HadIncident && x.Incident != nil &&
			x.Incident.Kind == protocol.LeaseLost {
			c.m.LeasesLost++
		}
	}
	return true
}

// learned adds the measurements of a record.
func (c *Collector) learned(at time.Time, l learning.Learned) {
	// The history keeps durations for longer than decisions, and the slots of that time are not known.
	if c.holds(at) && series.Valid(l.Processing) && series.Valid(l.Failing) {
		c.worked += l.Processing.SumSeconds + l.Failing.SumSeconds
	}
	if series.Valid(l.Processing) {
		c.m.Processing = series.Merge(c.m.Processing, l.Processing)
	}
	if series.Valid(l.Boots) {
		c.m.Boots = series.Merge(c.m.Boots, l.Boots)
	}
	if l.Ended >= l.InTime && l.InTime >= 0 {
		c.m.Ended, c.m.InTime = c.m.Ended+l.Ended, c.m.InTime+l.InTime
	}
	if l.Usage.Valid() {
		c.m.Usage = protocol.MergeUsage(c.m.Usage, l.Usage)
	}
}

// decided is the part of [controller.Decided] that a Collector reads.
type decided struct {
	Observation struct {
		Limits muster.Limits `json:"limits"`
		Queues []struct {
			OldestAge muster.Sample `json:"oldest_age_s"`
		} `json:"queues"`
		Capacity muster.Capacity `json:"capacity"`
	} `json:"observation"`
	Decision struct {
		Wish    int `json:"wish"`
		Desired int `json:"desired"`
	} `json:"decision"`
}

// decided counts what a decision saw.
func (c *Collector) decided(at time.Time, d decided) {
	c.hold(at)
	o := &d.Observation
	n := o.Capacity
	c.m.Unreported = c.m.Unreported || n.Unreported
	c.m.MembersLost = max(c.m.MembersLost, n.Lost)
	c.m.PeakSize = max(c.m.PeakSize, d.Decision.Wish, d.Decision.Desired, n.Live())
	c.m.PeakBusy = max(c.m.PeakBusy, n.BusySlots)
	for _, q := range o.Queues {
		if q.OldestAge.Known {
			c.m.OldestKnown = true
			c.m.Oldest = max(c.m.Oldest, time.Duration(q.OldestAge.Value*float64(time.Second)))
		}
	}
	c.last = seen{at: at, slots: n.Slots, busy: n.BusySlots, members: n.InService(), known: n.Known,
		aboveMax: d.Decision.Wish > o.Limits.Max && o.Limits.Max > 0}
}

// holds tells whether the newest decision still counts at the instant at.
func (c *Collector) holds(at time.Time) bool {
	return !c.last.at.IsZero() && at.Sub(c.last.at) <= longestHold
}

// hold counts the newest decision until the instant at.
func (c *Collector) hold(at time.Time) {
	span := at.Sub(c.last.at)
	if !c.holds(at) || span <= 0 {
		return
	}
	c.m.Covered += span
	if c.last.aboveMax {
		c.m.AtMax += span
	}
	if c.last.known {
		c.busy += span.Seconds() * float64(c.last.busy)
		c.slots += span.Seconds() * float64(c.last.slots)
		c.members += span.Seconds() * float64(c.last.members)
	}
}

// Measured returns what was measured so far.
func (c *Collector) Measured() Measured {
	c.hold(c.to)
	c.last.at = c.to // a second call adds nothing
	m, busy := c.m, c.busy
	// The messages of a batch are in one slot, and their durations overlap.
	if c.worked > 0 && c.batch <= 1 {
		busy = c.worked
	}
	m.SlotSeconds = c.slots
	if c.slots > 0 {
		m.Utilization = min(1, busy/c.slots)
	}
	if c.members >= measuredWall && !m.Unreported {
		m.SlotsPerMember = c.slots / c.members
	}
	if m.Covered > 0 {
		m.MeanBusy = busy / m.Covered.Seconds()
	}
	return m
}
