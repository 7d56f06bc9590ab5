package controller

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/muster-scale/muster"
)

func TestWhatIsTooOldOrFromTheFutureIsUnknown(t *testing.T) {
	s := Settings{Poll: time.Second, Stale: time.Minute, Learn: 10 * time.Minute} // ages count for three minutes
	now := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	published := func(q *muster.QueueObservation) *muster.Published {
		if q.Published == nil {
			q.Published = &muster.Published{}
		}
		return q.Published
	}
	for _, row := range []struct {
		name string
		of   func(*muster.QueueObservation) *muster.Sample
		most time.Duration
	}{
		{"backlog", func(q *muster.QueueObservation) *muster.Sample { return &q.Backlog }, time.Minute},
		{"in flight", func(q *muster.QueueObservation) *muster.Sample { return &q.InFlight }, time.Minute},
		{"delayed", func(q *muster.QueueObservation) *muster.Sample { return &q.Delayed }, time.Minute},
		{"sent", func(q *muster.QueueObservation) *muster.Sample { return &q.Sent }, time.Minute},
		{"oldest age", func(q *muster.QueueObservation) *muster.Sample { return &q.OldestAge }, 3 * time.Minute},
		{"sent per second", func(q *muster.QueueObservation) *muster.Sample { return &published(q).SentPerSecond },
			3 * time.Minute},
		{"deleted per second",
			func(q *muster.QueueObservation) *muster.Sample { return &published(q).DeletedPerSecond }, 3 * time.Minute},
		{"mean", func(q *muster.QueueObservation) *muster.Sample { return &published(q).ProcessingMean },
			10 * time.Minute},
	} {
		t.Run(row.name, func(t *testing.T) {
			for age, known := range map[time.Duration]bool{0: true, row.most: true, row.most + 1: false,
				-row.most: true, -row.most - 1: false} {
				queues := []muster.QueueObservation{{Queue: "a"}, {Queue: "b"}}
				*row.of(&queues[1]) = muster.Measured(now.Add(-age), 7)
				got := s.fresh(queues, make([]string, 2), now)
				x := row.of(&got[1])
				if x.Known != known || known && x.Value != 7 || len(got) != 2 || !cmp.Equal(got[0], queues[0]) {
					t.Errorf("%s old: found %+v, want known %v", age, *x, known)
				}
				if given := row.of(&queues[1]); !given.Known || given.Value != 7 {
					t.Errorf("%s old: what was given was changed to %+v", age, *given)
				}
			}
		})
	}
}

// TestAStaleCountSaysWhyItIsNotReadAgain: the age of the last sample says that a source is blind, and the failure of
// the last reading says what to mend.
func TestAStaleCountSaysWhyItIsNotReadAgain(t *testing.T) {
	s := Settings{Stale: time.Minute}
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	st := State{}
	for _, name := range []string{"b", "a"} {
		st.keepMeasurement(&muster.QueueObservation{Queue: name, Backlog: muster.Measured(now, 7)})
	}
	before := st
	st.keepMeasurement(&muster.QueueObservation{Queue: "b", Backlog: muster.Unknown(now, "connection refused")})
	if got := s.fresh(st.queues, st.failures, now.Add(time.Minute)); !got[1].Backlog.Known {
		t.Errorf("a sample that is not too old became %+v", got[1].Backlog)
	}
	got := s.fresh(st.queues, st.failures, now.Add(2*time.Minute))
	if x := got[0].Backlog; x.Reason != "the newest sample is 2m0s old, at most 1m0s is allowed" {
		t.Errorf("a queue that was not read again says %q", x.Reason)
	}
	if x := got[1].Backlog; x.Reason != "the newest sample is 2m0s old, at most 1m0s is allowed: connection refused" {
		t.Errorf("a queue that cannot be read says %q", x.Reason)
	}
	if before.failures[1] != "" {
		t.Error("the state before was changed")
	}
	st.keepMeasurement(&muster.QueueObservation{Queue: "b", Backlog: muster.Measured(now, 7)})
	got = s.fresh(st.queues, st.failures, now.Add(2*time.Minute))
	if strings.Contains(got[1].Backlog.Reason, "refused") {
		t.Errorf("a failure outlasts the next reading: %q", got[1].Backlog.Reason)
	}
}
