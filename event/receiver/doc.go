// Package receiver receives events from SQS queues that rules of EventBridge, buckets, topics or programs feed, and
// from HTTP requests in the same forms ([Endpoint]).
//
//	queue, err := receiver.Client(ctx, url, nil)
//	r := receiver.New(receiver.Options{URL: url, Queue: queue, Wake: wake, Failed: failed})
//	r.Run(ctx)
//
// A [Receiver] repeats one round: it receives up to ten messages by a long poll, reads their events with package event,
// calls Wake with the events that are new, and deletes the messages. So a message is deleted only after its event had
// its effect. After a crash between both it arrives again, which costs one poll.
//
// Events may be lost without harm, so every failure has a mild consequence:
//
//   - A queue that cannot be received is a fault for an operator, by Options.Failed. The fleets are polled at their
//     intervals meanwhile. The receiver tries again, after one second at first and thirty at most.
//   - A message that cannot be deleted arrives again. Its id is remembered, so it wakes nothing a second time.
//   - A flood of messages is received at a bounded rate, and the rest waits in the queue. A wake that is late finds
//     what earlier ones found.
//
// The calls of a receiver do not count against the limit of calls of AWS that a configuration states, which protects
// from throttling: SQS does not throttle receivers. A quiet queue costs three calls a minute.
//
// What an event means and which fleets it concerns is package event, which is pure. Work is received by package worker:
// a queue of events must not be a queue of work, because its messages are deleted at once.
package receiver
