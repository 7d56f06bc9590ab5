// Package lease decides what a worker may do next, as pure state machines without clock or I/O. The runner of package
// worker drives them in real time, and the simulator with the same code in virtual time.
//
//   - [Lease] is the worker's own: starting, receiving, draining, idle with a release token, leaving. Its one promise is
//     that a token is minted only when no message is held and none can arrive any more, and that no message is taken
//     after a token was minted unless the controller answered that very token with more work. It also makes the worker's
//     reports, which repeat their counts until they are answered.
//   - [Shield] is the protection of the worker's task or instance from scale-in: on from before the first receive until the
//     token is minted.
//   - [Visibility] is the lease of one message: when to extend it, and when the work must be stopped because the message
//     may soon be seen by another worker.
//
// The package knows nothing of queues, commands, networks and clouds.
package lease
