// Package work runs a worker as muster work does. [Run] opens what [Settings] name (queues, the command or endpoint,
// reports, logs, the protection of the machine) and runs package worker with it. [Conform] checks a command or an
// endpoint against the worker protocol without a queue.
//
// Use it to start a worker from settings. A worker written in Go uses package worker/sqsworker. The parts that are
// opened here are packages below worker.
package work
