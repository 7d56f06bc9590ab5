package worker_test

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/muster-scale/muster/mustertest"
	"github.com/muster-scale/muster/worker"
	"github.com/muster-scale/muster/worker/protocol"
)

// fakeHook keeps a machine for the timeout with each heartbeat, until it is completed.
type fakeHook struct {
	mu         sync.Mutex
	timeout    time.Duration
	fault      func(call int) error
	heartbeats []time.Time
	completed  []time.Time
}

func (h *fakeHook) Extend(context.Context) (time.Duration, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.heartbeats = append(h.heartbeats, time.Now())
	if h.fault != nil {
		if err := h.fault(len(h.heartbeats)); err != nil {
			return 0, err
		}
	}
	return h.timeout, nil
}

func (h *fakeHook) Complete(context.Context) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.completed = append(h.completed, time.Now())
	if len(h.completed) == 1 && h.fault != nil {
		return h.fault(-1)
	}
	return nil
}

func (h *fakeHook) calls() (heartbeats, completed []time.Time) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Clone(h.heartbeats), slices.Clone(h.completed)
}

func TestRunKeepsItsMachineUntilItHasFinished(t *testing.T) {
	failing := func(from int) func(int) error {
		return func(call int) error {
			if call >= from || call < 0 {
				return errors.New("RequestExpired")
			}
			return nil
		}
	}
	for _, row := range []struct {
		name       string
		timeout    time.Duration
		fault      func(int) error
		takes      time.Duration
		grace      time.Duration
		done       bool
		within     time.Duration // from the notice
		heartbeats int
		completed  int
	}{
		{"short work needs one heartbeat", time.Hour, nil, 10 * time.Second, 0, true, 15 * time.Second, 1, 1},
		{"long work many", time.Minute, nil, 10 * time.Minute, 0, true, 11 * time.Minute, 20, 1},
		{"the grace counts", time.Minute, nil, 10 * time.Minute, 2 * time.Minute, false, 130 * time.Second, 4, 1},
		{"heartbeats fail: what is not finished is given back before the machine ends", time.Minute, failing(3),
			time.Hour, 0, false, 90 * time.Second, 7, 2},
		{"the timeout is not known", 0, nil, 2 * time.Minute, 0, true, 2*time.Minute + 10*time.Second, 6, 1},
	} {
		t.Run(row.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				q, s, h := newFakeQueue("held"), mustertest.NewIMDS(time.Now), &fakeHook{timeout: row.timeout,
					fault: row.fault}
				r := run(t, worker.Options{Queue: q, Reporter: &fakeController{rule: keepWorking}, Do: takes(row.takes),
					Notices: onEC2(s), Hook: h, Grace: row.grace})
				after(3 * time.Second)
				s.Target("Terminated")
				begun := time.Now()
				q.send("more")
				r.left(row.within + 10*time.Second)
				heartbeats, completed := h.calls()
				if took := time.Since(begun); took > row.within+6*time.Second {
					t.Errorf("took %s, want at most %s", took, row.within)
				}
				if deleted, _ := q.state(); slices.Contains(deleted, "held") != row.done {
					t.Errorf("done: %v, want %t\n%s", deleted, row.done, r.logs)
				}
				if row.done == (q.visibleIn("held") >= 0) {
					t.Errorf("the message is visible in %s", q.visibleIn("held"))
				}
				if n := len(heartbeats); n < row.heartbeats-1 || n > row.heartbeats+3 {
					t.Errorf("sent %d heartbeats, want about %d", n, row.heartbeats)
				}
				if len(completed) != row.completed {
					t.Errorf("completed %d times, want %d\n%s", len(completed), row.completed, r.logs)
				}
			})
		})
	}
}

