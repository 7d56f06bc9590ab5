// Package quiet has what a policy keeps from one decision to the next about the times in which no message comes:
//
//   - [Headroom] is the headroom of the last busy time, with how long it is worth its idle workers.
//   - [Times] tells whether workers that stayed idle through earlier quiet times have paid.
//
// A policy has no state, so each decision keeps their numbers, and the next one reads them from it:
//
//	q := quiet.TimesOf(recent).Next(arrived, seconds, worth)
//	if !q.Pay() {
//		// idle workers go as soon as a quiet time has begun
//	}
//	d.Kept = q.Kept()
//
// All functions are pure. What a worker or the headroom is worth is the caller's to say: see package planning.
package quiet
