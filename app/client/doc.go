// Package client reaches a running muster up, and the queues that it or Amazon SQS serves, for the commands beside it.
//
// [Get] and [Ask] call the HTTP API of the muster up that runs with a configuration. [SQS] returns a client for a
// queue, with the keys of the embedded queue where those are the right ones. [QueueURL] and [QueueName] turn the queue
// that a person named into a URL or a name, and [Explain] says what can be done about an error of SQS.
//
// Use it in commands. Workers use package worker/sqsqueue for their queues and worker/httpreport for their reports.
package client
