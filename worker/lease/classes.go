package lease

import (
	"maps"
	"slices"
	"time"

	"github.com/muster-scale/muster/series"
	"github.com/muster-scale/muster/worker/protocol"
)

// AddClass returns the histograms of classes with the duration took of a message of a class; an empty class is none.
// There are at most [protocol.MaxClasses] and the other one. The given map is not changed.
func AddClass(classes map[string]series.Durations, class string, took time.Duration) map[string]series.Durations {
	return plusClasses(classes, ofClass(class, took))
}

// plusClasses returns the histograms of both, of at most protocol.MaxClasses classes and the other one. Neither is
// changed.
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

// ofClass returns one duration as the histogram of its class.
func ofClass(class string, d time.Duration) map[string]series.Durations {
	if class == "" {
		return nil
	}
	return map[string]series.Durations{class: series.Add(series.Durations{}, d)}
}
