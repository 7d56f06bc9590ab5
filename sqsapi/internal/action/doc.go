// Package action is what the actions of SQS do to the queues of package queue. Requests and results are
// structs, which package protocol decodes and encodes by their names and tags.
//
// [Table] has one [Row] for each action. A [Call] is one request, and [Call.Run] runs it. An action is
// a method of Call in one of two forms:
//
//   - blocking(method): the method returns the result, and may wait. Most actions about queues have
//     this form.
//   - storing(method): the method gives its work to a [Store] and answers a [Caller] when that is
//     done. Actions about messages have this form, so that an event loop can run many of them at once
//     with a [queue.Batcher] as the store. With blockingStore the same code runs to its end on the
//     goroutine of a request.
//
// A new action is a request struct, a method and a row. A [Place] is a region and account; queues of
// the default place are kept under their bare names.
//
// Files: send.go, receive.go and settle.go (delete, change visibility) are about messages, batch.go and
// digest.go help them; queues.go, moves.go and permission.go are about queues; fastjson.go reads and
// writes the frequent requests without reflection.
//
// Limits and names are checked by package queue. This package checks what only the protocol has, such
// as ids of batch entries. It knows nothing of HTTP, signatures and connections. Error texts are those
// of AWS.
package action
