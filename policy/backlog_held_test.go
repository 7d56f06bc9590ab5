package policy

import (
	"testing"
	"time"

	"github.com/muster-scale/muster"
)

// A fleet below its maximum does not stay at one worker while a message hangs and the others become late.
func TestDynamicBacklogFindsOutByWhatIsHeld(t *testing.T) {
	at := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	measured := muster.Estimate{Known: true, Count: 500, MeanSeconds: 1, P50Seconds: 1, P95Seconds: 1, P99Seconds: 1}
	for _, row := range []struct {
		name         string
		waiting      float64
		active, busy int
		held         float64
		processing   muster.Estimate
		want         int
		isHold       bool
	}{
		{name: "it has taken 4 s: 16 waiting would take 64 s", waiting: 16, active: 1, busy: 1, held: 4, want: 2},
		{name: "it has taken a moment: one worker would do", waiting: 16, active: 1, busy: 1, held: 0.5, isHold: true,
			want: 1},
		{name: "the second one boots", waiting: 16, active: 2, busy: 1, held: 8, isHold: true, want: 2},
		{name: "both hang", waiting: 16, active: 2, busy: 2, held: 30, want: 4},
		{name: "the maximum", waiting: 100, active: 4, busy: 4, held: 300, want: 6},
		{name: "longer than any of 500", waiting: 20, active: 2, busy: 2, held: 20, processing: measured, want: 4},
		{name: "as long as they take", waiting: 20, active: 2, busy: 2, held: 0.5, processing: measured, want: 2,
			isHold: true},
		{name: "one of them is not", waiting: 20, active: 3, busy: 2, held: 20, processing: measured, want: 2},
	} {
		t.Run(row.name, func(t *testing.T) {
			o := muster.Observation{
				At: at, Poll: time.Second, Objective: muster.Objective{Latency: 15 * time.Second, Quantile: 0.99},
				Limits: muster.Limits{Max: 6, LaunchesPerHour: 100},
				Queues: []muster.QueueObservation{{
					Queue: "q", Backlog: muster.Measured(at, row.waiting),
					InFlight:  muster.Measured(at, float64(row.busy)),
					OldestAge: muster.Measured(at, 5),
				}},
				Capacity: muster.Capacity{
					Known: true, Desired: row.active, Busy: row.busy, Idle: row.active - row.busy, Slots: row.active,
					BusySlots: row.busy, SlotsPerWorker: 1, HeldMeanSeconds: row.held,
				},
				Processing: row.processing,
			}
			if row.name == "the second one boots" {
				o.Capacity.Idle, o.Capacity.Booting, o.Capacity.Slots = 0, 1, 1
			}
			p, err := New(Spec{Name: "dynamic-backlog"})
			if err != nil {
				t.Fatal(err)
			}
			d := p.Decide(o, nil)
			if d.Desired != row.want || (d.Verdict == muster.Hold) != row.isHold {
				t.Errorf("found %s %d, want %d (a hold: %t): %s", d.Verdict, d.Desired, row.want, row.isHold,
					d.Sentence())
			}
		})
	}
}
