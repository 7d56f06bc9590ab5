// Package queue is the embedded durable message queue, with the semantics of SQS queues, standard and FIFO. The main
// types:
//
//   - [Service] is a set of queues, made by [Open] from [Options]: on disk, or in memory. All its methods are safe for
//     concurrent use.
//   - [Outgoing] is a message to send, [Message] one that was received, [Counts] what a queue holds. [Error] is a
//     refusal, in the words of the SQS protocol.
//   - [Courier] is a second way in, for one caller that goes on meanwhile: it gathers requests and hands them in
//     together.
//
// A message there and back:
//
//	s, err := queue.Open(queue.Options{Dir: "data"})
//	err = s.CreateQueue(ctx, "jobs", nil, nil)
//	_, err = s.Send(ctx, "jobs", []queue.Outgoing{{Body: "first"}})
//	received, err := s.Receive(ctx, "jobs", queue.ReceiveOptions{})
//
// A pure state machine, package queue/internal/machine, decides which message is received next, when one is visible
// again, and what moves to a dead-letter queue. The stores, package queue/internal/storage, keep its operations: SQLite
// with a log before it, or memory. One goroutine, that of package queue/internal/writer, takes the requests that wait,
// applies them, commits them as one group with one full sync, and only then answers.
//
// What an answer promises: a send, a delete, a redelivery, a change of visibility, a move to a dead-letter queue and
// every change to a queue is on disk before the call returns. Only the first receive of a message is written later,
// within 20 ms; a crash in between makes the message visible early, which at-least-once delivery allows. On a FIFO
// queue a first receive is on disk too, so that a crash does not open a locked group.
//
// Messages of a standard queue are received in the order in which they became visible, oldest first, ties in send
// order; those of a tenant that takes more than its share come after the others. Messages of one group of a FIFO queue
// are received in the order in which they were sent, and what is sent twice within five minutes is stored once, also
// after a restart.
//
// A message that waits in a standard queue, was never received and has neither group nor dead-letter source takes about
// two bytes of memory, all others about 120. Bodies stay on disk, but for a bounded cache. On a full disk sends are
// refused and deletes go on: the file "reserve" beside the queue file keeps room for them. docs/durability.md has the
// files and what was proved.
//
// For something else: other processes reach a queue by package sqsapi, which speaks the SQS protocol. Package
// queue/check examines and repairs the files of a queue that does not run. The controller measures it by
// source/embedded.
package queue
