package loop_test

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/muster-scale/muster"
	"github.com/muster-scale/muster/controller/loop"
	"github.com/muster-scale/muster/history"
)

// stepping returns a loop for Once on s, with a history of its own or that of another.
func stepping(t *testing.T, s *ports, h muster.History) *loop.Loop {
	t.Helper()
	return loop.New(loop.Options{Settings: loopSettings(t, 5*time.Second), Sources: []muster.Source{s}, Fleet: s,
		Releaser: s, History: h, Logger: slog.New(slog.DiscardHandler)})
}

// kinds counts the records of the fleet by kind.
func kinds(t *testing.T, h muster.History) map[muster.RecordKind]int {
	t.Helper()
	n := map[muster.RecordKind]int{}
	err := h.Read(t.Context(), "f", time.Time{}, func(r muster.Record) bool { n[r.Kind]++; return true })
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func TestOnceRecordsIntentAndResult(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &ports{History: history.NewMemory(), backlog: 30, sourceOK: true}
		l := stepping(t, s, s)
		if _, err := l.Once(t.Context()); err != nil {
			t.Fatal(err)
		}
		if n := kinds(t, s); n[muster.Intended] == 0 || n[muster.Intended] != n[muster.Resulted] {
			t.Errorf("found the records %v, want a result for each intent", n)
		}
		_, launches := s.seen()
		if launches == 0 || len(s.unseen) > 0 {
			t.Errorf("launched %d members, and %d orders before their intent", launches, len(s.unseen))
		}
		time.Sleep(time.Second)
		if _, err := l.Once(t.Context()); err != nil {
			t.Fatal(err)
		}
		if _, again := s.seen(); again != launches {
			t.Errorf("the second call launched %d members more, want none", again-launches)
		}
	})
}

// together is a history in which two controllers begin before either of them appends.
type together struct {
	muster.History
	both chan struct{}
}

func (h together) Begin(ctx context.Context, fleet string) (muster.Position, error) {
	at, err := h.History.Begin(ctx, fleet)
	h.both <- struct{}{}
	return at, err
}

func TestOfTwoCallsAtOnceOneDoesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		memory := history.NewMemory()
		s := &ports{History: memory, backlog: 30, sourceOK: true}
		h := together{memory, make(chan struct{})}
		loops := []*loop.Loop{stepping(t, s, h), stepping(t, s, h)}
		failures := make(chan error)
		for _, l := range loops {
			go func() { _, err := l.Once(t.Context()); failures <- err }()
		}
		synctest.Wait() // both have begun
		<-h.both
		<-h.both
		a, b := <-failures, <-failures
		if errors.Is(a, muster.ErrConflict) == errors.Is(b, muster.ErrConflict) {
			t.Errorf("found the errors %v and %v, want one conflict", a, b)
		}
		if len(s.orders) != 1 {
			t.Errorf("found %d orders, want one", len(s.orders))
		}
		// The one that lost goes on from what the other recorded.
		go func() { <-h.both }()
		time.Sleep(time.Second)
		for _, l := range loops {
			if _, err := l.Once(t.Context()); err != nil && !errors.Is(err, muster.ErrConflict) {
				t.Error(err)
			}
		}
		if len(s.orders) != 1 {
			t.Errorf("found %d orders after a second, want one", len(s.orders))
		}
	})
}

func TestOnceDoesNothingThatItCannotRecord(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &ports{History: history.NewMemory(), backlog: 30, sourceOK: true}
		l := stepping(t, s, s)
		s.full = errors.New("throttled")
		if _, err := l.Once(t.Context()); err == nil || len(s.orders) != 0 {
			t.Errorf("found the error %v and %d orders, want an error and none", err, len(s.orders))
		}
		s.full = nil
		if _, err := l.Once(t.Context()); err != nil || len(s.orders) != 1 {
			t.Errorf("found the error %v and %d orders, want one order", err, len(s.orders))
		}
	})
}
