package worker_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/muster-scale/muster/mustertest"
	"github.com/muster-scale/muster/worker"
	"github.com/muster-scale/muster/worker/lease"
	"github.com/muster-scale/muster/worker/protocol"
)

// guarded returns a queue that fails the test when a receive call is made without protection.
func guarded(t *testing.T, a *mustertest.ECSAgent, ids ...string) *fakeQueue {
	q := newFakeQueue(ids...)
	q.receiveFault = func(int) error {
		if !a.Protected() {
			t.Error("a receive call was made without protection")
		}
		return nil
	}
	return q
}

func protectedOptions(a *mustertest.ECSAgent, q *fakeQueue, takesTime time.Duration) worker.Options {
	_, protection := onECS(a)
	return worker.Options{Queue: q, Do: takes(takesTime), Protection: protection}
}

func TestRunIsProtectedFromBeforeTheFirstReceiveUntilItIsIdle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := mustertest.NewECSAgent(time.Now)
		q := guarded(t, a)
		for range 40 {
			q.send("m")
		}
		held := make(chan protocol.Directive, 1)
		held <- work
		c := &fakeController{rule: func(_ int, r protocol.Report) (protocol.Directive, error) {
			d := <-held
			held <- d
			if d.Ask == protocol.Leave {
				d.Token = r.Token
			}
			return d, nil
		}}
		says := func(d protocol.Directive) { <-held; held <- d }
		o := protectedOptions(a, q, time.Minute)
		o.Reporter = c
		begun := time.Now()
		r := run(t, o)
		after(61 * time.Minute)
		deleted, _ := q.state()
		if len(deleted) != 40 {
			t.Errorf("finished %d messages, want 40\n%s", len(deleted), r.logs)
		}
		for i, call := range a.Calls() {
			if want := time.Duration(i) * 5 * time.Minute; !call.Enabled || call.Minutes != 15 || !call.Done ||
				call.At.Sub(begun) != want {
				t.Errorf("call %d is %+v, want one for 15 minutes after %s", i, call, want)
			}
		}
		if n := len(a.Calls()); n != 13 {
			t.Errorf("%d calls in an hour, want 13: none for a message", n)
		}
		says(protocol.Directive{Ask: protocol.Drain})
		after(5 * time.Second)
		if c.last().State != protocol.Idle || a.Protected() {
			t.Errorf("it is %s and protected: %t, want idle and not", c.last().State, a.Protected())
		}
		says(work)
		after(2 * time.Second)
		if c.last().State != protocol.Receiving || !a.Protected() {
			t.Errorf("it is %s and protected: %t, want receiving and protected", c.last().State, a.Protected())
		}
		says(protocol.Directive{Ask: protocol.Drain})
		after(5 * time.Second)
		says(protocol.Directive{Ask: protocol.Leave})
		r.left(5 * time.Second)
		if n := len(a.Calls()); a.Protected() || n != 16 {
			t.Errorf("protected: %t after %d calls, want none after 16", a.Protected(), n)
		}
	})
}

func TestRunIsProtectedWhileItHoldsAMessage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := mustertest.NewECSAgent(time.Now)
		q := guarded(t, a, "long")
		r := run(t, protectedOptions(a, q, 3*time.Hour))
		r.told() // by SIGTERM; it finishes what it holds
		for range 179 {
			after(time.Minute)
			if !a.Protected() {
				t.Fatalf("not protected\n%s", r.logs)
			}
		}
		r.left(time.Minute)
		if a.Protected() {
			t.Error("protected although it has left")
		}
	})
}

