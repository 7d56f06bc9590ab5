package planning

import (
	"strings"
	"testing"
	"time"

	"github.com/muster-scale/muster"
	"github.com/muster-scale/muster/policy/internal/rules"
)

// straggling is a fleet with slack: one worker of ten slots, all of them busy for 20 s. Messages take 60 s, one in
// twenty 5 minutes, one in a hundred 10; the objective is half an hour, and a worker boots for two minutes. So many
// messages have waited for so long.
func straggling(age, messages float64) muster.Observation {
	o := s0(60, age)
	o.Objective.Latency, o.Boot = 30*time.Minute, lasting(120, 1000)
	o.Processing = varying(60, 300, 600, 1000)
	o.Capacity = muster.Capacity{Known: true, Desired: 1, Busy: 1, Slots: 10, BusySlots: 10, SlotsPerWorker: 10,
		HeldMeanSeconds: 20, HeldDeviationSeconds: 12}
	o.Queues[0].Backlog = muster.Measured(o.At, messages)
	o.Waiting = []muster.Waiting{{AgeSeconds: age, Messages: messages}}
	return o
}

// A fraction of a worker is launched only where the quantile needs it, and where that cannot be kept, only for what it
// saves: a boot costs two minutes, and so does a late message.
func TestNoWorkerIsLaunchedThatSavesNextToNothing(t *testing.T) {
	pastHour := func(inTime, failed float64) func(*muster.Observation) {
		return func(o *muster.Observation) {
			o.Progress = &muster.Progress{Ended: 100, InTime: muster.Measured(o.At, inTime), Failed: failed,
				Finished: 100 - failed}
		}
	}
	measured := func(n int64) func(*muster.Observation) {
		return func(o *muster.Observation) { o.Processing.Count = n }
	}
	for _, row := range []struct {
		name          string
		latency       time.Duration
		quantile      float64
		age, messages float64
		change        func(*muster.Observation)
		launched      int
		says          string
	}{
		{"the last of 30 begins with time for 98 % of the work", 30 * time.Minute, 0.95, 1218, 30, nil, 0,
			"so few are likely late that the quantile permits it"},
		{"99 % are asked for", 30 * time.Minute, 0.99, 1218, 30, nil, 2, "launching 2 now"},
		{"100 durations are enough to know the rare ones", 390 * time.Second, 0.99, 5, 20, measured(100), 0,
			"a launch costs more than what it saves"},
		{"99 are not", 390 * time.Second, 0.99, 5, 20, measured(99), 1, "launching 1 now"},
		{"all permitted workers are needed, and none is spared", 30 * time.Minute, 0.95, 1218, 30,
			func(o *muster.Observation) { o.Limits.Max = 2 }, 2, "launching 2 now"},
		{"more were late in the past hour than the quantile permits", 30 * time.Minute, 0.95, 1218, 30,
			pastHour(0.94, 0), 2, "launching 2 now"},
		{"they were late because they failed", 30 * time.Minute, 0.95, 1218, 30, pastHour(0.94, 2), 0,
			"so few are likely late that the quantile permits it"},
		{"no launch is in time for all, and one saves less than a message", 9 * time.Minute, 0.99, 100, 20, nil, 0,
			"a launch costs more than what it saves"},
		{"the seventh and the eighth of eight save less than a message", 9 * time.Minute, 0.99, 100, 100, nil, 6,
			"launching 6 now"},
		{"each saves more than one", 8 * time.Minute, 0.99, 5, 200, nil, 9, "launching 9 now"},
		{"without any worker, one is launched", 9 * time.Minute, 0.99, 100, 1, func(o *muster.Observation) {
			o.Capacity = muster.Capacity{Known: true, SlotsPerWorker: 10}
		}, 1, "launching 1 now"},
	} {
		t.Run(row.name, func(t *testing.T) {
			o := straggling(row.age, row.messages)
			o.Objective.Latency, o.Objective.Quantile = row.latency, row.quantile
			if row.change != nil {
				row.change(&o)
			}
			d := Deadline{}.Decide(o, nil)
			if n := d.Desired - o.Capacity.Active(); n != row.launched || !strings.Contains(d.Sentence(), row.says) {
				t.Errorf("found %d launched, want %d and %q: %s", n, row.launched, row.says, d.Sentence())
			}
			value := 0.0
			for _, v := range d.Trail[0].In {
				if v.Name == "spared" {
					value = v.Value
				}
			}
			if most := float64(rules.Ceil(planOf(o).needAfter(0).workers)); value != most-float64(row.launched) {
				t.Errorf("the trail has %v launches spared of %v, and %d are launched", value, most, row.launched)
			}
		})
	}
}
