package loop_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/muster-scale/muster/worker/protocol"
)

// A fleet that is polled once an hour must not wait an hour for what follows from a report or from an order.

func TestAnIdleWorkerMakesReadingsFreshButNotOften(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newPorts()
		set := loopSettings(t, time.Hour)
		set.Limits.Min = 1 // so that the worker stays, and repeats that it is ready to stop
		loop, stop := newLoop(t, s, set)
		time.Sleep(time.Minute)
		_, _ = loop.Report(t.Context(), report("f-1", 1, protocol.Receiving, ""))
		s.set(func() { s.expects = 0 })
		for i := range 300 {
			_, _ = loop.Report(t.Context(), report("f-1", int64(i+2), protocol.Idle, "token"))
			time.Sleep(time.Second)
		}
		s.set(func() {
			if s.expects < 9 || s.expects > 11 {
				t.Errorf("readings were made fresh %d times in five minutes, want one in 30 s", s.expects)
			}
		})
		if err := stop(); err != nil {
			t.Error(err)
		}
	})
}

func TestAFleetIsPolledWhileItsMembersBegin(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newPorts()
		loop, stop := newLoop(t, s, loopSettings(t, time.Hour))
		time.Sleep(time.Minute)
		quiet, _ := s.seen()
		time.Sleep(50 * time.Minute)
		if steps, _ := s.seen(); steps != quiet {
			t.Errorf("%d steps in 50 quiet minutes, want none", steps-quiet)
		}
		s.set(func() { s.backlog, s.expects = 3, 0 })
		loop.Wake()
		time.Sleep(time.Second)
		before, launches := s.seen()
		if launches != 3 {
			t.Fatalf("%d launches after the event, want 3", launches)
		}
		time.Sleep(30 * time.Second)
		if steps, _ := s.seen(); steps-before < 2 || steps-before > 4 {
			t.Errorf("%d steps in the 30 s in which members boot, want one in 10 s", steps-before)
		}
		if err := stop(); err != nil {
			t.Error(err)
		}
	})
}
