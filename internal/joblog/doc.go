// Package joblog keeps what the workers of a fleet and their jobs print, so that `muster logs` can show
// it after the workers have ended.
//
// Each fleet has one log: a directory below the data directory, to which all workers of the fleet
// write. No process owns it. A [Log] collects records and appends them under the lock of the directory;
// it rotates the file when it is full. So no process must stay alive for a log, and its size is
// bounded: [Files] files of [FileMegabytes] MiB.
//
//		job prints -> Log.Write -> folds (repeated lines) -> rate limits -> buffer -> file    every 100 ms
//
//	  - A [Record] is one line of JSON. [Log.Write] never blocks: a job never waits for its log.
//	    Records that come too fast, or cannot be written, are dropped and counted. Repeated lines are
//	    counted instead of written.
//	  - [Read] and [Follow] read a log, and [Recent] summarizes its latest failures.
//	  - [Failures] keeps the last failure of each message for as long as the message may exist, however
//	    fast the log is rotated.
//	  - [Log.Handler] is a slog.Handler that writes what a worker itself logs.
//
// The package does not know queues or commands. What the controller decides is in package history, not
// here.
package joblog
