// Package sqsapi speaks the SQS wire protocol in front of package queue, so
// that any AWS SDK, the AWS command line and existing workers can use the
// embedded queue unchanged.
//
// A request passes these stages: the guard refuses browsers and foreign hosts;
// the head is judged, before the body is read, by what it says of a signature
// (identify.go); the signature check (SigV4) identifies the caller; and the
// protocol codec, AWS JSON 1.0 or Query, finds the action and decodes its
// parameters. The region signed for and the account in the path or queue URL say
// in which place the queue lies (place.go). Actions know nothing of the codec;
// one table names them all. Limits and names are checked by package queue; this
// package maps its errors to the codes of the protocol.
package sqsapi
