// Package kind says what a kind of fleet, queue or signal must give, so that Muster can run, examine and document it.
//
// A kind is one folder and one row. The folder is named after the system that it reaches, as fleet/asg and source/sqs.
// It declares the kind's keys, its facts and its checks, and opens its ports. The row stands in package kinds, the only
// place that knows all of them.
//
// The main types:
//
//   - [MembersRow] is a kind of fleet: [Members] is what one fleet of the kind states, and opens its [Ports].
//   - [QueueRow] is a kind of queue: how its names differ from others, what is wrong with a name, and how it is opened
//     as a [Queue].
//   - [SignalRow] is a kind of measurement in addition to the queue or instead of it, as by CloudWatch or Prometheus: a
//     [Signal], which measures each [Quantity] that is stated.
//   - [SizerRow] is a system that decides the size instead of Muster, as target tracking of AWS: a [Sizer].
//   - [Table] holds the rows. [Host] is the program that runs the kinds. Use [Shared] for what all fleets of a
//     host have in common, such as a client that describes fifty groups in one call.
//
// Small interfaces have one consumer each: [Described] has what is known of members without a poll, for status pages
// and the simulator; [Examined] answers muster doctor; [Local] starts workers as processes of this machine; [Publisher]
// publishes the metrics that a cloud tracks.
//
// The smallest row to read is that of a queue:
//
//	func Kind() kind.QueueRow { ... } // source/embedded/kind.go
//
// To add a kind, follow CONTRIBUTING.md; fleet/asg/kind.go and source/prometheus/kind.go are the ones to read first.
//
// For something else: package config reads the keys that a kind declares, and package config/keys is how they are
// declared. The ports themselves, muster.Source and muster.Fleet, are in the root package.
package kind
