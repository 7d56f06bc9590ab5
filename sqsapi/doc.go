// Package sqsapi serves the SQS wire protocol in front of package queue. Any AWS SDK, the AWS command
// line and existing workers can use the embedded queue unchanged. docs/sqs-compatibility.md lists the
// differences from AWS.
//
// [New] returns the endpoint, an http.Handler, from [Options]. [NewTCPServer] serves it on plain TCP,
// for loopback; [NewServer] with net/http, for TLS. [LoadOrCreateKeys] keeps the key pair ([Keys]) with
// which callers sign.
//
//	endpoint := sqsapi.New(sqsapi.Options{Queues: queues, Keys: keys})
//	err := sqsapi.NewTCPServer(endpoint, log).Serve(listener)
//
// # The stages of a request
//
//	guard       refuses browsers and foreign hosts                      guard.go
//	head        refuses missing or impossible signatures                identify.go
//	signature   reads the body, identifies the caller                   internal/sigv4
//	codec       finds the action, decodes its parameters                internal/protocol
//	place       the region and account in which the queue is            callerplace.go
//	action      does the work on package queue                          internal/action
//	codec       encodes the result or the error
//
// A request is refused as early as possible: nothing of its body is read if the head alone is wrong,
// and the bodies of unidentified callers are bounded over all connections.
//
// This package joins the stages. internal/action, internal/sigv4 and internal/transport import
// internal/protocol, and not one another. On Linux internal/transport serves simple requests of many
// connections on few goroutines; all other requests take the path through ServeHTTP, which gives the
// same answers.
//
// # Use this, not that
//
// Limits and names are checked by package queue; internal/protocol maps its errors to codes. A program
// in the same process calls package queue directly. The client for workers is package worker/sqsqueue.
package sqsapi
