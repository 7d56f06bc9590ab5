package loop_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/muster-scale/muster"
	"github.com/muster-scale/muster/controller"
	"github.com/muster-scale/muster/controller/loop"
	"github.com/muster-scale/muster/history"
	"github.com/muster-scale/muster/policy"
	"github.com/muster-scale/muster/worker/protocol"
)

// ports is everything a loop talks to, in memory: source, fleet, history and notifier.
type ports struct {
	muster.History
	mu       sync.Mutex
	backlog  int
	steps    int
	members  []muster.Member
	orders   []muster.Order
	ended    []string
	hang     chan struct{} // End waits for it, if set
	sourceOK bool
	full     error // what Append fails with, if set
	wakes    chan struct{}
	trees    func(context.Context) muster.Expected
	stored   func(context.Context) ([]protocol.Report, error)
	reads    int      // of stored
	unseen   []string // orders whose intent was not in the history
	expects  int      // calls of Expect
}

func (s *ports) Expect() { s.set(func() { s.expects++ }) }

func (s *ports) Observe(context.Context) (muster.QueueObservation, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.sourceOK {
		return muster.QueueObservation{}, errors.New("connection refused")
	}
	now := time.Now().UTC()
	return muster.QueueObservation{Backlog: muster.Measured(now, float64(s.backlog)),
		InFlight: muster.Measured(now, 0)}, nil
}

func (s *ports) Wakes() (<-chan struct{}, func()) { return s.wakes, func() {} }

func (s *ports) Members(context.Context) (muster.Listing, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return muster.Listing{At: time.Now().UTC(), Members: append([]muster.Member(nil), s.members...)}, nil
}

func (s *ports) SetDesired(ctx context.Context, o muster.Order) error {
	intended := false
	s.History.Read(ctx, "f", time.Time{}, func(r muster.Record) bool {
		intended = r.Kind == muster.Intended && fmt.Sprintf("f.%d.%d", r.Position.Epoch, r.Position.Seq) == o.ID
		return !intended
	})
	s.mu.Lock()
	defer s.mu.Unlock()
	if !intended {
		s.unseen = append(s.unseen, o.ID)
	}
	s.orders = append(s.orders, o)
	for _, id := range o.Launch {
		s.members = append(s.members, muster.Member{ID: id, LaunchedAt: time.Now().UTC()})
	}
	return nil
}

func (s *ports) End(ctx context.Context, ids []string) error {
	if s.hang != nil {
		select {
		case <-s.hang:
		case <-ctx.Done():
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ended = append(s.ended, ids...)
	return nil
}

func (s *ports) Append(ctx context.Context, fleet string, after muster.Position, r ...muster.Record) (muster.Position,
	error) {
	s.mu.Lock()
	full := s.full
	s.mu.Unlock()
	if full != nil {
		return muster.Position{}, full
	}
	return s.History.Append(ctx, fleet, after, r...)
}

func (s *ports) set(change func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	change()
}

func (s *ports) seen() (steps, launches int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, o := range s.orders {
		launches += len(o.Launch)
	}
	return s.steps, launches
}

// newLoop starts a loop within a bubble; stop ends it and returns what Run returned.
func newLoop(t *testing.T, s *ports, set controller.Settings) (*loop.Loop, func() error) {
	loop := loop.New(loop.Options{
		Settings: set, Sources: []muster.Source{s}, Wakes: []muster.Notifier{s}, Fleet: s, Releaser: s, History: s,
		Logger: slog.New(slog.DiscardHandler), Expecters: []muster.Expecter{s},
		Trees: s.trees, Stored: s.stored, Notify: func(controller.Outcome) { s.set(func() { s.steps++ }) },
	})
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- loop.Run(ctx) }()
	return loop, func() error { cancel(); return <-done }
}

// settings returns those of a fleet f with one queue and at most so many workers.
func settings(t testing.TB, spec policy.Spec, most int) controller.Settings {
	s, err := controller.NewSettings(controller.Settings{
		Fleet: "f", Queues: []string{"q"}, Spec: spec, Objective: muster.Objective{Latency: 30 * time.Second,
			Quantile: 0.99},
		Limits: muster.Limits{Max: most, LaunchesPerHour: 1000}, BootPrior: 5 * time.Second,
	})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func loopSettings(t *testing.T, poll time.Duration) controller.Settings {
	set := settings(t, policy.Spec{Name: "exact"}, 10)
	set.Poll = poll
	return set
}

func newPorts() *ports {
	return &ports{History: history.NewMemory(), sourceOK: true, wakes: make(chan struct{})}
}

func TestTheFirstWakeStepsAtOnceAndABurstIsGathered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newPorts()
		_, stop := newLoop(t, s, loopSettings(t, time.Hour))
		time.Sleep(time.Second)
		before, _ := s.seen()
		s.set(func() { s.backlog = 1 })
		s.wakes <- struct{}{}
		synctest.Wait()
		if steps, launches := s.seen(); steps != before+1 || launches != 1 {
			t.Fatalf("%d steps and %d launches at the instant of the wake, want 1 and 1", steps-before, launches)
		}
		time.Sleep(time.Second)
		before, _ = s.seen()
		for range 1000 {
			s.wakes <- struct{}{}
		}
		time.Sleep(time.Second)
		if steps, _ := s.seen(); steps-before < 1 || steps-before > 3 {
			t.Errorf("%d steps for 1000 wakes at one instant, want 1 to 3", steps-before)
		}
		if err := stop(); err != nil {
			t.Error(err)
		}
	})
}

