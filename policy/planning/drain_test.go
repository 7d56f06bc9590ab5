package planning

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/muster-scale/muster"
)

// shared is a fleet whose workers handle 36 messages at once. The arrivals keep so many slots busy, each for 17
// minutes. The objective is seven hours, and nothing waits.
func shared(slots float64, workers int) muster.Observation {
	o := s0(1020, 0)
	o.Objective.Latency, o.Boot, o.Processing = 7*time.Hour, lasting(2, 100), lasting(1020, 1000)
	rate := slots / 1020
	o.Arrivals = muster.Arrivals{Known: true, TenSeconds: rate, Minute: rate, FiveMinutes: rate, TwentyMinutes: rate,
		Hour: rate, FourHours: rate, TwelveHours: rate, WatchedSeconds: 3600}
	o.Capacity = muster.Capacity{Known: true, Desired: workers, Busy: workers, Slots: 36 * workers,
		BusySlots: int(math.Ceil(slots)), SlotsPerWorker: 36, HeldMeanSeconds: 500, HeldDeviationSeconds: 300}
	o.Queues[0].Backlog = muster.Measured(o.At, 0)
	o.Queues[0].InFlight = muster.Measured(o.At, math.Ceil(slots))
	return o
}

// A worker of several slots that messages reach all the time is never idle, and costs as much with one of them as with
// 36. So it takes no more where the next ones can wait until they fill another one.
func TestAWorkerOfManySlotsTakesNoMoreMessagesThatCanWait(t *testing.T) {
	const stops = "takes no more messages: the next ones can wait for workers that they fill"
	for _, row := range []struct {
		name    string
		slots   float64
		workers int
		change  func(*muster.Observation, *Deadline)
		desired int
		says    string
	}{
		{"13.6 of 36 slots are busy, and a message can wait for hours", 13.6, 1, nil, 0,
			"1 worker is busy, and 1 " + stops},
		{"one and a half workers would do: one stays", 54, 2, nil, 1, "2 workers are busy, and 1 " + stops},
		{"less than one slot is busy: it is idle soon", 0.9, 1, nil, 1, "busy"},
		{"each worker has one slot", 13.6, 13, func(o *muster.Observation, _ *Deadline) {
			o.Capacity.SlotsPerWorker, o.Capacity.Slots = 1, 13
		}, 13, "13 workers are busy"},
		{"a message cannot wait until the worker has ended", 13.6, 1, func(o *muster.Observation, _ *Deadline) {
			o.Objective.Latency = 34 * time.Minute
		}, 1, "1 worker is busy"},
		{"nobody knows what comes", 13.6, 1, func(o *muster.Observation, _ *Deadline) {
			o.Arrivals = muster.Arrivals{}
		}, 1, "1 worker is busy"},
		{"99 durations say too little about a long one", 13.6, 1, func(o *muster.Observation, _ *Deadline) {
			o.Processing.Count = 99
		}, 1, "1 worker is busy"},
		{"workers cost almost nothing", 13.6, 1, func(_ *muster.Observation, p *Deadline) { p.Prompt = true }, 1,
			"1 worker is busy"},
		{"a tree is running, and sends more at once", 13.6, 1, func(o *muster.Observation, _ *Deadline) {
			o.Expected = &muster.Expected{Known: true, Trees: 1}
		}, 1, "1 worker is busy"},
		{"a message waits", 13.6, 1, func(o *muster.Observation, _ *Deadline) {
			o.Queues[0].Backlog = muster.Measured(o.At, 1)
		}, 1, "1 worker finishes them"},
	} {
		t.Run(row.name, func(t *testing.T) {
			o, p := shared(row.slots, row.workers), Deadline{}
			if row.change != nil {
				row.change(&o, &p)
			}
			d := p.Decide(o, nil)
			if d.Desired != row.desired || !strings.Contains(d.Sentence(), row.says) {
				t.Errorf("found %d, want %d and %q: %s", d.Desired, row.desired, row.says, d.Sentence())
			}
			if strings.Contains(d.Sentence(), "no more messages") != strings.Contains(row.says, "no more messages") {
				t.Errorf("says %q", d.Sentence())
			}
		})
	}
}
