// Package queue is the embedded durable message queue, with the semantics of
// SQS queues, standard and FIFO.
//
// A pure state machine, package queue/internal/machine, decides everything: which
// message is received next, when one is visible again, what moves to a
// dead-letter queue. It knows no clock, goroutine, randomness or file; time is
// an argument, and what must be kept comes back as store operations. The stores,
// package queue/internal/storage (SQLite with a log before it, or memory for an
// ephemeral queue), only keep those operations and read bodies. [Service] is the thin
// shell around both: one writer goroutine takes the requests that wait, applies them to
// the state, commits them as one group with one full sync, and only then answers. A
// [Courier] that has been the only one to ask is the writer for its own request.
//
// What an answer promises: a send, a delete, a redelivery, a change of
// visibility, a move to a dead-letter queue and every change to a queue is on
// disk before the call returns. Only the first receive of a message is written
// later, within 20 ms; a crash in between makes the message visible early,
// which at-least-once delivery allows. On a FIFO queue a first receive is on
// disk too, so that a crash does not open a locked group.
//
// Messages of a standard queue are received in the order in which they became
// visible, oldest first, ties in send order; those of a tenant that takes more
// than its share come after the others. No order is promised across
// redeliveries.
//
// A message that waits in a standard queue, was never received and has neither
// group nor dead-letter source takes about two bytes of memory: ten
// million open in seconds. All others take about 120 bytes each. Bodies stay on
// disk, but for a bounded cache.
//
// Messages of one group of a FIFO queue are received in the order in which they
// were sent. A group can be received from while its front is
// visible, and then up to the first message that is not. A group that becomes
// so takes its turn after the others. What is sent twice within five minutes is
// stored once, also after a restart.
//
// The files: queues.db, an SQLite file, and while the queue is open and used a
// log beside it, queues.log, which belongs to it. Closing the queue takes the log
// over into the tables and removes it.
//
// On a full disk sends are refused and deletes go on: the file "reserve" beside
// the queue file keeps up to 18 MiB of room for them. It is removed when the
// disk is full, and made again before sends are accepted again.
package queue
