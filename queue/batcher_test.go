package queue

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/muster-scale/muster/queue/internal/machine"
	"github.com/muster-scale/muster/queue/internal/writer"
)

// errands lets callers that wait use a batcher.
type errands struct {
	s     *Service
	tasks chan func(*Batcher)
	all   sync.WaitGroup
}

func newErrands(s *Service) *errands {
	e := &errands{s: s, tasks: make(chan func(*Batcher), 64)}
	rung := make(chan struct{}, 1)
	k := s.NewBatcher(func() {
		select {
		case rung <- struct{}{}:
		default:
		}
	})
	e.all.Go(func() {
		for {
			select {
			case <-rung:
				k.Deliver()
			case do, more := <-e.tasks:
				if !more {
					return
				}
				do(k)
				for len(e.tasks) > 0 {
					(<-e.tasks)(k)
				}
				k.Submit()
			}
		}
	})
	return e
}

// end must come after the last call was answered.
func (e *errands) end() {
	close(e.tasks)
	e.all.Wait()
}

// errand makes one call.
func errand[T any](e *errands, call func(k *Batcher, done func(T))) T {
	answer := make(chan T, 1)
	e.tasks <- func(k *Batcher) { call(k, func(t T) { answer <- t }) }
	return <-answer
}

type receivedBy struct {
	messages []Message
	err      error
}

type sentBy struct {
	sent []Sent
	err  error
}

// service is what clients call; what a batcher does not do the service does.
func (e *errands) service() service {
	calls := serviceOf(e.s)
	receive := calls.receive
	calls.send = func(_ context.Context, name string, out []Outgoing) ([]Sent, error) {
		got := errand(e, func(k *Batcher, done func(sentBy)) {
			k.Send(name, out, func(sent []Sent, err error) { done(sentBy{sent, err}) })
		})
		return got.sent, got.err
	}
	calls.remove = func(_ context.Context, name string, receipts []string) []error {
		return errand(e, func(k *Batcher, done func([]error)) { k.Delete(name, receipts, done) })
	}
	calls.receive = func(ctx context.Context, name string, o ReceiveOptions) ([]Message, error) {
		if o.Wait != nil && *o.Wait > 0 {
			return receive(ctx, name, o)
		}
		got := errand(e, func(k *Batcher, done func(receivedBy)) {
			k.Receive(name, o, func(m []Message, err error) { done(receivedBy{m, err}) })
		})
		return got.messages, got.err
	}
	return calls
}

// both runs a test with the methods of a service and with a batcher.
func both(t *testing.T, test func(t *testing.T, s *Service, calls service)) {
	t.Helper()
	inTime(t, func(t *testing.T, s *Service) { test(t, s, serviceOf(s)) })
	inTime(t, func(t *testing.T, s *Service) {
		e := newErrands(s)
		defer e.end()
		test(t, s, e.service())
	})
}

// TestACourierAnswersAsTheServiceDoes compares the outcomes of both.
func TestACourierAnswersAsTheServiceDoes(t *testing.T) {
	var outcomes []string
	both(t, func(t *testing.T, s *Service, calls service) {
		mustCreate(t, s, "q", nil)
		mustCreate(t, s, "q.fifo", map[string]string{"FifoQueue": "true", "ContentBasedDeduplication": "true"})
		var told []string
		tell := func(format string, args ...any) { told = append(told, fmt.Sprintf(format, args...)) }
		send := func(name string, out ...Outgoing) {
			sent, err := calls.send(t.Context(), name, out)
			for _, one := range sent {
				tell("sent to %s: id %d bytes, sequence %d bytes, duplicate %t, %v", name, len(one.ID),
					len(one.SequenceNumber), one.Duplicate, one.Err)
			}
			tell("send to %s: %v", name, err)
		}
		send("q", Outgoing{Body: "a"}, Outgoing{}, Outgoing{Body: "b"})
		send("q", Outgoing{})
		send("q")
		send("none", Outgoing{Body: "a"})
		send("q", Outgoing{Body: strings.Repeat("x", MaxBytes)}, Outgoing{Body: "y"})
		send("q.fifo", Outgoing{Body: "a", GroupID: "g"})
		send("q.fifo", Outgoing{Body: "a", GroupID: "g"})
		none, far := time.Duration(0), -time.Second
		var receipts []string
		for _, name := range []string{"q", "q.fifo", "none"} {
			for _, o := range []ReceiveOptions{{Max: 1}, {Max: 10, Visibility: &none}, {Max: 10}, {Max: 10}, {Max: 11},
				{Visibility: &far}} {
				o.Wait = &none
				got, err := calls.receive(t.Context(), name, o)
				for _, m := range got {
					tell("received %s for the %d. time from %s", m.Body, m.ReceiveCount, name)
					receipts = append(receipts, m.Receipt)
				}
				tell("receive from %s: %v", name, err)
			}
		}
		for _, handles := range [][]string{nil, receipts[:1], receipts, {"bad", receipts[0]}, make([]string, 11)} {
			for _, name := range []string{"q", "none"} {
				tell("delete from %s: %v", name, calls.remove(t.Context(), name, handles))
			}
		}
		wantCounts(t, s, "q", 0, 0, 0)
		text := strings.Join(told, "\n")
		for i, r := range receipts { // each service signs with a secret of its own
			text = strings.ReplaceAll(text, r, fmt.Sprint("receipt ", i))
		}
		outcomes = append(outcomes, text)
	})
	if outcomes[0] != outcomes[1] {
		t.Errorf("the service says\n%s\na batcher\n%s", outcomes[0], outcomes[1])
	}
}

