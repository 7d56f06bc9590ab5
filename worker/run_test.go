package worker_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/muster-scale/muster/worker"
	"github.com/muster-scale/muster/worker/protocol"
)

// running is a worker in a test's bubble.
type running struct {
	t    *testing.T
	stop context.CancelCauseFunc
	done chan error
	logs *bytes.Buffer
}

var errTold = errors.New("told to stop")

// run starts a worker. The bubble proves that no goroutine is left: it panics when one is, after everything has ended.
func run(t *testing.T, o worker.Options) *running {
	t.Helper()
	ctx, stop := context.WithCancelCause(t.Context())
	r := &running{t: t, stop: stop, done: make(chan error, 1), logs: new(bytes.Buffer)}
	o.Fleet, o.Member = "f", "m"
	o.Logger = slog.New(slog.NewTextHandler(r.logs, &slog.HandlerOptions{Level: slog.LevelDebug}))
	go func() { r.done <- worker.Run(ctx, o) }()
	synctest.Wait()
	return r
}

// left waits for the worker to leave and checks that it did so within the given time, in order, and without a word of a
// message's body.
func (r *running) left(within time.Duration) {
	r.t.Helper()
	begun := time.Now()
	err := <-r.done
	if took := time.Since(begun); err != nil || took > within {
		r.t.Errorf("left with error %v after %s, want none within %s\n%s", err, took, within, r.logs)
	}
	if strings.Contains(r.logs.String(), "secret") {
		r.t.Errorf("a message's body was logged:\n%s", r.logs)
	}
	synctest.Wait()
}

func (r *running) told() { r.stop(errTold) }

// after lets the bubble's time pass.
func after(d time.Duration) {
	<-time.After(d)
	synctest.Wait()
}

// takes is work that takes the time d and stops when it is told to.
func takes(d time.Duration) func(context.Context, worker.Message) error {
	return func(ctx context.Context, _ worker.Message) error {
		select {
		case <-time.After(d):
			return nil
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

func TestRunDeletesWhatSucceeds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newFakeQueue("a", "b", "c", "d", "e")
		var mu sync.Mutex
		most, now := 0, 0
		r := run(t, worker.Options{Queue: q, Slots: 2, Do: func(ctx context.Context, m worker.Message) error {
			mu.Lock()
			now++
			most = max(most, now)
			mu.Unlock()
			defer func() { mu.Lock(); now--; mu.Unlock() }()
			if m.Body != "secret-"+m.ID || m.ReceiveCount != 1 || m.Deadline.Sub(time.Now()) != 30*time.Second {
				t.Errorf("received %+v", m)
			}
			return takes(10*time.Second)(ctx, m)
		}})
		after(31 * time.Second)
		if deleted, _ := q.state(); len(deleted) != 5 || most != 2 {
			t.Errorf("deleted %v with at most %d at once, want all five with 2 slots", deleted, most)
		}
		r.told()
		r.left(0)
	})
}

func TestRunGivesBackWhatFailsWithABackoffAndGoesOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newFakeQueue("poison")
		r := run(t, worker.Options{Queue: q, RetryBase: 10 * time.Second,
			Do: func(_ context.Context, m worker.Message) error {
				if m.ID == "poison" {
					return errors.New("cannot read this")
				}
				return nil
			}})
		q.send("good")
		after(2 * time.Minute)
		deleted, hidden := q.state()
		if !slices.Equal(deleted, []string{"good"}) {
			t.Errorf("deleted %v, want only the good message", deleted)
		}
		if want := []time.Duration{10 * time.Second, 20 * time.Second, 40 * time.Second,
			80 * time.Second}; !slices.Equal(hidden, want) {
			t.Errorf("hid the bad message for %v, want %v", hidden, want)
		}
		r.told()
		r.left(0)
	})
}

func TestRunExtendsTheHoldWhileTheWorkGoesOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newFakeQueue("long")
		r := run(t, worker.Options{Queue: q, Do: takes(100 * time.Second)})
		after(101 * time.Second)
		deleted, hidden := q.state()
		if len(deleted) != 1 || len(hidden) != 6 || hidden[0] != 30*time.Second {
			t.Errorf("deleted %v after extending by %v, want six extensions, one each 15 s", deleted, hidden)
		}
		r.told()
		r.left(0)
	})
}

