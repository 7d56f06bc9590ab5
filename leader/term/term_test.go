package term_test

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/muster-scale/muster/leader"
	"github.com/muster-scale/muster/leader/leasetest"
	"github.com/muster-scale/muster/leader/term"
)

// controller is a Term with the fleets that it was told to lead.
type controller struct {
	*term.Term
	mu    sync.Mutex
	led   []string
	right term.Right // the newest one
	stop  context.CancelFunc
	done  chan struct{}
}

func start(t *testing.T, store leader.Store, name string, fleets ...string) *controller {
	return startOn(t, store, name, nil, fleets...)
}

// startOn starts a controller on a machine that was suspended for a time.
func startOn(t *testing.T, store leader.Store, name string, suspended func() time.Duration, fleets ...string,
) *controller {
	c := &controller{done: make(chan struct{})}
	c.Term = term.New(term.Options{Store: store, Name: name, Fleets: fleets, Logger: slog.New(slog.DiscardHandler),
		Suspended: suspended,
		Lead: func(fleet string, right term.Right) {
			c.mu.Lock()
			defer c.mu.Unlock()
			c.led, c.right = append(c.led, fleet), right
		},
		Yield: func(fleet string) {
			c.mu.Lock()
			defer c.mu.Unlock()
			c.led = slices.DeleteFunc(c.led, func(f string) bool { return f == fleet })
		}})
	var ctx context.Context
	ctx, c.stop = context.WithCancel(t.Context())
	go func() {
		defer close(c.done)
		c.Run(ctx)
	}()
	return c
}

// may asks the newest right.
func (c *controller) may() (until time.Time, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.right()
}

func (c *controller) leads() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.led)
}

// away is a store that can be cut off.
type away struct {
	leader.Store
	cut atomic.Bool
}

var errAway = errors.New("no route to the store")

func (a *away) Beat(ctx context.Context, s leader.Session) error {
	if a.cut.Load() {
		return errAway
	}
	return a.Store.Beat(ctx, s)
}

func (a *away) Evict(ctx context.Context, s leader.Session) error {
	if a.cut.Load() {
		return errAway
	}
	return a.Store.Evict(ctx, s)
}

func (a *away) Take(ctx context.Context, fleet string, was, to leader.Claim) error {
	if a.cut.Load() {
		return errAway
	}
	return a.Store.Take(ctx, fleet, was, to)
}

func (a *away) Read(ctx context.Context, claims bool) (leader.Board, error) {
	if a.cut.Load() {
		<-ctx.Done() // it hangs
		return leader.Board{}, ctx.Err()
	}
	return a.Store.Read(ctx, claims)
}

func TestALeaderThatIsCutOffStopsBeforeAnotherFollows(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := leasetest.NewMemory()
		cut := &away{Store: store}
		first := start(t, cut, "first", "f")
		time.Sleep(2 * time.Second)
		second := start(t, store, "second", "f")
		time.Sleep(2 * time.Second)
		if first.leads() != 1 || second.leads() != 0 {
			t.Fatalf("the first leads %d fleets, the second %d", first.leads(), second.leads())
		}
		if name, own := second.Leader("f"); name != "first" || own {
			t.Errorf("the second thinks that %q leads", name)
		}
		cut.cut.Store(true)
		stopped, followed := time.Duration(0), time.Duration(0)
		for at := time.Duration(0); at < 10*time.Second; at += 10 * time.Millisecond {
			time.Sleep(10 * time.Millisecond)
			synctest.Wait()
			_, may := first.may()
			if stopped == 0 && !may {
				stopped = at
			}
			if followed == 0 && second.leads() == 1 {
				followed = at
			}
			if second.leads() == 1 {
				if _, acts := second.may(); may && acts {
					t.Fatalf("both may act after %s", at)
				}
			}
		}
		t.Logf("stopped after %s, followed after %s", stopped, followed)
		if stopped == 0 || stopped > 2*time.Second || followed == 0 || followed > 4*time.Second {
			t.Errorf("stopped after %s, want 2s at most; followed after %s, want 4s at most", stopped, followed)
		}
		if err, _ := first.Failing(); !errors.Is(err, errAway) {
			t.Errorf("the first says %v of its store", err)
		}
		cut.cut.Store(false)
		time.Sleep(2 * time.Second)
		if _, may := first.may(); may {
			t.Error("a new session gives back the right of the one before")
		}
		if err, _ := first.Failing(); err != nil || first.leads() != 0 {
			t.Errorf("with its store again, the first leads %d fleets and says %v", first.leads(), err)
		}
		second.stop()
		<-second.done
		time.Sleep(time.Second)
		if first.leads() != 1 {
			t.Error("nobody follows a controller that ended in order")
		}
		first.stop()
		<-first.done
	})
}

// The monotonic clock stands still while a machine is suspended. Another controller has followed meanwhile, so the
// right to act must be over when the machine wakes up, before anything else runs.
func TestASuspendedMachineWakesUpWithoutTheRightToAct(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var suspended atomic.Int64
		suspended.Store(int64(time.Hour)) // once, before this process began
		store := leasetest.NewMemory()
		slept := func() time.Duration { return time.Duration(suspended.Load()) }
		c := startOn(t, store, "first", slept, "f")
		time.Sleep(2 * time.Second)
		until, may := c.may()
		if left := time.Until(until); !may || left <= 0 || left > 2*time.Second {
			t.Fatalf("a leader may act for %s more, %v", left, may)
		}
		suspended.Add(int64(10 * time.Second))
		if until, may = c.may(); may || time.Until(until) > 0 {
			t.Errorf("after ten seconds it may act for %s more, %v", time.Until(until), may)
		}
		suspended.Add(-int64(time.Millisecond)) // a later reading is a little less exact
		if _, may = c.may(); may {
			t.Error("the right comes back")
		}
		time.Sleep(10 * time.Second)
		if _, may = c.may(); !may || c.leads() != 1 {
			t.Errorf("nobody else is there, and ten seconds later it leads %d fleets", c.leads())
		}
		c.stop()
		<-c.done
	})
}

// deaf is a store whose client waits for a silent server whatever the context says, as lib/pq does.
type deaf struct {
	leader.Store
	silent atomic.Bool
	speak  chan struct{}
}

func (d *deaf) wait() {
	if d.silent.Load() {
		<-d.speak
	}
}

func (d *deaf) Beat(ctx context.Context, x leader.Session) error {
	d.wait()
	return d.Store.Beat(ctx, x)
}

func (d *deaf) Read(ctx context.Context, claims bool) (leader.Board, error) {
	d.wait()
	return d.Store.Read(ctx, claims)
}

// TestAStoreThatNeverAnswersIsKnownToFail holds that a controller says so within a lease, yields, and ends when it is
// told to, although none of its calls returns.
func TestAStoreThatNeverAnswersIsKnownToFail(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &deaf{Store: leasetest.NewMemory(), speak: make(chan struct{})}
		c := start(t, store, "a", "web")
		time.Sleep(5 * time.Second)
		if _, ok := c.may(); !ok {
			t.Fatal("the controller leads nothing")
		}
		store.silent.Store(true)
		time.Sleep(leader.DefaultTiming().Lease)
		if err, _ := c.Failing(); err == nil {
			t.Error("nothing says that the store does not answer")
		}
		if _, ok := c.may(); ok {
			t.Error("it leads without a store")
		}
		c.stop()
		time.Sleep(20 * time.Second)
		select {
		case <-c.done:
		default:
			t.Error("it does not end")
		}
		close(store.speak)
	})
}
