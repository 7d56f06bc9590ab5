package lease

import (
	"errors"
	"time"
)

const (
	// MinProtection is the shortest term of a protection, as task protection of Amazon ECS has it.
	MinProtection = time.Minute
	// MaxProtection is the longest.
	MaxProtection = 48 * time.Hour
	// ProtectTimeout bounds one call that changes the protection.
	ProtectTimeout = 10 * time.Second
	// protectLate is how long after a call that failed its change may still be carried out.
	protectLate = 30 * time.Second
	// usualProtection is the usual term.
	usualProtection = 15 * time.Minute
	// maxProtectPause bounds the back-off after failed calls.
	maxProtectPause = 30 * time.Second
)

// ErrUnprotectable means that nothing ever ends the member to scale in, so that there is nothing to protect it from.
var ErrUnprotectable = errors.New("the member belongs to no service that could scale it in")

// Shield is the protection of a worker's member from being ended to scale in, as a value without clock or I/O: when to
// ask for it, when to renew it, and whether it can be relied on. Make one with [NewShield].
//
// It is wanted from before the first receive until the release token is minted, and again from before the next receive;
// so it changes when the worker becomes idle or busy as a whole, not with each message. It is renewed at a third of its
// term. Its instants lie on the safe side: a term counts from before the call that asked for it.
//
// Whoever drives it calls Want whenever the worker's state may have changed, makes the call that Due names, one at a
// time, between Begin and End, and receives only while Covers says so. A Shield is not safe for use by several
// goroutines.
type Shield struct {
	term time.Duration
	want bool
	// until is the end of the protection as far as it can be relied on; zero while there is none.
	until time.Time
	// lifted is true once a call to let go succeeded, or when there never was a call.
	lifted bool
	due    time.Time
	// late is until when a call to let go that failed may still be carried out: a protection asked for before may not
	// last.
	late     time.Time
	failures int
	needless bool
	calling  bool
	begun    time.Time
	on       bool
}

// NewShield returns a shield that is not wanted yet and asks for the given term at a time.
func NewShield(term time.Duration) Shield { return Shield{term: term, lifted: true} }

// UsualTerm is the term of the protection for messages that are held for the duration visibility at a time: a worker
// that is paused is protected for as long as its messages are hidden.
func UsualTerm(visibility time.Duration) time.Duration {
	return max(usualProtection, (visibility + time.Minute - 1).Truncate(time.Minute))
}

// Want says whether the protection is wanted from now on.
func (s *Shield) Want(on bool) {
	if s.want != on {
		s.want, s.due = on, time.Time{}
	}
}

// Due returns when the next call is due and what it asks for: the term, or 0 to let go. It is false while no call is.
func (s *Shield) Due() (at time.Time, term time.Duration, ok bool) {
	switch {
	case s.needless || s.calling || !s.want && s.lifted:
		return time.Time{}, 0, false
	case s.want:
		return s.due, s.term, true
	default:
		return s.due, 0, true
	}
}

// Begin says that the call that Due named is being made. While it lets go, nothing is relied on any more.
func (s *Shield) Begin(now time.Time) {
	s.calling, s.begun, s.on, s.lifted = true, now, s.want, false
	if !s.on {
		s.until = time.Time{}
	}
}

// End says how the call ended that was begun last. One that failed is made again after a pause, twice as long each
// time; it may have been carried out all the same, or may be soon.
func (s *Shield) End(now time.Time, err error) {
	s.calling = false
	switch {
	case errors.Is(err, ErrUnprotectable):
		s.needless = true
	case err != nil:
		s.failures++
		s.due = now.Add(min(time.Second<<min(s.failures-1, 10), maxProtectPause))
		if !s.on {
			s.late = now.Add(protectLate)
		}
	case !s.on:
		s.lifted, s.failures, s.due = true, 0, time.Time{}
	case s.begun.Before(s.late):
		s.failures, s.due = 0, s.late // it may yet be undone
	default:
		s.until, s.failures, s.due = s.begun.Add(s.term), 0, s.begun.Add(s.term/3)
	}
	if s.on != s.want {
		s.due = time.Time{} // the wish changed meanwhile
	}
}

// Covers tells whether the member is protected at now and for the duration ahead, without another call. By the wall
// clock too: the other stands still while a machine sleeps.
func (s *Shield) Covers(now time.Time, ahead time.Duration) bool {
	end := now.Add(ahead)
	return s.needless || s.want && end.Before(s.until) && end.Round(0).Before(s.until.Round(0))
}

// Until returns until when the protection can be relied on; zero while it cannot.
func (s *Shield) Until() time.Time { return s.until }

// Failing tells whether the last call failed.
func (s *Shield) Failing() bool { return s.failures > 0 }

// Needless tells whether there is nothing to protect the member from.
func (s *Shield) Needless() bool { return s.needless }

// Lifted tells whether the member is not protected by this worker for sure.
func (s *Shield) Lifted() bool { return s.lifted || s.needless }
