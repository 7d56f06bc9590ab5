package loop_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/muster-scale/muster/history"
	"github.com/muster-scale/muster/policy"
)

// onEvents runs a test of a loop whose polls are an hour apart, so that only events cause readings.
func onEvents(t *testing.T, test func(s *ports, wake func())) {
	synctest.Test(t, func(t *testing.T) {
		s := &ports{History: history.NewMemory(), sourceOK: true, wakes: make(chan struct{}, 1)}
		set := settings(t, policy.Spec{Name: "exact"}, 5)
		set.Poll = time.Hour
		l, stop := newLoop(t, s, set)
		time.Sleep(time.Minute)
		s.set(func() { s.expects = 0 })
		test(s, l.Wake)
		if err := stop(); err != nil {
			t.Fatal(err)
		}
	})
}

// fresh is how many fresh readings were prepared.
func (s *ports) fresh() (n int) {
	s.set(func() { n = s.expects })
	return n
}

func TestEachEventOfABurstIsFollowedWithinMilliseconds(t *testing.T) {
	onEvents(t, func(s *ports, wake func()) {
		for i := range 10 {
			before, _ := s.seen()
			wake()
			time.Sleep(100 * time.Millisecond)
			if after, _ := s.seen(); after == before {
				t.Errorf("no step within 100 ms of event %d", i+1)
			}
		}
	})
}

func TestAFloodOfEventsCostsOneReadingASecond(t *testing.T) {
	onEvents(t, func(s *ports, wake func()) {
		for range 10_000 * 95 / 10 { // for 9.5 s, so that it does not end at the instant of a reading
			wake()
			time.Sleep(100 * time.Microsecond)
		}
		if n := s.fresh(); n < 15 || n > 20 {
			t.Errorf("%d fresh readings for 95,000 events in 9.5 s, want a burst of 10 and one a second", n)
		}
		// The last event is followed too.
		before, _ := s.seen()
		time.Sleep(1100 * time.Millisecond)
		if after, _ := s.seen(); after == before {
			t.Error("no step follows the last event")
		}
		if n := s.fresh(); n > 21 {
			t.Errorf("%d fresh readings after the flood", n)
		}
	})
}

func TestEventsOfOneInstantUseUpOneReadingOrTwo(t *testing.T) {
	onEvents(t, func(s *ports, wake func()) {
		for range 50 {
			wake()
		}
		time.Sleep(time.Second)
		if n := s.fresh(); n < 1 || n > 2 {
			t.Errorf("%d fresh readings for 50 events at once, want one or two", n)
		}
	})
}
