package planning

import (
	"testing"
	"time"

	"github.com/muster-scale/muster"
	"github.com/muster-scale/muster/policy/internal/durations"
)

// Attempts that fail keep slots busy. Their time is a part of the work where no launch is in time and the fleet is
// behind, and a part of the load where that comes near the maximum. Else messages that wait for their retry are seen in
// the queue in time.
func TestFailingAttemptsTakeTimeWhereThereIsNone(t *testing.T) {
	for _, row := range []struct {
		name          string
		objective     time.Duration
		inTime        float64
		most          int
		rate          float64
		mean, latency float64
	}{
		{"all in time, and room for more", 30 * time.Minute, 1, 100, 1.0 / 60, 60, 1790},
		{"behind, and what failed can wait", 30 * time.Minute, 0.2, 100, 1.0 / 60, 60, 1790},
		{"behind, and no launch is in time", 5 * time.Minute, 0.2, 100, 1.0 / 60, 120, 291},
		{"no launch is in time, and all the same they are", 5 * time.Minute, 1, 100, 1.0 / 60, 60, 291},
		{"as much load as the maximum takes, with the attempts that fail", 30 * time.Minute, 1, 2, 10.0 / 60, 60, 573},
	} {
		o := straggling(5, 10)
		o.Limits.Max, o.Objective.Latency = row.most, row.objective
		o.Arrivals = muster.Arrivals{Known: true, TenSeconds: row.rate, Minute: row.rate, FiveMinutes: row.rate,
			TwentyMinutes: row.rate, Hour: row.rate, WatchedSeconds: 3600}
		plan := func(failing bool) plan {
			o := o
			o.Progress = &muster.Progress{Finished: 50, InTime: muster.Measured(o.At, row.inTime)}
			if failing {
				o.Progress.Failed, o.Progress.Failing = 50, lasting(60, 50)
			}
			work, _ := durations.Of(o)
			return newPlan(o, work, 1)
		}
		if p := plan(true); p.Mean != row.mean || p.latency < row.latency-1 || p.latency > row.latency+1 {
			t.Errorf("%s: a message takes %v s in the mean, and may take %v s; want %v and %v", row.name, p.Mean,
				p.latency, row.mean, row.latency)
		}
		if p := plan(false); p.Mean != 60 || p.latency < row.latency {
			t.Errorf("%s: without them a message takes %v s, and may take %v s", row.name, p.Mean, p.latency)
		}
	}
}
