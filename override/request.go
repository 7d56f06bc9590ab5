package override

import (
	"fmt"
	"slices"
)

// Request is an instruction of an operator.
type Request struct {
	// Add is the override to add. An empty ID gets one, a Begin in the past becomes now, and AskedAt and Grant are set.
	// A second request with the ID and the content of a present override changes nothing, nor does one with those of
	// an override that ended lately: see [Past].
	Add Override
	// Cancel is the id of the override to end; empty to add one.
	Cancel string
}

// Answer is what became of a [Request].
type Answer struct {
	// Override is the accepted override, or the one that was cancelled.
	Override Override
	// Err matches [ErrInvalid], [ErrRefused] or [ErrUnknown]; nil if the request was carried out.
	Err error
}

// Event is what happened to an override.
type Event string

// The events.
const (
	Added     Event = "added"
	Cancelled Event = "cancelled"
	// Launching: a reservation launches earlier than it was granted.
	Launching Event = "launching"
	// UsedUp: the workers of a reservation became busy.
	UsedUp Event = "used_up"
	// Ended: the end of the override has come.
	Ended Event = "ended"
)

// Change is one event of an override. The history records it.
type Change struct {
	What     Event    `json:"what"`
	Override Override `json:"override"`
}

// After returns the list after a change.
func (l List) After(c Change) List {
	switch c.What {
	case Added:
		return l.With(c.Override)
	case Launching:
		next := slices.Clone(l)
		for i := range next {
			if next[i].ID == c.Override.ID {
				next[i] = c.Override
			}
		}
		return next
	}
	return l.Without(c.Override.ID)
}

// CarryOut answers a request at the time of the room, and returns the change that results; false for none. id is given
// to a new override without one.
func (l List) CarryOut(q Request, room Room, id string) (c Change, changed bool, a Answer) {
	if q.Cancel != "" {
		o, there := l.Find(q.Cancel)
		if !there {
			return c, false, Answer{Err: fmt.Errorf("%w: no override has the id %.80q", ErrUnknown, q.Cancel)}
		}
		return Change{What: Cancelled, Override: o}, true, Answer{Override: o}
	}
	o := q.Add
	o.AskedAt, o.Grant = room.At, nil
	o.Begin = later(o.Begin, room.At)
	if err := o.Check(room.At); err != nil {
		return c, false, Answer{Err: err}
	}
	refused := func(format string, args ...any) (Change, bool, Answer) {
		return Change{}, false, Answer{Err: fmt.Errorf("%w: %s", ErrRefused, fmt.Sprintf(format, args...))}
	}
	if o.ID == "" {
		o.ID = id
	}
	before, repeated := l.Find(o.ID)
	switch {
	case repeated && q.Add.ID == o.ID && same(before, o):
		return c, false, Answer{Override: before} // the answer to the first request was lost
	case repeated:
		return refused("the id %q belongs to another override; cancel that first", o.ID)
	case len(l) >= Most:
		return refused("the fleet has %d overrides, which is the most; cancel one first", Most)
	}
	if o.Kind == Reserve {
		g, err := room.Grant(o)
		if err != nil {
			return c, false, Answer{Err: err}
		}
		o.Grant = &g
	}
	return Change{What: Added, Override: o}, true, Answer{Override: o}
}

// same tells whether two overrides ask for the same. The begin may differ, because one in the past becomes now, and so
// may the end of one that is given by its length.
func same(a, b Override) bool {
	equal := func(x, y *int) bool { return (x == nil) == (y == nil) && (x == nil || *x == *y) }
	return a.Kind == b.Kind && a.Workers == b.Workers && equal(a.Min, b.Min) && equal(a.Max, b.Max)
}