func TestRunStopsTheWorkBeforeTheMessageCanBeSeenAgain(t *testing.T) {
	fails := func(int) error { return errAway }
	for name, queue := range map[string]*fakeQueue{
		"when every extension fails": {changeFault: fails},
		"when extensions hang":       {hangChange: true},
		"when the message is gone":   {changeFault: func(int) error { return worker.ErrGone }},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				queue.arrived = make(chan struct{}, 1)
				queue.send("m")
				stopped := make(chan time.Duration, 1)
				changes := 0
				r := run(t, worker.Options{Queue: queue, Do: func(ctx context.Context, m worker.Message) error {
					<-ctx.Done()
					if !errors.Is(context.Cause(ctx), worker.ErrLeaseLost) {
						t.Errorf("stopped because of %v", context.Cause(ctx))
					}
					select {
					case <-worker.LeaseLost(ctx):
					default:
						t.Error("LeaseLost is open although the lease is lost")
					}
					changes = queue.calls().changes
					stopped <- time.Until(m.Deadline)
					return ctx.Err()
				}})
				if left := <-stopped; left < 5*time.Second {
					t.Errorf("the work was stopped %s before the message can be seen again, want 5s", left)
				}
				r.told()
				r.left(30 * time.Second)
				if n := queue.calls().changes; n != changes {
					t.Errorf("changed the visibility %d times after the lease was lost: the message may be another "+
						"worker's", n-changes)
				}
			})
		})
	}
}

func TestRunSurvivesOneFailedExtension(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newFakeQueue("m")
		q.changeFault = func(call int) error {
			if call == 1 {
				return errAway
			}
			return nil
		}
		r := run(t, worker.Options{Queue: q, Do: takes(40 * time.Second)})
		after(41 * time.Second)
		if deleted, _ := q.state(); len(deleted) != 1 {
			t.Errorf("the message was not finished:\n%s", r.logs)
		}
		r.told()
		r.left(0)
	})
}

func TestRunTriesToDeleteAgain(t *testing.T) {
	tests := []struct {
		name    string
		fault   func(call int) error
		deleted int
		calls   int
	}{
		{"until it succeeds", func(call int) error {
			if call < 4 {
				return errAway
			}
			return nil
		}, 1, 4},
		{"a few times", func(int) error { return errAway }, 0, 5},
		{"not when the message is gone", func(int) error { return worker.ErrGone }, 0, 1},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				q := newFakeQueue("m")
				q.deleteFault = test.fault
				r := run(t, worker.Options{Queue: q, Do: takes(time.Second)})
				after(10 * time.Second)
				if deleted, _ := q.state(); len(deleted) != test.deleted || q.calls().deletes != test.calls {
					t.Errorf("deleted %v in %d calls, want %d in %d", deleted, q.calls().deletes, test.deleted,
						test.calls)
				}
				r.told()
				r.left(time.Minute)
			})
		})
	}
}

func TestRunStopsWhenIdle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newFakeQueue("a")
		c := &fakeController{rule: release}
		c.rule = func(n int, r protocol.Report) (protocol.Directive, error) {
			if r.State == protocol.Receiving {
				return work, nil
			}
			return release(n, r)
		}
		r := run(t, worker.Options{Queue: q, Reporter: c, IdleStop: 20 * time.Second, Do: takes(5 * time.Second)})
		r.left(28 * time.Second)
		if last := c.last(); last.State != protocol.Leaving || last.Cause != protocol.IdleTooLong {
			t.Errorf("the last report is %+v", last)
		}
		if slices.Max(q.calls().waits) > 2*time.Second {
			t.Errorf("polls as long as %s delay a drain", slices.Max(q.calls().waits))
		}
	})
}

// A worker that is told an idle stop leaves soon after its last message. One whose controller is gone since does not.
func TestRunObeysTheIdleStopThatTheControllerTells(t *testing.T) {
	told := protocol.Directive{Ask: protocol.Work, IdleStop: time.Second}
	synctest.Test(t, func(t *testing.T) {
		c := &fakeController{}
		c.rule = func(n int, r protocol.Report) (protocol.Directive, error) {
			if r.State == protocol.Receiving {
				return told, nil
			}
			return release(n, r)
		}
		r := run(t, worker.Options{Queue: newFakeQueue("a"), Reporter: c, Do: takes(5 * time.Second)})
		r.left(10 * time.Second) // the message, a receive call of two seconds that brings nothing, and two reports
		if last := c.last(); last.Cause != protocol.IdleTooLong {
			t.Errorf("the last report is %+v", last)
		}
	})
	synctest.Test(t, func(t *testing.T) {
		c := &fakeController{}
		c.rule = func(n int, _ protocol.Report) (protocol.Directive, error) {
			if n < 5 {
				return told, nil
			}
			return protocol.Directive{}, errAway
		}
		r := run(t, worker.Options{Queue: newFakeQueue("a"), Reporter: c, Do: takes(2 * time.Minute)})
		after(10 * time.Minute)
		if got := c.last(); got.State != protocol.Receiving {
			t.Errorf("eight minutes after its message, with a controller that is gone: %+v, want it to go on", got)
		}
		r.told()
		r.left(time.Minute)
	})
}

