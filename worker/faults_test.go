package worker_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/muster-scale/muster/worker"
	"github.com/muster-scale/muster/worker/protocol"
)

// dice are shared by goroutines that run at once, so that a seed names a mix of faults and not one exact course.
type dice struct {
	mu sync.Mutex
	*rand.Rand
}

func (d *dice) chance(p float64) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.Float64() < p
}

func (d *dice) fault(p float64) func(int) error {
	return func(int) error {
		if d.chance(p) {
			return errAway
		}
		return nil
	}
}

func TestRunFinishesEveryMessageAndNeverWorksOnOneTwiceAtOnce(t *testing.T) {
	for seed := range uint64(8) {
		t.Run(fmt.Sprintf("seed %d", seed), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { faultyRun(t, &dice{Rand: rand.New(rand.NewPCG(seed, 1))}) })
		})
	}
}

// faultyRun works off a queue whose calls fail, for a controller that drains and loses answers at random and never
// grants.
func faultyRun(t *testing.T, d *dice) {
	q := newFakeQueue()
	for i := range 60 {
		q.send(fmt.Sprint("m", i))
	}
	q.receiveFault, q.deleteFault, q.changeFault = d.fault(0.3), d.fault(0.3), d.fault(0.75)
	c := &fakeController{rule: func(int, protocol.Report) (protocol.Directive, error) {
		switch {
		case d.chance(0.2):
			return protocol.Directive{}, errAway
		case d.chance(0.1):
			return protocol.Directive{Ask: protocol.Drain}, nil
		}
		return work, nil
	}}
	var mu sync.Mutex
	now, lost := map[string]bool{}, 0
	r := run(t, worker.Options{Queue: q, Reporter: c, Slots: 4, RetryBase: time.Second,
		Do: func(ctx context.Context, m worker.Message) error {
			mu.Lock()
			if now[m.ID] {
				t.Errorf("message %s is worked on twice at once", m.ID)
			}
			now[m.ID] = true
			mu.Unlock()
			defer func() { mu.Lock(); delete(now, m.ID); mu.Unlock() }()
			err := takes(time.Duration(1+m.ReceiveCount*7%50)*time.Second)(ctx, m)
			if errors.Is(err, worker.ErrLeaseLost) {
				mu.Lock()
				lost++
				mu.Unlock()
			}
			if err == nil && d.chance(0.2) {
				return errors.New("failed by chance")
			}
			return err
		}})
	after(time.Hour)
	deleted, _ := q.state()
	if len(deleted) != 60 {
		t.Errorf("finished %d of 60 messages", len(deleted))
	}
	t.Logf("%d leases were lost on the way", lost)
	r.told()
	r.left(10 * time.Second)
}

func TestRunSettlesEveryBatchOfAnOrderedQueueWhateverFails(t *testing.T) {
	for seed := range uint64(8) {
		t.Run(fmt.Sprintf("seed %d", seed), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { faultyBatches(t, &dice{Rand: rand.New(rand.NewPCG(seed, 2))}) })
		})
	}
}

// faultyBatches works off groups of messages in batches, some of which fail, for a queue whose calls fail and with a
// ledger and dead letters.
func faultyBatches(t *testing.T, d *dice) {
	q, ledger, dead := newFakeQueue(), newCounter(), &grave{}
	const each = 12
	for i := range each {
		q.sendGroups(fmt.Sprintf("a%02d", i), fmt.Sprintf("b%02d", i), fmt.Sprintf("c%02d", i))
	}
	q.receiveFault, q.changeFault = d.fault(0.2), d.fault(0.5)
	var mu sync.Mutex
	working, done, attempts := map[string]bool{}, map[string][]string{}, map[string]int{}
	do := func(ctx context.Context, batch []worker.Message) []error {
		mu.Lock()
		for _, m := range batch {
			if working[m.Group] {
				t.Errorf("%s begins while its group is worked on", m.ID)
			}
			if n := len(done[m.Group]); n > 0 && m.ID <= done[m.Group][n-1] {
				t.Errorf("%s begins after %s was done", m.ID, done[m.Group][n-1])
			}
			working[m.Group] = true
			attempts[m.ID] = max(attempts[m.ID], m.Attempt)
		}
		mu.Unlock()
		err := takes(time.Duration(len(batch)*11)*time.Second)(ctx, batch[0])
		errs := make([]error, len(batch))
		mu.Lock()
		defer mu.Unlock()
		for i, m := range batch {
			delete(working, m.Group)
			switch {
			case err != nil:
				errs[i] = err
			case d.chance(0.3):
				errs[i] = errBad
			default:
				done[m.Group] = append(done[m.Group], m.ID)
			}
		}
		return errs
	}
	c := &fakeController{rule: keepWorking}
	r := run(t, worker.Options{
		Queue: q, Reporter: c, Slots: 2, Batch: 4, DoBatch: do, RetryBase: time.Second, TimeLimit: 40 * time.Second,
		Attempts: ledger, MaxAttempts: 3, DeadLetters: dead,
	})
	after(3 * time.Hour)
	deleted, _ := q.state()
	finished := 0
	for _, ids := range done {
		finished += len(ids)
	}
	if len(deleted) != 3*each || finished+len(dead.all()) != 3*each {
		t.Errorf("of %d messages %d are deleted, %d done and %d dead", 3*each, len(deleted), finished, len(dead.all()))
	}
	for id, n := range attempts {
		if n > 3 {
			t.Errorf("%s was begun for the %dth time", id, n)
		}
	}
	if len(ledger.attempts) != 0 {
		t.Errorf("the ledger still knows %v", ledger.attempts)
	}
	if last := c.last(); last.Busy != 0 || last.Slots != 8 {
		t.Errorf("reported %+v", last)
	}
	t.Logf("%d done, %d dead", finished, len(dead.all()))
	r.told()
	r.left(10 * time.Second)
}
