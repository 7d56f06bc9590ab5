package queue

import (
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/muster-scale/muster/queue/internal/machine"
	"github.com/muster-scale/muster/queue/internal/rules"
	"github.com/muster-scale/muster/queue/internal/storage"
)

const toDead = `{"deadLetterTargetArn":"arn:aws:sqs:r:0:dead","maxReceiveCount":1}`

// letters makes dead letters: n of each source, which it creates.
func letters(t *testing.T, s *Service, n int, sources ...string) {
	t.Helper()
	mustCreate(t, s, "dead", nil)
	for _, source := range sources {
		mustCreate(t, s, source, map[string]string{"RedrivePolicy": toDead, "VisibilityTimeout": "0"})
		for i := range n {
			mustSend(t, s, source, fmt.Sprint(source, " ", i))
		}
		for range 4 + n/5 {
			take(t, s, source)
		}
		wantCounts(t, s, source, 0, 0, 0)
	}
	wantCounts(t, s, "dead", n*len(sources), 0, 0)
}

func mustMove(t *testing.T, s *Service, destination string, rate int) string {
	t.Helper()
	id, err := s.StartMove(t.Context(), "dead", destination, rate)
	if err != nil {
		t.Fatal(err)
	}
	return id
}

// wantMove checks the newest move out of dead.
func wantMove(t *testing.T, s *Service, status machine.MoveStatus, moved, toMove int, failure string) {
	t.Helper()
	all, err := s.Moves("dead")
	if err != nil || len(all) == 0 {
		t.Fatalf("moves %+v, %v", all, err)
	}
	if m := all[0]; m.Status != status || m.Moved != moved || m.ToMove != toMove || m.Failure != failure {
		t.Fatalf("move %+v, want %s, %d of %d, failure %q", m, status, moved, toMove, failure)
	}
}

func TestDeadLettersGoBackToWhereTheyCameFrom(t *testing.T) {
	inTime(t, func(t *testing.T, s *Service) {
		letters(t, s, 2, "a", "b")
		later(t, time.Hour)
		mustMove(t, s, "", 0)
		later(t, time.Second)
		wantMove(t, s, machine.MoveCompleted, 4, 4, "")
		wantCounts(t, s, "dead", 0, 0, 0)
		wantCounts(t, s, "b", 2, 0, 0)
		got, err := s.Receive(t.Context(), "a", ReceiveOptions{Max: 10})
		if err != nil || len(got) != 2 {
			t.Fatalf("received %+v, %v", got, err)
		}
		if m := got[0]; m.Body != "a 0" || m.ReceiveCount != 1 || m.Source != "" || time.Since(m.Sent) > 2*time.Second {
			t.Errorf("came back as %+v, want a message as if sent now", m)
		}
	})
}

func TestAMoveKeepsToItsRate(t *testing.T) {
	inTime(t, func(t *testing.T, s *Service) {
		letters(t, s, 60, "a")
		mustCreate(t, s, "elsewhere", nil)
		mustMove(t, s, "elsewhere", 20)
		if _, err := s.StartMove(t.Context(), "dead", "elsewhere", 0); !errors.Is(err, ErrInvalidParameter) {
			t.Errorf("a second move at the same time: %v", err)
		}
		later(t, 1050*time.Millisecond)
		wantMove(t, s, machine.MoveRunning, 22, 60, "")
		later(t, 2*time.Second)
		wantMove(t, s, machine.MoveCompleted, 60, 60, "")
		wantCounts(t, s, "elsewhere", 60, 0, 0)
	})
}

func TestAMoveFailsCleanlyWhen(t *testing.T) {
	for _, row := range []struct {
		name, destination string
		arrange           func(*testing.T, *Service)
		moved             int
		failure           string
	}{
		{"a message was sent to the dead-letter queue directly", "",
			func(t *testing.T, s *Service) { mustSend(t, s, "dead", "direct") }, 2, "CouldNotDetermineMessageSource"},
		{"the source of a message was deleted", "", func(t *testing.T, s *Service) {
			if err := s.DeleteQueue(t.Context(), "a"); err != nil {
				t.Fatal(err)
			}
		}, 0, "AWS.SimpleQueueService.NonExistentQueue"},
	} {
		t.Run(row.name, func(t *testing.T) {
			inTime(t, func(t *testing.T, s *Service) {
				letters(t, s, 2, "a")
				mustCreate(t, s, "another", map[string]string{"RedrivePolicy": toDead})
				row.arrange(t, s)
				n, err := s.Counts("dead")
				if err != nil {
					t.Fatal(err)
				}
				mustMove(t, s, row.destination, 0)
				later(t, time.Second)
				wantMove(t, s, machine.MoveFailed, row.moved, n.Visible, row.failure)
				wantCounts(t, s, "dead", n.Visible-row.moved, 0, 0)
			})
		})
	}
}