func TestRunThatWasReleasedLetsItsMachineEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, h := mustertest.NewIMDS(time.Now), &fakeHook{timeout: time.Hour}
		c := &fakeController{rule: release}
		r := run(t, worker.Options{Queue: newFakeQueue(), Reporter: c, Do: takes(0), Notices: onEC2(s), Hook: h})
		after(time.Minute)
		if c.last().State != protocol.Leaving {
			t.Fatalf("the last report is %+v", c.last())
		}
		if _, completed := h.calls(); len(completed) > 0 {
			t.Error("completed before the machine was to end")
		}
		s.Target("Terminated")
		r.left(6 * time.Second)
		if heartbeats, completed := h.calls(); len(heartbeats) != 0 || len(completed) != 1 {
			t.Errorf("sent %d heartbeats and completed %d times, want none and once", len(heartbeats), len(completed))
		}
	})
}

func TestRunDoesNotWaitForEverForItsMachineToEnd(t *testing.T) {
	for _, row := range []struct {
		name   string
		told   bool
		within time.Duration
	}{{"a quarter of an hour", false, 16 * time.Minute}, {"not after a signal", true, 2 * time.Second}} {
		t.Run(row.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s, h := mustertest.NewIMDS(time.Now), &fakeHook{timeout: time.Hour}
				r := run(t, worker.Options{Queue: newFakeQueue(), Reporter: &fakeController{rule: release},
					Do: takes(0), Notices: onEC2(s), Hook: h})
				after(time.Minute)
				if row.told {
					r.told()
				}
				r.left(row.within)
				if _, completed := h.calls(); len(completed) != 0 {
					t.Error("completed although nothing waits")
				}
			})
		})
	}
}

// sharedHook is the hook of a machine on which another worker works until an instant.
type sharedHook struct {
	fakeHook
	until time.Time
}

func (h *sharedHook) Complete(ctx context.Context) error {
	if time.Now().Before(h.until) {
		return worker.ErrOthersWork
	}
	return h.fakeHook.Complete(ctx)
}

func TestRunWaitsForTheOtherWorkersOfItsMachine(t *testing.T) {
	for _, row := range []struct {
		name    string
		others  time.Duration // how long they work
		told    bool          // it is told to stop while it waits
		done    bool
		atMost  time.Duration
		atLeast time.Duration
	}{
		{"they finish soon", 30 * time.Second, false, true, 50 * time.Second, 30 * time.Second},
		{"they work for hours", 3 * time.Hour, false, true, 3*time.Hour + 20*time.Second, 3 * time.Hour},
		{"it is told to stop: the end is left to them", 3 * time.Hour, true, false, 70 * time.Second, 0},
	} {
		t.Run(row.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := mustertest.NewIMDS(time.Now)
				h := &sharedHook{fakeHook: fakeHook{timeout: time.Hour}, until: time.Now().Add(row.others)}
				r := run(t, worker.Options{Queue: newFakeQueue(), Reporter: &fakeController{rule: keepWorking},
					Do: takes(0), Notices: onEC2(s), Hook: h})
				begun := time.Now()
				after(3 * time.Second)
				s.Target("Terminated")
				if row.told {
					after(time.Minute)
					r.told()
				}
				r.left(row.atMost)
				if took := time.Since(begun); took < row.atLeast || took > row.atMost+time.Minute {
					t.Errorf("left after %s, want %s to %s", took, row.atLeast, row.atMost)
				}
				if _, completed := h.calls(); (len(completed) == 1) != row.done {
					t.Errorf("completed %d times, want it done: %t\n%s", len(completed), row.done, r.logs)
				}
			})
		})
	}
}

func TestAReleaseIsNoneOfAMachineThatIsShared(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, h := mustertest.NewIMDS(time.Now), &fakeHook{timeout: time.Hour}
		r := run(t, worker.Options{Queue: newFakeQueue(), Reporter: &fakeController{rule: release}, Do: takes(0),
			Notices: onEC2(s), Hook: h, MachineShared: true})
		r.left(2 * time.Minute)
		if _, completed := h.calls(); len(completed) > 0 {
			t.Error("completed although the machine stays")
		}
	})
}
