package peer

import (
	"time"

	"github.com/muster-scale/muster"
	"github.com/muster-scale/muster/internal/render"
)

// QueueTime is the rule of queue-time scalers such as Judoscale: keep the age of the oldest message within a range.
// Above the range it adds workers; after a long time below it removes one. Use it in an [Every].
//
// Sources: Judoscale documentation, pages "Tuning your application" and "Refining your autoscaling behavior";
// judoscale-ruby config.rb.
type QueueTime struct {
	// Upper and Lower bound the range, as shares of the latency objective: 0 <= Lower <= Upper.
	Upper, Lower float64
	// Jump is how many workers a rise adds, at least 1.
	Jump int
	// UpEvery is the shortest time between rises. DownAfter is the time below the range before a fall, and between
	// falls.
	UpEvery, DownAfter time.Duration
}

// keptBelow is the time since which the age has been below the range.
const keptBelow = "below_s"

// Decide implements [muster.Policy].
func (p QueueTime) Decide(o muster.Observation, recent muster.Recent) muster.Decision {
	t := begin(o, recent, "queue-time", keptBelow)
	age := o.OldestAge()
	if !age.Known {
		t.keep.drop(keptBelow)
		return t.hold(muster.UnknownBacklog, nil, "the age of the oldest message is %s", age)
	}
	now, size, objective := seconds(o.At), o.Capacity.Desired, o.Objective.Latency.Seconds()
	in := []muster.Value{num("age_s", age.Value), num("upper_s", p.Upper*objective), num("lower_s", p.Lower*objective)}
	if age.Value >= p.Lower*objective && age.Value > 0 {
		t.keep.drop(keptBelow)
	} else if _, below := t.keep.get(keptBelow); !below {
		t.keep.set(keptBelow, now)
	}
	if age.Value > p.Upper*objective {
		if ago, is := within(o, recent, p.UpEvery, up); is {
			return t.hold(muster.CoolingDown, in, "the oldest message is %s old, and the last rise was %s ago",
				render.Seconds(age.Value), render.Seconds(ago.Seconds()))
		}
		return t.settle(size+p.Jump, in, "the oldest message is %s old, above the range: %s", render.Seconds(age.Value),
			render.Plural(p.Jump, "more worker"))
	}
	since, below := t.keep.get(keptBelow)
	if !below || size == 0 || now-since < p.DownAfter.Seconds()-tick {
		return t.hold(muster.Steady, in, "the oldest message is %s old", render.Seconds(age.Value))
	}
	if _, is := within(o, recent, p.DownAfter, down); is {
		return t.hold(muster.CoolingDown, in, "the last fall was less than %s ago", p.DownAfter)
	}
	return t.settle(size-1, in, "the age was below the range for %s: one worker fewer", p.DownAfter)
}
