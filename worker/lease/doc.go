// Package lease decides what a worker may do next, as pure state machines without clock or I/O. The runner of package
// worker drives them in real time, and the simulator with the same code in simulated time.
//
// There are three machines:
//
//   - [Lease] is the worker's own: starting, receiving, draining, idle with a release token, leaving. It also makes the
//     worker's reports, which repeat their counts until they are answered.
//   - [Shield] is the protection of the worker's task or instance from scale-in. It is on from before the first receive
//     until the token is minted.
//   - [Visibility] is the lease of one message: when to extend it, and when the work must be stopped because the
//     message may soon be seen by another worker.
//
// [Options] are the settings of a Lease; [Billing] says in which periods its member is paid for, and [End] what became
// of a message.
//
// Lease keeps one promise: a token is minted only when no message is held and none can arrive any more. No message is
// taken after a token was minted, unless the controller answered that very token with more work. So a member that is
// ended on the word of its token holds nothing.
//
// The caller tells a machine what happened and asks what may be done now; nothing is done behind its back:
//
//	if n := l.BeginReceive(limit); n > 0 {
//		// call the queue for at most n messages, of which came arrive
//		l.EndReceive(now, n, came)
//	}
//
// The package knows nothing of queues, commands, networks and clouds. What goes over the wire is package
// worker/protocol; what the controller makes of a report is package roster. To run a worker, use package worker.
package lease
