// Package queues models what SQS shows of queues to an observer: counts that are late and approximate, and metrics.
//
// It has no messages. A test or a simulation states with [SQS.SetQueue] what is in a queue and what went through it,
// and reads it back through GetQueueAttributes as a client of SQS would see it. [Counts] says how far that view is
// from the truth: how old, how wrong, how often empty although it is not. AWS promises no bound of
// either, so both are settings; the zero value shows the truth at once.
//
// The metrics of AWS/SQS are exact and once a minute. A queue without messages and calls for six hours stops
// publishing, and takes up to 15 minutes to resume: an observer by metrics alone then sees nothing of a new backlog.
//
// For queues with messages use package queue, and package sqsapi to serve them; mustertest/fakeaws can put those
// behind the same endpoint as this model.
package queues
