package lease_test

import (
	"errors"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/muster-scale/muster/worker/lease"
)

var errUnsaid = errors.New("no answer")

func TestShield(t *testing.T) {
	at := func(m, s int) time.Time {
		return time.Unix(0, 0).Add(time.Duration(m)*time.Minute + time.Duration(s)*time.Second)
	}
	s := lease.NewShield(15 * time.Minute)
	expect := func(what string, now time.Time, covers bool, due time.Time, term time.Duration, calls bool) {
		t.Helper()
		when, what1, ok := s.Due()
		if s.Covers(now, 0) != covers || ok != calls || ok && (!when.Equal(due) || what1 != term) {
			t.Errorf("%s: covers %t, due %v %v %t; want %t, %v %v %t", what, s.Covers(now, 0), when, what1, ok, covers,
				due, term, calls)
		}
	}
	call := func(begun, ended time.Time, err error) { s.Begin(begun); s.End(ended, err) }

	expect("unwanted from the start", at(0, 0), false, at(0, 0), 0, false)
	s.Want(true)
	expect("wanted", at(0, 0), false, time.Time{}, 15*time.Minute, true)
	call(at(0, 0), at(0, 5), nil)
	expect("it counts from before the call and is renewed at a third", at(14, 59), true, at(5, 0), 15*time.Minute, true)
	expect("it ends", at(15, 0), false, at(5, 0), 15*time.Minute, true)
	s.Want(true)
	expect("still wanted: nothing changes", at(1, 0), true, at(5, 0), 15*time.Minute, true)
	call(at(5, 0), at(5, 1), errUnsaid)
	expect("a renewal that failed is tried again soon", at(5, 1), true, at(5, 2), 15*time.Minute, true)
	call(at(5, 2), at(5, 2), errUnsaid)
	expect("and again after twice as long", at(14, 0), true, at(5, 4), 15*time.Minute, true)
	call(at(5, 4), at(5, 4), nil)
	expect("until it is back", at(20, 3), true, at(10, 4), 15*time.Minute, true)
	s.Want(false)
	expect("not wanted any more: let go at once", at(6, 0), false, time.Time{}, 0, true)
	call(at(6, 0), at(6, 10), errUnsaid)
	s.Want(true)
	expect("a lift that failed may be carried out late", at(6, 10), false, time.Time{}, 15*time.Minute, true)
	call(at(6, 11), at(6, 11), nil)
	expect("so what is asked for before that does not count", at(6, 12), false, at(6, 40), 15*time.Minute, true)
	call(at(6, 40), at(6, 41), nil)
	expect("and what is asked for after it does", at(6, 41), true, at(11, 40), 15*time.Minute, true)
	s.Want(false)
	call(at(7, 0), at(7, 0), nil)
	expect("lifted: nothing more is due", at(7, 0), false, at(0, 0), 0, false)
	if !s.Lifted() || s.Failing() {
		t.Error("it is lifted and nothing fails")
	}
	s.Want(true)
	call(at(8, 0), at(8, 0), lease.ErrUnprotectable)
	expect("nothing to protect from: always covered", at(99, 0), true, at(0, 0), 0, false)
}

func TestShieldMindsAWishThatChangesDuringACall(t *testing.T) {
	now := time.Unix(0, 0)
	s := lease.NewShield(time.Minute)
	s.Want(true)
	s.Begin(now)
	s.Want(false)
	s.End(now, nil)
	if s.Covers(now, 0) {
		t.Error("covers although it is not wanted")
	}
	if at, term, ok := s.Due(); !ok || term != 0 || at.After(now) {
		t.Errorf("due %v %v %t, want to let go at once", at, term, ok)
	}
}

// late is a change that the service carries out some time after the call for it was given up.
type late struct {
	at   time.Time
	term time.Duration
}

// TestAShieldNeverCoversWhatIsNotProtected lets calls succeed, be refused, or be given up and carried out at once, late
// or never, while the wish for protection comes and goes.
func TestAShieldNeverCoversWhatIsNotProtected(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		now := time.Unix(0, 0)
		term := time.Duration(rapid.IntRange(1, 20).Draw(t, "term")) * time.Minute
		s := lease.NewShield(term)
		var until time.Time // of the protection in truth
		var lates []late
		pass := func(d time.Duration) {
			now = now.Add(d)
			rest := lates[:0]
			for _, l := range lates {
				if l.at.After(now) {
					rest = append(rest, l)
				} else {
					until = l.at.Add(l.term)
				}
			}
			lates = rest
		}
		for range rapid.IntRange(1, 60).Draw(t, "steps") {
			s.Want(rapid.Bool().Draw(t, "wanted"))
			if s.Covers(now, 0) && !now.Before(until) {
				t.Fatalf("covers at %v, and the protection ended at %v", now, until)
			}
			due, asked, ok := s.Due()
			if !ok || due.After(now) {
				pass(time.Duration(rapid.IntRange(1, 400).Draw(t, "seconds")) * time.Second)
				continue
			}
			s.Begin(now)
			took := time.Duration(rapid.IntRange(0, 10_000).Draw(t, "ms")) * time.Millisecond
			switch how := rapid.IntRange(0, 4).Draw(t, "how"); how {
			case 0, 1: // carried out at the end of the call, or at its beginning
				pass(took * time.Duration(how))
				until = now.Add(asked)
				pass(took * time.Duration(1-how))
				s.End(now, nil)
			case 2: // refused, or lost for good
				pass(took)
				s.End(now, errUnsaid)
			default:
				pass(took)
				s.End(now, errUnsaid)
				lates = append(lates, late{now.Add(time.Duration(rapid.IntRange(0, 29).Draw(t, "late")) * time.Second),
					asked})
			}
		}
	})
}
