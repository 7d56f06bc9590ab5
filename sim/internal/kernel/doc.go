// Package kernel has the parts of a discrete-event simulation: [Events] in the order of their times, random [Streams],
// a [Ring] of waiting messages, a [Line] of waiting servers, and [Cores] that works share.
//
// Both simulators are built from these parts: package sim, with the production controller, and package sim/queueing,
// without any. A run is a loop that removes the first event, sets its clock to the time of the event, and changes its
// own state:
//
//	for events.Len() > 0 {
//		e := events.Pop()
//		now = e.At
//		... // the run's own rules; they add later events
//	}
//
// The parts know nothing of queues, workers or policies. None of them reads a clock, starts a goroutine, or depends on
// the order of a map, so a run that uses them is equal for equal seeds. All times are nanoseconds of virtual time since
// the start of the run. Nothing here is safe for concurrent use: each run has parts of its own.
package kernel
