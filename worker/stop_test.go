package worker_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/muster-scale/muster/worker"
	"github.com/muster-scale/muster/worker/protocol"
)

func TestRunOperatorsStop(t *testing.T) {
	tests := []struct {
		name   string
		grace  time.Duration
		takes  time.Duration
		within time.Duration
		done   int
	}{
		{"without grace it waits for the work as long as that takes", 0, time.Hour, time.Hour, 1},
		{"work that ends within the grace is finished", time.Minute, 50 * time.Second, 50 * time.Second, 1},
		{"after the grace the message is given back at once", time.Minute, time.Hour, 61 * time.Second, 0},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				q := newFakeQueue("m")
				c := &fakeController{rule: keepWorking}
				r := run(t, worker.Options{Queue: q, Reporter: c, Grace: test.grace, Do: takes(test.takes)})
				r.told()
				r.left(test.within + 3*time.Second)
				deleted, hidden := q.state()
				if len(deleted) != test.done {
					t.Errorf("deleted %v", deleted)
				}
				if test.done == 0 && (len(hidden) == 0 || hidden[len(hidden)-1] != 0) {
					t.Errorf("the last change of visibility is %v, want 0", hidden)
				}
				last := c.last()
				if last.State != protocol.Leaving || last.Cause != protocol.Signalled || last.Failed != 0 {
					t.Errorf("the last report is %+v", last)
				}
			})
		})
	}
}

func TestRunOperatorsStopWithoutWork(t *testing.T) {
	away := func(int, protocol.Report) (protocol.Directive, error) { return protocol.Directive{}, errAway }
	tests := []struct {
		name   string
		o      worker.Options
		within time.Duration
		cut    int
	}{
		{"a long poll is cut off", worker.Options{}, 0, 1},
		{"a short poll may end", worker.Options{Reporter: &fakeController{rule: keepWorking}}, 2500 * time.Millisecond,
			0},
		{"no controller is waited for", worker.Options{Reporter: &fakeController{rule: away}}, 4 * time.Second, 0},
		{"nor one that hangs", worker.Options{Reporter: &fakeController{rule: away, takes: time.Hour}},
			13 * time.Second, 0},
		{"nor warming up", worker.Options{WarmUp: time.Hour}, 0, 0},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				q := newFakeQueue()
				test.o.Queue, test.o.Do = q, takes(0)
				r := run(t, test.o)
				after(100 * time.Millisecond)
				r.told()
				r.left(test.within)
				if n := q.calls().cut; n != test.cut {
					t.Errorf("cut off %d receive calls, want %d", n, test.cut)
				}
			})
		})
	}
}

func TestRunGivesBackWhatComesAfterTheOperatorsStop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newFakeQueue()
		r := run(t, worker.Options{Queue: q, Reporter: &fakeController{rule: keepWorking},
			Do: func(context.Context, worker.Message) error {
				t.Error("began new work after the stop")
				return nil
			}})
		r.told()
		synctest.Wait()
		q.send("late")
		r.left(time.Second)
		if in := q.visibleIn("late"); in != 0 {
			t.Errorf("the message is hidden for %s more, want it seen by others at once", in)
		}
	})
}

func TestRunLeavesWhenQueueAndControllerAreGoneForGood(t *testing.T) {
	fails := func(int) error { return errAway }
	away := func(int, protocol.Report) (protocol.Directive, error) { return protocol.Directive{}, errAway }
	for _, row := range []struct {
		name       string
		queue      func(int) error
		controller func(int, protocol.Report) (protocol.Directive, error)
		leaves     bool
	}{
		{"both away: nobody could give it work or let it go", fails, away, true},
		{"the controller answers: it decides", fails, keepWorking, false},
		{"the queue answers: there may be work", nil, away, false},
	} {
		t.Run(row.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				q := newFakeQueue()
				q.receiveFault = row.queue
				r := run(t, worker.Options{Queue: q, Do: takes(time.Second),
					Reporter: &fakeController{rule: row.controller}, Orphaned: time.Minute})
				after(55 * time.Second)
				if len(r.done) > 0 {
					t.Fatalf("left too early\n%s", r.logs)
				}
				after(time.Minute)
				if left := len(r.done) > 0; left != row.leaves {
					t.Errorf("left: %t, want %t\n%s", left, row.leaves, r.logs)
				}
				r.told()
				r.left(2 * time.Minute)
			})
		})
	}
}

func TestAStopSaysWhatIsStillWorkedOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newFakeQueue("first")
		r := run(t, worker.Options{Queue: q, Slots: 20, Do: takes(5 * time.Minute)})
		after(time.Minute)
		var many []string
		for i := range 12 {
			many = append(many, fmt.Sprintf("later-%d", i))
		}
		q.send(many...)
		after(30 * time.Second)
		q.send("done")
		r.told()
		r.left(10 * time.Minute)
		logs := r.logs.String()
		for _, want := range []string{`holding=13`, `msg="still working on a message" message=first for=1m30s`,
			`for=30s`, `msg="still working on more messages" count=3`} {
			if !strings.Contains(logs, want) {
				t.Errorf("the log does not say %s:\n%s", want, logs)
			}
		}
		if n := strings.Count(logs, "still working on a message"); n != 10 ||
			strings.Contains(logs, `still working on a message" message=done`) {
			t.Errorf("%d messages are named, want 10 of those that are held:\n%s", n, logs)
		}
	})
}
