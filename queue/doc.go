// Package queue is the embedded durable message queue, with the semantics of
// standard SQS queues.
//
// A pure state machine (state.go, backlog.go) decides everything: which
// message is received next, when one is visible again, what moves to a
// dead-letter queue. It knows no clock, goroutine, randomness or file; time is
// an argument, and what must be kept comes back as store operations. The store
// (SQLite, or memory for an ephemeral queue) only keeps those operations and
// reads bodies. Service is the thin shell around both: one writer goroutine
// takes the requests that wait, applies them to the state, commits them as one
// group with one full sync, and only then answers.
//
// What an answer promises: a send, a delete, a redelivery, a change of
// visibility, a move to a dead-letter queue and every change to a queue is on
// disk before the call returns. Only the first receive of a message is written
// later, within 20 ms; a crash in between makes the message visible early,
// which at-least-once delivery allows.
//
// Messages are received in the order in which they became visible, oldest
// first, ties in send order. No order is promised across redeliveries.
package queue
