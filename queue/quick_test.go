package queue

import (
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"github.com/muster-scale/muster/queue/internal/machine"
	"github.com/muster-scale/muster/queue/internal/storage"
	"github.com/muster-scale/muster/queue/internal/writer"
)

// held is a service whose commits wait until they are let go.
func held(t *testing.T) (s *Service, f *faulty, hold func() (let chan<- struct{})) {
	t.Helper()
	f = &faulty{MemoryStore: storage.NewMemoryStore(1<<30, []byte("secret"))}
	s = startFaulty(t, f)
	t.Cleanup(func() { s.Close() })
	mustCreate(t, s, "q", nil)
	return s, f, func() chan<- struct{} {
		gate := make(chan struct{})
		f.fail = func([]machine.Op) error { <-gate; return nil }
		return gate
	}
}

// receiving starts a receive; its bodies come out of the channel.
func receiving(t *testing.T, s *Service, most int) <-chan string {
	got := make(chan string, 1)
	go func() {
		messages, err := s.Receive(t.Context(), "q", ReceiveOptions{Max: most})
		if err != nil {
			t.Error(err)
		}
		text := ""
		for _, m := range messages {
			text += m.Body
		}
		got <- text
	}()
	synctest.Wait()
	return got
}

// TestAReceiveDoesNotWaitForACommit of something else, but never gives out
// what is not committed.
func TestAReceiveDoesNotWaitForACommit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, _, hold := held(t)
		mustSend(t, s, "q", "a")
		gate := hold()
		go func() {
			if _, err := s.Send(t.Context(), "q", []Outgoing{{Body: "b"}}); err != nil {
				t.Error(err)
			}
		}()
		synctest.Wait()
		select {
		case got := <-receiving(t, s, 1):
			if got != "a" {
				t.Errorf("received %q during a commit, want a alone", got)
			}
		default:
			t.Error("a receive waits for the commit of another message")
		}
		late := receiving(t, s, 1)
		select {
		case got := <-late:
			t.Errorf("received %q, which is not committed", got)
		default:
		}
		close(gate)
		if got := <-late; got != "b" {
			t.Errorf("received %q after the commit, want b", got)
		}
	})
}

// TestAReceiveOfSeveralPassesNothingOver that is visible: it waits for what is
// not committed yet, and keeps what it has if that fails.
func TestAReceiveOfSeveralPassesNothingOver(t *testing.T) {
	for outcome, want := range map[error]string{nil: "ab", ErrStorageBusy: "a", errors.New("input/output error"): "a"} {
		synctest.Test(t, func(t *testing.T) {
			s, f, _ := held(t)
			mustSend(t, s, "q", "a")
			gate := make(chan struct{})
			f.fail = func([]machine.Op) error { <-gate; return outcome }
			go s.Send(t.Context(), "q", []Outgoing{{Body: "b"}})
			synctest.Wait()
			got := receiving(t, s, 2)
			select {
			case early := <-got:
				t.Errorf("received %q during the commit of another", early)
			default:
			}
			close(gate)
			if text := <-got; text != want {
				t.Errorf("commit %v: received %q, want %q", outcome, text, want)
			}
			if n, err := s.Counts("q"); err != nil || int(n.Received) != len(want) || n.InFlight != len(want) {
				t.Errorf("commit %v: %+v, %v; want %d received", outcome, n, err, len(want))
			}
		})
	}
}

