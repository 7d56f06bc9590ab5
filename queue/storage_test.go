package queue

import (
	"errors"
	"log/slog"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/muster-scale/muster/queue/internal/machine"
	"github.com/muster-scale/muster/queue/internal/storage"
	"github.com/muster-scale/muster/queue/internal/writer"
)

// faulty is a store whose commits can be made to fail.
type faulty struct {
	*storage.MemoryStore
	fail  func([]machine.Op) error
	calls int
}

func (f *faulty) Commit(ops []machine.Op) error {
	f.calls++
	if f.fail != nil {
		if err := f.fail(ops); err != nil {
			return err
		}
	}
	return f.MemoryStore.Commit(ops)
}

func startFaulty(t *testing.T, f *faulty) *Service {
	t.Helper()
	s, err := start(f, f, nil, defaultCacheBytes, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestAfterAFailedCommitNothingIsAcknowledged(t *testing.T) {
	f := &faulty{MemoryStore: storage.NewMemoryStore(1<<30, []byte("secret"))}
	s := startFaulty(t, f)
	defer s.Close()
	mustCreate(t, s, "q", nil)
	mustSend(t, s, "q", "kept")
	m := takeOne(t, s, "q")
	disk := errors.New("input/output error")
	f.fail = func([]machine.Op) error { return disk }
	if _, err := s.Send(t.Context(), "q", []Outgoing{{Body: "lost"}}); !errors.Is(err, ErrStorage) ||
		!errors.Is(err, disk) {
		t.Errorf("send on a broken disk: %v", err)
	}
	f.fail = nil // even if the disk seems well again
	calls := f.calls
	if _, err := s.Send(t.Context(), "q", []Outgoing{{Body: "lost"}}); !errors.Is(err, ErrStorage) {
		t.Errorf("later send: %v", err)
	}
	if err := s.Delete(t.Context(), "q", []string{m.Receipt})[0]; !errors.Is(err, ErrStorage) {
		t.Errorf("later delete: %v", err)
	}
	if _, err := s.Receive(t.Context(), "q", ReceiveOptions{}); !errors.Is(err, ErrStorage) {
		t.Errorf("later receive: %v", err)
	}
	if f.calls != calls {
		t.Errorf("%d commits after the failed one", f.calls-calls)
	}
	if c, err := s.Counts("q"); err != nil || c.Visible+c.InFlight != 1 {
		t.Errorf("counts %+v, %v; want the one acknowledged message", c, err)
	}
}

func TestAFullStoreRefusesSendsAndTakesDeletes(t *testing.T) {
	s := open(t, Options{Ephemeral: true, MemoryBytes: 4 * (machine.RecordOverhead + 100)})
	mustCreate(t, s, "q", nil)
	body := string(make100())
	mustSend(t, s, "q", body, body, body, body)
	if _, err := s.Send(t.Context(), "q", []Outgoing{{Body: body}}); !errors.Is(err, ErrStorageFull) {
		t.Fatalf("send to a full store: %v", err)
	}
	wantCounts(t, s, "q", 4, 0, 0)
	got := take(t, s, "q")
	mustDelete(t, s, "q", got[0].Receipt)
	mustSend(t, s, "q", body)
	wantCounts(t, s, "q", 1, 3, 0)
}

func make100() []byte {
	b := make([]byte, 100)
	for i := range b {
		b[i] = 'x'
	}
	return b
}

func TestAFirstReceiveIsWrittenWithinTwentyMilliseconds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &faulty{MemoryStore: storage.NewMemoryStore(1<<30, []byte("secret"))}
		s := startFaulty(t, f)
		defer s.Close()
		written := func() (counts []uint32) {
			f.Mu.Lock()
			defer f.Mu.Unlock()
			for _, m := range f.Messages {
				counts = append(counts, m.Count)
			}
			return counts
		}
		mustCreate(t, s, "q", nil)
		mustSend(t, s, "q", "kept", "deleted at once")
		calls := f.calls
		got := take(t, s, "q")
		if f.calls != calls {
			t.Errorf("a first receive waited for %d commits", f.calls-calls)
		}
		mustDelete(t, s, "q", got[1].Receipt)
		if n := written(); len(n) != 1 || n[0] != 0 {
			t.Errorf("receive counts in the store %v, want one 0", n)
		}
		later(t, 20*time.Millisecond)
		if n := written(); len(n) != 1 || n[0] != 1 {
			t.Errorf("receive counts in the store after 20 ms %v, want one 1", n)
		}
		if f.calls != calls+2 {
			t.Errorf("%d commits, want one for the delete and one for the receive", f.calls-calls)
		}
	})
}

