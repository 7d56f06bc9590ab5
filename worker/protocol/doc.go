// Package protocol is what a worker says to the controller, and what it is answered: the JSON of both directions,
// whatever carries it. docs/worker-protocol.md explains it to those who write a worker in another language.
//
// The main types:
//
//   - [Report] is what a worker says, at every change of its [WorkerState] and at regular intervals: what it holds, how
//     long messages took, what failed. It counts what was finished since the report before, and repeats as a [Tally]
//     what each earlier report counted that has no answer yet.
//   - [Directive] is the answer. Its [Ask] tells the worker to work, to drain or to leave.
//   - [Incident] is something that hinders a worker, as a program that cannot be reached; [LastFailure] is the last
//     error of its work; [Retries] are the messages that it returned and that wait for their retry; [Usage] is the
//     processor time and memory that its work took.
//
// Only a worker can say that it is idle. It does so by a release token in a report, and it leaves only when a directive
// grants that token:
//
//	worker:     {"state": "idle", "token": "t1", "challenge": 7, ...}
//	controller: {"ask": "leave", "token": "t1", "challenge": 7}
//
// The token counts only while the report repeats the controller's challenge, so a report that comes late releases
// nothing.
//
// All types are plain values. None may be changed after it was handed on.
//
// For something else: package worker/lease decides what a worker says and does next, package roster what the controller
// makes of it. How reports travel is package worker/httpreport or worker/dynamoreport on one side and package server on
// the other.
package protocol
