// Package sqsqueue implements a worker's queue, and its dead-letter queue, on an SQS endpoint of Amazon or of Muster.
//
// [SQS] is a worker.Queue: it receives, deletes, and changes visibility timeouts. It is also worker.DeadLetters, so one
// queue can take the messages whose attempts in another are used up.
//
//	queue, err := sqsqueue.NewSQS(ctx, "https://sqs.eu-west-1.amazonaws.com/123456789012/jobs")
//	err = worker.Run(ctx, worker.Options{Queue: queue, Do: do})
//
// Region, credentials and endpoint come from the sources of the AWS tools. A queue on this machine is treated in three
// ways differently, because it is most often that of muster up: its URL is its endpoint, missing credentials are an
// error at the start, and calls are not retried by the SDK, so that the worker notices at once that nothing listens.
//
// From a FIFO queue a worker receives one message at a time by default. Messages of one group that came together would
// wait for each other, while other workers could have taken those of other groups.
//
// Errors tell three cases apart for the worker. worker.ErrGone means that the message is no longer in flight, so that
// its work must stop. worker.ErrAway means that nothing listens on this machine, so that no other worker can have
// received the message. Every other error is retried.
//
// For something else: measuring a queue is package source/sqs. The endpoint of embedded queues is package sqsapi. How a
// lease is kept by these calls is package worker/lease. One call that joins all of it is package worker/sqsworker.
package sqsqueue
