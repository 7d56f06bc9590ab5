package worker_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/muster-scale/muster/worker"
	"github.com/muster-scale/muster/worker/protocol"
)

// farController is a controller that every report and every answer takes a while to and from.
type farController struct {
	mu  sync.Mutex
	way time.Duration
	// answer is called for each report when it arrives.
	answer func(r protocol.Report) protocol.Directive
	// lose has answers lost.
	lose bool
	// counted counts what was finished; each message counts once. newest is the newest report that arrived.
	counted, newest int64
	calls, most     int
}

func (c *farController) Report(ctx context.Context, r protocol.Report) (protocol.Directive, error) {
	c.mu.Lock()
	c.calls++
	c.most = max(c.most, c.calls)
	c.mu.Unlock()
	defer func() { c.mu.Lock(); c.calls--; c.mu.Unlock() }()
	answer := make(chan protocol.Directive, 1)
	go func() { // what is under way arrives, also when nobody waits for it any more
		time.Sleep(c.way)
		d := c.take(r)
		time.Sleep(c.way)
		if !c.lose {
			answer <- d
		}
	}()
	select {
	case d := <-answer:
		return d, nil
	case <-ctx.Done():
		return protocol.Directive{}, ctx.Err()
	}
}

func (c *farController) take(r protocol.Report) protocol.Directive {
	c.mu.Lock()
	defer c.mu.Unlock()
	if r.Seq > c.newest {
		for _, x := range r.Unanswered {
			if x.Seq > c.newest {
				c.counted += x.Finished
			}
		}
		c.counted, c.newest = c.counted+r.Finished, r.Seq
	}
	return c.answer(r)
}

func (c *farController) seen() (counted int64, most int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.counted, c.most
}

// Answers count however late they are: a worker far from its controller is still asked to go, and goes.
func TestRunHearsLateAnswers(t *testing.T) {
	for _, way := range []time.Duration{50 * time.Millisecond, 2 * time.Second, 8 * time.Second, 30 * time.Second} {
		t.Run(way.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := &farController{way: way, answer: func(r protocol.Report) protocol.Directive {
					switch {
					case r.Token != "":
						return protocol.Directive{Ask: protocol.Leave, Token: r.Token}
					case r.SentAt.Before(time.Date(2000, 1, 1, 0, 5, 0, 0, time.UTC)):
						return protocol.Directive{Ask: protocol.Work}
					}
					return protocol.Directive{Ask: protocol.Drain}
				}}
				ids := strings.Fields(strings.Repeat("m ", 200))
				r := run(t, worker.Options{Queue: newFakeQueue(ids...), Reporter: c, Slots: 2,
					Do: takes(700 * time.Millisecond)})
				r.left(5*time.Minute + 4*way + 20*time.Second)
				after(2*way + time.Second)
				counted, most := c.seen()
				if counted != 200 {
					t.Errorf("200 messages were finished, the controller counted %d", counted)
				}
				if limit := 1 + int(2*way/(5*time.Second)); most > limit {
					t.Errorf("%d reports were in flight at a time, want at most %d", most, limit)
				}
				if n := strings.Count(r.logs.String(), "reporting to the controller fails"); n > 1 {
					t.Errorf("the late answers were logged %d times, want once at most", n)
				}
			})
		})
	}
}

// A controller that takes reports and never answers gets no more than a bounded number at a time, and is said to be
// silent.
func TestRunBoundsTheReportsInFlight(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &farController{lose: true, answer: func(protocol.Report) protocol.Directive { return work }}
		r := run(t, worker.Options{Queue: newFakeQueue("a", "b", "c"), Reporter: c, Do: takes(time.Minute)})
		after(4 * time.Minute)
		if counted, most := c.seen(); counted != 3 || most > 17 {
			t.Errorf("found %d messages counted and %d reports in flight, want 3 and at most 17", counted, most)
		}
		if !strings.Contains(r.logs.String(), "the controller has not answered for some time") {
			t.Errorf("nobody was told that the controller does not answer")
		}
		r.told()
		r.left(20 * time.Second)
		after(time.Second)
	})
}

// What reports that failed at once had counted is repeated and counted once.
func TestRunRepeatsWhatFailedReportsCounted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &farController{answer: func(protocol.Report) protocol.Directive { return work }}
		n := 0
		r := run(t, worker.Options{Queue: newFakeQueue("a", "b", "c", "d"),
			Reporter: reporterFunc(func(ctx context.Context, r protocol.Report) (protocol.Directive, error) {
				d, err := c.Report(ctx, r)
				if n++; n%3 > 0 {
					return protocol.Directive{}, errors.New("the answer was lost")
				}
				return d, err
			}), Do: takes(700 * time.Millisecond)})
		after(time.Minute)
		if counted, _ := c.seen(); counted != 4 {
			t.Errorf("4 messages were finished, the controller counted %d", counted)
		}
		r.told()
		r.left(5 * time.Second)
		after(time.Second)
	})
}

type reporterFunc func(ctx context.Context, r protocol.Report) (protocol.Directive, error)

func (f reporterFunc) Report(ctx context.Context, r protocol.Report) (protocol.Directive, error) {
	return f(ctx, r)
}
