package start

import (
	"testing"
	"time"

	"github.com/muster-scale/muster"
)

// One worker finds out how long messages take, if workers launched after that are in time. The messages that they would
// be too late for pay for more, and so do those that no later launch makes up for.
func TestHowManyBeginOnMessagesOfUnknownDuration(t *testing.T) {
	for _, row := range []struct {
		name           string
		latency        time.Duration
		boot           float64
		backlog, slots float64
		rate           float64
		max            int
		want           int
		age            float64
	}{
		{"time for a second launch", 10 * time.Minute, 60, 1000, 1, 1, 100, 1, 0},
		{"no time for a second launch: all that wait, sqrt(1000 / 15)", 2 * time.Minute, 75, 1000, 1, 1, 100, 9, 0},
		{"those that wait are late in any case: those that come within half a minute, sqrt(34 / 15)", 2 * time.Minute,
			75, 1000, 1, 1, 100, 2, 60},
		{"time for a second launch, but not for what has waited", 5 * time.Minute, 75, 1000, 1, 1, 100, 9, 200},
		{"a boot that nothing states counts as two minutes", 4 * time.Minute, 0, 1000, 1, 1, 100, 9, 0},
		{"no time to boot: those that come within one, sqrt(60 x 20 / 15)", 30 * time.Second, 60, 10, 1, 20, 100, 9,
			0},
		{"or those that wait, sqrt(1000 / 15)", 30 * time.Second, 60, 1000, 1, 1, 100, 9, 0},
		{"no more than there are messages", 30 * time.Second, 60, 3, 1, 20, 100, 3, 0},
		{"no more than there are messages, of which a worker takes four", 30 * time.Second, 60, 9, 4, 20, 100, 3, 0},
		{"those that wait pay for all that may be: sqrt(1000 / 15) > 8", 10 * time.Minute, 60, 1000, 1, 1, 8, 9, 0},
		{"but not for ten", 10 * time.Minute, 60, 1000, 1, 1, 10, 1, 0},
		{"a late message costs a minute, and a boot a second: only the boot counts for that", 10 * time.Minute, 1, 100,
			1, 1, 8, 1, 0},
		{"nor do a few messages", 10 * time.Minute, 60, 15, 1, 1, 2, 1, 0},
	} {
		t.Run(row.name, func(t *testing.T) {
			boot := muster.Estimate{Known: row.boot > 0, Prior: true, MeanSeconds: row.boot, P95Seconds: row.boot}
			o := muster.Observation{
				Boot:      boot,
				Objective: muster.Objective{Latency: row.latency, Quantile: 0.99}, Limits: muster.Limits{Max: row.max},
				Capacity: muster.Capacity{SlotsPerWorker: row.slots}, Poll: time.Second,
				Arrivals: muster.Arrivals{Known: true, Minute: row.rate}, Queues: []muster.QueueObservation{
					{Backlog: muster.Measured(time.Time{}, row.backlog)}},
				Waiting: []muster.Waiting{{AgeSeconds: row.age, Messages: row.backlog}},
			}
			if got := Workers(o); got != row.want {
				t.Errorf("found %d, want %d", got, row.want)
			}
		})
	}
}

// Where a worker is in service already, the duration is known soon: a second launch is in time for more messages.
func TestAWorkerInServiceMeasuresAlready(t *testing.T) {
	o := muster.Observation{
		Boot:      muster.Estimate{Known: true, Count: 1, MeanSeconds: 20, P95Seconds: 20},
		Objective: muster.Objective{Latency: time.Minute, Quantile: 0.99}, Limits: muster.Limits{Max: 100},
		Capacity: muster.Capacity{SlotsPerWorker: 1}, Poll: time.Second,
		Queues:  []muster.QueueObservation{{Backlog: muster.Measured(time.Time{}, 1000)}},
		Waiting: []muster.Waiting{{AgeSeconds: 20, Messages: 1000}},
	}
	if got := Workers(o); got != 15 {
		t.Errorf("%d workers begin while none is there, want 15: a second launch is ready in 44 s", got)
	}
	if o.Capacity.Busy = 1; Workers(o) != 1 {
		t.Errorf("%d workers begin beside one in service, want 1: a second launch is ready in 24 s", Workers(o))
	}
}
