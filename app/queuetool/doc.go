// Package queuetool does what muster queue does: it lists queues ([List]), looks at messages, exports and imports them
// ([Queues]), moves dead letters back ([Redrive]) and prints what came of it.
//
// [Open] works on the queues of the running muster up, or on the data directory when none runs; [Where.Client] also on
// any SQS endpoint. Use it to look at queues and to repair what is in them. Programs that send and receive use a client
// of SQS.
package queuetool
