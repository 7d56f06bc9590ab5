package controller

import "time"

// Advance is [Settings.Step] for a caller that gives the state away, which saves a copy of the roster: st, and every
// other copy of it, must not be used again, nor Next of an earlier outcome.
func (s Settings) Advance(st State, now time.Time, in []Input) (o Outcome) {
	o.Next = st
	s.advance(&o, now, in)
	return o
}