func TestPurgedMessagesLeaveTheStoreInTheBackground(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := storage.NewMemoryStore(1<<30, []byte("secret"))
		s, err := start(m, m, nil, 0, slog.New(slog.DiscardHandler))
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		mustCreate(t, s, "q", nil)
		for range 250 {
			if _, err := s.Send(t.Context(), "q", slices.Repeat([]Outgoing{{Body: "x"}}, MaxBatch)); err != nil {
				t.Fatal(err)
			}
		}
		if err := s.Purge(t.Context(), "q"); err != nil {
			t.Fatal(err)
		}
		wantCounts(t, s, "q", 0, 0, 0)
		later(t, 3*writer.FlushAfter*time.Millisecond)
		m.Mu.Lock()
		defer m.Mu.Unlock()
		if len(m.Messages) != 0 || m.Used != 0 {
			t.Errorf("the store still holds %d messages, %d bytes", len(m.Messages), m.Used)
		}
	})
}

func TestALockedFileRefusesOneCallOnly(t *testing.T) {
	f := &faulty{MemoryStore: storage.NewMemoryStore(1<<30, []byte("secret"))}
	s := startFaulty(t, f)
	defer s.Close()
	mustCreate(t, s, "q", nil)
	f.fail = func([]machine.Op) error { return ErrStorageBusy }
	if _, err := s.Send(t.Context(), "q", []Outgoing{{Body: "a"}}); !errors.Is(err, ErrStorageBusy) {
		t.Errorf("send while the file is locked: %v", err)
	}
	f.fail = nil
	wantCounts(t, s, "q", 0, 0, 0)
	mustSend(t, s, "q", "a")
	wantCounts(t, s, "q", 1, 0, 0)
}

// together holds the writer in a commit while ask queues requests, so that
// they are served as one group; then it lets go.
func together(t *testing.T, s *Service, f *faulty, ask ...func()) {
	t.Helper()
	held, release := make(chan struct{}), make(chan struct{})
	after := f.fail
	f.fail = func([]machine.Op) error {
		f.fail = after
		close(held)
		<-release
		return nil
	}
	var wg sync.WaitGroup
	wg.Go(func() {
		if err := s.CreateQueue(t.Context(), "unrelated", nil, nil); err != nil {
			t.Error(err)
		}
	})
	<-held
	for _, request := range ask {
		wg.Go(request)
		synctest.Wait() // it is in the channel: the order is certain
	}
	close(release)
	wg.Wait()
}

func TestOnAFullDiskTheDeletesOfAGroupSucceed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &faulty{MemoryStore: storage.NewMemoryStore(1<<30, []byte("secret"))}
		s := startFaulty(t, f)
		defer s.Close()
		mustCreate(t, s, "q", nil)
		mustSend(t, s, "q", "a", "b")
		got := take(t, s, "q")
		f.fail = func(ops []machine.Op) error {
			if slices.ContainsFunc(ops, func(o machine.Op) bool { return o.Kind == machine.OpInsert }) {
				return ErrStorageFull
			}
			return nil
		}
		var sendErr, deleteErr, changeErr error
		together(t, s, f,
			func() { _, sendErr = s.Send(t.Context(), "q", []Outgoing{{Body: "c"}}) },
			func() { deleteErr = s.Delete(t.Context(), "q", []string{got[0].Receipt})[0] },
			func() { changeErr = change(t, s, "q", got[1].Receipt, 0) })
		if !errors.Is(sendErr, ErrStorageFull) || deleteErr != nil || changeErr != nil {
			t.Errorf("send %v, delete %v, change %v", sendErr, deleteErr, changeErr)
		}
		wantCounts(t, s, "q", 1, 0, 0)
		f.fail = nil
		mustSend(t, s, "q", "c")
		if n, err := s.Counts("q"); err != nil || n.Sent != 3 || n.Deleted != 1 {
			t.Errorf("counts %+v, %v", n, err)
		}
	})
}

func TestAReceiveDoesNotOvertakeThoseThatWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &faulty{MemoryStore: storage.NewMemoryStore(1<<30, []byte("secret"))}
		s := startFaulty(t, f)
		defer s.Close()
		mustCreate(t, s, "q", nil)
		waited := make(chan int, 1)
		go func() {
			wait := MaxWait
			got, err := s.Receive(t.Context(), "q", ReceiveOptions{Wait: &wait})
			if err != nil {
				t.Error(err)
			}
			waited <- len(got)
		}()
		synctest.Wait()
		var late []Message
		together(t, s, f,
			func() { mustSend(t, s, "q", "a") },
			func() { late = take(t, s, "q") })
		if n := <-waited; n != 1 || len(late) != 0 {
			t.Errorf("the one that waited got %d messages, the one that came later %d; want 1 and 0", n, len(late))
		}
	})
}
