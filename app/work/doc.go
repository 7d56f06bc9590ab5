// Package work runs a worker as muster work does. [Run] opens what [Settings] name (queues, the command or endpoint,
// reports, logs, the protection of the machine) and runs package worker with it. [Conform] checks a command or an
// endpoint against the worker protocol without a queue.
//
// The settings come from one of two places. [Settings.Take] takes them from the keys of a configuration, which muster
// work also has as flags. [Settings.TakeStarted] takes them from the environment that a fleet gives a worker it starts.
//
// Two sets of AWS keys may meet in one worker: those of an embedded queue, and those of AWS for reports, hooks and
// tables. Clients of AWS are made first, then the keys of the queue replace the others in the environment, where the
// command and the clients of queues find them. [Run] keeps that order; a change of it breaks fleets that use both.
//
// The package decides nothing about messages: package worker and worker/lease do. Use it to start a worker from
// settings. A worker written in Go uses package worker/sqsworker. The parts that are opened here are packages below
// worker.
package work
