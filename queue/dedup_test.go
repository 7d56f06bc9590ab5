package queue

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/muster-scale/muster/queue/internal/machine"
	"github.com/muster-scale/muster/queue/internal/storage"
)

func TestTheSameMessageIsStoredOnceInFiveMinutes(t *testing.T) {
	inTime(t, func(t *testing.T, s *Service) {
		mustCreateFIFO(t, s, "q.fifo", nil)
		first := sendOne(t, s, "q.fifo", Outgoing{Body: "hello", GroupID: "g"})
		m := takeOne(t, s, "q.fifo")
		if m.DeduplicationID != "2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824" {
			t.Errorf("deduplication id %q, want the SHA-256 of the body", m.DeduplicationID)
		}
		if m.SequenceNumber != first.SequenceNumber || !regexp.MustCompile(`^\d{20}$`).MatchString(m.SequenceNumber) {
			t.Errorf("sequence numbers %q and %q, want the same 20 digits", first.SequenceNumber, m.SequenceNumber)
		}
		mustDelete(t, s, "q.fifo", m.Receipt)
		later(t, 5*time.Minute-time.Millisecond)
		if again := sendOne(t, s, "q.fifo", Outgoing{Body: "hello", GroupID: "other"}); !again.Duplicate ||
			again.ID != first.ID || again.SequenceNumber != first.SequenceNumber {
			t.Errorf("within five minutes, after the delete: %+v, want the first %+v", again, first)
		}
		wantCounts(t, s, "q.fifo", 0, 0, 0)
		later(t, time.Millisecond)
		last := sendOne(t, s, "q.fifo", Outgoing{Body: "hello", GroupID: "g"})
		if last.Duplicate || last.ID == first.ID || last.SequenceNumber <= first.SequenceNumber {
			t.Errorf("after five minutes: %+v, want a new message", last)
		}
		wantCounts(t, s, "q.fifo", 1, 0, 0)
	})
}

func TestWhichMessagesAreTheSame(t *testing.T) {
	for _, row := range []struct {
		name       string
		attributes map[string]string
		a, b       Outgoing
		same       bool
	}{
		{"equal ids, other bodies", nil, Outgoing{Body: "1", GroupID: "g", DeduplicationID: "d"},
			Outgoing{Body: "2", GroupID: "g", DeduplicationID: "d"}, true},
		{"other ids, equal bodies", nil, Outgoing{Body: "1", GroupID: "g", DeduplicationID: "d"},
			Outgoing{Body: "1", GroupID: "g", DeduplicationID: "e"}, false},
		{"an id that is the hash of the other's body", nil, Outgoing{Body: "hello", GroupID: "g"},
			Outgoing{Body: "2", GroupID: "g",
				DeduplicationID: "2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824"}, true},
		{"equal bodies, other attributes", nil, Outgoing{Body: "1", GroupID: "g"},
			Outgoing{Body: "1", GroupID: "g", Attributes: map[string]Attribute{"a": {"String", []byte("v")}}}, true},
		{"equal ids in two groups, scope queue", nil, Outgoing{Body: "1", GroupID: "g"},
			Outgoing{Body: "1", GroupID: "h"}, true},
		{"equal ids in two groups, scope group", map[string]string{"DeduplicationScope": "messageGroup"},
			Outgoing{Body: "1", GroupID: "g"}, Outgoing{Body: "1", GroupID: "h"}, false},
		{"equal ids in one group, scope group", map[string]string{"DeduplicationScope": "messageGroup"},
			Outgoing{Body: "1", GroupID: "g"}, Outgoing{Body: "1", GroupID: "g"}, true},
	} {
		t.Run(row.name, func(t *testing.T) {
			s := ephemeral(t)
			mustCreateFIFO(t, s, "q.fifo", row.attributes)
			sent, err := s.Send(t.Context(), "q.fifo", []Outgoing{row.a, row.b}) // even in one batch
			if err != nil || sent[0].Err != nil || sent[1].Err != nil {
				t.Fatalf("%+v, %v", sent, err)
			}
			if sent[1].Duplicate != row.same || (sent[0].ID == sent[1].ID) != row.same {
				t.Errorf("sent %+v", sent)
			}
			if n, err := s.Counts("q.fifo"); err != nil || (n.Visible == 1) != row.same || (n.Sent == 1) != row.same {
				t.Errorf("counts %+v, %v", n, err)
			}
		})
	}
}

