package worker_test

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/muster-scale/muster/worker"
)

// awayQueue is a queue whose endpoint is away from one instant of the bubble to another. Its clock goes on meanwhile:
// when it is back, messages whose visibility is over can be received.
type awayQueue struct {
	*fakeQueue
	from, to time.Time
	// hangs lets calls hang until their context ends, as those to a process do that stands still.
	hangs bool
	// fault is what calls fail with.
	fault error
	// fifo refuses a handle whose visibility is over.
	fifo bool
}

func (q *awayQueue) away(ctx context.Context) error {
	switch now := time.Now(); {
	case now.Before(q.from) || !now.Before(q.to):
		return nil
	case q.hangs:
		<-ctx.Done()
		return ctx.Err()
	}
	return q.fault
}

func (q *awayQueue) Receive(ctx context.Context, limit int, wait, visibility time.Duration) ([]worker.Message, error) {
	if err := q.away(ctx); err != nil {
		return nil, err
	}
	return q.fakeQueue.Receive(ctx, limit, wait, visibility)
}

func (q *awayQueue) Delete(ctx context.Context, m worker.Message) error {
	if err := q.away(ctx); err != nil {
		return err
	}
	return q.fakeQueue.Delete(ctx, m)
}

func (q *awayQueue) ChangeVisibility(ctx context.Context, m worker.Message, d time.Duration) error {
	if err := q.away(ctx); err != nil {
		return err
	}
	if q.fifo && q.visibleIn(m.ID) == 0 {
		return worker.ErrGone
	}
	return q.fakeQueue.ChangeVisibility(ctx, m, d)
}

func newAwayQueue(from, length time.Duration, fault error) *awayQueue {
	now := time.Now()
	return &awayQueue{fakeQueue: newFakeQueue("m"), from: now.Add(from), to: now.Add(from + length), fault: fault}
}

// A hold is lost when the queue says so, or when its visibility is over for others: not while nobody can receive
// anything.
func TestWorkOutlivesTheAbsenceOfItsQueue(t *testing.T) {
	for _, row := range []struct {
		name         string
		from, length time.Duration
		fault        error
		hangs, fifo  bool
		takes        time.Duration
		// lostBy is when the work must have been stopped; 0 means that it must be finished, and once.
		lostBy time.Duration
	}{
		{name: "nothing listens for less than the visibility", from: 10 * time.Second, length: 15 * time.Second,
			fault: worker.ErrAway, takes: time.Minute},
		{name: "nothing listens for much longer than the visibility", from: 10 * time.Second, length: time.Hour,
			fault: worker.ErrAway, takes: 2 * time.Hour},
		{name: "the work ends while nothing listens", from: 10 * time.Second, length: time.Hour, fault: worker.ErrAway,
			takes: 20 * time.Minute},
		{name: "the endpoint is back at the instant at which the hold would have been lost", from: 10 * time.Second,
			length: 15 * time.Second, fault: worker.ErrAway, takes: time.Minute},
		{name: "a FIFO queue takes nobody back whose visibility is over", from: 10 * time.Second, length: time.Minute,
			fault: worker.ErrAway, fifo: true, takes: time.Hour, lostBy: 71 * time.Second},
		{name: "the endpoint cannot be reached, but others may", from: 10 * time.Second, length: time.Hour,
			fault: errAway, takes: 2 * time.Hour, lostBy: 25 * time.Second},
		{name: "the endpoint stands still, and may answer others", from: 10 * time.Second, length: time.Hour,
			hangs: true, takes: 2 * time.Hour, lostBy: 25 * time.Second},
	} {
		t.Run(row.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				q := newAwayQueue(row.from, row.length, row.fault)
				q.hangs, q.fifo = row.hangs, row.fifo
				begun := time.Now()
				var mu sync.Mutex
				var stopped []time.Duration
				r := run(t, worker.Options{Queue: q, Do: func(ctx context.Context, _ worker.Message) error {
					err := takes(row.takes)(ctx, worker.Message{})
					if errors.Is(err, worker.ErrLeaseLost) {
						mu.Lock()
						stopped = append(stopped, time.Since(begun))
						mu.Unlock()
					}
					return err
				}})
				after(max(row.from+row.length, row.takes) + time.Minute)
				deleted, _ := q.state()
				mu.Lock()
				defer mu.Unlock()
				switch {
				case row.lostBy > 0 && (len(stopped) == 0 || stopped[0] > row.lostBy):
					t.Errorf("the work was stopped at %v, want it stopped by %s", stopped, row.lostBy)
				case row.lostBy == 0 && (len(stopped) > 0 || !slices.Equal(deleted, []string{"m"}) ||
					q.deliveries("m") != 1):
					t.Errorf("stopped at %v, deleted %v, delivered %d times; want it finished at the first "+
						"delivery\n%s",
						stopped, deleted, q.deliveries("m"), r.logs)
				}
				r.told()
				r.left(2 * time.Hour)
			})
		})
	}
}

// When the endpoint is back another worker may be faster. The worker that held the message finds out within a moment.
func TestWorkIsStoppedWhenAnotherWorkerReceivedItsMessage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newAwayQueue(10*time.Second, time.Minute, worker.ErrAway)
		begun := time.Now()
		stopped := make(chan time.Duration, 1)
		r := run(t, worker.Options{Queue: q, Do: func(ctx context.Context, m worker.Message) error {
			if m.ReceiveCount > 1 {
				t.Errorf("the worker received its own message again, from another one")
			}
			<-ctx.Done()
			stopped <- time.Since(begun)
			return context.Cause(ctx)
		}})
		after(70*time.Second - 100*time.Millisecond)
		q.takeOver("m", time.Hour) // what it will find at the first instant
		if at := <-stopped; at > 71*time.Second {
			t.Errorf("stopped at %s, want it stopped within a second after the endpoint was back at 1m10s", at)
		}
		r.told()
		r.left(time.Minute)
	})
}

// A message that failed keeps its back-off, although it could not be given back at once.
func TestABackOffOutlivesTheAbsenceOfTheQueue(t *testing.T) {
	for _, row := range []struct {
		name        string
		away, again time.Duration
	}{
		{"back before the back-off is over", 20 * time.Second, 65 * time.Second},
		{"back after it", 3 * time.Minute, 181 * time.Second},
	} {
		t.Run(row.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				q := newAwayQueue(time.Second, row.away, worker.ErrAway)
				begun, tries := time.Now(), make(chan time.Duration, 10)
				r := run(t, worker.Options{Queue: q, RetryBase: time.Minute,
					Do: func(context.Context, worker.Message) error {
						tries <- time.Since(begun)
						<-time.After(5 * time.Second)
						return errors.New("no")
					}})
				<-tries
				if second := <-tries; second < row.again || second > row.again+35*time.Second {
					t.Errorf("tried again after %s, want %s at the earliest and soon after it", second, row.again)
				}
				r.told()
				r.left(time.Minute)
			})
		})
	}
}

// An operator who stops a worker while its queue is away does not wait for the queue.
func TestAStopDoesNotWaitForTheQueue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newAwayQueue(10*time.Second, 10*time.Hour, worker.ErrAway)
		r := run(t, worker.Options{Queue: q, Do: takes(time.Minute)})
		after(2 * time.Minute)
		r.told()
		r.left(time.Minute)
	})
}
