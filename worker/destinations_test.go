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

// fakeSink remembers what it was told, and when.
type fakeSink struct {
	mu      sync.Mutex
	digests []worker.Digest
	times   []time.Time
	// fault, when not nil, decides whether the n-th digest fails, from 1.
	fault func(n int) error
	// hangs makes it take nothing until the context ends.
	hangs bool
}

func (s *fakeSink) Take(ctx context.Context, d worker.Digest) error {
	s.mu.Lock()
	s.digests, s.times = append(s.digests, d), append(s.times, time.Now())
	n, fault := len(s.digests), s.fault
	s.mu.Unlock()
	if s.hangs {
		<-ctx.Done()
		return ctx.Err()
	}
	if fault != nil {
		return fault(n)
	}
	return nil
}

func (s *fakeSink) all() ([]worker.Digest, []time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]worker.Digest(nil), s.digests...), append([]time.Time(nil), s.times...)
}

func TestAnOutletIsToldOncePerPeriod(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q, sink := newFakeQueue("a", "b", "c"), &fakeSink{}
		r := run(t, worker.Options{Queue: q, Do: takes(25 * time.Second), WarmUp: 10 * time.Second,
			Destinations: []worker.Destination{{Sink: sink, Name: "metrics", Every: time.Minute}}})
		after(9 * time.Second)
		if d, _ := sink.all(); len(d) > 0 {
			t.Errorf("told %d digests before the first receive, want none", len(d))
		}
		after(5 * time.Minute)
		r.told()
		r.left(5 * time.Second)
		digests, times := sink.all()
		var finished int64
		for i, d := range digests[1:] {
			finished += d.Report.Finished
			if want := digests[i].Period.Add(time.Minute); !d.Period.Equal(want) || d.Extra {
				t.Errorf("digest %d is of the period %s (extra: %t), want %s", i+1, d.Period, d.Extra, want)
			}
			if late := times[i+1].Sub(d.Period); late < 0 || late > 30*time.Second {
				t.Errorf("digest %d came %s after its period began, want within its first half", i+1, late)
			}
			if d.Report.Seq <= digests[i].Report.Seq {
				t.Errorf("digest %d has the number %d after %d", i+1, d.Report.Seq, digests[i].Report.Seq)
			}
		}
		if len(digests) < 5 || len(digests) > 6 || finished != 3 || digests[len(digests)-1].Total.Finished != 3 {
			t.Errorf("told %d digests with %d messages, the last with a total of %d; want 5 or 6 with 3", len(digests),
				finished, digests[len(digests)-1].Total.Finished)
		}
		if first := digests[0].Report; first.State != protocol.Receiving || first.Slots != 1 || first.Fleet != "f" ||
			first.Member != "m" {
			t.Errorf("the first digest says %+v", first)
		}
	})
}

func TestAnOutletIsToldWhatItMissed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q, sink := newFakeQueue("a", "b", "c", "d"), &fakeSink{}
		sink.fault = func(n int) error {
			if n >= 2 && n <= 3 {
				return errors.New("throttled")
			}
			return nil
		}
		r := run(t, worker.Options{Queue: q, Do: takes(20 * time.Second),
			Destinations: []worker.Destination{{Sink: sink, Name: "metrics", Every: 10 * time.Second}}})
		after(3 * time.Minute)
		r.told()
		r.left(5 * time.Second)
		digests, times := sink.all()
		var taken int64
		for i, d := range digests {
			if i != 1 && i != 2 {
				taken += d.Report.Finished
			}
		}
		if taken != 4 {
			t.Errorf("the digests that were taken have %d messages, want all 4", taken)
		}
		if pause := times[3].Sub(times[2]); pause < 20*time.Second || pause > 40*time.Second {
			t.Errorf("the digest after two failures came %s later, want two to four periods of 10 s", pause)
		}
		if n := strings.Count(r.logs.String(), "reporting to metrics fails"); n != 1 {
			t.Errorf("logged %d times that it fails, want once:\n%s", n, r.logs)
		}
		if !strings.Contains(r.logs.String(), "reporting to metrics works again") {
			t.Errorf("did not log that it works again:\n%s", r.logs)
		}
	})
}

func TestAnOutletThatHangsKeepsNothingFromGoingOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q, sink := newFakeQueue("a", "b", "c"), &fakeSink{hangs: true}
		r := run(t, worker.Options{Queue: q, Do: takes(time.Second),
			Destinations: []worker.Destination{{Sink: sink, Name: "table", Every: 10 * time.Second, Changes: true}}})
		after(5 * time.Second)
		if deleted, _ := q.state(); len(deleted) != 3 {
			t.Errorf("%d messages were done with beside a destination that hangs, want 3", len(deleted))
		}
		r.told()
		r.left(5 * time.Second)
	})
}

func TestAnOutletIsToldOfChanges(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q, sink := newFakeQueue("a"), &fakeSink{}
		r := run(t, worker.Options{Queue: q, Do: takes(3 * time.Second), WarmUp: 2 * time.Second,
			IdleStop:     5 * time.Second,
			Destinations: []worker.Destination{{Sink: sink, Name: "table", Every: time.Minute, Changes: true}}})
		r.left(15 * time.Second)
		digests, _ := sink.all()
		var states []protocol.WorkerState
		for _, d := range digests {
			if n := len(states); n == 0 || states[n-1] != d.Report.State {
				states = append(states, d.Report.State)
			}
		}
		first := map[time.Time]bool{}
		for i, d := range digests {
			if !d.Extra && first[d.Period] {
				t.Errorf("digest %d is a second one of the period %s, and does not say so", i, d.Period)
			}
			first[d.Period] = true
		}
		if len(states) < 3 || states[0] != protocol.Starting || states[1] != protocol.Receiving ||
			states[len(states)-1] != protocol.Leaving {
			t.Errorf("told of %v, want starting, receiving and at last leaving", states)
		}
		if last := digests[len(digests)-1]; last.Total.Finished != 1 || last.Total.Processing.Count != 1 {
			t.Errorf("the last digest has the total %+v, want one message", last.Total)
		}
	})
}

func TestOutletsThatAreNotAllowed(t *testing.T) {
	for _, o := range [][]worker.Destination{
		{{Name: "no sink", Every: time.Second}}, {{Name: "no period", Sink: &fakeSink{}}},
		make([]worker.Destination, worker.MaxDestinations+1),
	} {
		if err := worker.Run(t.Context(),
			worker.Options{Queue: newFakeQueue(), Do: takes(0), Destinations: o}); err == nil ||
			!strings.Contains(err.Error(), "destination") {
			t.Errorf("%d destinations gave the error %v", len(o), err)
		}
	}
}