func TestALostWakeCostsAtMostOnePoll(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newPorts()
		_, stop := newLoop(t, s, loopSettings(t, 5*time.Second))
		time.Sleep(time.Second)
		s.set(func() { s.backlog = 3 })
		time.Sleep(5 * time.Second)
		if _, launches := s.seen(); launches != 3 {
			t.Errorf("%d launches one poll later, want 3", launches)
		}
		stop()
	})
}

func TestAnIntentIsInTheHistoryBeforeItsEffect(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newPorts()
		s.backlog = 3
		_, stop := newLoop(t, s, loopSettings(t, time.Second))
		time.Sleep(3 * time.Second)
		stop()
		if _, launches := s.seen(); launches == 0 || len(s.unseen) > 0 {
			t.Errorf("%d launches; orders without an intent in the history: %v", launches, s.unseen)
		}
	})
}

func TestWhenTheHistoryCannotBeWrittenNothingIsDone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newPorts()
		s.backlog, s.full = 3, errors.New("no space left on device")
		_, stop := newLoop(t, s, loopSettings(t, time.Second))
		time.Sleep(time.Minute)
		if _, launches := s.seen(); launches != 0 {
			t.Errorf("%d launches that no record tells of", launches)
		}
		s.set(func() { s.full = nil })
		time.Sleep(2 * time.Second)
		if _, launches := s.seen(); launches != 3 {
			t.Errorf("%d launches once the disk has room, want 3", launches)
		}
		stop()
	})
}

func TestASecondControllerStopsTheFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newPorts()
		_, first := newLoop(t, s, loopSettings(t, time.Second))
		time.Sleep(3 * time.Second)
		_, second := newLoop(t, s, loopSettings(t, time.Second))
		time.Sleep(time.Second)
		s.set(func() { s.backlog = 3 })
		time.Sleep(5 * time.Second)
		if err := first(); !errors.Is(err, muster.ErrConflict) {
			t.Errorf("the first ended with %v, want a conflict", err)
		}
		if err := second(); err != nil {
			t.Errorf("the second ended with %v", err)
		}
		if _, launches := s.seen(); launches != 3 {
			t.Errorf("%d launches by the two together, want 3", launches)
		}
	})
}

// answering is the report after the answer d: it repeats the challenge.
func answering(d protocol.Directive, r protocol.Report) protocol.Report {
	r.Challenge = d.Challenge
	return r
}

func report(member string, seq int64, state protocol.WorkerState, token string) protocol.Report {
	r := protocol.Report{Fleet: "f", Member: member, Worker: member, Seq: seq, State: state, Slots: 1, Token: token}
	if token != "" {
		r.Cause = protocol.IdleTooLong
	}
	return r
}

