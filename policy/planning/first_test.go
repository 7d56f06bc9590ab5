package planning

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
	}{
		{"time for a second launch", 10 * time.Minute, 60, 1000, 1, 1, 100, 1},
		{"no time for a second launch: those of half a minute, sqrt(34 / 15)", 2 * time.Minute, 75, 1000, 1, 1, 100, 2},
		{"no time to boot: those that come within a boot, sqrt(60 x 20 / 15)", 30 * time.Second, 60, 10, 1, 20, 100, 9},
		{"or those that wait, sqrt(1000 / 15)", 30 * time.Second, 60, 1000, 1, 1, 100, 9},
		{"no more than there are messages", 30 * time.Second, 60, 3, 1, 20, 100, 3},
		{"no more than there are messages, of which a worker takes four", 30 * time.Second, 60, 9, 4, 20, 100, 3},
		{"those that wait pay for all that may be: sqrt(1000 / 15) > 8", 10 * time.Minute, 60, 1000, 1, 1, 8, 9},
		{"but not for ten", 10 * time.Minute, 60, 1000, 1, 1, 10, 1},
		{"a late message costs a minute, and a boot a second: only the boot counts for that", 10 * time.Minute, 1, 100,
			1, 1, 8, 1},
		{"nor do a few messages", 10 * time.Minute, 60, 15, 1, 1, 2, 1},
	} {
		t.Run(row.name, func(t *testing.T) {
			o := muster.Observation{
				Boot:      muster.Estimate{Known: true, Prior: true, MeanSeconds: row.boot, P95Seconds: row.boot},
				Objective: muster.Objective{Latency: row.latency, Quantile: 0.99}, Limits: muster.Limits{Max: row.max},
				Capacity: muster.Capacity{SlotsPerWorker: row.slots}, Poll: time.Second,
				Arrivals: muster.Arrivals{Known: true, Minute: row.rate},
			}
			if got := (Deadline{}).first(o, row.backlog); got != row.want {
				t.Errorf("found %d, want %d", got, row.want)
			}
		})
	}
}
