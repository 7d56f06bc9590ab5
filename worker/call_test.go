package worker_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/muster-scale/muster/worker"
	"github.com/muster-scale/muster/worker/lease"
	"github.com/muster-scale/muster/worker/ledger"
	"github.com/muster-scale/muster/worker/protocol"
)

// counter counts attempts as a ledger does, and fails when told to.
type counter struct {
	mu       sync.Mutex
	attempts map[string]int
	fails    bool
}

func newCounter() *counter { return &counter{attempts: map[string]int{}} }

func (c *counter) change(m worker.Message, by int) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.fails {
		return 0, errAway
	}
	c.attempts[m.ID] += by
	return c.attempts[m.ID], nil
}

func (c *counter) Begin(_ context.Context, m worker.Message) (int, error) { return c.change(m, 1) }

func (c *counter) GiveBack(_ context.Context, m worker.Message) error {
	_, err := c.change(m, -1)
	return err
}

func (c *counter) Forget(_ context.Context, m worker.Message) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.attempts, m.ID)
	return nil
}

func (c *counter) of(id string) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.attempts[id]
}

// grave keeps dead letters.
type grave struct {
	mu    sync.Mutex
	kept  []string
	fault error
}

func (g *grave) Keep(_ context.Context, m worker.Message) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.fault == nil {
		g.kept = append(g.kept, m.ID)
	}
	return g.fault
}

func (g *grave) repair() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.fault = nil
}

func (g *grave) all() []string {
	g.mu.Lock()
	defer g.mu.Unlock()
	return slices.Clone(g.kept)
}

var errBad = errors.New("cannot read this")

func TestRunStopsTheWorkAtItsTimeLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newFakeQueue("slow")
		var causes []error
		r := run(t, worker.Options{Queue: q, TimeLimit: 40 * time.Second, RetryBase: 10 * time.Second,
			Do: func(ctx context.Context, m worker.Message) error {
				err := takes(time.Hour)(ctx, m)
				causes = append(causes, err)
				return err
			}})
		after(95 * time.Second)
		// Forty seconds, ten of back-off, forty more.
		if _, hidden := q.state(); len(causes) != 2 || !errors.Is(causes[0], worker.ErrTimeLimit) ||
			!slices.Contains(hidden, 20*time.Second) {
			t.Errorf("stopped because of %v, hidden for %v", causes, hidden)
		}
		r.told()
		r.left(time.Minute)
	})
}

// wall is a queue that refuses, as SQS does, to hide a message for more than 12 hours since its receive.
type wall struct {
	*fakeQueue
	mu       sync.Mutex
	received map[string]time.Time
	refused  int
}

func (w *wall) Receive(ctx context.Context, limit int, wait, visibility time.Duration) ([]worker.Message, error) {
	messages, err := w.fakeQueue.Receive(ctx, limit, wait, visibility)
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, m := range messages {
		w.received[m.Handle] = time.Now()
	}
	return messages, err
}

func (w *wall) ChangeVisibility(ctx context.Context, m worker.Message, d time.Duration) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if time.Since(w.received[m.Handle])+d > lease.MaxHold {
		w.refused++
		return errAway
	}
	return w.fakeQueue.ChangeVisibility(ctx, m, d)
}

func TestRunEndsWorkBeforeTheTwelveHoursOfSQS(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := &wall{fakeQueue: newFakeQueue("endless"), received: map[string]time.Time{}}
		begun := time.Now()
		ended := make(chan time.Duration, 2)
		r := run(t, worker.Options{Queue: q, Do: func(ctx context.Context, m worker.Message) error {
			err := takes(24*time.Hour)(ctx, m)
			if !errors.Is(err, worker.ErrLeaseLost) {
				t.Errorf("ended because %v", err)
			}
			ended <- time.Since(begun)
			return err
		}})
		after(lease.MaxHold)
		if in := <-ended; in < lease.MaxHold-30*time.Second || in > lease.MaxHold-5*time.Second {
			t.Errorf("it was ended after %s, although it could be held for %s", in, lease.MaxHold)
		}
		r.told()
		r.left(lease.MaxHold)
		if q.refused > 0 {
			t.Errorf("the queue had to refuse %d times", q.refused)
		}
	})
}

