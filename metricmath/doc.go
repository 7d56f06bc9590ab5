// Package metricmath compiles and evaluates lists of queries in the metric-math language of Amazon CloudWatch. Such a
// list holds metrics and expressions over them, for example FILL(backlog, REPEAT) / workers; a scaling policy's Metrics
// property, an alarm and GetMetricData all use this form.
//
// The life of a list:
//
//	queries --Compile--> Program --Metrics--> what to read (your job)
//	                       |
//	Inputs, instant -------+--Evaluate--> Value, reason
//
// [Compile] turns a list of [Query] into a [Program], or reports every fault with its position. [Program.Metrics] says
// which metrics to read. [Program.Evaluate] computes the returned query from [Inputs]: the points read up to an
// instant. Its answer is a [Value], or the reason why no point is known. [Options] choose where the behaviour of
// CloudWatch is not documented; docs/metric-math.md has the rules and their sources.
//
//	p, err := metricmath.Compile(queries, metricmath.Options{})
//	value, reason := p.Evaluate(metricmath.Inputs{Series: read}, now)
//	if reason == "" {
//		point, start := value.Newest()
//	}
//
// A value has one of three kinds: a number, a [Series] with one [Point] per period, or an array of series. During an
// evaluation all series lie on one grid: the same periods, from the start of the range to the last completed period.
//
// Invariants:
//
//   - A point is finite and known, or missing. Not-a-number and the infinities never come out of an evaluation; on the
//     way in they count as missing.
//   - A metric that was not read is not a metric without points. Everything computed from it is unknown, even through
//     FILL.
//   - All limits are refused with a reason and nothing is truncated: text, nesting, series, periods and computed
//     points, see [MaxQueries] and the constants beside it. A hostile list costs milliseconds.
//   - Every function is pure: no clock, no I/O, no state between calls. Programs and values are safe for concurrent use
//     as long as no caller changes the slices in them.
//
// The package knows neither queues nor scaling: package policy decides by its values. For the text of one expression,
// its grammar and kinds, use package metricmath/language. For what systems with metrics return, use package metrics.
// Package series is unrelated: it keeps histograms of durations by time, where a [Series] here is a row of plain
// numbers at equal distances, as CloudWatch returns it.
package metricmath
