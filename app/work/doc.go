// Package work runs a worker as muster work does: it opens what [Settings] name (queues, what does the work, where
// reports and logs go, what protects its machine) and runs package worker with it ([Run]). [Conform] checks a command
// or an endpoint against the protocol of workers without a queue.
//
// Use it to start a worker by settings. A worker in Go that knows its work uses package worker/sqsworker; the parts
// that are opened here are packages below worker.
package work
