// Package cloudwatch publishes metrics of workers to Amazon CloudWatch: MPD, the mean processing duration, and
// TotalWorkers, the number of slots. Formulas for target tracking use both.
//
// [Sink] calls PutMetricData once in each period. [Lines] writes lines in the embedded metric format, which CloudWatch
// Logs turns into metrics without a call and without credentials. Both are a worker.Sink:
//
//	sink, err := cloudwatch.NewLines(os.Stdout, cloudwatch.Options{Fleet: "thumbnails"})
//
// Both use the dimension Fleet, so that the statistic Sum of TotalWorkers covers all workers of the fleet. A worker
// publishes TotalWorkers once per period, at its beginning: a second datum, or a repeated call, would count it twice.
// So a failed call is not retried, and its period is a gap.
//
// Durations are published as values with counts from the worker's histogram, not as single measurements. Their mean is
// exact, and quantiles are off by a few per cent.
//
// For something else: metrics of a whole fleet are published by the controller, in package fleet/delegate. Metrics are
// read by package source/cloudwatch. Reports that a controller reads are package worker/dynamoreport.
package cloudwatch
