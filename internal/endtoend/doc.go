// Package endtoend holds tests alone: the controller's live loop with the real clients of AWS and real workers, on the
// modelled AWS of mustertest/fakeaws, hours in milliseconds of virtual time. docs/aws.md walks through the same
// set-ups.
package endtoend