// TestACourierHandsInTogether what it gathered, as one commit.
func TestACourierHandsInTogether(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, f, _ := held(t)
		commits := 0
		f.fail = func([]machine.Op) error { commits++; return nil }
		var sent []string
		k := s.NewBatcher(func() {})
		for _, body := range []string{"a", "b", "c"} {
			k.Send("q", []Outgoing{{Body: body}},
				func(_ []Sent, err error) { sent = append(sent, fmt.Sprint(body, err)) })
		}
		synctest.Wait()
		if commits != 0 || k.Gathered() != 3 {
			t.Errorf("%d commits with %d requests gathered, want 0 and 3", commits, k.Gathered())
		}
		k.Submit()
		synctest.Wait()
		if len(sent) > 0 {
			t.Errorf("answered %v before it was asked to deliver", sent)
		}
		k.Deliver()
		if want := []string{"a<nil>", "b<nil>", "c<nil>"}; commits != 1 || !slices.Equal(sent, want) {
			t.Errorf("%d commits, answered %v; want 1 and %v", commits, sent, want)
		}
	})
}

// TestABatcherCommitsItself checks that a batcher commits a single request itself when it has been the only caller for
// a while, so that the only client waits for no other goroutine.
func TestABatcherCommitsItself(t *testing.T) {
	type scene struct {
		s      *Service
		commit func() // what the store does meanwhile
		submit func(messages int)
	}
	for name, row := range map[string]struct {
		before func(t *testing.T, c *scene)
		itself bool
	}{
		"the first":          {func(*testing.T, *scene) {}, false},
		"after enough alone": {func(_ *testing.T, c *scene) { alone(c.submit, writer.SoloAfter) }, true},
		"after one too few":  {func(_ *testing.T, c *scene) { alone(c.submit, writer.SoloAfter-1) }, false},
		"after some together": {func(_ *testing.T, c *scene) {
			alone(c.submit, writer.SoloAfter)
			c.submit(2)
		}, false},
		"alone again": {func(_ *testing.T, c *scene) {
			alone(c.submit, writer.SoloAfter)
			c.submit(2)
			alone(c.submit, writer.SoloAfter)
		}, true},
		"on a slow disk": {func(_ *testing.T, c *scene) {
			c.commit = func() { time.Sleep((writer.FastCommit + 1) * time.Millisecond) }
			alone(c.submit, 2*writer.SoloAfter)
		}, false},
		"while another is committed": {func(t *testing.T, c *scene) {
			alone(c.submit, writer.SoloAfter)
			gate, once := make(chan struct{}), sync.Once{}
			c.commit = func() { once.Do(func() { <-gate }) }
			go c.s.Send(t.Context(), "q", []Outgoing{{Body: "other"}})
			synctest.Wait()
			t.Cleanup(func() { close(gate) })
		}, false},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s, f, _ := held(t)
				s.writer.SoloGroups.Store(0) // creating the queue was a group, too
				c := &scene{s: s, commit: func() {}}
				itself, answered := false, 0
				f.fail = func([]machine.Op) error {
					itself = strings.Contains(string(debug.Stack()), "commitNow")
					c.commit()
					return nil
				}
				k := s.NewBatcher(func() {})
				c.submit = func(messages int) {
					for range messages {
						k.Send("q", []Outgoing{{Body: "a"}}, func(_ []Sent, err error) {
							if err != nil {
								t.Error(err)
							}
							answered++
						})
					}
					k.Submit()
					time.Sleep(time.Second) // virtual: the commit has ended, unless it is held
					k.Deliver()
				}
				row.before(t, c)
				was := answered
				c.submit(1)
				if itself != row.itself {
					t.Errorf("committed by the batcher itself: %t, want %t", itself, row.itself)
				}
				if held := name == "while another is committed"; !held && answered != was+1 {
					t.Errorf("%d answers, want one", answered-was)
				}
			})
		})
	}
}

