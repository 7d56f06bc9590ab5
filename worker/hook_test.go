package worker_test

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/muster-scale/muster"
	"github.com/muster-scale/muster/mustertest"
	"github.com/muster-scale/muster/worker"
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
		{"heartbeats fail: what is not finished is given back before the machine ends", time.Minute, failing(3), time.Hour, 0, false, 90 * time.Second, 7, 2},
		{"the timeout is not known", 0, nil, 2 * time.Minute, 0, true, 2*time.Minute + 10*time.Second, 6, 1},
	} {
		t.Run(row.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				q, s, h := newFakeQueue("held"), mustertest.NewIMDS(time.Now), &fakeHook{timeout: row.timeout, fault: row.fault}
				r := run(t, worker.Options{Queue: q, Reporter: &fakeController{rule: keepWorking}, Do: takes(row.takes), Notices: onEC2(s), Hook: h, Grace: row.grace})
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
		if c.last().State != muster.Leaving {
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
				r := run(t, worker.Options{Queue: newFakeQueue(), Reporter: &fakeController{rule: release}, Do: takes(0), Notices: onEC2(s), Hook: h})
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