func TestRunTakesNothingWhenTheProtectionRunsOutAndGoesOnWhenItIsBack(t *testing.T) {
	for _, row := range []struct {
		name  string
		fails func(a *mustertest.ECSAgent)
		says  string
	}{
		{"the role may not", func(a *mustertest.ECSAgent) { a.Refuse("AccessDeniedException", 400) },
			"ecs:UpdateTaskProtection"},
		{"the service fails", func(a *mustertest.ECSAgent) { a.Refuse("ServerException", 500) }, "ServerException"},
		{"a deployment waits", func(a *mustertest.ECSAgent) { a.FailWith("DEPLOYMENT_BLOCKED") }, "DEPLOYMENT_BLOCKED"},
		{"the service is not valid", func(a *mustertest.ECSAgent) { a.FailWith("TASK_NOT_VALID") },
			"only tasks of a service"},
		{"another failure", func(a *mustertest.ECSAgent) { a.FailWith("MISSING") }, "MISSING"},
	} {
		t.Run(row.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				a := mustertest.NewECSAgent(time.Now)
				q := guarded(t, a)
				r := run(t, protectedOptions(a, q, time.Second))
				after(6 * time.Minute)
				row.fails(a)
				after(20 * time.Minute)
				q.send("m")
				before := q.calls().receives
				after(time.Hour)
				if q.calls().receives != before {
					t.Error("received without protection")
				}
				logs := r.logs.String()
				if !strings.Contains(logs, row.says) || !strings.Contains(logs, "has run out") ||
					!strings.Contains(logs, "level=ERROR msg=\"incident") {
					t.Errorf("want the incident and %q in the log\n%s", row.says, logs)
				}
				if n := strings.Count(logs, "level=ERROR"); n < 60 || n > 90 {
					t.Errorf("%d errors in 75 minutes, want about one a minute", n)
				}
				a.FailWith("")
				a.Refuse("", 0)
				after(32 * time.Second)
				if deleted, _ := q.state(); len(deleted) != 1 || !strings.Contains(r.logs.String(), "works again") {
					t.Errorf("finished %v after it was back\n%s", deleted, r.logs)
				}
				r.told()
				r.left(3 * time.Second)
			})
		})
	}
}

// TestRunRestsWithoutProtectionWhereItHasNoController: the cleared flag tells the service that it may end the worker.
// To leave by itself would only make the service start another.
func TestRunRestsWithoutProtectionWhereItHasNoController(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := mustertest.NewECSAgent(time.Now)
		q := guarded(t, a)
		o := protectedOptions(a, q, time.Second)
		o.IdleStop = 30 * time.Second
		r := run(t, o)
		resting := 0
		for range 600 {
			after(time.Second)
			if !a.Protected() {
				resting++
			}
		}
		if len(r.done) > 0 || resting < 100 || resting > 200 {
			t.Errorf("left: %t, rested for %d s of 600, want about a quarter\n%s", len(r.done) > 0, resting, r.logs)
		}
		for a.Protected() {
			after(time.Second)
		}
		q.send("m")
		after(12 * time.Second)
		if deleted, _ := q.state(); len(deleted) != 1 {
			t.Errorf("a message that came while it rested is not done after 12 s\n%s", r.logs)
		}
		for a.Protected() {
			after(time.Second)
		}
		r.told()
		r.left(0)
		if a.Protected() {
			t.Error("protected although it has left")
		}
	})
}

func TestRunLeavesATaskOfNoServiceWhenItIsIdle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := mustertest.NewECSAgent(time.Now)
		a.Standalone()
		o := protectedOptions(a, newFakeQueue(), time.Second)
		o.IdleStop = 30 * time.Second
		run(t, o).left(33 * time.Second)
	})
}

func TestRunIsNotIdleBecauseItIsNotProtected(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := mustertest.NewECSAgent(time.Now)
		q := guarded(t, a)
		o := protectedOptions(a, q, time.Second)
		c := &fakeController{rule: keepWorking}
		o.Reporter, o.IdleStop = c, time.Minute
		r := run(t, o)
		a.Refuse("ServerException", 500)
		for range 31 { // it has work for as long as its protection lasts
			after(30 * time.Second)
			q.send("m")
		}
		after(time.Hour)
		if states := c.states(); !slices.Equal(states, []protocol.WorkerState{protocol.Starting, protocol.Receiving}) {
			t.Errorf("it was %v while messages waited that it might not take\n%s", states, r.logs)
		}
		r.told()
		r.left(3 * time.Second)
	})
}

