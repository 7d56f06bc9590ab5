// Package rules has the contract of a history that does not depend on where it is kept.
//
// The histories in SQLite, in memory, in DynamoDB and in PostgreSQL share three things:
//
//   - what they refuse, and with which words: [CheckFleet], [CheckAppend], [CheckLast], [Conflict], [NoRecord]
//   - which records pruning removes: [Cutoffs]
//   - how the learned records of an hour become one: [FoldHours]
//
// The package computes only; each history reads and writes for itself. A history uses it so:
//
//	before, err := rules.Cutoffs(now, keep)
//	... remove each record r with before.Old(r.Kind, at), except the newest of its kind
//	f := rules.FoldHours(lessons, before.Fold, more)
//	... write f.Bodies, remove f.Gone, remember f.Until
package rules
