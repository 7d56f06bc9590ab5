// Package endtoend has only tests: the controller's live loop with real AWS clients and real workers,
// on the modelled AWS of mustertest/fakeaws. Hours pass in milliseconds of virtual time. docs/aws.md
// describes the same set-ups.
package endtoend