func TestATokenIsAnsweredOnceItsReleaseIsRecorded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newPorts()
		s.backlog = 1
		loop, stop := newLoop(t, s, loopSettings(t, time.Second))
		time.Sleep(1500 * time.Millisecond) // between two polls
		s.set(func() { s.backlog = 0 })
		time.Sleep(time.Second)
		id := s.orders[0].Launch[0]
		var d protocol.Directive
		var err error
		for i, state := range []protocol.WorkerState{protocol.Starting, protocol.Receiving} {
			if d, err = loop.Report(t.Context(), report(id, int64(i+1), state, "")); err != nil ||
				d.Ask != protocol.Work {
				t.Fatalf("%s: %+v, %v", state, d, err)
			}
			time.Sleep(time.Second)
		}
		d, err = loop.Report(t.Context(), answering(d, report(id, 3, protocol.Idle, "token")))
		if err != nil || d.Ask != protocol.Leave || d.Token != "token" {
			t.Fatalf("got %+v, %v; want the token granted", d, err)
		}
		recorded := false
		s.Read(t.Context(), "f", time.Time{}, func(r muster.Record) bool {
			recorded = recorded || r.Kind == muster.Changed &&
				string(r.Body) == fmt.Sprintf(`{"member":%q,"what":"left","why":"no message came for it","desired":0}`,
					id)
			return true
		})
		if !recorded {
			t.Error("the release is not in the history")
		}
		stop()
	})
}

func TestASlowReleaseDelaysNoLaunch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newPorts()
		s.backlog, s.hang = 1, make(chan struct{})
		loop, stop := newLoop(t, s, loopSettings(t, time.Second))
		time.Sleep(1500 * time.Millisecond) // between two polls
		s.set(func() { s.backlog = 0 })
		time.Sleep(time.Second)
		id := s.orders[0].Launch[0]
		d, err := loop.Report(t.Context(), report(id, 1, protocol.Receiving, ""))
		if err != nil {
			t.Fatal(err)
		}
		loop.Report(t.Context(), answering(d, report(id, 2, protocol.Idle, "token")))
		time.Sleep(15 * time.Second) // it stays: by now the fleet was told to end it, and hangs
		s.set(func() { s.backlog = 5 })
		time.Sleep(1200 * time.Millisecond)
		if _, launches := s.seen(); launches != 6 {
			t.Errorf("%d launches while a release hangs, want 6", launches)
		}
		close(s.hang)
		synctest.Wait()
		stop()
		if len(s.ended) != 1 || s.ended[0] != id {
			t.Errorf("ended %v, want %s", s.ended, id)
		}
	})
}

func TestAQueueThatDoesNotAnswerIsUnknownAndHolds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newPorts()
		s.backlog = 2
		loop, stop := newLoop(t, s, loopSettings(t, time.Second))
		time.Sleep(time.Second)
		s.set(func() { s.sourceOK = false })
		time.Sleep(time.Minute)
		o, _ := loop.Last()
		if o.Decision.Verdict != muster.Hold || o.Decision.Reason != muster.UnknownBacklog || o.Decision.Desired != 2 {
			t.Errorf("%s (%s)", o.Decision.Sentence(), o.Decision.Reason)
		}
		stop()
	})
}

func TestOtherSettingsCountFromTheNextStepAndForgetNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newPorts()
		s.backlog = 20
		set := loopSettings(t, time.Second)
		loop, stop := newLoop(t, s, set)
		time.Sleep(1500 * time.Millisecond)
		set.Limits.Max = 15
		if !loop.Change(t.Context(), set) {
			t.Fatal("the change was not taken")
		}
		time.Sleep(time.Second)
		o, _ := loop.Last()
		if _, launches := s.seen(); launches != 15 || o.Decision.Previous != 15 {
			t.Errorf("%d launches, desired %d; want the 10 from before and 5 more", launches, o.Decision.Previous)
		}
		if err := stop(); err != nil {
			t.Error(err)
		}
		if loop.Change(context.Background(), set) {
			t.Error("a loop that has ended took a change")
		}
	})
}
