// Package machine is the pure state machine of the embedded queue. It decides which messages exist, in which state
// each one is, and what a send, a receive, a delete and the passing of time change. It reads no clock, does no I/O
// and starts no goroutine: time is an argument. It imports only packages of the standard library that compute.
//
//		request -> method of State -> State.Ops -> Store.Commit -> State.Committed
//		                                                       \-> State.Rollback
//
//	  - [State] holds all queues. Its owner changes it under a lock and passes the collected operations to a [Store].
//	    [State.Committed] ends a group that the store kept, [State.Rollback] undoes one that it refused. [Load]
//	    rebuilds the state from a store.
//	  - [Queue] is one queue: settings, and a [Backlog] that indexes its messages. Visible messages are in a ring in
//	    receive order, or [Packed] while nothing happened to them but a send. Heaps order the messages in flight and
//	    the delayed ones by due time. A FIFO queue has a line of messages for each group.
//	  - [Entry] is a message in memory. [Record] is its content, which the machine passes on and does not read.
//
// Invariants: every message is in exactly one place, so every count is the length of a structure. Sequences only grow
// and are never used twice, also across crashes ([SeqBits]). After Rollback the state equals that before the group,
// except for answers already given.
//
// Times and durations are milliseconds, times since 1970. Nothing here is safe for concurrent use unless it says so.
// Package writer owns the only State of a running service; validation of requests is in package rules and package
// queue.
package machine