func TestAMoveThatIsCancelledStopsWhereItIs(t *testing.T) {
	inTime(t, func(t *testing.T, s *Service) {
		letters(t, s, 20, "a")
		id := mustMove(t, s, "", 10)
		later(t, 550*time.Millisecond)
		if moved, err := s.CancelMove(t.Context(), id); moved != 6 || err != nil {
			t.Errorf("cancelled after %d, %v", moved, err)
		}
		later(t, 5*time.Second)
		wantMove(t, s, machine.MoveCancelled, 6, 20, "")
		wantCounts(t, s, "dead", 14, 0, 0)
		if _, err := s.CancelMove(t.Context(), id); !errors.Is(err, ErrUnsupported) {
			t.Errorf("cancelled again: %v", err)
		}
		for _, unknown := range []string{"", "x", "17"} {
			if _, err := s.CancelMove(t.Context(), unknown); !errors.Is(err, ErrNotFound) {
				t.Errorf("cancel of %q: %v", unknown, err)
			}
		}
		mustMove(t, s, "", 0) // another may start now
	})
}

func TestWhatMayBeMovedWhere(t *testing.T) {
	s := ephemeral(t)
	mustCreate(t, s, "dead", nil)
	mustCreate(t, s, "q", map[string]string{"RedrivePolicy": toDead})
	mustCreateFIFO(t, s, "q.fifo", nil)
	for _, row := range []struct {
		name, source, destination string
		rate                      int
		want                      error
	}{
		{"a source that does not exist", "none", "", 0, ErrNotFound},
		{"a destination that does not exist", "dead", "none", 0, ErrNotFound},
		{"a source that is no dead-letter queue", "q", "", 0, ErrInvalidParameter},
		{"to itself", "dead", "dead", 0, ErrInvalidParameter},
		{"from a standard to a FIFO queue", "dead", "q.fifo", 0, ErrInvalidParameter},
		{"a rate over the limit", "dead", "", 501, ErrInvalidParameter},
		{"a negative rate", "dead", "", -1, ErrInvalidParameter},
		{"an empty dead-letter queue", "dead", "q", 500, nil},
	} {
		t.Run(row.name, func(t *testing.T) {
			if _, err := s.StartMove(t.Context(), row.source, row.destination, row.rate); !errors.Is(err, row.want) ||
				(err == nil) != (row.want == nil) {
				t.Errorf("error %v, want %v", err, row.want)
			}
		})
	}
	if _, err := s.Moves("none"); !errors.Is(err, ErrNotFound) {
		t.Errorf("moves of no queue: %v", err)
	}
}

func TestTheTenLastMovesAreKept(t *testing.T) {
	inTime(t, func(t *testing.T, s *Service) {
		letters(t, s, 1, "a")
		var last string
		for range 13 {
			last = mustMove(t, s, "", 0)
			later(t, time.Second)
		}
		all, err := s.Moves("dead")
		if err != nil || len(all) != 10 || all[0].ID != last || !all[0].Started.After(all[9].Started) {
			t.Errorf("kept %+v, %v", all, err)
		}
	})
}

// TestAMoveGoesOnAfterARestart also holds that what was moved and what is
// counted agree, since both are written together.
func TestAMoveGoesOnAfterARestart(t *testing.T) {
	dir := t.TempDir()
	s := open(t, Options{Dir: dir})
	letters(t, s, 30, "a")
	mustMove(t, s, "a", 1)
	c := crash(t, dir)
	all, err := c.Moves("dead")
	if err != nil || len(all) != 1 || all[0].Status != machine.MoveRunning || all[0].ToMove != 30 ||
		all[0].Destination != "a" || all[0].PerSecond != 1 {
		t.Fatalf("after the crash: %+v, %v", all, err)
	}
	n, err := c.Counts("a")
	if err != nil || n.Visible != all[0].Moved {
		t.Errorf("%d moved, %d arrived, %v", all[0].Moved, n.Visible, err)
	}
	if _, err := c.CancelMove(t.Context(), all[0].ID); err != nil {
		t.Error(err)
	}
}