func TestRunDoesNotStartWithoutProtection(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := mustertest.NewECSAgent(time.Now)
		a.Refuse("AccessDeniedException", 400)
		q := guarded(t, a, "m")
		o := protectedOptions(a, q, time.Second)
		c := &fakeController{rule: keepWorking}
		o.Reporter = c
		r := run(t, o)
		after(time.Hour)
		if q.calls().receives > 0 || c.last().State != protocol.Starting {
			t.Errorf("%d receive calls, and it says %s; want it starting for as long", q.calls().receives,
				c.last().State)
		}
		r.told()
		r.left(3 * time.Second)
	})
}

func TestRunNeedsNoProtectionInATaskOfNoService(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := mustertest.NewECSAgent(time.Now)
		a.Standalone()
		q := newFakeQueue("m")
		r := run(t, protectedOptions(a, q, time.Second))
		after(time.Hour)
		if deleted, _ := q.state(); len(deleted) != 1 || len(a.Calls()) != 1 {
			t.Errorf("finished %v with %d calls for protection\n%s", deleted, len(a.Calls()), r.logs)
		}
		r.told()
		r.left(3 * time.Second)
		if strings.Contains(r.logs.String(), "level=ERROR") || len(a.Calls()) != 1 {
			t.Errorf("after %d calls\n%s", len(a.Calls()), r.logs)
		}
	})
}

func TestRunIsNotHeldUpByAnAgentThatDoesNotAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := mustertest.NewECSAgent(time.Now)
		q := guarded(t, a)
		r := run(t, protectedOptions(a, q, time.Second))
		after(time.Minute)
		a.LoseAnswers(true)
		r.told()
		r.left(3 * time.Second)
		if a.Protected() {
			t.Errorf("protected although the call was carried out\n%s", r.logs)
		}
	})
}

func TestProtectionOfATaskBelievesOnlyWhatIsAnswered(t *testing.T) {
	a := mustertest.NewECSAgent(time.Now)
	_, p := onECS(a)
	if err := p.Protect(t.Context(), time.Hour); err != nil || !a.Protected() {
		t.Errorf("protected: %t, %v", a.Protected(), err)
	}
	if err := p.Protect(t.Context(), 0); err != nil || a.Protected() {
		t.Errorf("protected: %t, %v", a.Protected(), err)
	}
	if err := p.Protect(t.Context(), lease.MaxProtection+time.Minute); err == nil ||
		!strings.Contains(err.Error(), "between 1 and 2880") {
		t.Errorf("a term of two days and a minute: %v", err)
	}
	a.Standalone()
	if err := p.Protect(t.Context(), time.Hour); !errors.Is(err, lease.ErrUnprotectable) {
		t.Errorf("a task of no service: %v", err)
	}
	p.AgentURI += "x"
	if err := p.Protect(t.Context(), time.Hour); err == nil ||
		!strings.Contains(err.Error(), "ResourceNotFoundException") {
		t.Errorf("a container that does not exist: %v", err)
	}
}

func TestProtectionTerm(t *testing.T) {
	for _, row := range []struct {
		term time.Duration
		ok   bool
	}{{time.Minute, true}, {48 * time.Hour, true}, {48*time.Hour + time.Minute, false}, {30 * time.Second,
		false}, {90 * time.Second, false}, {-time.Minute, false}} {
		ctx, stop := context.WithCancel(t.Context())
		stop()
		err := worker.Run(ctx, worker.Options{Queue: newFakeQueue(), Do: takes(0), ProtectFor: row.term})
		if (err == nil) != row.ok {
			t.Errorf("a term of %s: %v", row.term, err)
		}
	}
}