func TestRunWithoutControllerLeavesWhenIdle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newFakeQueue("a", "b")
		r := run(t, worker.Options{Queue: q, IdleStop: 10 * time.Second, Do: takes(time.Second)})
		r.left(14 * time.Second)
		if deleted, _ := q.state(); len(deleted) != 2 {
			t.Errorf("left after %v, want both messages done", deleted)
		}
	})
}

func TestRunDoesNotStopAsIdleWhileTheQueueCannotBeReached(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newFakeQueue()
		q.receiveFault = func(int) error { return errAway }
		c := &fakeController{rule: keepWorking}
		r := run(t, worker.Options{Queue: q, Reporter: c, IdleStop: time.Minute, Do: takes(time.Second)})
		after(10 * time.Minute)
		if got := c.last(); got.State != protocol.Receiving || len(c.all()) < 500 {
			t.Errorf("after ten minutes without the queue it has sent %d reports, the last is %+v", len(c.all()), got)
		}
		if n := strings.Count(r.logs.String(), "receiving messages fails"); n != 1 {
			t.Errorf("the same fault was logged %d times", n)
		}
		if q.calls().receives > 60 {
			t.Errorf("called the queue %d times in ten minutes of failure, want a back-off up to 30 s",
				q.calls().receives)
		}
		r.told()
		r.left(time.Second)
	})
}

func TestRunDrainsWhenAskedAndLeavesWhenGranted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newFakeQueue("a", "b")
		drain := make(chan struct{})
		c := &fakeController{}
		c.rule = func(n int, r protocol.Report) (protocol.Directive, error) {
			select {
			case <-drain:
				if r.Token != "" && (r.Busy > 0 || q.calls().outstanding > 0) {
					t.Errorf("minted a token with %d messages and a receive outstanding", r.Busy)
				}
				return release(n, r)
			default:
				return work, nil
			}
		}
		r := run(t, worker.Options{Queue: q, Reporter: c, Slots: 3, Do: takes(30 * time.Second)})
		after(3 * time.Second)
		close(drain)
		r.left(29 * time.Second)
		if deleted, _ := q.state(); len(deleted) != 2 {
			t.Errorf("left with %v finished, want both", deleted)
		}
		want := []protocol.WorkerState{
			protocol.Starting, protocol.Receiving, protocol.Draining, protocol.Idle, protocol.Leaving,
		}
		if got := c.states(); !slices.Equal(got, want) && !slices.Equal(got, want[1:]) {
			t.Errorf("reported the states %v", got)
		}
		var finished int64
		for _, report := range c.all() {
			finished += report.Finished
		}
		if finished != 2 {
			t.Errorf("reported %d finished messages in answered reports, want 2", finished)
		}
	})
}

func TestRunRepeatsItsTokenWhenTheGrantIsLost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newFakeQueue()
		var tokens []string
		c := &fakeController{}
		c.rule = func(n int, r protocol.Report) (protocol.Directive, error) {
			d, _ := release(n, r)
			if r.Token == "" {
				return d, nil
			}
			if tokens = append(tokens, r.Token); len(tokens) < 5 {
				return protocol.Directive{}, errAway // granted, and the answer is lost
			}
			return d, nil
		}
		r := run(t, worker.Options{Queue: q, Reporter: c, Do: takes(time.Second)})
		q.send("later")
		r.left(10 * time.Second)
		if len(tokens) != 5 || len(slices.Compact(tokens)) != 1 {
			t.Errorf("sent the tokens %v, want the same one five times", tokens)
		}
		if n := q.visibleIn("later"); n > 0 {
			t.Errorf("took a message after a token was out")
		}
	})
}

