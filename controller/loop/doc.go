// Package loop runs a fleet's controller in real time.
//
// A [Loop] looks at the queues and the fleet at every poll and at every wake, gathers what workers report and what came
// of effects, and makes a step of package controller from that. It appends what the step records to the history, then
// answers the workers, and only then carries the effects out. So nothing is done that a restart would not know of.
//
// What is decided, and when a step is due, is not here but in the pure parts that the simulator drives too:
// [controller.Settings] and [controller.Shell]. Here are the clock, the goroutines and the calls to ports. To see what
// would be done without doing it, use [Loop.Preview].
package loop
