package override

import (
	"fmt"
	"slices"
	"time"
)

// The bounds of [Past]: how many overrides that ended are remembered, and for how long.
const (
	MostPast   = 64
	Remembered = time.Hour
)

// Past is the overrides that ended lately, in the order of their ends, so that a request that is repeated after the end
// is not carried out again. Their Over is set, and their End is when they ended. A Past is never changed.
type Past []Override

// After returns the past after a change at a time: with the override if the change ended it.
func (p Past) After(c Change, at time.Time) Past {
	switch c.What {
	case Cancelled, UsedUp, Ended:
	default:
		return p
	}
	o := c.Override
	o.Over = c.What
	if at.Before(o.End) {
		o.End = at
	}
	next := slices.DeleteFunc(slices.Clone(p), func(x Override) bool { return x.ID == o.ID || forgotten(x, at) })
	next = append(next, o)
	return next[max(0, len(next)-MostPast):]
}

// Answer answers a request about an override that ended; false if the request is about another one. The answer to a
// repeated request is the override with its end, and nothing is granted anew.
func (p Past) Answer(q Request, at time.Time) (a Answer, known bool) {
	id := q.Cancel
	if id == "" {
		id = q.Add.ID
	}
	i := slices.IndexFunc(p, func(o Override) bool { return o.ID == id && !forgotten(o, at) })
	switch {
	case id == "" || i < 0:
		return a, false
	case q.Cancel != "" || same(p[i], q.Add):
		return Answer{Override: p[i]}, true
	}
	return Answer{Err: fmt.Errorf("%w: the id %q belonged to another override, which %s at %s; give another id",
		ErrRefused, id, p[i].Over.text(), stamp(p[i].End))}, true
}

// forgotten tells whether an override ended so long ago that its id may be used again.
func forgotten(o Override, at time.Time) bool { return at.Sub(o.End) >= Remembered }

// text says how an override ended.
func (e Event) text() string {
	switch e {
	case Cancelled:
		return "was cancelled"
	case UsedUp:
		return "was used up"
	}
	return "ended"
}
