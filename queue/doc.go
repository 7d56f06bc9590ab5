// Package queue is the embedded durable message queue. It has the semantics of SQS queues, standard and
// FIFO, without the network protocol: package sqsapi adds that. The main types:
//
//   - [Service] is a set of queues, opened by [Open] with [Options], on disk or in memory. All its
//     methods are safe for concurrent use.
//   - [Outgoing] is a message to send. [Message] is a received one. [Counts] says how many messages a
//     queue holds and in which state.
//   - [Error] is a refused request, with the text that the SQS protocol shows for it. The sentinels
//     in errors.go are its kinds.
//   - [Batcher] is a second way to send, receive and delete, for one caller that must not block. It
//     gathers requests, submits them together and delivers their outcomes later.
//
// Send a message and receive it:
//
//	s, err := queue.Open(queue.Options{Dir: "data"})
//	err = s.CreateQueue(ctx, "jobs", nil, nil)
//	_, err = s.Send(ctx, "jobs", []queue.Outgoing{{Body: "first"}})
//	received, err := s.Receive(ctx, "jobs", queue.ReceiveOptions{})
//	errs := s.Delete(ctx, "jobs", []string{received[0].Receipt})
//
// # How a request runs
//
//	Service      validates the request, makes ids and receipts     this package
//	   |
//	Writer       one goroutine: applies, commits, answers          queue/internal/writer
//	   |    \
//	State    Store                                                 queue/internal/machine, .../storage
//
// The state machine is pure. It decides which message is received next, when a message becomes visible
// again, and what moves to a dead-letter queue. A store keeps its operations: SQLite behind a log, or
// memory. The writer applies all waiting requests, commits them as one group with one full sync, and
// only then answers.
//
// # What an answer promises
//
// A send, a delete, a redelivery, a change of visibility, a move to a dead-letter queue and every
// change of a queue is on disk before the call returns. Only the first receive of a message is written
// later, within 20 ms. A crash in between makes that message visible early, which at-least-once
// delivery allows. On a FIFO queue the first receive is on disk too, so that a crash does not unlock a
// group.
//
// Messages of a standard queue are received in the order in which they became visible, ties in send
// order. Messages of a tenant that takes more than its share come after all others. Messages of one
// group of a FIFO queue are received in send order. A message that is sent twice within five minutes is
// stored once, also across a restart.
//
// # What it costs
//
// A message takes about two bytes of memory if it waits in a standard queue, was never received and has
// neither group nor dead-letter source. Any other message takes about 120 bytes. Bodies stay on disk,
// except for a bounded cache. On a full disk sends are refused and deletes continue: the file "reserve"
// beside the queue file keeps room for them. docs/durability.md describes the files and the tests of
// these promises.
//
// # Use this, not that
//
// Other processes reach a queue through package sqsapi. Package queue/check examines and repairs the
// files of a queue that is not running. The controller measures a queue through source/embedded. This
// package knows nothing of workers, fleets or scaling.
package queue
