package policy_test

import (
	"testing"
	"time"

	"pgregory.net/rapid"
)

func TestWhatIsSeenLateIsPlannedAsIfTheObjectiveWereShorter(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p, o := deadline(t, 1), prospects().Draw(t, "see")
		const late = 60 * time.Second
		shorter := o
		o.Objective.Latency = shorter.Objective.Latency + late*100/97 // 97 % of an objective are planned with
		o.Queues = append(o.Queues[:0:0], o.Queues...)
		o.Queues[0].LateSeconds = late.Seconds()
		if seen, plain := p.Decide(o, nil), p.Decide(shorter, nil); seen.Desired != plain.Desired || seen.Floor != plain.Floor {
			t.Fatalf("counts that may be %s old: %s\nan objective as much shorter: %s", late, seen.Sentence(), plain.Sentence())
		}
	})
}
