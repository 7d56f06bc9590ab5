// Package sim replays a trace against any policy in virtual time: the world (queue, fleet, workers, with their delays
// and faults) is simulated; the controller, the policies, the roster and the worker's lease are those of production.
// One thread and one seed: the same run gives the same bytes.
//
// A [Run] is a loop over events in the order of their instants. The trace is read as it goes, so memory depends on the
// work in the system and not on the length of the trace.
package sim
