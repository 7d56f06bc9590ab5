// Package worker is the runner: it receives messages, does the work for each, keeps its lease, reports, and releases
// itself.
//
// [Run] is the shell. It polls a [Queue], calls Options.Do for each message, extends the visibility of what it holds,
// deletes what succeeded, gives back what failed, and reports to a controller. What it may do next is never decided
// there but by three pure state machines, which a simulator drives with the same code: [lease.Lease] is the worker's own,
// [lease.Shield] the protection of its task or instance, [lease.Visibility] the hold on one message.
//
// The work is a function in Go, see [Handle] and [Options]; or that of a program: [Command] runs one for each message, [Lines]
// speaks JSON lines with ones that live long, and [Endpoint] posts messages to one that serves HTTP. docs/worker-protocol.md
// specifies what they say, and [Conformance] checks a program against it.
//
// [SQS] is the queue behind an Amazon SQS endpoint, and takes dead letters; [Ledger] counts attempts where they survive the
// worker; and [HTTPReporter] talks to the controller. Where nobody answers, a [Sink] takes what the worker says: package
// worker/cloudwatch has metrics, package worker/dynamoreport a table. A [Hook] keeps a machine that is to end while its worker
// finishes: package worker/autoscaling has that of an Auto Scaling group.
//
// Delivery is at least once: a message may be worked on again after a crash, a lost lease or a failed delete. The
// message's ID stays the same and serves as idempotency key.
package worker
