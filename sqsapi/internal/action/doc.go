// Package action is what the actions of SQS do to the queues of package queue: requests and results as structs, which
// package protocol decodes and encodes, and a [Table] with one row for each action.
//
// A [Call] is one request. Actions that only touch messages hand what is to be done to a [Store] and answer when it is
// done, so that a loop can run many of them at a time; the others run to their end and may wait. Queues are kept by
// [Place]: the keys of those in the default place are their bare names. Limits and names are checked by package queue.
//
// The package knows nothing of HTTP, signatures and connections.
package action
