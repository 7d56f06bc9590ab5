// Package kind says what a kind of fleet, queue or signal has to give, so that Muster can run it, examine it and
// document it: what package config asks of its keys, and how its ports are opened.
//
// A kind is one folder and one row. The folder is beside the system that it reaches: fleet/asg, source/sqs. It declares
// the kind's keys, its facts and its checks, and opens its [Ports], [Queue] or [Signal]. The row stands in package
// kinds, which is the only place that knows all of them. To add one, follow CONTRIBUTING.md.
//
// A [Host] is what a kind gets from the program that runs it. Use [Shared] for what all fleets of a host have in
// common, such as a client that describes fifty groups in one call.
package kind
