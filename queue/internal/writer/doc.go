// Package writer owns the state of the queues and makes its changes durable. Its [Writer] is one
// goroutine that works in turns. One turn:
//
//	take requests -> apply to State -> commit Ops with one sync -> answer -> wake waiting receives and subscribers
//
// All requests that wait while one group is committed form the next group, so the number of syncs
// depends on the disk and not on the load.
//
//   - [Send], [Receive], [Settle] and [Call] are the requests. [Writer.Do] runs one and waits for its
//     answer.
//   - [Writer.Receive] runs a receive. It is served at once, without the goroutine, when nothing must
//     be on disk first.
//   - [Batcher] hands in many requests of one caller together, and delivers their outcomes when the
//     caller asks for them.
//
// Locks: Writer.mu guards the state and is never held during a commit, so counts and quick receives do
// not wait for the disk. Writer.turning is held for a whole turn. Whoever needs both takes turning
// first.
//
// When a commit fails for lack of room, the group is undone and applied again without what needs room:
// deletes keep working on a full disk. After any other failed write it is unknown what the disk holds,
// so the writer refuses everything until a restart.
//
// The package knows no receipts, no names or limits of the protocol, and no message as a receiver sees
// it. Requests come validated, and package queue turns deliveries into messages; its documentation says
// what an answer promises.
package writer
