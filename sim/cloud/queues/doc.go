// Package queues models what SQS tells about queues: their counts as they look from outside, late and off, and their
// metrics. It has no messages: [SQS.SetQueue] says how many there are.
package queues
