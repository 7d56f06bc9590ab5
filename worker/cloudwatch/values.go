package cloudwatch

import (
	"github.com/muster-scale/muster/series"
)

// Value is a duration and the number of messages that took it.
type Value struct {
	Seconds float64
	Count   int64
}

// Values returns the durations of a histogram, ascending. Each, and so every quantile, is off by a few per cent; their
// mean is exact.
func Values(h series.Durations) []Value {
	values := make([]Value, 0, len(h.Buckets))
	sum := 0.0
	for _, b := range h.Buckets {
		one := series.Durations{Count: 1, Buckets: []series.Bucket{{Index: b.Index, Count: 1}}}
		v := Value{series.Quantile(one, 1), b.Count}
		sum += v.Seconds * float64(v.Count)
		values = append(values, v)
	}
	switch {
	case h.Count == 0:
		return nil
	case sum == 0: // durations that are too short to tell apart
		return []Value{{h.SumSeconds / float64(h.Count), h.Count}}
	}
	for i := range values {
		values[i].Seconds *= h.SumSeconds / sum
	}
	return values
}
