// Package protocol is what a worker says to the controller, and what it is answered: the JSON of both directions,
// whatever carries it. docs/worker-protocol.md explains it to those who write a worker in another language.
//
// A worker sends a [Report] at every change of its [WorkerState] and at regular intervals; the answer is a [Directive]
// that tells it to work, to drain or to leave. Only a worker can say that it is idle: it does so by a release token in
// a report, and it leaves only when a directive grants that token. Package worker/lease decides what a worker says and
// does next, package roster what it is answered.
//
// All types are plain values. None may be changed after it was handed on.
package protocol
