// Package machine is the pure state machine of the embedded queue: which messages there are, where each of them is, and
// what a send, a receive, a delete and the passing of time make of that. It imports nothing but a few packages of the
// standard library that compute, reads no clock and does no I/O.
//
// [State] holds all queues. A caller changes it by its methods, under a lock of its own, and gets the operations that a
// [Store] must keep; [State.Rollback] undoes what a store refused. [Load] rebuilds the state from a store. A [Queue] is
// the index of one queue: the visible messages in their order, packed while they are untouched (cold.go), heaps of
// those in flight and delayed, and the groups of a FIFO queue, so that every count is a length. The content of a
// message is a [Record], which the machine never looks at.
//
// Times are milliseconds since 1970. Nothing here is safe for concurrent use, unless it says so.
package machine
