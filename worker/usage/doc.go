// Package usage measures the processor time and memory that the work of a message takes, and what the machine offers.
// Reports carry the sum as a protocol.Usage, the history keeps it, and muster advise says from it whether members are
// too large or too small.
//
// The runner watches each call, and what executes the work adds what it measured:
//
//	ctx, meter := usage.Watch(ctx)          // package worker, around Options.Do
//	usage.Add(ctx, usage.Ended(state, took)) // package worker/execution, for a command that ended
//	u := meter.Sum()                         // nil if nothing was measured
//
// [Ended] reads the times of a process that has ended from its exit. A [Process] reads those of a running one from
// /proc, at most ten times a second, and returns what was added since. [Machine] says how many cores and how much
// memory this process may use; a limit of the container counts.
//
// The package keeps these invariants:
//
//   - Unknown is not zero: what the system does not tell is no usage at all, and never an error. Work goes on.
//   - A measurement costs at most four small files of /proc and /sys.
//   - Every returned usage passes protocol.Usage.Valid.
//
// Work over HTTP and work in Go functions is not measured: its processes are not the worker's.
package usage