// alone hands in one request after the other.
func alone(submit func(int), n int) {
	for range n {
		submit(1)
	}
}

// TestALoneCourierOfAClosedServiceIsAnswered too, and commits nothing.
func TestALoneCourierOfAClosedServiceIsAnswered(t *testing.T) {
	s := open(t, Options{Ephemeral: true})
	mustCreate(t, s, "q", nil)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s.writer.SoloGroups.Store(writer.SoloAfter)
	var got error
	k := s.NewBatcher(func() {})
	k.Send("q", []Outgoing{{Body: "a"}}, func(_ []Sent, err error) { got = err })
	k.Submit()
	k.Deliver()
	if !errors.Is(got, ErrClosed) {
		t.Errorf("answered %v, want %v", got, ErrClosed)
	}
}

// TestACourierOfAClosedServiceIsAnswered whether its requests were handed in
// before or after the end.
func TestACourierOfAClosedServiceIsAnswered(t *testing.T) {
	for name, order := range map[string]func(s *Service, k *Batcher) error{
		"handed in before": func(s *Service, k *Batcher) error { k.Submit(); return s.Close() },
		"handed in after":  func(s *Service, k *Batcher) error { err := s.Close(); k.Submit(); return err },
		"handed in when the writer has ended": func(s *Service, k *Batcher) error {
			err := s.Close()
			s.writer.Closing = make(chan struct{}) // as if it were closed between the look and the hand-over
			k.Submit()
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := open(t, Options{Ephemeral: true})
			mustCreate(t, s, "q", nil)
			rung := make(chan struct{}, 10)
			k := s.NewBatcher(func() { rung <- struct{}{} })
			var errs []error
			k.Send("q", []Outgoing{{Body: "a"}}, func(_ []Sent, err error) { errs = append(errs, err) })
			k.Delete("q", []string{s.receipts.make(machine.Delivery{Seq: 1, Queue: 1})},
				func(e []error) { errs = append(errs, e...) })
			if err := order(s, k); err != nil {
				t.Fatal(err)
			}
			<-rung
			k.Deliver()
			if len(errs) != 2 {
				t.Fatalf("%d answers, want 2", len(errs))
			}
			for _, err := range errs {
				if before := name == "handed in before"; err != nil && !errors.Is(err, ErrClosed) || err == nil &&
					!before {
					t.Errorf("answered %v", err)
				}
			}
			k.Receive("q", ReceiveOptions{}, func(_ []Message, err error) {
				if name != "handed in when the writer has ended" && !errors.Is(err, ErrClosed) {
					t.Errorf("a receive afterwards: %v, want %v", err, ErrClosed)
				}
			})
		})
	}
}

// TestACourierReadsFromTheDisk what is not in memory.
func TestACourierReadsFromTheDisk(t *testing.T) {
	s := open(t, Options{Dir: t.TempDir(), MemoryBytes: 1})
	mustCreate(t, s, "q", nil)
	mustSend(t, s, "q", "a")
	e := newErrands(s)
	defer e.end()
	got, err := e.service().receive(t.Context(), "q", ReceiveOptions{})
	if err != nil || len(got) != 1 || got[0].Body != "a" {
		t.Errorf("received %v, %v; want a", got, err)
	}
}
