// Package series keeps timed measurements in bounded windows and estimates from them.
//
// The main types:
//
//   - [Durations] is a histogram of durations with logarithmic buckets. [Add], [Merge] and [Less] make new ones;
//     [Quantile], [Within] and [Estimate] read them. A [Bucket] is one step of it, as reports carry it.
//   - [Window] keeps such histograms by time and forgets old ones: the processing durations of the last hours.
//   - [Counts] keeps how much of something happened when, as arrivals of messages, and tells their number in any span
//     and at the busiest times.
//   - [Season] keeps how many messages came in each quarter of an hour, for up to four weeks, and forecasts by the same
//     time of other days. [Came] is how many came within five minutes.
//
// Two measured durations, and what is known of all after the second:
//
//	w := series.Window{Length: time.Hour}
//	w = w.Add(t0, series.Add(series.Durations{}, 2*time.Second))
//	w = w.Add(t1, series.Add(series.Durations{}, 4*time.Second))
//	w, e := w.At(t1) // the mean of both
//
// Everything here is a pure function of what was added and of the instants given: no clock is read, so a window rebuilt
// from recorded measurements equals the one that was lost. Memory is bounded, however much is added.
//
// For something else: package metrics has the series of systems that keep metrics, and package metricmath computes with
// them. What a fleet's past tells as a whole is package controller/learning.
package series
