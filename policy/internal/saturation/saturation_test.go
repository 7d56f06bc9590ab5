package saturation

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/muster-scale/muster"
)

// busy is a fleet of so many workers with one slot each. Messages of a tenth of a second came at 40 a second for five
// minutes, as far as the counts know, which are 40 s old. Lately, for 20 s, so many a second are finished.
func busy(workers int, finished float64) muster.Observation {
	return muster.Observation{
		Capacity: muster.Capacity{Known: true, Busy: workers, BusySlots: workers / 2, Slots: workers,
			SlotsPerWorker: 1},
		Pace:     muster.Pace{LatelyPerSecond: finished, LatelySlots: finished / 10},
		Arrivals: muster.Arrivals{Known: true, FiveMinutes: 40},
		Queues: []muster.QueueObservation{{Queue: "q", LateSeconds: 40, Backlog: muster.Measured(time.Time{}, 0),
			InFlight: muster.Measured(time.Time{}, 10)}},
		FinishedSince: 1610 + max(0, 20*(finished-40)),
	}
}

func TestFullWorkersShowWhatOldCountsDoNot(t *testing.T) {
	for _, row := range []struct {
		name       string
		workers    int
		finished   float64
		change     func(o *muster.Observation)
		mean, boot float64
		want       int
	}{
		{"sixteen workers finish all that they can: twice as many", 16, 158, nil, 0.1, 2, 32},
		{"they have pauses, and the counts may not show yet what they finish: they stay", 16, 100, nil, 0.1, 2, 16},
		{"twice what is busy lately is enough", 16, 70, nil, 0.1, 2, 14},
		{"others are on their way, of whom nothing is reported", 16, 158,
			func(o *muster.Observation) { o.Capacity.Booting = 8 }, 0.1, 2, 24},
		{"workers of four slots", 16, 158, func(o *muster.Observation) { o.Capacity.SlotsPerWorker = 4 }, 0.1, 2, 8},
		{"no more than came before, however full they are", 4, 40, nil, 0.1, 2, 0},
		{"by chance: 47 a second are 376 in eight seconds, 320 are usual", 5, 47, nil, 0.1, 2, 0},
		{"a quarter more than came: the first counts are low", 6, 60, nil, 0.1, 2, 0},
		{"half as much again", 7, 70, nil, 0.1, 2, 14},
		{"they were full a few seconds ago", 16, 158, func(o *muster.Observation) { o.Capacity.BusySlots = 3 }, 0.1, 2,
			16},
		{"counts that are younger than a boot takes", 16, 158, nil, 0.1, 41, 0},
		{"counts of this moment", 16, 158, func(o *muster.Observation) { o.Queues[0].LateSeconds = 0 }, 0.1, 2, 0},
		{"work of which too little ends within seconds", 16, 158, nil, 5, 2, 0},
		{"they catch up with what the counts show", 16, 158,
			func(o *muster.Observation) { o.Queues[0].Backlog.Value = 2400 }, 0.1, 2, 0},
		{"the counts show less than that", 16, 158,
			func(o *muster.Observation) { o.Queues[0].Backlog.Value = 1500 }, 0.1, 2, 32},
		{"nobody knows what waits", 16, 158,
			func(o *muster.Observation) { o.Queues[0].Backlog = muster.Unknown(time.Time{}, "no answer") }, 0.1, 2, 0},
		{"nobody knows what came", 16, 158, func(o *muster.Observation) { o.Arrivals.Known = false }, 0.1, 2, 0},
		{"nothing is finished", 16, 0, nil, 0.1, 2, 0},
	} {
		o := busy(row.workers, row.finished)
		if row.change != nil {
			row.change(&o)
		}
		if got := Workers(o, row.mean, row.boot); got != row.want {
			t.Errorf("%s: %d workers, want %d", row.name, got, row.want)
		}
	}
}

// Whatever is observed, no more workers are wanted than for twice the slots that have been busy lately, and none beyond
// the present ones while others are on their way.
func TestSaturationAtMostDoublesWhatIsBusy(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		o := busy(rapid.IntRange(0, 500).Draw(t, "workers"), rapid.Float64Range(0, 1e5).Draw(t, "finished"))
		o.Pace.LatelySlots = rapid.Float64Range(0, 2000).Draw(t, "slots")
		o.Capacity.Booting = rapid.IntRange(0, 5).Draw(t, "booting")
		o.Capacity.SlotsPerWorker = float64(rapid.IntRange(0, 64).Draw(t, "each"))
		o.Queues[0].LateSeconds = rapid.Float64Range(0, 600).Draw(t, "late")
		n := Workers(o, rapid.Float64Range(0, 10).Draw(t, "mean"), rapid.Float64Range(0, 700).Draw(t, "boot"))
		each := max(1, o.Capacity.SlotsPerWorker)
		if n < 0 || float64(n-1)*each >= 2*o.Pace.LatelySlots && n > 0 {
			t.Fatalf("%d workers, and %v slots were busy", n, o.Pace.LatelySlots)
		}
		if o.Capacity.Booting > 0 && n > o.Capacity.Active() {
			t.Fatalf("%d workers, and %d are there or on their way", n, o.Capacity.Active())
		}
	})
}