func TestRunHandsOutBatchesAndSettlesEachMessage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ids := strings.Split("abcdefghijklm", "")
		q, c := newFakeQueue(ids...), &fakeController{rule: keepWorking}
		var mu sync.Mutex
		var sizes []int
		now, most := 0, 0
		r := run(t, worker.Options{Queue: q, Reporter: c, Slots: 2, Batch: 4,
			DoBatch: func(ctx context.Context, batch []worker.Message) []error {
				mu.Lock()
				sizes = append(sizes, len(batch))
				now++
				most = max(most, now)
				mu.Unlock()
				_ = takes(10*time.Second)(ctx, batch[0])
				mu.Lock()
				now--
				mu.Unlock()
				errs := make([]error, len(batch))
				for i, m := range batch {
					if m.ID == "c" && m.ReceiveCount == 1 {
						errs[i] = errBad
					}
				}
				return errs
			}})
		after(5 * time.Second)
		if report := c.last(); report.Slots != 8 || report.Busy != 8 {
			t.Errorf("reported %d of %d slots busy, want 8 of 8", report.Busy, report.Slots)
		}
		after(70 * time.Second)
		deleted, hidden := q.state()
		slices.Sort(deleted)
		if !slices.Equal(deleted, ids) || !slices.Contains(hidden, 30*time.Second) {
			t.Errorf("deleted %v, hid %v", deleted, hidden)
		}
		slices.Sort(sizes) // calls that begin at the same time come in any order
		if want := []int{1, 1, 4, 4, 4}; !slices.Equal(sizes, want) || most != 2 {
			t.Errorf("batches of %v, want %v; at most %d at once", sizes, want, most)
		}
		finished, failed := 0, 0
		for _, r := range c.all() {
			finished, failed = finished+int(r.Finished), failed+int(r.Failed)
		}
		if finished != 13 || failed != 1 {
			t.Errorf("reported %d finished and %d failed", finished, failed)
		}
		r.told()
		r.left(time.Minute)
	})
}

func TestRunDoesNotBelieveABatchWithTooFewResults(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newFakeQueue("a", "b")
		r := run(t, worker.Options{Queue: q, Batch: 2,
			DoBatch: func(_ context.Context, batch []worker.Message) []error {
				if batch[0].ReceiveCount == 1 {
					return []error{nil}
				}
				return nil
			}})
		after(time.Second)
		if deleted, _ := q.state(); len(deleted) != 0 {
			t.Errorf("deleted %v, but nobody knows which of the two was done", deleted)
		}
		after(time.Minute)
		if deleted, _ := q.state(); len(deleted) != 2 {
			t.Errorf("deleted %v", deleted)
		}
		r.told()
		r.left(time.Minute)
	})
}

// TestRunKeepsTheOrderOfGroups has messages fail at their first attempt and looks at the order in which they begin and
// are done, for single messages and for batches.
func TestRunKeepsTheOrderOfGroups(t *testing.T) {
	for _, batch := range []int{1, 3, 10} {
		t.Run(fmt.Sprint("batches of ", batch), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				q := newFakeQueue()
				q.sendGroups("a1", "a2", "b1", "a3", "c1", "b2", "c2", "a4", "b3")
				fails := map[string]bool{"a2": true, "b1": true}
				var mu sync.Mutex
				working := map[string]bool{}
				order := map[string]string{}
				do := func(ctx context.Context, batch []worker.Message) []error {
					errs := make([]error, len(batch))
					mu.Lock()
					for i, m := range batch {
						if working[m.Group] {
							t.Errorf("%s begins while its group is worked on", m.ID)
						}
						working[m.Group] = true
						if fails[m.ID] && m.ReceiveCount == 1 {
							errs[i] = errBad
						}
						order[m.Group] += " " + m.ID
					}
					mu.Unlock()
					_ = takes(time.Second)(ctx, batch[0])
					mu.Lock()
					for _, m := range batch {
						delete(working, m.Group)
					}
					mu.Unlock()
					return errs
				}
				r := run(t, worker.Options{Queue: q, Slots: 4, Batch: batch, DoBatch: do})
				after(2 * time.Minute)
				want := map[string]string{"a": " a1 a2 a2 a3 a4", "b": " b1 b1 b2 b3", "c": " c1 c2"}
				for group, said := range want {
					if order[group] != said {
						t.Errorf("group %s was worked on in the order%s, want%s", group, order[group], said)
					}
				}
				if deleted, _ := q.state(); len(deleted) != 9 {
					t.Errorf("deleted %v", deleted)
				}
				r.told()
				r.left(time.Minute)
			})
		})
	}
}

