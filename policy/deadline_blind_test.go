package policy_test

import (
	"testing"
	"time"

	"github.com/muster-scale/muster/policy/planning"

	"github.com/muster-scale/muster"
)

// A source may know neither ages nor how many messages were sent, as SQS does. Messages must not wait for ever because
// at each look they could be new.
func TestMessagesOfUnknownAgeAreNotPutOff(t *testing.T) {
	at := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	lost := muster.Unknown(at, "the source does not know")
	o := muster.Observation{
		Fleet: "f", At: at, Objective: muster.Objective{Latency: 300 * time.Second, Quantile: 0.99},
		Limits: muster.Limits{Max: 100, LaunchesPerHour: 1000},
		Queues: []muster.QueueObservation{{Queue: "q", Backlog: muster.Measured(at, 50),
			InFlight: muster.Measured(at, 0), OldestAge: lost, Sent: lost}},
		Capacity:   muster.Capacity{Known: true, SlotsPerWorker: 1},
		Processing: muster.Estimate{Known: true, Count: 100, MeanSeconds: 25, P95Seconds: 25, P99Seconds: 25},
		Boot:       muster.Estimate{Known: true, Count: 10, MeanSeconds: 95, P95Seconds: 95},
	}
	d := planning.Deadline{}.Decide(o, nil)
	if d.Desired < 8 || d.Desired > 25 {
		t.Errorf("%d workers for 50 messages of unknown age, want 8 to 25: %s", d.Desired, d.Sentence())
	}
	o.Capacity.Desired, o.Capacity.Ordered = d.Desired, d.Desired
	o.Coming = []muster.Coming{{AgeSeconds: 1, Members: d.Desired}}
	if again := (planning.Deadline{}).Decide(o, nil); again.Desired > d.Desired {
		t.Errorf("%d, then %d in the same circumstances: %s", d.Desired, again.Desired, again.Sentence())
	}
}
