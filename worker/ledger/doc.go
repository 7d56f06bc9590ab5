// Package ledger counts the attempts at each message in an SQLite file, so that the counts survive the worker.
//
// [Ledger] is a worker.Attempts. An attempt is counted before the work begins, so a message that crashes its worker
// uses up attempts too, and it is taken back when the work was interrupted through no fault of the message.
//
// The queue's own receive count is no substitute: it also counts receives whose message was never worked on. It takes
// the place of counts that a power cut has lost.
//
// For something else: where messages go whose attempts are used up is worker.Options.DeadLetters. The embedded queue
// has its own bound of receives, see package queue.
package ledger
