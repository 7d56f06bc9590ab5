// Package incident derives the incidents of a running Muster from what is known of it: an action that failed, a source
// that cannot be read, a fleet at its maximum that misses its objective, a crash loop, and so on. [Rules] is the table
// of all kinds.
//
// The data flows one way:
//
//	outcomes of steps  ->  Past   (memory of one fleet: failed actions, growth of dead letters)
//	outcomes, faults   ->  View   (everything that is known at one time)
//	View               ->  []Condition   by View.Conditions
//	conditions, time   ->  Tracker.Step  ->  notices of openings and ends
//
// A condition is true or false at one time, and may flap. An incident has a beginning and an end, and is told once for
// each. [Tracker] makes one from the other by two times that each rule states:
//
//   - It opens after its condition stood for [Rule].After: the time for which the condition was present, less the time
//     for which it was not. Short blips therefore never open one. A condition that is present most of the time does.
//   - It ends after its condition was away for [Rule].Away without a break. A condition that flaps is one incident.
//
// A fleet that is not observed at present, because it starts or its loop failed, is unknown: none of its incidents
// opens or ends meanwhile.
//
// The package is pure. Time is an argument, and equal arguments give equal results. A Tracker is a value that can be
// stored as JSON, so that a restart continues it. It holds at most [MaxStanding] conditions and [MaxRecent] past
// incidents.
//
// A sentence is one line, of at most [MaxSentence] bytes. Notices leave the machine, so no sentence contains output or
// errors of jobs: the command that it names shows them. Package notice delivers notices. This package must not know any
// channel, file or clock.
package incident
