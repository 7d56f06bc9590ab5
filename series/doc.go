// Package series keeps timed measurements in bounded windows and estimates from them.
//
// [Add], [Merge] and [Quantile] work on [Durations], a histogram with logarithmic buckets; a [Window] keeps such
// histograms by time and forgets old ones. Everything here is a pure function of what was added and of the instants
// given: no clock is read, so a window rebuilt from recorded measurements equals the one that was lost.
package series
