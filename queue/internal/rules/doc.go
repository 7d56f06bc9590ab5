// Package rules decides what a request to a queue may contain, and refuses the rest with the texts of
// the SQS protocol.
//
//   - text.go: names of queues, message attributes, ids, tags, characters and numbers.
//   - settings.go and redrive.go: queue attributes. [CheckAttributes] validates and normalizes them,
//     [ParseSettings] turns them into [machine.Settings].
//   - scope.go: names of queues in another region or account.
//   - errors.go: [Error], the refusal, and its kinds. Package queue exports them under the same
//     names.
//
// Limits and texts follow the SQS documentation and the observed behaviour of AWS, because clients and
// their tests compare them. Keep a text as it is even where its English could be better.
//
// All functions are pure and safe for concurrent use. The package knows no state: whether a queue
// exists, or a dead-letter queue may be used, is checked by package queue. sqsapi maps the kinds to
// codes of the protocol.
package rules