func TestRunWorksAgainWhenItsTokenIsAnsweredWithWork(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newFakeQueue()
		asked := false
		c := &fakeController{}
		c.rule = func(n int, r protocol.Report) (protocol.Directive, error) {
			if r.State == protocol.Receiving && !asked {
				asked = true
				return protocol.Directive{Ask: protocol.Drain}, nil
			}
			return work, nil
		}
		r := run(t, worker.Options{Queue: q, Reporter: c, Do: takes(time.Second)})
		after(5 * time.Second)
		q.send("a")
		after(5 * time.Second)
		if deleted, _ := q.state(); len(deleted) != 1 {
			t.Errorf("the worker does not work again: %v", c.states())
		}
		if all := c.all(); all[len(all)-1].Epoch <= all[1].Epoch {
			t.Errorf("works again in epoch %d, the first was %d", all[len(all)-1].Epoch, all[1].Epoch)
		}
		r.told()
		r.left(5 * time.Second)
	})
}

func TestRunGoesOnWithoutItsController(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newFakeQueue("a", "b", "c")
		c := &fakeController{rule: func(int, protocol.Report) (protocol.Directive, error) {
			return protocol.Directive{}, errAway
		}}
		r := run(t, worker.Options{Queue: q, Reporter: c, Do: takes(time.Minute)})
		after(4 * time.Minute)
		if deleted, _ := q.state(); len(deleted) != 3 {
			t.Errorf("finished %v without the controller, want all", deleted)
		}
		c.mu.Lock()
		c.rule = keepWorking
		c.mu.Unlock()
		after(3 * time.Second)
		fails, again := strings.Count(r.logs.String(), "reporting to the controller fails"),
			strings.Count(r.logs.String(), "reporting to the controller works again")
		if fails != 1 || again != 1 {
			t.Errorf("the controller's absence was logged %d times and its return %d times, want one each", fails,
				again)
		}
		all := c.all()
		reported, last := int64(0), all[len(all)-1]
		for _, x := range all {
			reported += x.Finished
		}
		first := slices.IndexFunc(all, func(r protocol.Report) bool { return len(r.Unanswered) == 3 })
		if reported != 3 || first < 0 || len(last.Unanswered) > 0 {
			t.Errorf("what was finished meanwhile was not reported once the controller came back")
		}
		r.told()
		r.left(5 * time.Second)
	})
}

func TestRunLeavesAsAnOrphan(t *testing.T) {
	away := func(int, protocol.Report) (protocol.Directive, error) { return protocol.Directive{}, errAway }
	for name, c := range map[string]*fakeController{
		"when the controller is away":         {rule: away},
		"when the controller does not answer": {rule: away, takes: time.Hour},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := run(t, worker.Options{Queue: newFakeQueue(), Reporter: c, IdleStop: 10 * time.Second,
					Orphaned: time.Minute, Do: takes(0)})
				after(65 * time.Second)
				select {
				case <-r.done:
					t.Fatal("left before it was an orphan")
				default:
				}
				r.left(10 * time.Second)
			})
		})
	}
}

func TestRunWarmsUpBeforeTheFirstReceive(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newFakeQueue("a")
		c := &fakeController{rule: keepWorking}
		r := run(t, worker.Options{Queue: q, Reporter: c, WarmUp: 30 * time.Second, Do: takes(time.Second)})
		after(29 * time.Second)
		if q.calls().receives != 0 || c.last().State != protocol.Starting {
			t.Errorf("warming up it made %d receives and said %s", q.calls().receives, c.last().State)
		}
		after(3 * time.Second)
		if deleted, _ := q.state(); len(deleted) != 1 {
			t.Error("does not work after warming up")
		}
		r.told()
		r.left(3 * time.Second)
	})
}

func TestRunReportsChangesTogetherAndSteadilyOtherwise(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newFakeQueue()
		for range 100 {
			q.send("m")
		}
		c := &fakeController{rule: keepWorking}
		r := run(t, worker.Options{Queue: q, Reporter: c, Slots: 10, Do: takes(7 * time.Millisecond)})
		after(30 * time.Second)
		for i := 1; i < len(c.times); i++ {
			gap := c.times[i].Sub(c.times[i-1])
			if gap < 100*time.Millisecond || gap > time.Second {
				t.Errorf("reports %d and %d are %s apart, want 100ms to 1s", i-1, i, gap)
			}
			if c.reports[i].Seq <= c.reports[i-1].Seq {
				t.Errorf("report %d has the number %d after %d", i, c.reports[i].Seq, c.reports[i-1].Seq)
			}
		}
		r.told()
		r.left(3 * time.Second)
	})
}

