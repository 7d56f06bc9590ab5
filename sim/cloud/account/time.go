package account

import "time"

// Now returns the present instant.
func (w *Account) Now() time.Time { return w.now }

// Advance lets time pass until an instant. It runs everything that is scheduled until then, in order of time; what
// runs may schedule more. An instant before Now changes nothing.
func (w *Account) Advance(to time.Time) {
	for len(w.agenda) > 0 && !w.agenda[0].at.After(to) {
		d := w.agenda.pop()
		w.now = d.at
		d.run()
	}
	if to.After(w.now) {
		w.now = to
	}
}

// due is a function and the instant at which it runs.
type due struct {
	at   time.Time
	turn uint64
	run  func()
}

// agenda is a binary heap of scheduled functions, by instant and then in the order of scheduling. That order makes a
// world repeatable when many things happen at one instant.
type agenda []due

func (a agenda) before(i, j int) bool {
	if !a[i].at.Equal(a[j].at) {
		return a[i].at.Before(a[j].at)
	}
	return a[i].turn < a[j].turn
}

func (a *agenda) push(d due) {
	*a = append(*a, d)
	for i := len(*a) - 1; i > 0; {
		parent := (i - 1) / 2
		if !a.before(i, parent) {
			return
		}
		(*a)[i], (*a)[parent] = (*a)[parent], (*a)[i]
		i = parent
	}
}

func (a *agenda) pop() due {
	first, last := (*a)[0], len(*a)-1
	(*a)[0] = (*a)[last]
	(*a)[last] = due{}
	*a = (*a)[:last]
	for i := 0; ; {
		least := i
		for child := 2*i + 1; child <= 2*i+2 && child < last; child++ {
			if a.before(child, least) {
				least = child
			}
		}
		if least == i {
			return first
		}
		(*a)[i], (*a)[least] = (*a)[least], (*a)[i]
		i = least
	}
}

// At schedules a function; an instant in the past means now. The function runs inside Advance.
func (w *Account) At(t time.Time, run func()) {
	if t.Before(w.now) {
		t = w.now
	}
	w.turns++
	w.agenda.push(due{t, w.turns, run})
}

// After schedules a function a while from now.
func (w *Account) After(d time.Duration, run func()) { w.At(w.now.Add(max(d, 0)), run) }
