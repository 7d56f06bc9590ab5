// Package validate measures the simulator. It runs real queues and worker processes, simulates each run with the
// conditions that were measured in it, and compares both.
//
//	Demo            runs the demo of package demo several times: long work, small load
//	CompareSteady   sends short messages at an even rate: much load, slow boots
//
// Only conditions that no model could know are measured and given to the simulator: boot times, processing times, the
// handover between two messages, and when messages were sent. What follows from them (workers, launches, costs, times
// in queue) is compared. So a difference is a gap of the model, or chance: a policy that waits for the last moment
// decides by milliseconds.
//
// [Disagreement] and [Steady.Disagreement] turn differences beyond the allowed ones into errors. [SleepLines] is the
// program of the workers in the steady run.
//
// Use it before a release and after a change of the simulator, on an idle machine. To judge a policy, use package
// sim/contest.
package validate