func TestRunDoesNotReportEachChangeToAControllerThatIsAway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newFakeQueue()
		for range 1000 {
			q.send("m")
		}
		c := &fakeController{rule: func(int, protocol.Report) (protocol.Directive, error) {
			return protocol.Directive{}, errAway
		}}
		r := run(t, worker.Options{Queue: q, Reporter: c, Do: takes(7 * time.Millisecond)})
		after(5 * time.Second)
		if n := len(c.all()); n > 6 {
			t.Errorf("tried %d reports in 5 s, want one a second", n)
		}
		r.told()
		r.left(3 * time.Second)
	})
}

func TestRunReportsAsSoonAsTheControllerWants(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &fakeController{rule: func(int, protocol.Report) (protocol.Directive, error) {
			return protocol.Directive{Ask: protocol.Work, ReportWithin: 200 * time.Millisecond}, nil
		}}
		r := run(t, worker.Options{Queue: newFakeQueue(), Reporter: c, ReportEvery: time.Minute, Do: takes(0)})
		after(10 * time.Second)
		if n := len(c.all()); n < 48 || n > 53 {
			t.Errorf("sent %d reports in 10 s, asked for one each 200 ms", n)
		}
		r.told()
		r.left(3 * time.Second)
	})
}

func TestRunNeverWaitsForAReport(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newFakeQueue("a", "b", "c", "d", "e")
		c := &fakeController{rule: keepWorking, takes: time.Hour}
		r := run(t, worker.Options{Queue: q, Reporter: c, Do: takes(100 * time.Millisecond)})
		after(time.Second)
		if deleted, _ := q.state(); len(deleted) != 5 {
			t.Errorf("finished %v while a report hangs, want all five", deleted)
		}
		r.told()
		r.left(13 * time.Second)
	})
}

func TestRunDoesNotHammerAQueueThatHoldsNoPoll(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		calls := 0
		q := emptyQueue{calls: &calls}
		r := run(t, worker.Options{Queue: q, Do: takes(0)})
		after(10 * time.Second)
		if calls > 52 {
			t.Errorf("made %d calls in 10 s", calls)
		}
		r.told()
		r.left(0)
	})
}

// emptyQueue answers the first thousand receives at once, with nothing.
type emptyQueue struct {
	worker.Queue
	calls *int
}

func (q emptyQueue) Receive(ctx context.Context, _ int, _, _ time.Duration) ([]worker.Message, error) {
	if *q.calls++; *q.calls > 1000 {
		<-ctx.Done()
	}
	return nil, nil
}

func TestRunRefusesOptionsThatCannotWork(t *testing.T) {
	ok := worker.Options{Queue: newFakeQueue(), Do: takes(0)}
	tests := []struct {
		name  string
		spoil func(o *worker.Options)
		says  string
	}{
		{"no queue", func(o *worker.Options) { o.Queue = nil }, "no queue"},
		{"nothing to do", func(o *worker.Options) { o.Do = nil }, "neither Do nor DoBatch"},
		{"too many slots", func(o *worker.Options) { o.Slots = 1001 }, "found 1001 slots, 1 to 1000"},
		{"a negative number of slots", func(o *worker.Options) { o.Slots = -1 }, "found -1 slots"},
		{"a visibility too short to extend", func(o *worker.Options) { o.Visibility = time.Second }, "from 2s to 12h"},
		{"a visibility beyond the wall", func(o *worker.Options) { o.Visibility = 13 * time.Hour }, "from 2s to 12h"},
		{"a visibility of half seconds", func(o *worker.Options) { o.Visibility = 2500 * time.Millisecond },
			"whole seconds"},
		{"a retry base beyond the wall", func(o *worker.Options) { o.RetryBase = time.Hour }, "at most 20m"},
		{"a negative grace", func(o *worker.Options) { o.Grace = -1 }, "found a grace of -1ns"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			o := ok
			test.spoil(&o)
			if err := worker.Run(t.Context(), o); err == nil || !strings.Contains(err.Error(), test.says) {
				t.Errorf("got %v, want an error that says %q", err, test.says)
			}
		})
	}
}
