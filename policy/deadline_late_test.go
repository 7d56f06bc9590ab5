package policy_test

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/muster-scale/muster"
)

func TestWhatIsSeenLateIsPlannedAsIfTheObjectiveWereShorter(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p, o := deadline(t, 1), prospects().Draw(t, "see")
		const late = 60 * time.Second
		// None is idle: idle workers disprove old counts, so nothing would be launched, and say nothing of exact ones.
		o.Capacity.Busy, o.Capacity.Idle = o.Capacity.Busy+o.Capacity.Idle, 0
		shorter := o
		o.Arrivals, shorter.Arrivals = muster.Arrivals{},
			muster.Arrivals{} // what is kept ready is as if workers booted for longer
		// Of both the same is left for polls.
		shorter.Objective.Latency += 1000 * max(o.Poll, time.Second)
		o.Objective.Latency = shorter.Objective.Latency + late
		o.Queues = append(o.Queues[:0:0], o.Queues...)
		o.Queues[0].LateSeconds = late.Seconds()
		if seen, plain := p.Decide(o, nil), p.Decide(shorter, nil); seen.Desired != plain.Desired ||
			seen.Floor != plain.Floor {
			t.Fatalf("counts that may be %s old: %s\nan objective as much shorter: %s", late, seen.Sentence(),
				plain.Sentence())
		}
	})
}
