// Package rules says what may be asked of a queue, and refuses the rest in the words of the SQS protocol: names of
// queues and their scopes (text.go, scope.go), attributes and what they mean (settings.go, redrive.go), tags, ids, and
// the characters and numbers of messages (text.go).
//
// An error is an [Error] of one of the kinds in errors.go, which package queue has under the same names. All functions
// are pure.
package rules