func TestRunCountsAttemptsAndBuriesWhatHasUsedThemUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q, ledger, dead := newFakeQueue("poison", "good"), newCounter(), &grave{}
		var seen []int
		r := run(t, worker.Options{Queue: q, RetryBase: time.Second, Attempts: ledger, MaxAttempts: 3,
			DeadLetters: dead, Do: func(_ context.Context, m worker.Message) error {
				if m.ID == "good" {
					return nil
				}
				seen = append(seen, m.Attempt)
				if got := ledger.of(m.ID); got != m.Attempt {
					t.Errorf("attempt %d begins, and %d were counted before", m.Attempt, got)
				}
				return errBad
			}})
		after(4 * time.Second) // one second and two of back-off, and none after the last attempt
		deleted, _ := q.state()
		if !slices.Equal(seen, []int{1, 2, 3}) || !slices.Equal(dead.all(), []string{"poison"}) || len(deleted) != 2 {
			t.Errorf("attempts %v, dead letters %v, deleted %v", seen, dead.all(), deleted)
		}
		if len(ledger.attempts) != 0 {
			t.Errorf("the ledger still knows %v", ledger.attempts)
		}
		r.told()
		r.left(0)
	})
}

// TestRunBuriesAMessageThatKillsItsWorker begins with what a worker leaves that died three times in the same work.
func TestRunBuriesAMessageThatKillsItsWorker(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q, ledger, dead := newFakeQueue("killer"), newCounter(), &grave{fault: errAway}
		ledger.attempts["killer"] = 3
		c := &fakeController{rule: keepWorking}
		r := run(t, worker.Options{Queue: q, Reporter: c, RetryBase: time.Second, Attempts: ledger, MaxAttempts: 3,
			DeadLetters: dead, Do: func(context.Context, worker.Message) error {
				t.Error("it was begun a fourth time")
				return nil
			}})
		after(10 * time.Second)
		if deleted, _ := q.state(); len(deleted) != 0 || ledger.of("killer") != 3 {
			t.Errorf("deleted %v although the dead letters could not be reached; %d attempts", deleted,
				ledger.of("killer"))
		}
		dead.repair()
		after(time.Minute)
		if deleted, _ := q.state(); len(deleted) != 1 || len(dead.all()) != 1 {
			t.Errorf("deleted %v, dead letters %v", deleted, dead.all())
		}
		if report := c.last(); report.Busy != 0 || report.Processing.Count != 0 {
			t.Errorf("reported %+v", report)
		}
		r.told()
		r.left(time.Minute)
	})
}

func TestRunGivesTheAttemptBack(t *testing.T) {
	tests := []struct {
		name string
		// attempts is what the ledger has once the worker has left.
		attempts int
		do       func(context.Context, worker.Message) error
	}{
		{"of an interruption", 0, takes(time.Hour)},
		{"of work that did not begin", 0, func(context.Context, worker.Message) error {
			return fmt.Errorf("%w: nobody is there", worker.ErrNotBegun)
		}},
		{"not of a failure", 1, func(context.Context, worker.Message) error { return errBad }},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				q, ledger := newFakeQueue("m"), newCounter()
				begun := false
				r := run(t, worker.Options{Queue: q, Grace: 5 * time.Second, RetryBase: time.Minute, Attempts: ledger,
					Do: func(ctx context.Context, m worker.Message) error {
						if begun {
							return takes(time.Hour)(ctx, m)
						}
						begun = true
						return test.do(ctx, m)
					}})
				after(time.Second)
				r.told()
				r.left(10 * time.Second)
				if got := ledger.of("m"); got != test.attempts {
					t.Errorf("%d attempts count, want %d", got, test.attempts)
				}
				if in := q.visibleIn("m"); test.attempts == 0 && in != 0 {
					t.Errorf("the message is hidden for %s", in)
				}
			})
		})
	}
}

