package planning

import (
	"strings"
	"testing"
	"time"

	"github.com/muster-scale/muster"
)

// seenLate is a fleet with one worker that takes 100 ms for a message and is busy. The counts may be 16 s old and show
// 104 messages, eight for each of 13 seconds, under an objective of 25 s.
func seenLate(finished float64) muster.Observation {
	o := s0(0.1, 13)
	o.Objective.Latency, o.Boot, o.Poll = 25*time.Second, lasting(1, 1000), time.Second
	o.Processing = lasting(0.1, 1000)
	o.Capacity = muster.Capacity{Known: true, Desired: 1, Busy: 1, Slots: 1, BusySlots: 1, SlotsPerWorker: 1}
	o.Queues[0].Backlog, o.Queues[0].InFlight = muster.Measured(o.At, 104), muster.Measured(o.At, 0)
	o.Queues[0].LateSeconds = 16
	for age := 13; age > 0; age-- {
		o.Waiting = append(o.Waiting, muster.Waiting{AgeSeconds: float64(age), Messages: 8})
	}
	o.Pace, o.FinishedSince = muster.Pace{Finished: 900, Seconds: 90}, finished
	return o
}

// The counts are old, and the messages older, or they are of now. What was received since waits no more in the first
// case, and is not old in the second.
func TestOldCountsAreReadInOneOfTwoWays(t *testing.T) {
	for _, row := range []struct {
		name     string
		finished float64
		change   func(*muster.Observation)
		desired  int
		says     string
	}{
		{"nothing was finished since, and all but the one in progress may wait for 29 s", 0, nil, 48,
			"up to 16s more, without 1 that"},
		{"half of them were finished since", 75, nil, 23, "up to 16s more, without 52 that"},
		{"nearly all of them", 140, nil, 1, "up to 16s more, without 96 that"},
		{"all of them", 150, nil, 1, "up to 16s more, without 103 that"},
		{"a worker held 40 of those that were finished", 150, func(o *muster.Observation) {
			o.Queues[0].InFlight = muster.Measured(o.At, 40)
		}, 17, "up to 16s more, without 63 that"},
		{"what waits for its retry is held by nobody", 150, func(o *muster.Observation) {
			o.Queues[0].InFlight, o.Retrying = muster.Measured(o.At, 40), 40
		}, 1, "up to 16s more, without 103 that"},
		{"nobody knows what was held then", 150, func(o *muster.Observation) {
			o.Queues[0].InFlight = muster.Unknown(o.At, "lost")
		}, 49, "up to 16s more; "},
		{"what was finished does not count where counts are exact", 150, func(o *muster.Observation) {
			o.Queues[0].LateSeconds = 0
		}, 1, "13s old; "},
		{"the counts may also be of now, and the messages late", 140, func(o *muster.Observation) {
			o.Objective.Latency = 14 * time.Second
		}, 12, "launching 11 now"},
	} {
		t.Run(row.name, func(t *testing.T) {
			o := seenLate(row.finished)
			if row.change != nil {
				row.change(&o)
			}
			d := Deadline{}.Decide(o, nil)
			if d.Desired != row.desired || !strings.Contains(d.Sentence(), row.says) {
				t.Errorf("found %d, want %d and %q: %s", d.Desired, row.desired, row.says, d.Sentence())
			}
		})
	}
}