func TestFIFOMessagesAreCheckedBeforeTheyAreStored(t *testing.T) {
	s := ephemeral(t)
	mustCreate(t, s, "q.fifo", map[string]string{"FifoQueue": "true", "DelaySeconds": "3"})
	zero, two := time.Duration(0), 2*time.Second
	for _, row := range []struct {
		name string
		m    Outgoing
		want error
		text string
	}{
		{"no group", Outgoing{Body: "x", DeduplicationID: "1"}, ErrMissingParameter, "The request must contain the " +
			"parameter MessageGroupId."},
		{"no deduplication id", Outgoing{Body: "x", GroupID: "g"}, ErrInvalidParameter, "The queue should either " +
			"have ContentBasedDeduplication enabled or MessageDeduplicationId provided explicitly"},
		{"a delay", Outgoing{Body: "x", GroupID: "g", DeduplicationID: "2", Delay: &two}, ErrInvalidParameter,
			"Value 2 for parameter DelaySeconds is invalid. Reason: The request include parameter that is not valid " +
				"for this queue type."},
		{"a delay of zero", Outgoing{Body: "x", GroupID: "g", DeduplicationID: "3", Delay: &zero}, nil, ""},
		{"a deduplication id with a space", Outgoing{Body: "x", GroupID: "g", DeduplicationID: "a b"},
			ErrInvalidParameter, ""},
		{"a deduplication id that is too long",
			Outgoing{Body: "x", GroupID: "g", DeduplicationID: strings.Repeat("d", 129)}, ErrInvalidParameter, ""},
	} {
		t.Run(row.name, func(t *testing.T) {
			sent, err := s.Send(t.Context(), "q.fifo", []Outgoing{row.m})
			if err == nil {
				err = sent[0].Err
			}
			if !errors.Is(err, row.want) || row.text != "" && err.Error() != row.text {
				t.Errorf("%v %v, want %v %q", sent, err, row.want, row.text)
			}
		})
	}
	wantCounts(t, s, "q.fifo", 0, 0, 1) // the queue's delay applies
	pair := []Outgoing{{Body: "x", GroupID: "g", DeduplicationID: "4"}, {Body: "y", GroupID: "g"}}
	if sent, err := s.Send(t.Context(), "q.fifo", pair); !errors.Is(err, ErrInvalidParameter) || sent != nil {
		t.Errorf("two messages, one without an id: %v %v, want that both are refused", sent, err)
	}
	wantCounts(t, s, "q.fifo", 0, 0, 1)
}

func TestForgottenDeduplicationLeavesTheStore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &faulty{MemoryStore: storage.NewMemoryStore(1<<30, []byte("secret"))}
		s := startFaulty(t, f)
		defer s.Close()
		mustCreateFIFO(t, s, "q.fifo", nil)
		for i := range 50 {
			sendGroups(t, s, "q.fifo", fmt.Sprint("a-", i))
		}
		for got := take(t, s, "q.fifo"); len(got) > 0; got = take(t, s, "q.fifo") {
			for _, m := range got {
				mustDelete(t, s, "q.fifo", m.Receipt)
			}
		}
		later(t, 5*time.Minute+machine.WindowSlack*time.Millisecond+time.Second)
		f.Mu.Lock()
		defer f.Mu.Unlock()
		if len(f.Dedup) != 0 || f.Used != 0 {
			t.Errorf("the store still holds %d rows, %d bytes", len(f.Dedup), f.Used)
		}
	})
}

func TestAFailedSendIsNotRemembered(t *testing.T) {
	f := &faulty{MemoryStore: storage.NewMemoryStore(1<<30, []byte("secret"))}
	s := startFaulty(t, f)
	defer s.Close()
	mustCreateFIFO(t, s, "q.fifo", nil)
	f.fail = func([]machine.Op) error { return ErrStorageBusy }
	if _, err := s.Send(t.Context(), "q.fifo", []Outgoing{{Body: "a", GroupID: "g"}}); !errors.Is(err, ErrStorageBusy) {
		t.Fatal(err)
	}
	f.fail = nil
	if sent := sendOne(t, s, "q.fifo", Outgoing{Body: "a", GroupID: "g"}); sent.Duplicate {
		t.Error("a message that was never stored counts as sent")
	}
	wantCounts(t, s, "q.fifo", 1, 0, 0)
}

// TestForgettingSparesWhatWasSentAnew holds for both stores: the row of an id
// that was used again outlives the removal of the former one.
func TestForgettingSparesWhatWasSentAnew(t *testing.T) {
	for name, s := range map[string]machine.Store{"memory": storage.NewMemoryStore(1<<20, []byte("secret")),
		"SQLite": mustSQLite(t, t.TempDir())} {
		sent := func(seq uint64) *machine.DedupRow {
			return &machine.DedupRow{Queue: 1, Key: "k", Seq: seq, Expires: int64(seq)}
		}
		for _, ops := range [][]machine.Op{{{Kind: machine.OpPutDedup, Dedup: sent(1)}},
			{{Kind: machine.OpPutDedup, Dedup: sent(2)}}, {{Kind: machine.OpDropDedup, Dedup: sent(1)}}} {
			if err := s.Commit(ops); err != nil {
				t.Fatal(err)
			}
		}
		kept, err := savedIn(s)
		if err != nil || len(kept.Dedup) != 1 || kept.Dedup[0] != *sent(2) {
			t.Errorf("%s holds %+v, %v", name, kept.Dedup, err)
		}
		if err := s.Commit([]machine.Op{{Kind: machine.OpDropDedup, Dedup: sent(2)}}); err != nil {
			t.Fatal(err)
		}
		if kept, err := savedIn(s); err != nil || len(kept.Dedup) != 0 {
			t.Errorf("%s still holds %+v, %v", name, kept.Dedup, err)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
}

// savedIn is what a store holds besides messages.
func savedIn(s machine.Store) (kept machine.Saved, err error) {
	err = s.Load(func(k machine.Saved) error { kept = k; return nil },
		func(machine.Row, machine.Label) error { return nil })
	return kept, err
}
