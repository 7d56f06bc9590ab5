package lease

import (
	"errors"
	"time"
)

const (
	// MinProtection is the shortest term of a protection, as in Amazon ECS.
	MinProtection = time.Minute
	// MaxProtection is the longest.
	MaxProtection = 48 * time.Hour
	// ProtectTimeout bounds one call that changes the protection.
	ProtectTimeout = 10 * time.Second
	// protectLate is how long after a failed call its change may still take effect.
	protectLate = 30 * time.Second
	// usualProtection is the usual term.
	usualProtection = 15 * time.Minute
	// maxProtectPause bounds the back-off after failed calls.
	maxProtectPause = 30 * time.Second
)

// ErrUnprotectable means that nothing can scale in the member, so there is nothing to protect it from.
var ErrUnprotectable = errors.New("the member belongs to no service that could scale it in")

// Shield is the scale-in protection of a worker's member, as a value without clock or I/O. It says when to request and
// renew the protection and whether it is in force. Make one with [NewShield].
//
// It is wanted from before the first receive until the release token is minted, and again from before the next receive.
// So it changes when the worker becomes idle or busy as a whole, not with each message. It is renewed after a third of
// its term. All times err on the safe side: a term counts from before the call that requested it.
//
// The driver calls Want whenever the worker's state may have changed. It makes the call that Due names, one at a time,
// between Begin and End, and receives only while Covers is true. Only one goroutine may use a Shield.
type Shield struct {
	term time.Duration
	want bool
	// until is until when the protection is certainly in force; zero without one.
	until time.Time
	// lifted is true after a successful call to lift, and before the first call.
	lifted bool
	due    time.Time
	// late is until when a failed call to lift may still take effect. A protection requested before that may not last.
	late     time.Time
	failures int
	needless bool
	calling  bool
	begun    time.Time
	on       bool
}

// NewShield returns a shield that is not wanted yet and requests the given term.
func NewShield(term time.Duration) Shield { return Shield{term: term, lifted: true} }

// UsualTerm is the default term for a visibility timeout: it covers a paused worker for as long as its messages are
// hidden.
func UsualTerm(visibility time.Duration) time.Duration {
	return max(usualProtection, (visibility + time.Minute - 1).Truncate(time.Minute))
}

// Want says whether the protection is wanted from now on.
func (s *Shield) Want(on bool) {
	if s.want != on {
		s.want, s.due = on, time.Time{}
	}
}

// Due returns when the next call is due and its term, or 0 to lift the protection. It is false if no call is due.
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

// Begin says that the call that Due named is made. From a call to lift on, the protection is not in force.
func (s *Shield) Begin(now time.Time) {
	s.calling, s.begun, s.on, s.lifted = true, now, s.want, false
	if !s.on {
		s.until = time.Time{}
	}
}

// End records the result of the last call. A failed call is repeated after a pause that doubles each time. It may have
// taken effect, or may do so soon.
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
		s.failures, s.due = 0, s.late // an earlier call to lift may still undo it
	default:
		s.until, s.failures, s.due = s.begun.Add(s.term), 0, s.begun.Add(s.term/3)
	}
	if s.on != s.want {
		s.due = time.Time{} // Want changed meanwhile
	}
}

// Covers tells whether the member is protected from now for the duration ahead, without another call. It also compares
// wall-clock times, because the monotonic clock stops while a machine sleeps.
func (s *Shield) Covers(now time.Time, ahead time.Duration) bool {
	end := now.Add(ahead)
	return s.needless || s.want && end.Before(s.until) && end.Round(0).Before(s.until.Round(0))
}

// Until returns until when the protection is certainly in force; zero without one.
func (s *Shield) Until() time.Time { return s.until }

// Failing tells whether the last call failed.
func (s *Shield) Failing() bool { return s.failures > 0 }

// Needless tells whether nothing can scale in the member.
func (s *Shield) Needless() bool { return s.needless }

// Lifted tells whether the member is certainly not protected by this worker.
func (s *Shield) Lifted() bool { return s.lifted || s.needless }
