// Package worker is the runner: it receives messages, does the work for each, keeps its lease, reports, and releases
// itself.
//
// [Run] is the shell. It polls a [Queue], calls Options.Do for each message, extends the visibility of what it holds,
// deletes what succeeded, gives back what failed, and reports to a controller. What it may do next is never decided
// there but by three pure state machines, which a simulator drives with the same code: [lease.Lease] is the worker's
// own, [lease.Shield] the protection of its task or instance, [lease.Visibility] the hold on one message.
//
// What the shell does not need has packages of its own:
//
//   - worker/lease: the state machines, and the reports that a worker makes;
//   - worker/execution: work that is a program, over arguments and standard input, JSON lines or HTTP;
//   - worker/sqsqueue: the queue behind an SQS endpoint; worker/ledger: attempts that survive the worker;
//   - worker/httpreport: reports to a controller; worker/cloudwatch and worker/dynamoreport: a [Sink] of metrics and a table,
//     where no controller answers;
//   - worker/placement: notices that the machine or task ends, and their names; worker/autoscaling: a [Hook] that keeps a machine
//     of an Auto Scaling group while its worker finishes;
//   - worker/sqsworker: one call for a worker in Go.
//
// Delivery is at least once: a message may be worked on again after a crash, a lost lease or a failed delete. The
// message's ID stays the same and serves as idempotency key.
package worker
