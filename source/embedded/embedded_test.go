package embedded_test

import (
	"testing"
	"time"

	"github.com/muster-scale/muster"
	"github.com/muster-scale/muster/mustertest"
	"github.com/muster-scale/muster/queue"
	"github.com/muster-scale/muster/source/embedded"
)

func open(t *testing.T) (*queue.Service, func(messages int, delay *time.Duration)) {
	t.Helper()
	s, err := queue.Open(queue.Options{Ephemeral: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	if err := s.CreateQueue(t.Context(), "jobs", nil, nil); err != nil {
		t.Fatal(err)
	}
	return s, func(messages int, delay *time.Duration) {
		t.Helper()
		for range messages {
			sent, err := s.Send(t.Context(), "jobs", []queue.Outgoing{{Body: "x", Delay: delay}})
			if err == nil {
				err = sent[0].Err
			}
			if err != nil {
				t.Fatal(err)
			}
		}
	}
}

func TestSourceKeepsTheContract(t *testing.T) {
	mustertest.SourceConformance(t, func(t *testing.T, test func(*testing.T, muster.Source, func(int))) {
		s, send := open(t)
		test(t, embedded.New(s, "jobs"), func(messages int) { send(messages, nil) })
	})
}

func TestEveryMessageIsCountedWhereItIs(t *testing.T) {
	s, send := open(t)
	later := 10 * time.Minute
	send(3, nil)
	send(1, &later)
	if got, err := s.Receive(t.Context(), "jobs", queue.ReceiveOptions{Max: 2}); err != nil || len(got) != 2 {
		t.Fatalf("received %d, %v", len(got), err)
	}
	before := time.Now().Add(-time.Second)
	q, err := embedded.New(s, "jobs").Observe(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if q.Queue != "jobs" || q.Backlog.Value != 1 || q.InFlight.Value != 2 || q.Delayed.Value != 1 {
		t.Errorf("found %+v, want 1 waiting, 2 in flight, 1 delayed", q)
	}
	if !q.OldestAge.Known || q.OldestAge.Value > 60 || q.Backlog.At.Before(before) {
		t.Errorf("found the age %v at %v, want one that is known", q.OldestAge, q.Backlog.At)
	}
}

func TestWhatWaitsForARetryIsCountedWithItsAgeSinceItWasSent(t *testing.T) {
	s, send := open(t)
	if err := s.CreateQueue(t.Context(), "failed", nil, nil); err != nil {
		t.Fatal(err)
	}
	send(3, nil)
	got, err := s.Receive(t.Context(), "jobs", queue.ReceiveOptions{Max: 3})
	if err != nil || len(got) != 3 {
		t.Fatalf("received %d, %v", len(got), err)
	}
	for _, m := range got[:2] {
		if err := s.ChangeVisibility(t.Context(), "jobs",
			[]queue.VisibilityChange{{Receipt: m.Receipt, Timeout: time.Minute, Returned: true}})[0]; err != nil {
			t.Fatal(err)
		}
	}
	if _, err := s.Send(t.Context(), "failed", []queue.Outgoing{{Body: "x"}}); err != nil {
		t.Fatal(err)
	}
	q, err := embedded.New(s, "jobs").WithDeadLetters("failed").Observe(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if q.InFlight.Value != 3 || q.Retrying.Value != 2 || !q.OldestRetry.Known || q.OldestRetry.Value > 60 ||
		len(q.RetryAges) == 0 {
		t.Errorf("found %+v, want 3 in flight, 2 of them waiting for a retry", q)
	}
	if !q.DeadLetters.Known || q.DeadLetters.Value != 1 {
		t.Errorf("found %s dead letters, want 1", q.DeadLetters)
	}
	if q, err = embedded.New(s, "jobs").Observe(t.Context()); err != nil || q.DeadLetters.Known {
		t.Errorf("found %s dead letters of a queue without any place for them, want unknown", q.DeadLetters)
	}
}

func TestAQueueThatDoesNotExistIsAnErrorAndNotEmpty(t *testing.T) {
	s, _ := open(t)
	source := embedded.New(s, "other")
	if q, err := source.Observe(t.Context()); err == nil || q.Backlog.Known {
		t.Errorf("found %+v, %v; want an error", q, err)
	}
	if err := s.CreateQueue(t.Context(), "other", nil, nil); err != nil {
		t.Fatal(err)
	}
	if q, err := source.Observe(t.Context()); err != nil || !q.Backlog.Known || q.Queue != "other" {
		t.Errorf("once it exists: found %+v, %v", q, err)
	}
}
