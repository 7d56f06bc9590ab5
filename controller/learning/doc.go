// Package learning is the memory of one fleet: what its past says about durations, boots, arrivals, failures and
// retries.
//
// [Memory] has all of it. Its life in a step of package controller:
//
//	measurements, reports --Queue, Reported, Booted--> measured, not counted yet
//	every few seconds    --Flush--> a record [Learned] + counted in the windows
//	questions            --Processing, Boot, Arrivals, Classes, ...--> muster.Observation
//	after a restart      --Recall of each record--> the same Memory
//
// What it answers, and the file of each answer:
//
//   - how long messages take and members boot (memory.go), by class (classes.go), and by how many messages are in
//     progress on a shared machine (sharing.go);
//   - how fast messages arrive: from the queue's own counter (arrivals.go), or from the balance of messages present and
//     finished (balance.go); their ages (waiting.go) and their forecast by season (season.go);
//   - how much of the work fails or is late (progress.go), and how many messages wait for retry (retrying.go).
//
// Invariants:
//
//   - A measurement counts only once it is in a recorded [Learned]. So the windows are a function of the records, and a
//     restart changes no decision.
//   - Memory is bounded, however long the fleet runs.
//   - Memory is a value: a copy may be changed without the original. Slices and pointers in it are replaced, never
//     changed in place.
//
// Nothing here reads a clock or acts: instants are arguments. The package does not know members: which workers exist
// and what they hold is the matter of package roster. The state of a controller as a whole is package controller's; the
// windows themselves are package series'.
package learning
