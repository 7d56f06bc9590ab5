package planning

import (
	"testing"
	"time"

	"github.com/muster-scale/muster"
)

func TestWorkersOfManySlotsAreGatheredWhenNothingWaits(t *testing.T) {
	at := time.Unix(1_700_000_000, 0)
	for _, row := range []struct {
		name           string
		slots          float64
		busySlots      int
		inFlight       float64
		latency        time.Duration
		workers, wants int
	}{
		{"ten workers of eight slots hold twenty messages: three are enough", 8, 20, 20, 300 * time.Second, 10, 3},
		{"more were received since they reported", 8, 20, 33, 300 * time.Second, 10, 5},
		{"of one slot each, who is busy stays", 1, 10, 10, 300 * time.Second, 10, 10},
		{"where no launch would be in time they stay", 8, 20, 20, 30 * time.Second, 10, 10},
	} {
		o := muster.Observation{
			Fleet: "f", At: at, Poll: time.Second, Objective: muster.Objective{Latency: row.latency, Quantile: 0.99},
			Limits: muster.Limits{Max: 99},
			Queues: []muster.QueueObservation{{Queue: "q", Backlog: muster.Measured(at, 0),
				InFlight: muster.Measured(at, row.inFlight)}},
			Capacity: muster.Capacity{Known: true, Desired: row.workers, Busy: row.workers,
				Slots: row.workers * int(row.slots), BusySlots: row.busySlots,
				SlotsPerWorker: row.slots},
			Processing: lasting(5, 300), Boot: lasting(60, 300),
		}
		if d := (Deadline{}).Decide(o, nil); d.Desired != row.wants {
			t.Errorf("%s: desired %d, want %d: %s", row.name, d.Desired, row.wants, d.Sentence())
		}
	}
}

func TestFewMessagesArePlannedWithTheLongestDurations(t *testing.T) {
	for _, row := range []struct {
		name    string
		waiting float64
		latency time.Duration
		want    float64
	}{
		{"four that wait: the 99th percentile", 4, 300 * time.Second, 35},
		{"five: between the 95th and the 99th", 5, 300 * time.Second, 31},
		{"none", 0, 300 * time.Second, 31},
		{"where no launch would be in time: as usual", 4, 60 * time.Second, 31},
	} {
		o := s0(25, 0)
		o.Processing, o.Objective.Latency = varying(10, 27, 35, 1000), row.latency
		o.Queues[0].Backlog = muster.Measured(o.At, row.waiting)
		if got := planOf(o).Tail; !about(got, row.want) {
			t.Errorf("%s: planned with %v s, want %v", row.name, got, row.want)
		}
	}
}
