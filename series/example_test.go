package series_test

import (
	"fmt"
	"time"

	"github.com/muster-scale/muster/series"
)

// What was measured more than ten minutes ago no longer counts.
func ExampleWindow() {
	noon := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	w := series.Window{Length: 10 * time.Minute}
	w = w.Add(noon, series.Add(series.Durations{}, 2*time.Second, 4*time.Second))
	w = w.Add(noon.Add(8*time.Minute), series.Add(series.Durations{}, 9*time.Second))
	for _, later := range []time.Duration{9 * time.Minute, 15 * time.Minute} {
		e := series.Estimate(w.Durations(noon.Add(later)), 0)
		fmt.Printf("%s later: %d measured, mean %g s\n", later, e.Count, e.MeanSeconds)
	}
	// Output:
	// 9m0s later: 3 measured, mean 5 s
	// 15m0s later: 1 measured, mean 9 s
}
