// Package sqsapi speaks the SQS wire protocol in front of package queue, so that any AWS SDK, the AWS command line and
// existing workers can use the embedded queue unchanged. docs/sqs-compatibility.md says where it differs from AWS.
//
// [New] returns the endpoint as an http.Handler, from [Options]. [NewFront] serves it on plain TCP, for loopback, and
// [NewServer] with net/http, for TLS. [LoadOrCreateKeys] keeps the key pair that callers sign with ([Keys]).
//
//	endpoint := sqsapi.New(sqsapi.Options{Queues: queues, Keys: keys})
//	err := sqsapi.NewFront(endpoint, log).Serve(listener)
//
// A request passes these stages. The guard refuses browsers and foreign hosts (guard.go). The head is judged, before
// the body is read, by what it says of a signature (identify.go); the signature check identifies the caller. The codec
// finds the action and decodes its parameters. The region signed for and the account in the path or queue URL say in
// which place the queue lies (callerplace.go). The action does what is asked.
//
// This package ties the stages together. Below it, internal/protocol has the codecs and errors; internal/sigv4 the
// signatures, internal/action what actions do, and internal/transport the connections: these three import the first one
// and not one another. On Linux one goroutine serves the plain requests of all connections; the rest goes to a usual
// server.
//
// For something else: limits and names are checked by package queue, whose errors become the codes of the protocol in
// internal/protocol. A program in the same process calls package queue directly. A client of SQS for workers is package
// worker/sqsqueue.
package sqsapi
