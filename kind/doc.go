// Package kind says what a kind of fleet, queue or signal must give, so that Muster can run, examine and document it.
//
// A kind is one folder and one row. The folder is beside the system that it reaches, as fleet/asg and source/sqs. It
// declares the kind's keys, its facts and its checks, and opens its ports. The row stands in package kinds, the only
// place that knows all of them.
//
// The main types:
//
//   - [MembersRow] is a kind of fleet: [Members] is what one fleet of the kind states, and opens its [Ports].
//   - [QueueRow] is a kind of queue: how its name is told from others, what is wrong with a name, and how it is opened
//     as a [Queue].
//   - [SignalRow] is what a fleet is measured by beside its queue, as the metrics of CloudWatch or Prometheus: a
//     [Signal].
//   - [SizerRow] is what decides the size in place of Muster, as target tracking of AWS: a [Sizer].
//   - [Table] holds the rows. [Host] is what a kind gets from the program that runs it. Use [Shared] for what all
//     fleets of a host have in common, such as a client that describes fifty groups in one call.
//
// Optional abilities are small interfaces of their own: [Told] says what is known of members without a poll, and what
// the simulator plays; [Examined] answers muster doctor; [Local] starts workers as processes of this machine;
// [Publisher] publishes what a cloud tracks.
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
