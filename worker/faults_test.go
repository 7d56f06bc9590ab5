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

	"github.com/muster-scale/muster"
	"github.com/muster-scale/muster/worker"
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

// faultyRun works off a queue whose calls fail, for a controller that drains and loses answers at random and never grants.
func faultyRun(t *testing.T, d *dice) {
	q := newFakeQueue()
	for i := range 60 {
		q.send(fmt.Sprint("m", i))
	}
	q.receiveFault, q.deleteFault, q.changeFault = d.fault(0.3), d.fault(0.3), d.fault(0.75)
	c := &fakeController{rule: func(int, muster.Report) (muster.Directive, error) {
		switch {
		case d.chance(0.2):
			return muster.Directive{}, errAway
		case d.chance(0.1):
			return muster.Directive{Ask: muster.Drain}, nil
		}
		return work, nil
	}}
	var mu sync.Mutex
	now, lost := map[string]bool{}, 0
	r := run(t, worker.Options{Queue: q, Reporter: c, Slots: 4, RetryBase: time.Second, Do: func(ctx context.Context, m worker.Message) error {
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
