// Package cloudwatch measures a queue, or anything else that can be counted, by metrics of CloudWatch and expressions
// over them.
//
// Use it for a fleet whose work is not on SQS, or whose own programs publish how long their work takes. [Config] is
// what a fleet states: for each [kind.Quantity] what is [Stated], a metric or an expression. [Source] is the
// muster.Source of it; [Meter] reads the metrics of the policy metric-math.
//
//	metrics: {backlog: {namespace: Jobs, metric: Waiting, dimensions: [Queue=mail], stat: Maximum}}
//
// Expressions are computed here by package metricmath, from metrics that are read together with those of all other
// fleets. Those that only CloudWatch can compute, such as SEARCH, are left to it with ByAWS, at the price of a call of
// their own.
//
// A sample carries the instant at which the period of its datapoint ended, never that of the call. Periods that are not
// complete yet count for nothing. When none of the metrics has a datapoint, the value is unknown, not zero.
//
// For something else: the counts of an SQS queue are fresher by package source/sqs. Calls of all fleets share package
// internal/awsmetrics. What Muster publishes for target tracking of AWS is package fleet/delegate.
package cloudwatch
