package loop_test

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/muster-scale/muster"
	"github.com/muster-scale/muster/controller/loop"
)

// lease is a lease that is renewed until it is lost.
type lease struct {
	lost  atomic.Bool
	until atomic.Int64 // when it ends, after the loss, in nanoseconds since 1970
}

func (l *lease) leads() (time.Time, bool) {
	if !l.lost.Load() {
		return time.Now().Add(2 * time.Second), true
	}
	until := time.Unix(0, l.until.Load())
	return until, time.Now().Before(until)
}

// lose stops the renewals: the lease ends two seconds later.
func (l *lease) lose() {
	l.until.Store(time.Now().Add(2 * time.Second).UnixNano())
	l.lost.Store(true)
}

// slowFleet is a fleet whose writes hang until their context ends, or for so long.
type slowFleet struct {
	*ports
	takes time.Duration
	ended chan error // what each write ended with
}

func (f *slowFleet) SetDesired(ctx context.Context, o muster.Order) error {
	var err error
	select {
	case <-ctx.Done():
		err = ctx.Err()
	case <-time.After(f.takes):
		err = f.ports.SetDesired(ctx, o)
	}
	f.ended <- err
	return err
}

// leading starts a loop with a lease, in a bubble.
func leading(t *testing.T, s *ports, fleet muster.Fleet, l *lease) (stop func() error) {
	one := loop.New(loop.Options{Settings: loopSettings(t, time.Second), Sources: []muster.Source{s}, Fleet: fleet,
		Releaser: s, History: s, Logger: slog.New(slog.DiscardHandler), Leads: l.leads})
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- one.Run(ctx) }()
	return func() error { cancel(); return <-done }
}

func TestWithoutItsLeaseALoopDoesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, l := newPorts(), &lease{}
		stop := leading(t, s, s, l)
		time.Sleep(3 * time.Second)
		l.lose()
		time.Sleep(2 * time.Second)
		s.set(func() { s.backlog = 3 })
		time.Sleep(10 * time.Second)
		if _, launches := s.seen(); launches > 0 {
			t.Errorf("%d workers were launched without a lease", launches)
		}
		if err := stop(); err != nil {
			t.Error(err)
		}
	})
}

// TestALoopThatMayNotLeadLeavesTheHistoryAlone: to begin the history would stop the controller that leads by now.
func TestALoopThatMayNotLeadLeavesTheHistoryAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, l := newPorts(), &lease{}
		l.lost.Store(true)
		stop := leading(t, s, s, l)
		synctest.Wait()
		if err := stop(); err == nil || !strings.Contains(err.Error(), "does not lead") {
			t.Errorf("found error %v, want that it does not lead", err)
		}
		if p, err := s.Begin(t.Context(), "f"); err != nil || p.Epoch != 1 {
			t.Errorf("the history is at %+v, %v; want its first epoch", p, err)
		}
	})
}

func TestACallUnderWayEndsWithTheLease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, l := newPorts(), &lease{}
		s.backlog = 1
		fleet := &slowFleet{s, time.Hour, make(chan error, 100)}
		stop := leading(t, s, fleet, l)
		time.Sleep(10 * time.Second) // the lease is renewed meanwhile
		if len(fleet.ended) > 0 {
			t.Fatalf("the call ended with %v while the lease was renewed", <-fleet.ended)
		}
		l.lose()
		began := time.Now()
		if err := <-fleet.ended; !errors.Is(err, context.Canceled) || time.Since(began) > 2*time.Second {
			t.Errorf("the call ended with %v, %s after the last renewal", err, time.Since(began))
		}
		if err := stop(); err != nil {
			t.Error(err)
		}
	})
}

// TestAnOrderlyEndLetsACallFinish: a call that is cut off may still reach the fleet when another controller leads.
func TestAnOrderlyEndLetsACallFinish(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for takes, want := range map[time.Duration]error{1500 * time.Millisecond: nil, time.Hour: context.Canceled} {
			s, l := newPorts(), &lease{}
			s.backlog = 1
			fleet := &slowFleet{s, takes, make(chan error, 100)}
			stop := leading(t, s, fleet, l)
			time.Sleep(500 * time.Millisecond)
			began := time.Now()
			if err := stop(); err != nil {
				t.Error(err)
			}
			if err := <-fleet.ended; !errors.Is(err, want) || time.Since(began) > 3*time.Second {
				t.Errorf("a call of %s ended with %v; the loop took %s to end", takes, err, time.Since(began))
			}
		}
	})
}
