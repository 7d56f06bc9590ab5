package queue

import (
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/muster-scale/muster/queue/internal/machine"
)

func open(t *testing.T, o Options) *Service {
	t.Helper()
	s, err := Open(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

func ephemeral(t *testing.T) *Service { return open(t, Options{Ephemeral: true}) }

func mustCreate(t *testing.T, s *Service, name string, attributes map[string]string) {
	t.Helper()
	if err := s.CreateQueue(t.Context(), name, attributes, nil); err != nil {
		t.Fatal(err)
	}
}

func mustSend(t *testing.T, s *Service, name string, bodies ...string) {
	t.Helper()
	for _, body := range bodies {
		sent, err := s.Send(t.Context(), name, []Outgoing{{Body: body}})
		if err == nil {
			err = sent[0].Err
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// take receives up to ten messages without waiting.
func take(t *testing.T, s *Service, name string) []Message {
	t.Helper()
	got, err := s.Receive(t.Context(), name, ReceiveOptions{Max: MaxBatch})
	if err != nil {
		t.Fatal(err)
	}
	return got
}

// takeOne receives what must be the only visible message.
func takeOne(t *testing.T, s *Service, name string) Message {
	t.Helper()
	got := take(t, s, name)
	if len(got) != 1 {
		t.Fatalf("received %d messages from %s, want 1", len(got), name)
	}
	return got[0]
}

func mustDelete(t *testing.T, s *Service, name string, receipt string) {
	t.Helper()
	if err := s.Delete(t.Context(), name, []string{receipt})[0]; err != nil {
		t.Fatal(err)
	}
}

func change(t *testing.T, s *Service, name, receipt string, timeout time.Duration) error {
	t.Helper()
	return s.ChangeVisibility(t.Context(), name, []VisibilityChange{{Receipt: receipt, Timeout: timeout}})[0]
}

func wantCounts(t *testing.T, s *Service, name string, visible, inFlight, delayed int) {
	t.Helper()
	c, err := s.Counts(name)
	if err != nil {
		t.Fatal(err)
	}
	if c.Visible != visible || c.InFlight != inFlight || c.Delayed != delayed {
		t.Fatalf("%s: %d visible, %d in flight, %d delayed; want %d, %d, %d", name, c.Visible, c.InFlight, c.Delayed,
			visible, inFlight, delayed)
	}
	if c.OldestSent.IsZero() != (visible == 0) {
		t.Fatalf("%s: %d visible but the oldest was sent at %v", name, visible, c.OldestSent)
	}
}

// inTime runs a test in virtual time on an ephemeral service.
func inTime(t *testing.T, test func(t *testing.T, s *Service)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		s, err := Open(Options{Ephemeral: true})
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		test(t, s)
	})
}

// later lets virtual time pass. It must only be used inside inTime.
func later(t *testing.T, d time.Duration) {
	t.Helper()
	<-time.After(d)
	synctest.Wait()
}

func TestAMessageNotDeletedComesBackAfterItsVisibilityTimeout(t *testing.T) {
	inTime(t, func(t *testing.T, s *Service) {
		mustCreate(t, s, "q", map[string]string{"VisibilityTimeout": "5"})
		mustSend(t, s, "q", "a")
		first := takeOne(t, s, "q")
		wantCounts(t, s, "q", 0, 1, 0)
		later(t, 4999*time.Millisecond)
		wantCounts(t, s, "q", 0, 1, 0)
		later(t, time.Millisecond)
		wantCounts(t, s, "q", 1, 0, 0)
		second := takeOne(t, s, "q")
		if second.ReceiveCount != 2 || second.ID != first.ID || second.Receipt == first.Receipt ||
			!second.FirstReceived.Equal(first.FirstReceived) {
			t.Errorf("first %+v\nthen %+v", first, second)
		}
		mustDelete(t, s, "q", first.Receipt)
		wantCounts(t, s, "q", 0, 1, 0) // an outdated receipt deletes nothing
		if err := change(t, s, "q", first.Receipt, time.Minute); err != nil {
			t.Errorf("an outdated receipt prolongs: %v", err)
		}
		later(t, 59*time.Second)
		wantCounts(t, s, "q", 0, 1, 0)
		if err := change(t, s, "q", first.Receipt, 0); err != nil {
			t.Errorf("an outdated receipt hands back: %v", err)
		}
		wantCounts(t, s, "q", 1, 0, 0)
		if second = takeOne(t, s, "q"); second.ReceiveCount != 3 {
			t.Errorf("an outdated receipt changed the count: %+v", second)
		}
		mustDelete(t, s, "q", second.Receipt)
		mustDelete(t, s, "q", second.Receipt)
		wantCounts(t, s, "q", 0, 0, 0)
	})
}

func TestVisibilityMayBeExtendedUpToTwelveHoursFromTheReceive(t *testing.T) {
	inTime(t, func(t *testing.T, s *Service) {
		mustCreate(t, s, "q", nil)
		mustSend(t, s, "q", "a")
		m := takeOne(t, s, "q")
		later(t, 20*time.Second)
		if err := change(t, s, "q", m.Receipt, MaxVisibility); !errors.Is(err, ErrInvalidParameter) {
			t.Errorf("twelve hours more after 20 s: %v", err)
		}
		if err := change(t, s, "q", m.Receipt, MaxVisibility-20*time.Second); err != nil {
			t.Errorf("up to twelve hours in all: %v", err)
		}
		later(t, MaxVisibility-21*time.Second)
		wantCounts(t, s, "q", 0, 1, 0)
		later(t, time.Second)
		wantCounts(t, s, "q", 1, 0, 0)
		if err := change(t, s, "q", m.Receipt, 0); err != nil {
			t.Errorf("change after the timeout, not received again: %v", err)
		}
		mustDelete(t, s, "q", m.Receipt)
		if err := change(t, s, "q", m.Receipt, 0); !errors.Is(err, ErrInvalidParameter) {
			t.Errorf("change of a deleted message: %v", err)
		}
	})
}

func TestDelayedMessagesAreInvisibleUntilTheirTime(t *testing.T) {
	inTime(t, func(t *testing.T, s *Service) {
		mustCreate(t, s, "q", map[string]string{"DelaySeconds": "10"})
		none, long := time.Duration(0), MaxDelay
		if _, err := s.Send(t.Context(), "q", []Outgoing{{Body: "queue's delay"}, {Body: "none", Delay: &none},
			{Body: "long", Delay: &long}}); err != nil {
			t.Fatal(err)
		}
		wantCounts(t, s, "q", 1, 0, 2)
		later(t, 10*time.Second)
		wantCounts(t, s, "q", 2, 0, 1)
		later(t, MaxDelay-10*time.Second)
		wantCounts(t, s, "q", 3, 0, 0)
	})
}

func TestAMessageOutlivesNoRetention(t *testing.T) {
	inTime(t, func(t *testing.T, s *Service) {
		mustCreate(t, s, "q", map[string]string{"MessageRetentionPeriod": "60", "VisibilityTimeout": "90"})
		mustSend(t, s, "q", "held")
		held := takeOne(t, s, "q")
		mustSend(t, s, "q", "waits")
		later(t, 60*time.Second)
		wantCounts(t, s, "q", 0, 1, 0)
		if err := change(t, s, "q", held.Receipt, time.Minute); err != nil {
			t.Errorf("its worker still holds it: %v", err)
		}
		later(t, 60*time.Second)
		wantCounts(t, s, "q", 0, 0, 0)
	})
}

func TestAMessageReceivedTooOftenMovesToTheDeadLetterQueue(t *testing.T) {
	inTime(t, func(t *testing.T, s *Service) {
		mustCreate(t, s, "dead", nil)
		mustCreate(t, s, "q", map[string]string{"RedrivePolicy": `{"deadLetterTargetArn":"arn:aws:sqs:local:000000000000:dead","maxReceiveCount":2}`})
		out := Outgoing{Body: "poison", Attributes: map[string]Attribute{"a": {"String", []byte("v")}}, Trace: "t",
			GroupID: "g"}
		sent, err := s.Send(t.Context(), "q", []Outgoing{out})
		if err != nil {
			t.Fatal(err)
		}
		var last Message
		for range 2 {
			last = takeOne(t, s, "q")
			later(t, 30*time.Second)
		}
		wantCounts(t, s, "q", 1, 0, 0) // it moves on the next receive, not before
		if got := take(t, s, "q"); len(got) != 0 {
			t.Fatalf("received %+v after the maximum", got)
		}
		wantCounts(t, s, "dead", 1, 0, 0)
		m := takeOne(t, s, "dead")
		if m.ID != sent[0].ID || m.Body != "poison" || string(m.Attributes["a"].Value) != "v" || m.Trace != "t" ||
			m.GroupID != "g" ||
			m.Source != "q" || !m.Sent.Equal(last.Sent) || m.ReceiveCount != 3 ||
			!m.FirstReceived.Equal(last.FirstReceived) {
			t.Errorf("in the dead-letter queue: %+v\nbefore: %+v", m, last)
		}
		if sources, err := s.DeadLetterSources("dead"); err != nil || fmt.Sprint(sources) != "[q]" {
			t.Errorf("sources %v, %v", sources, err)
		}
		mustDelete(t, s, "q", last.Receipt) // gone from there: a success without effect
		wantCounts(t, s, "dead", 0, 1, 0)
	})
}

// state is that of a service on which nothing goes on.
func state(s *Service) *machine.State {
	defer s.writer.Unlock()
	return s.writer.Lock()
}
