// Package queuetool implements muster queue. [List] lists queues; [Queues] peeks at, exports and imports messages;
// [Redrive] moves dead letters back; the Print functions print the results.
//
// [Open] works on the queues of the running muster up, or on the data directory when none runs. [Where.Client] works on
// any SQS endpoint. Use the package to inspect and repair queues. Programs that send and receive use an SQS client.
package queuetool