func TestRunGoesOnWithoutItsLedger(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q, dead := newFakeQueue("m"), &grave{}
		attempts := []int{}
		r := run(t, worker.Options{Queue: q, RetryBase: time.Second, Attempts: &counter{fails: true}, MaxAttempts: 2,
			DeadLetters: dead, Do: func(_ context.Context, m worker.Message) error {
				attempts = append(attempts, m.Attempt)
				return errBad
			}})
		after(time.Minute)
		if !slices.Equal(attempts, []int{1, 2}) || len(dead.all()) != 1 {
			t.Errorf("attempts %v by the receive count, dead letters %v", attempts, dead.all())
		}
		r.told()
		r.left(0)
	})
}

// TestRunBuriesWhatOtherMachinesTriedTooOften holds the backstop: a ledger knows its own machine only.
func TestRunBuriesWhatOtherMachinesTriedTooOften(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q, dead := newFakeQueue("m"), &grave{}
		q.messages[0].deliver = 10
		r := run(t, worker.Options{Queue: q, Attempts: newCounter(), MaxAttempts: 2, DeadLetters: dead,
			Do: func(context.Context, worker.Message) error {
				t.Error("it was begun after ten receives")
				return nil
			}})
		after(time.Second)
		if len(dead.all()) != 1 {
			t.Errorf("dead letters %v", dead.all())
		}
		r.told()
		r.left(0)
	})
}

// TestABatchLosesNoAttemptByTheLeaseOfAnother ends a batch because one of its messages is gone.
func TestABatchLosesNoAttemptByTheLeaseOfAnother(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q, ledger := newFakeQueue("gone", "well"), newCounter()
		q.changeFault = func(call int) error {
			if call == 1 {
				return worker.ErrGone
			}
			return nil
		}
		c := &fakeController{rule: keepWorking}
		batches := 0
		r := run(t, worker.Options{Queue: q, Reporter: c, Batch: 2, Attempts: ledger,
			DoBatch: func(ctx context.Context, batch []worker.Message) []error {
				if batches++; batches > 1 {
					return nil
				}
				err := takes(time.Hour)(ctx, batch[0])
				if !errors.Is(err, worker.ErrLeaseLost) {
					t.Errorf("ended with %v", err)
				}
				return []error{err, err}
			}})
		after(16 * time.Second)
		if kept := ledger.of("gone") + ledger.of("well"); kept != 1 {
			t.Errorf("%d attempts count, want that of the lost message", kept)
		}
		after(time.Minute)
		if state := c.last().State; state != protocol.Receiving {
			t.Errorf("the worker is %s", state)
		}
		r.told()
		r.left(time.Minute)
	})
}

// TestTheLedgerOutlivesAWorkerThatIsKilled has processes killed in the midst of an attempt.
func TestTheLedgerOutlivesAWorkerThatIsKilled(t *testing.T) {
	dir := t.TempDir()
	for range 3 {
		if err := plays("play-killer", dir).Run(t.Context(), worker.Message{}); err == nil ||
			!strings.Contains(err.Error(), "signal \"killed\"") {
			t.Fatalf("got %v", err)
		}
	}
	l, err := ledger.OpenLedger(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	if n, err := l.Begin(t.Context(), worker.Message{ID: "m"}); n != 4 || err != nil {
		t.Errorf("attempt %d, %v; want the fourth", n, err)
	}
}
