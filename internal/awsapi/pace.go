package awsapi

import "time"

const (
	// Fast is the default interval between two polls of something that changes.
	Fast = 5 * time.Second
	// Slow is the default interval between two polls of something that does not.
	Slow = 30 * time.Second
)

// Pace decides when to poll a resource whose caller asks more often than AWS should be asked. The
// interval is Fast while the readings change. After each unchanged reading it grows by half, up to
// Slow. The zero Pace is due at once. It is not safe for concurrent use.
type Pace struct {
	// Fast and Slow are above zero, and Slow is at least Fast. Zero means the constants of these names.
	Fast, Slow time.Duration

	// every is the present interval, next the time of the next poll.
	every time.Duration
	next  time.Time
}

// Due says whether a poll is due at now.
func (p *Pace) Due(now time.Time) bool {
	// A clock that was set back must not delay the next poll by more than the slow interval.
	return !now.Before(p.next) || p.next.Sub(now) > p.slow()
}

// Looked records a poll at now, and whether the reading had changed.
func (p *Pace) Looked(now time.Time, changed bool) {
	switch {
	case changed || p.every == 0:
		p.every = p.fast()
	default:
		p.every = min(p.every+p.every/2, p.slow())
	}
	p.next = now.Add(p.every)
}

// Failed records a failed poll at now; the interval doubles each time.
func (p *Pace) Failed(now time.Time) {
	p.every = min(max(2*p.every, p.fast()), p.slow())
	p.next = now.Add(p.every)
}

// Within makes the next poll due no later than d after now.
func (p *Pace) Within(now time.Time, d time.Duration) {
	if at := now.Add(d); at.Before(p.next) {
		p.next = at
	}
}

// Expect makes a poll due at once, and shortens the interval of the following ones.
func (p *Pace) Expect() { p.ExpectAt(time.Time{}) }

// ExpectAt schedules a poll no later than at, and shortens the interval of the following ones. Callers
// driven by events must debounce.
func (p *Pace) ExpectAt(at time.Time) {
	p.every = 0
	if at.Before(p.next) {
		p.next = at
	}
}

// fast returns Fast or its default.
func (p *Pace) fast() time.Duration {
	if p.Fast > 0 {
		return p.Fast
	}
	return Fast
}

// slow returns Slow or its default, at least the fast interval.
func (p *Pace) slow() time.Duration {
	if p.Slow > 0 {
		return max(p.Slow, p.fast())
	}
	return max(Slow, p.fast())
}
