// Package metricmath checks and evaluates lists of queries in the metric-math language of Amazon CloudWatch:
// expressions such as FILL(backlog, REPEAT) / workers over metrics that have one value per period, and lists of queries
// as a scaling policy's Metrics property holds them.
//
// [Compile] turns a list of [Query] into a [Program], or says with positions what is wrong. [Program.Evaluate] computes
// the query that returns its points from what was read of the metrics until an instant. What an expression is and how
// it is read is the matter of package language.
//
// A value has one of three kinds: a number, a [Series] with one [Point] per period, or an array of series. A point is
// known and finite, or missing; not-a-number and the infinities never come out, and count as missing where they come
// in. The package has its own Series rather than the windows of package series: those keep histograms of durations by
// time, this is a row of plain numbers at equal distances, as CloudWatch returns it.
//
// Everything here is a pure function of its arguments: no clock, no I/O, nothing kept between calls. All values are
// safe for concurrent use as long as nobody changes them. Text, nesting, lengths and work are bounded, see [MaxQueries]
// and its neighbours. Where the behaviour of CloudWatch is not documented, a field of [Options] chooses;
// docs/metric-math.md has the rules and where they come from.
package metricmath
