// Package muster is the vocabulary of Muster, which keeps the right number of workers on every queue.
//
// Start here: every other package uses these words and no others.
//
// # One idea
//
// Data flows one way:
//
//	source -> observation -> policy -> decision -> fleet -> history
//	                            ^                             |
//	                            +---------- recent -----------+
//
// A [Source] measures a queue. The measurements, the fleet's members by state and the estimates of processing and boot
// times make an [Observation]. A [Policy] turns it, together with the [Recent] decisions, into a [Decision]: a size,
// and the trail of terms that led to it. The decision sizes a [Fleet] and is kept in [History]. All memory is derived
// from that history, so that a restart changes nothing.
//
// # Words
//
//   - backlog: messages waiting to be received. In flight: received and not yet deleted. Delayed: not yet visible.
//     Total work is backlog plus in flight.
//   - waiting for retry: failed, returned to the queue and not visible again yet.
//   - processing duration: the time one message takes in a slot; its mean is called MPD.
//   - fleet: everything that serves a queue and is sized together. Member: one unit of a fleet: a process, an instance,
//     a task, a pod. Worker: the runner on a member. Slots: how many messages a worker handles at once.
//   - recommendation: the size a policy computes before limits ([Decision].Wish). Desired: the size after limits, which
//     is set. In service: members whose workers take messages. Pending: ordered or booting.
//   - latency objective: a message is in time if it takes no longer from sent to finished.
//   - boot time: from the launch order until the worker takes its first message.
//   - hold: the decision to leave the size as it is, always with a [Reason].
//   - override: a time-limited instruction of an operator, such as a reservation of workers; see package override.
//   - shadow mode: Muster decides and records, and another system sizes the fleet.
//
// # Four rules that keep users safe
//
//   - Unknown is not zero. A [Sample] that is missing, stale, NaN or negative is unknown, and no decrease is ever
//     decided while a required signal is unknown.
//   - Only a worker can say that it is idle. A worker that must stop takes no more messages, finishes, mints a release
//     token in a report and stops only when a directive grants that token: see package worker/protocol.
//   - State the goal, not the step. An [Order] carries the absolute size, and the launches it names carry tokens, so
//     that a repeated order changes nothing. Events only wake the loop; they never carry a number.
//   - Every size is limited by [Limits].
//
// # Instants
//
// Nothing in this package, and no policy, reads a clock. Every value carries its own instant, in UTC, stamped by the
// process that received it.
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
