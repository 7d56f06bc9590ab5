// Package sqsapi speaks the SQS wire protocol in front of package queue, so
// that any AWS SDK, the AWS command line and existing workers can use the
// embedded queue unchanged.
//
// A request passes three stages: the guard refuses browsers and foreign hosts,
// the signature check (SigV4) identifies the caller, and the protocol codec,
// AWS JSON 1.0 or Query, finds the action and decodes its parameters. Actions
// know nothing of the codec; one table names them all. Limits and names are checked by package
// queue; this package maps its errors to the codes of the protocol.
package sqsapi
