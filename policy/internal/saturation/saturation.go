// Package saturation tells from the reports of the workers that more messages come than they can finish, before the
// counts of the queue show it. Counts may be a minute old; workers report every few seconds.
//
//	n := saturation.Workers(o, 0.1, 2)
//
// It is pure. Whether workers are kept at all beyond those that waiting messages need is the caller's to say: see
// package planning.
package saturation

import (
	"math"
	"time"

	"github.com/muster-scale/muster"
	"github.com/muster-scale/muster/policy/internal/rules"
)

const (
	// pause is the share of its time that a worker may be without a message and still count as full: it receives the
	// next one, and reports.
	pause = 0.15
	// still is the least share of the slots that must be reported busy now, because LatelySlots is of a few seconds
	// before. Workers report when a message ends, so of full ones many say that they have none at that moment.
	still = 0.25
	// more is how many times as many slots are wanted as are busy, once all are. How many messages wait is unknown
	// then: at least as many come as are finished. If that is all that is known of a rate, twice it is exceeded half of
	// the time (a Pareto distribution of index 1). Should even that be too few, they are full again soon.
	more = 2
	// rising is how much higher than measured a rate is taken to be: the first counts after a start are low.
	rising = 1.25
	// over are the seconds that [muster.Pace].LatelyPerSecond is about. sure is by how many deviations of chance the
	// finished messages must exceed the known ones.
	over, sure = float64(muster.LatelyOver) / float64(time.Second), 3
	// longest is the longest mean duration in seconds: of longer work too few messages end within over.
	longest = over / 2
)

// Workers returns how many workers are wanted because more is finished than the counts explain: those for twice as many
// slots as have been busy lately, once all slots have been busy without a pause. Until then, and while others are on
// their way, of whom nothing is reported yet, the present workers stay up to that number. It is 0 if nothing shows
// that, and where the counts are younger than a boot takes: then a launch is soon enough once they show it. mean is the
// mean duration, boot the time of a boot, both in seconds.
//
// The counts explain the rate of the last five minutes, and within their age also what they show: workers that catch up
// with a known backlog are full, and no more may have come. A rate that is high for hours is no sign either, however
// full the workers are.
func Workers(o muster.Observation, mean, boot float64) int {
	p, lag, backlog, inFlight := o.Pace, o.LateSeconds(), o.Backlog(), o.InFlight()
	if lag <= 0 || boot > lag || mean > longest || !o.Arrivals.Known || !backlog.Known || !inFlight.Known ||
		!surely(p.LatelyPerSecond*over, o.Arrivals.FiveMinutes*over) ||
		!surely(o.FinishedSince, backlog.Value+inFlight.Value+rising*o.Arrivals.FiveMinutes*lag) {
		return 0
	}
	workers := rules.Ceil(more * p.LatelySlots / math.Max(1, o.Capacity.SlotsPerWorker))
	slots := float64(o.Capacity.Slots)
	full := p.LatelySlots >= (1-pause)*slots && float64(o.Capacity.BusySlots) >= still*slots
	if !full || o.Capacity.Ordered+o.Capacity.Booting > 0 {
		return min(workers, o.Capacity.Active())
	}
	return workers
}

// surely tells whether n finished messages are more than were known, by more than chance.
func surely(n, known float64) bool { return n > 0 && n-known > sure*math.Sqrt(n) }
