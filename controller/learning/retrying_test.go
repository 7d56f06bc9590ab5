package learning

import (
	"testing"
	"time"
)

// Messages in flight that no worker holds wait for a retry, unless the reports of the workers that hold them can still
// come.
func TestRetryingIsWhatNoWorkerHeldForTheRoundTripOfReports(t *testing.T) {
	start := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	for _, row := range []struct {
		name string
		over time.Duration
		// unheld is how many messages no worker is known to hold from each second on; the last of them stays.
		unheld func(second int) float64
		at     int
		want   float64
	}{
		{"reports are prompt and three messages wait", retryingOver, func(int) float64 { return 3 }, 10, 3},
		{"it is too early to tell", retryingOver, func(int) float64 { return 3 }, 4, 0},
		{"a worker reports a second late", retryingOver, func(second int) float64 {
			if second%5 == 4 {
				return 1
			}
			return 0
		}, 20, 0},
		{"reports come half a minute late, and were not there yet", time.Minute, func(int) float64 { return 12 }, 29,
			0},
		{"reports come half a minute late, and show what is held", time.Minute, func(second int) float64 {
			if second < 35 {
				return 12
			}
			return 2
		}, 100, 2},
	} {
		t.Run(row.name, func(t *testing.T) {
			var l lowWater
			for second := range row.at + 1 {
				l = l.add(start.Add(time.Duration(second)*time.Second), row.unheld(second), row.over)
			}
			if got := l.least(); got != row.want {
				t.Errorf("found %v messages that wait for a retry after %d s, want %v", got, row.at, row.want)
			}
		})
	}
}
