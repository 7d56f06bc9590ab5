// Package muster is the vocabulary of Muster, which keeps the right number of workers on every queue.
//
// Read this page and you know the product: every other package uses these words and no others.
//
// # One idea
//
// Data flows one way:
//
//	source -> observation -> policy -> decision -> fleet -> history
//	                            ^                             |
//	                            +---------- recent -----------+
//
// A [Source] measures a queue. What was measured, the size of the fleet by worker state and what was learned about
// processing and boot times make an [Observation]. A [Policy] turns it, together with the [Recent] decisions, into a
// [Decision]: a size, and the trail of terms that led to it. The decision sizes a [Fleet] and is kept in [History], and
// what a later decision must remember is read from there, so that a restart changes nothing.
//
// # Words
//
//   - backlog: messages waiting to be received. In flight: received and not yet deleted. Delayed: not yet visible.
//     Total work is backlog plus in flight.
//   - processing duration: the time one message takes in a slot; its mean is called MPD.
//   - fleet: what serves a queue and is sized together. Member: what the fleet sizes: a process, an instance, a task, a
//     pod. Worker: the runner on a member. Slots: how many messages a worker handles at once.
//   - desired: the size asked for. In service: members whose workers take messages. Pending: ordered or booting.
//   - latency objective: a message is in time if it takes no longer from sent to finished.
//   - boot time: from the launch order until the worker takes its first message.
//   - hold: the decision to leave the size as it is, always with a [Reason].
//
// # Four rules that keep users safe
//
//   - Unknown is not zero. A [Sample] that is missing, stale, NaN or negative is unknown, and no decrease is ever
//     decided while a required signal is unknown.
//   - Only a worker can say that it is idle. A worker that is to go stops receiving, finishes, mints a release token in
//     a report and leaves only when a directive grants that token: see package worker/protocol.
//   - State the goal, not the step. An [Order] carries the absolute size; the launches it names carry tokens, so that
//     repeating an order changes nothing. Events only wake the loop; they never carry a number.
//   - Every size is limited by [Limits].
//
// # Instants
//
// Nothing in this package, and no policy, reads a clock. Every value carries its own instant, in UTC, stamped by
// whoever received it.
//
// All types here are plain values. They are safe to read from several goroutines; none may be changed after it was
// handed on.
//
// # Where to go from here
//
// To run Muster inside a program of your own, use package app. To size something that Muster does not know, implement
// [Source] or [Fleet], and read package kind. The rules that decide are in package policy, the step that carries them
// out in package controller. A worker in Go is package worker/sqsworker. CONTRIBUTING.md has the map of all packages.
package muster
