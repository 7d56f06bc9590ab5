package lease

import (
	"maps"
	"slices"
	"time"

	"github.com/muster-scale/muster/series"
	"github.com/muster-scale/muster/worker/protocol"
)

// AddClass adds the duration took to the histogram of a class; an empty class adds nothing. At most
// [protocol.MaxClasses] classes are kept, and OtherClass for the rest. The given map is not changed.
func AddClass(classes map[string]series.Durations, class string, took time.Duration) map[string]series.Durations {
	return plusClasses(classes, ofClass(class, took))
}

// plusClasses returns the sum of both histograms by class, with the bound of [AddClass]. Neither map is changed.
func plusClasses(a, b map[string]series.Durations) map[string]series.Durations {
	if len(b) == 0 {
		return a
	}
	sum := make(map[string]series.Durations, len(a)+len(b))
	maps.Copy(sum, a)
	for _, class := range slices.Sorted(maps.Keys(b)) {
		name := class
		if _, known := sum[class]; !known && len(sum) >= protocol.MaxClasses {
			name = protocol.OtherClass
		}
		sum[name] = series.Merge(sum[name], b[class])
	}
	return sum
}

// ofClass returns the histogram of one duration by class.
func ofClass(class string, d time.Duration) map[string]series.Durations {
	if class == "" {
		return nil
	}
	return map[string]series.Durations{class: series.Add(series.Durations{}, d)}
}