func TestRedriveMovesAtOnce(t *testing.T) {
	s := ephemeral(t)
	letters(t, s, 150, "a")
	mustSend(t, s, "dead", "direct")
	if moved, err := s.Redrive(t.Context(), "dead", "", 120); moved != 120 || err != nil {
		t.Errorf("moved %d, %v, want 120", moved, err)
	}
	wantCounts(t, s, "a", 120, 0, 0)
	if moved, err := s.Redrive(t.Context(), "dead", "", 1000); moved != 30 || !errors.Is(err, ErrNotFound) {
		t.Errorf("moved %d, %v, want 30 and an error for the one without a source", moved, err)
	}
	if moved, err := s.Redrive(t.Context(), "dead", "a", 1000); moved != 1 || err != nil {
		t.Errorf("moved %d, %v, want the last to the queue that is named", moved, err)
	}
	if moved, err := s.Redrive(t.Context(), "dead", "none", 1000); moved != 0 || !errors.Is(err, ErrNotFound) {
		t.Errorf("moved %d, %v", moved, err)
	}
	wantCounts(t, s, "dead", 0, 0, 0)
}

func TestAFIFOQueueIsRedrivenInOrder(t *testing.T) {
	inTime(t, func(t *testing.T, s *Service) {
		mustCreateFIFO(t, s, "dead.fifo", nil)
		mustCreateFIFO(t, s, "q.fifo",
			map[string]string{"VisibilityTimeout": "1",
				"RedrivePolicy": `{"deadLetterTargetArn":"arn:aws:sqs:r:0:dead.fifo","maxReceiveCount":1}`})
		sendGroups(t, s, "q.fifo", "a-1", "a-2", "b-1", "a-3")
		take(t, s, "q.fifo")
		later(t, time.Second)
		want(t, s, "q.fifo", 10, "")
		if moved, err := s.Redrive(t.Context(), "dead.fifo", "", 10); moved != 4 || err != nil {
			t.Fatalf("moved %d, %v", moved, err)
		}
		got := take(t, s, "q.fifo")
		var a string
		for _, m := range got {
			if m.GroupID == "a" {
				a += m.Body + " "
			}
		}
		if len(got) != 4 || a != "a-1 a-2 a-3 " {
			t.Errorf("came back as %q of %d", a, len(got))
		}
	})
}

// TestAMoveOutOfADeletedQueueIsForgotten holds that nothing of it stays in the store.
func TestAMoveOutOfADeletedQueueIsForgotten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &faulty{MemoryStore: storage.NewMemoryStore(1<<30, []byte("secret"))}
		s := startFaulty(t, f)
		defer s.Close()
		letters(t, s, 20, "a")
		mustMove(t, s, "", 1)
		if err := s.DeleteQueue(t.Context(), "dead"); err != nil {
			t.Fatal(err)
		}
		later(t, time.Minute)
		f.Mu.Lock()
		defer f.Mu.Unlock()
		if len(f.Moves) != 0 {
			t.Errorf("the store holds %v", f.Moves)
		}
	})
}

func TestAMoveLeavesWhatArrivedAfterItsStart(t *testing.T) {
	inTime(t, func(t *testing.T, s *Service) {
		letters(t, s, 3, "a")
		mustCreate(t, s, "elsewhere", nil)
		mustMove(t, s, "elsewhere", 20) // two in a step
		mustSend(t, s, "dead", "late", "later")
		later(t, time.Second)
		wantMove(t, s, machine.MoveCompleted, 3, 3, "")
		wantCounts(t, s, "dead", 2, 0, 0)
	})
}

func TestADeletedQueueMovesNothing(t *testing.T) {
	st := machine.NewState(1)
	set, err := rules.ParseSettings(nil)
	if err != nil {
		t.Fatal(err)
	}
	q := st.Put(&machine.QueueRow{Name: "dead"}, set)
	st.StartMove(q, 1, "", 0)
	st.Drop(q)
	before := len(st.Ops)
	st.StepMove(q, 2)
	if len(st.Ops) != before {
		t.Errorf("wrote %+v", st.Ops[before:])
	}
}
