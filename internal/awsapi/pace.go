package awsapi

import "time"

const (
	// Fast is the time between two looks at something that changes.
	Fast = 5 * time.Second
	// Slow is the time between two looks at something that does not.
	Slow = 30 * time.Second
)

// Pace says when it is time for the next look at something that is asked for more often than AWS shall be. Looks come
// at the fast rate while what they show changes, and half as often again each time that it does not, down to the slow
// rate. The zero Pace is due at once. It is not safe for concurrent use.
type Pace struct {
	// Fast and Slow are above zero, Slow at least Fast; zero means the constants of these names.
	Fast, Slow time.Duration

	every time.Duration
	next  time.Time
}

// Due tells whether it is time to look at now.
func (p *Pace) Due(now time.Time) bool {
	// A clock that was set back must not put the next look off for longer than the slowest rate.
	return !now.Before(p.next) || p.next.Sub(now) > p.slow()
}

// Looked notes a look at now, and whether it showed a change.
func (p *Pace) Looked(now time.Time, changed bool) {
	switch {
	case changed || p.every == 0:
		p.every = p.fast()
	default:
		p.every = min(p.every+p.every/2, p.slow())
	}
	p.next = now.Add(p.every)
}

// Failed notes a look at now that failed: the next one waits, twice as long each time.
func (p *Pace) Failed(now time.Time) {
	p.every = min(max(2*p.every, p.fast()), p.slow())
	p.next = now.Add(p.every)
}

// Within has the next look no later than d after now.
func (p *Pace) Within(now time.Time, d time.Duration) {
	if at := now.Add(d); at.Before(p.next) {
		p.next = at
	}
}

// Expect makes a look due at once, and those that follow fast.
func (p *Pace) Expect() { p.ExpectAt(time.Time{}) }

// ExpectAt makes a look due at the instant at, or before when one is due before, and those that follow fast. Whoever
// may be asked to expect something often, by events that come in storms, keeps a distance from the look before.
func (p *Pace) ExpectAt(at time.Time) {
	p.every = 0
	if at.Before(p.next) {
		p.next = at
	}
}

func (p *Pace) fast() time.Duration {
	if p.Fast > 0 {
		return p.Fast
	}
	return Fast
}

func (p *Pace) slow() time.Duration {
	if p.Slow > 0 {
		return max(p.Slow, p.fast())
	}
	return max(Slow, p.fast())
}
