// Package series keeps timed measurements in bounded windows and estimates from them. It is the memory behind every
// learned number: processing durations, boot times, arrivals, failures.
//
// There are six kinds of memory. Each is a value: a method that changes it returns a new one, and the old one stays
// valid. A controller that clones its state for each step therefore copies a few words, not the measurements.
//
//   - [Durations] is a histogram of durations with logarithmic buckets. [Add], [Merge] and [Less] make new ones;
//     [Quantile], [Within] and [Estimate] read them. Reports of workers and records of the history carry a histogram as
//     it is. A [Bucket] is one range of it.
//   - [Window] keeps such histograms by time and forgets old ones: the processing durations of the last hours.
//   - [Last] keeps the newest of them, however old they are: for work that is so rare that a window holds few.
//   - [Counts] counts events by time, such as arrivals of messages. It returns the number in any span, the mean rate,
//     and how much room the busiest spans would have needed ([Counts.Envelope]).
//   - [Long] counts events in few and wide steps for as long as a message may wait, which may be days.
//   - [Season] counts the messages of each quarter of an hour for four weeks. [Season.Forecast] predicts the next hours
//     from the same time of earlier days or weeks. A [Came] is one record of it: the messages of five minutes.
//
// How they fit together for one fleet:
//
//	worker reports --Durations--> Window --Estimate--> Observation.Processing
//	queue counters --------------> Counts --rates-----> Observation.Arrivals
//	                                \--Came--> Season --Forecast--> Observation.Forecast
//
// Two measured durations, and the estimate after the second:
//
//	w := series.Window{Length: time.Hour}
//	w = w.Add(t0, series.Add(series.Durations{}, 2*time.Second))
//	w = w.Add(t1, series.Add(series.Durations{}, 4*time.Second))
//	w, e := w.At(t1) // e.MeanSeconds is 3
//
// Invariants:
//
//   - Everything is a pure function of what was added and of the given instants: no clock is read. A window rebuilt
//     from recorded measurements equals the lost one, whatever the times at which either was read.
//   - Memory is bounded, however much is added. Resolution falls with age instead: old counts are merged into wider
//     steps, and quantiles are off by at most [Accuracy].
//   - Histograms may come from other machines. [Valid] checks one before it is trusted; [Merge] survives invalid ones.
//
// The package knows nothing of queues, fleets or policies; it imports package muster for the plain types it fills.
//
// Use another package for a series of a system that keeps metrics (package metrics), for arithmetic on such series
// (package metricmath), and for the whole memory of one fleet (package controller/learning, which combines the above).
package series
