// Package monitoring models CloudWatch: metrics that are published and read, expressions over them, and alarms.
//
// [CloudWatch] is the API, with one method for each action. Values enter in two ways:
//
//	PutMetricData (a program)              -> check  -> arrive -> [delay] -> cells by second and by minute
//	Publish (another service of the model) -> publish ---^
//
// They leave in three: GetMetricStatistics and GetMetricData read them, the latter with expressions in the language
// of package metricmath; and an [Alarm] evaluates them after the end of each of its periods.
//
// A value is added to the cell of its second (for high resolution) and of its minute. A cell keeps count, sum,
// minimum and maximum, and up to 1,000 single values for percentiles, so that any longer period is a sum of cells.
//
// What state follows from which points is in package awsrules/alarm: this package only reads the points, keeps the
// state and runs the action. A scaling policy makes its alarms with [CloudWatch.NewAlarm] and [CloudWatch.PutAlarm],
// and says with [Alarm.OnAlarm] what they do; the alarm of a user has no action in the model but the event that it
// sends.
//
// The package knows no group, service or queue. Times are those of the account; a point that was not published is
// unknown, never 0. Use package metricmath to evaluate expressions without CloudWatch's storage, and package series
// for the product's own windows of measurements.
package monitoring
