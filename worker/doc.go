// Package worker is the runner: it receives messages, does the work for each, keeps its lease, reports, and releases
// itself.
//
// [Run] is the shell. It polls a [Queue], calls [Options].Do for each message, extends the visibility of what it holds,
// deletes what succeeded, returns what failed, and reports to a controller:
//
//	resized := func(ctx context.Context, m worker.Message) error { return resize(ctx, m.Body) }
//	err := worker.Run(ctx, worker.Options{Queue: queue, Do: resized})
//
// What it may do next is never decided there but by three pure state machines, which a simulator drives with the same
// code: [lease.Lease] is the worker's own, [lease.Shield] the protection of its task or instance, [lease.Visibility]
// the lease of one message.
//
// Delivery is at least once: a message may be worked on again after a crash, a lost lease or a failed delete. The
// message's ID stays the same and serves as idempotency key.
//
// What the shell does not need has packages of its own:
//
//   - worker/execution: work that is a program; worker/sqsqueue: the queue behind an SQS endpoint; worker/ledger:
//     attempts that survive the worker;
//   - worker/httpreport, worker/cloudwatch (a [Sink] of metrics) and worker/dynamoreport: where reports go;
//   - worker/placement: notices that the machine or task ends; worker/autoscaling: a [Hook] that keeps a machine of an
//     Auto Scaling group while its worker finishes.
//
// For something else: worker/sqsworker makes a worker in Go by one call, without these parts. Package app/work is the
// worker that muster work runs, from its settings. How many workers there are is decided elsewhere: see package
// controller.
package worker
