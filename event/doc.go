// Package event reads events of other systems, and tells which fleets an event concerns.
//
// An event says that something happened: a file was uploaded, a task stopped, AWS will take an instance back. It makes
// a fleet poll at once instead of at its next interval. It never carries a number: what is decided follows from the
// poll alone. So a lost, late, repeated, reordered or forged event costs at most one poll.
//
//	for _, e := range event.Read(body) { // the body of an SQS message, or the payload of a Lambda function
//		if seen.First(e.Key(), now) {
//			names = append(names, event.Wakes(fleets, e)...)
//		}
//	}
//
// The main types:
//
//   - [Event] is one event: its [Kind], its id, and its [Subject], which names the fleet, queue, group, service, task
//     or instance that the event is about.
//   - [Fleet] is a fleet by the names that events use. [Wakes] and [Event.Concerns] compare both.
//   - [Seen] remembers the ids of recent events, within bounds.
//
// [Read] recognises these formats, also inside each other:
//
//	{"detail-type": ...}        an envelope of EventBridge: of AWS, or of a program's own PutEvents
//	{"Records": [...]}          notifications of S3; the batches of SQS and SNS that a Lambda function gets
//	{"Type": "Notification"}    a message of an SNS topic
//	{"AutoScalingGroupName"}    a notification of EC2 Auto Scaling, without EventBridge
//	{"AlarmName"}               an alarm of CloudWatch
//	{"fleet": ..., "queue": ...}  Muster's own form, as in POST /v1/events
//	[...]                       several of them
//
// Three rules say what an event wakes:
//
//   - An event that names something wakes the fleets that have it, and no other. A rule of EventBridge for a whole
//     account brings events about things that no fleet has; they wake nothing.
//   - An event that names nothing wakes all fleets, and so does a message that cannot be read. Its sender may send to
//     the queue of events and meant to wake something: a poll is cheap, and a lost wake can delay work for an interval.
//   - A test message, which AWS sends when a notification is set up, wakes nothing.
//
// The package is pure: no clock, no network, no goroutine. What it reads comes from outside, so sizes, depths and
// numbers of events are bounded and no input makes it fail. Receiving from a queue is package event/receiver. A program
// without that package, such as a Lambda function, calls Read itself.
package event
