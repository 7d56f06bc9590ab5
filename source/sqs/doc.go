// Package sqs measures Amazon SQS queues by their attributes. It never receives a message to measure.
//
// [Queues] makes the sources of queues: one [Source] for each, however many fleets use it. [Metrics] reads
// ages and rates from CloudWatch.
//
// The counts of SQS are approximate, and settle about a minute after producers stop. So an empty queue is believed only
// when several readings have shown it empty: until then its counts are unknown, and no worker is stopped because of
// them. A count above zero is believed at once.
//
// A Source polls every few seconds while the counts change, and twice a minute while they do not. A caller in between
// gets the last reading, with its instant. A reading of a FIFO queue that shows a change is repeated a second later,
// since that is how long its counts take to follow. Ages and rates come from CloudWatch where the queue has them; they
// are a minute or two old, and say so.
//
// The observation says by how many seconds the counts may lag behind, so that policies allow for it.
//
// For something else: the embedded queue, whose counts are exact, is package source/embedded. Receiving from SQS is
// package worker/sqsqueue; the endpoint that speaks its protocol is package sqsapi.
package sqs
