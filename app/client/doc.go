// Package client reaches a running muster up, and queues that it or Amazon SQS serves, for commands.
//
// [Get] and [Ask] call the HTTP API of the muster up that runs with a configuration. [SQS] returns a client for a
// queue, with the keys of the embedded queue where they apply. [QueueURL] and [QueueName] turn what a person typed into
// a queue's URL or name. [Explain] says what to do about an error of SQS.
//
// A command passes a [Place], a function that reads the configuration, because most calls need it only in some cases: a
// URL needs no configuration.
//
//	url, err := client.QueueURL(place, "thumbnails")
//	sqs, err := client.SQS(ctx, place, url)
//	...
//	return client.Explain(err)
//
// Only functions that say so change the environment of the process: the AWS SDK reads its keys there. Use the package
// in commands. Workers use package worker/sqsqueue for their queues and worker/httpreport for their reports.
package client