// TestAMessageReceivedWithoutTheWriter is written and becomes visible again as
// any other, whatever the writer does meanwhile.
func TestAMessageReceivedWithoutTheWriter(t *testing.T) {
	during := func(outcome error) func(*testing.T, *Service, *faulty) {
		return func(t *testing.T, s *Service, f *faulty) {
			gate := make(chan struct{})
			f.fail = func([]machine.Op) error { <-gate; return outcome }
			go s.Send(t.Context(), "q", []Outgoing{{Body: "b"}})
			synctest.Wait()
			if got := <-receiving(t, s, 1); got != "a" {
				t.Fatalf("received %q, want a", got)
			}
			f.fail = nil
			close(gate)
			synctest.Wait()
		}
	}
	for name, take := range map[string]func(*testing.T, *Service, *faulty){
		"during a commit that succeeds":  during(nil),
		"during a commit that is undone": during(ErrStorageBusy),
		"while nothing goes on": func(t *testing.T, s *Service, _ *faulty) {
			later(t, time.Minute)
			if got := <-receiving(t, s, 1); got != "a" {
				t.Fatalf("received %q, want a", got)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s, f, _ := held(t)
				mustSend(t, s, "q", "a")
				take(t, s, f)
				later(t, 2*writer.FlushAfter*time.Millisecond)
				f.Mu.Lock()
				var counts []uint32
				for _, r := range f.Messages {
					counts = append(counts, r.Count)
				}
				f.Mu.Unlock()
				if !slices.Contains(counts, 1) {
					t.Errorf("the store knows of no receive: counts %v", counts)
				}
				wake, cancel := s.Subscribe("q")
				defer cancel()
				begin := time.Now()
				<-wake
				if took := time.Since(begin); took > 30*time.Second || took < 29*time.Second {
					t.Errorf("visible again after %v, want nearly 30s", took)
				}
			})
		})
	}
}

// TestWhoWaitsIsServedBeforeWhoComesLater also if the writer is busy when the
// message becomes visible.
func TestWhoWaitsIsServedBeforeWhoComesLater(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, _, hold := held(t)
		delay, wait := time.Second, MaxWait
		if _, err := s.Send(t.Context(), "q", []Outgoing{{Body: "a", Delay: &delay}}); err != nil {
			t.Fatal(err)
		}
		first := make(chan int, 1)
		go func() {
			got, err := s.Receive(t.Context(), "q", ReceiveOptions{Wait: &wait})
			if err != nil {
				t.Error(err)
			}
			first <- len(got)
		}()
		synctest.Wait()
		gate := hold()
		go s.CreateQueue(t.Context(), "other", nil, nil)
		later(t, 2*delay)
		second := receiving(t, s, 1)
		close(gate)
		if a, b := <-first, <-second; a != 1 || b != "" {
			t.Errorf("who waited received %d messages, who came later %q", a, b)
		}
	})
}

// receiveStored mirrors what may be received while a group is committed: what
// comes first, up to the first that is not in the store, was received before,
// or is over its time.
func (w *world) receiveStored() []machine.Delivery {
	name := rapid.SampledFrom([]string{"work", "work", "dead"}).Draw(w.t, "queue")
	q, limit := w.st.Names[name], rapid.IntRange(1, 4).Draw(w.t, "limit")
	safe := w.st.Safe
	w.st.Expire(q, w.now)
	ops, images := len(w.st.Ops), len(w.st.Images)
	var want []machine.Delivery
	for _, m := range w.model.ready(name, w.now) {
		if len(want) == limit || m.count > 0 || m.seq > safe {
			break
		}
		want = append(want, machine.Delivery{Seq: m.seq, Queue: q.Saved.ID, Count: 1, Sent: m.sent, First: w.now})
	}
	got := w.st.ReceiveStored(q, w.now, modelTimeout, limit, nil)
	if !slices.Equal(got, want) {
		w.t.Fatalf("received %+v of what is stored, want %+v", got, want)
	}
	if len(w.st.Ops) != ops || len(w.st.Images) != images {
		w.t.Fatalf("a receive of what is stored left %d operations and %d images", len(w.st.Ops)-ops,
			len(w.st.Images)-images)
	}
	return got
}

// received tells the model of what was received.
func (w *world) received(got []machine.Delivery) {
	w.batch++
	for _, d := range got {
		m := w.model.find(w.st.IDs[d.Queue].Saved.Name, d.Seq)
		m.count, m.first, m.received, m.visible, m.batch = 1, w.now, w.now, w.now+modelTimeout, w.batch
	}
	w.handles = append(w.handles, got...)
}
