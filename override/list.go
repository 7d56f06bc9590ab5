package override

import (
	"slices"
	"time"
)

// List is the overrides of a fleet in the order in which they were accepted, at most [Most]. It includes those that
// have not begun. A list is never changed.
type List []Override

// Find returns the override with the id.
func (l List) Find(id string) (Override, bool) {
	for _, o := range l {
		if o.ID == id {
			return o, true
		}
	}
	return Override{}, false
}

// With returns the list with o at its end, in place of one with the same id.
func (l List) With(o Override) List { return append(l.Without(o.ID), o) }

// Without returns the list without the override of the id.
func (l List) Without(id string) List {
	var next List
	for _, o := range l {
		if o.ID != id {
			next = append(next, o)
		}
	}
	return next
}

// Ended returns the overrides whose end has come at a time.
func (l List) Ended(at time.Time) (ended List) {
	for _, o := range l {
		if !at.Before(o.End) {
			ended = append(ended, o)
		}
	}
	return ended
}

// Active returns the overrides of a kind that act at a time.
func (l List) Active(at time.Time, k Kind) (active List) {
	for _, o := range l {
		if o.Kind == k && o.ActiveAt(at) {
			active = append(active, o)
		}
	}
	return active
}

// Same tells whether two lists have the same overrides.
func (l List) Same(other List) bool {
	return slices.EqualFunc(l, other, func(a, b Override) bool { return a.ID == b.ID })
}

// Limits narrows the limits least and most of the configuration by the overrides that act at a time. The result is
// within them: least <= low <= high <= most. Where overrides contradict each other, the smallest maximum wins.
func (l List) Limits(at time.Time, least, most int) (low, high int) {
	low, high = least, most
	for _, o := range l {
		if o.Kind != Limits || !o.ActiveAt(at) {
			continue
		}
		if o.Max != nil {
			high = min(high, max(*o.Max, least))
		}
		if o.Min != nil {
			low = max(low, *o.Min)
		}
	}
	return min(low, high), high
}

// Reserved returns how many workers the reservations hold at a time, and these reservations. A reservation counts from
// the launch time of its grant on, because its workers must be in service when it begins.
func (l List) Reserved(at time.Time) (workers int, by List) {
	for _, o := range l {
		if o.Granted() > 0 && !at.Before(o.Grant.LaunchAt) && at.Before(o.End) {
			workers, by = workers+o.Granted(), append(by, o)
		}
	}
	return workers, by
}

// Due returns the changes by which reservations begin to launch at a time, earlier than their grant says, because a
// launch takes the time lead by now. Launching that has begun goes on when boots turn out to be faster: the workers of
// the slowest boots are still missing then. During a pause nothing is launched, so the time of the grant stays.
func (l List) Due(at time.Time, lead time.Duration) (changes []Change) {
	if l.unpaused(at).After(at) {
		return nil
	}
	for _, o := range l {
		if o.Granted() > 0 && at.Before(o.Grant.LaunchAt) && !at.Before(o.Begin.Add(-lead)) {
			g := *o.Grant
			g.LaunchAt, o.Grant = at, &g
			changes = append(changes, Change{What: Launching, Override: o})
		}
	}
	return changes
}

// UsedUp returns the reservations that are used up at a time: they have begun, and the busy workers are as many as all
// reservations hold, or as many as the fleet may have. A fleet that may have none for a while uses up nothing.
func (l List) UsedUp(at time.Time, busy, most int) (used List) {
	workers, by := l.Reserved(at)
	if workers == 0 || busy == 0 || busy < min(workers, most) {
		return nil
	}
	for _, o := range by {
		if o.ActiveAt(at) {
			used = append(used, o)
		}
	}
	return used
}
