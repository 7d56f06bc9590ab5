package queue

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

func mustCreateFIFO(t *testing.T, s *Service, name string, attributes map[string]string) {
	t.Helper()
	all := map[string]string{"FifoQueue": "true", "ContentBasedDeduplication": "true"}
	for key, value := range attributes {
		all[key] = value
	}
	mustCreate(t, s, name, all)
}

// sendGroups sends messages whose bodies begin with their group and a dash.
func sendGroups(t *testing.T, s *Service, name string, bodies ...string) {
	t.Helper()
	for _, body := range bodies {
		group, _, _ := strings.Cut(body, "-")
		sendOne(t, s, name, Outgoing{Body: body, GroupID: group})
	}
}

func sendOne(t *testing.T, s *Service, name string, m Outgoing) Sent {
	t.Helper()
	sent, err := s.Send(t.Context(), name, []Outgoing{m})
	if err == nil {
		err = sent[0].Err
	}
	if err != nil {
		t.Fatal(err)
	}
	return sent[0]
}

// want receives up to limit messages and compares their bodies, in order.
func want(t *testing.T, s *Service, name string, limit int, bodies string) []Message {
	t.Helper()
	got, err := s.Receive(t.Context(), name, ReceiveOptions{Max: limit})
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for _, m := range got {
		all = append(all, m.Body)
	}
	if have := strings.Join(all, " "); have != bodies {
		t.Fatalf("received %q, want %q", have, bodies)
	}
	return got
}

func TestAReceiveTakesOneGroupAsFarAsItGoesBeforeTheNext(t *testing.T) {
	s := ephemeral(t)
	mustCreateFIFO(t, s, "q.fifo", nil)
	sendGroups(t, s, "q.fifo", "g1-1", "g2-1", "g1-2", "g1-3")
	want(t, s, "q.fifo", 10, "g1-1 g1-2 g1-3 g2-1")
}

func TestAGroupIsLockedWhileItsFrontIsInFlight(t *testing.T) {
	inTime(t, func(t *testing.T, s *Service) {
		mustCreateFIFO(t, s, "q.fifo", nil)
		sendGroups(t, s, "q.fifo", "a-1", "a-2", "a-3", "a-4", "b-1")
		first := want(t, s, "q.fifo", 2, "a-1 a-2")
		if n, err := s.Counts("q.fifo"); err != nil || n.Visible != 3 || n.Runnable != 1 {
			t.Errorf("%+v, %v; want 3 visible, 1 runnable", n, err)
		}
		b := want(t, s, "q.fifo", 10, "b-1")
		want(t, s, "q.fifo", 10, "")
		mustDelete(t, s, "q.fifo", b[0].Receipt)
		mustDelete(t, s, "q.fifo", first[0].Receipt) // in part: a-2 is still held
		want(t, s, "q.fifo", 10, "")
		mustDelete(t, s, "q.fifo", first[1].Receipt)
		want(t, s, "q.fifo", 10, "a-3 a-4")
	})
}

func TestAMessageHandedBackComesBeforeThoseAfterIt(t *testing.T) {
	inTime(t, func(t *testing.T, s *Service) {
		mustCreateFIFO(t, s, "q.fifo", nil)
		sendGroups(t, s, "q.fifo", "a-1", "a-2", "a-3")
		got := want(t, s, "q.fifo", 2, "a-1 a-2")
		if err := change(t, s, "q.fifo", got[1].Receipt, 0); err != nil {
			t.Fatal(err)
		}
		want(t, s, "q.fifo", 10, "") // a-1 is still held, so a-2 must wait
		if err := change(t, s, "q.fifo", got[0].Receipt, 0); err != nil {
			t.Fatal(err)
		}
		want(t, s, "q.fifo", 10, "a-1 a-2 a-3")
	})
}

// TestHandingBackTheFrontOpensTheGroupAtIt is what AWS does: what is still held
// behind the front stays held, and nothing passes it.
func TestHandingBackTheFrontOpensTheGroupAtIt(t *testing.T) {
	inTime(t, func(t *testing.T, s *Service) {
		mustCreateFIFO(t, s, "q.fifo", nil)
		sendGroups(t, s, "q.fifo", "a-1", "a-2", "a-3", "b-1")
		got := want(t, s, "q.fifo", 2, "a-1 a-2")
		if err := change(t, s, "q.fifo", got[0].Receipt, 0); err != nil {
			t.Fatal(err)
		}
		want(t, s, "q.fifo", 3, "b-1 a-1")
	})
}

func TestAGroupTakesItsTurnAfterTheOthers(t *testing.T) {
	inTime(t, func(t *testing.T, s *Service) {
		mustCreateFIFO(t, s, "q.fifo", map[string]string{"VisibilityTimeout": "1"})
		sendGroups(t, s, "q.fifo", "g1-1", "g1-2", "g1-3", "g1-4", "g2-1", "g3-1")
		want(t, s, "q.fifo", 2, "g1-1 g1-2")
		want(t, s, "q.fifo", 1, "g2-1")
		later(t, time.Second)
		got := take(t, s, "q.fifo")
		if len(got) != 6 || got[0].Body != "g3-1" {
			t.Errorf("first %q of %d, want the group that was not received yet", got[0].Body, len(got))
		}
	})
}

func TestAnExpiredHandleIsRefusedByAFIFOQueue(t *testing.T) {
	inTime(t, func(t *testing.T, s *Service) {
		mustCreateFIFO(t, s, "q.fifo", map[string]string{"VisibilityTimeout": "5"})
		sendGroups(t, s, "q.fifo", "a-1")
		first := takeOne(t, s, "q.fifo")
		if err := change(t, s, "q.fifo", first.Receipt, 8*time.Second); err != nil {
			t.Errorf("extending keeps the handle: %v", err)
		}
		later(t, 8*time.Second)
		text := "Value " + first.Receipt + " for parameter ReceiptHandle is invalid. Reason: The receipt handle has " +
			"expired."
		refused := func(when string) {
			t.Helper()
			for what, err := range map[string]error{
				"delete": s.Delete(t.Context(), "q.fifo", []string{first.Receipt})[0],
				"change": change(t, s, "q.fifo", first.Receipt, time.Minute),
			} {
				if !errors.Is(err, ErrInvalidParameter) || err.Error() != text {
					t.Errorf("%s %s: %v", what, when, err)
				}
			}
		}
		refused("after the timeout")
		second := takeOne(t, s, "q.fifo")
		refused("after it was received again")
		mustDelete(t, s, "q.fifo", second.Receipt)
		mustDelete(t, s, "q.fifo", second.Receipt) // twice is a success
		wantCounts(t, s, "q.fifo", 0, 0, 0)
	})
}

func TestADelayedFrontHoldsItsGroupBack(t *testing.T) {
	inTime(t, func(t *testing.T, s *Service) {
		mustCreateFIFO(t, s, "q.fifo", map[string]string{"DelaySeconds": "10"})
		sendGroups(t, s, "q.fifo", "a-1")
		if err := s.SetAttributes(t.Context(), "q.fifo", map[string]string{"DelaySeconds": "0"}); err != nil {
			t.Fatal(err)
		}
		sendGroups(t, s, "q.fifo", "a-2", "b-1")
		want(t, s, "q.fifo", 10, "b-1")
		later(t, 10*time.Second)
		want(t, s, "q.fifo", 10, "a-1 a-2")
	})
}

func TestARepeatedAttemptGivesTheSameMessages(t *testing.T) {
	attempt := func(t *testing.T, s *Service, id string) []Message {
		t.Helper()
		got, err := s.Receive(t.Context(), "q.fifo", ReceiveOptions{Max: 2, Attempt: id})
		if err != nil {
			t.Fatal(err)
		}
		return got
	}
	for _, row := range []struct {
		name    string
		between func(*testing.T, *Service, []Message)
		again   bool
	}{
		{"nothing happened", func(*testing.T, *Service, []Message) {}, true},
		{"twenty seconds passed", func(t *testing.T, _ *Service, _ []Message) { later(t, 20*time.Second) }, true},
		{"the visibility timeout ran out", func(t *testing.T, _ *Service, _ []Message) { later(t, 30*time.Second) },
			false},
		{"one was deleted", func(t *testing.T, s *Service,
			got []Message) {
			mustDelete(t, s, "q.fifo", got[1].Receipt)
		}, false},
		{"the visibility of one was changed", func(t *testing.T, s *Service, got []Message) {
			if err := change(t, s, "q.fifo", got[0].Receipt, time.Minute); err != nil {
				t.Fatal(err)
			}
		}, false},
		{"another receiver got one that was handed back", func(t *testing.T, s *Service, got []Message) {
			if err := change(t, s, "q.fifo", got[0].Receipt, 0); err != nil {
				t.Fatal(err)
			}
			want(t, s, "q.fifo", 10, "b-1 a-1") // in the same instant
		}, false},
	} {
		t.Run(row.name, func(t *testing.T) {
			inTime(t, func(t *testing.T, s *Service) {
				mustCreateFIFO(t, s, "q.fifo", nil)
				sendGroups(t, s, "q.fifo", "a-1", "a-2", "b-1")
				first := attempt(t, s, "x")
				row.between(t, s, first)
				second := attempt(t, s, "x")
				same := len(second) == 2 && second[0].Receipt == first[0].Receipt &&
					second[1].Receipt == first[1].Receipt && second[0].ReceiveCount == 1
				if same != row.again {
					t.Errorf("first %+v, then %+v", first, second)
				}
				if !same {
					return
				}
				later(t, 29*time.Second) // the timeout began anew
				want(t, s, "q.fifo", 10, "b-1")
				if err := change(t, s, "q.fifo", first[1].Receipt, MaxVisibility-29*time.Second); err != nil {
					t.Errorf("twelve hours from the repeated receive: %v", err)
				}
				mustDelete(t, s, "q.fifo", first[0].Receipt)
			})
		})
	}
	t.Run("another attempt gets others", func(t *testing.T) {
		inTime(t, func(t *testing.T, s *Service) {
			mustCreateFIFO(t, s, "q.fifo", nil)
			sendGroups(t, s, "q.fifo", "a-1", "a-2", "b-1")
			attempt(t, s, "x")
			if got := attempt(t, s, "y"); len(got) != 1 || got[0].Body != "b-1" {
				t.Errorf("received %+v", got)
			}
		})
	})
	t.Run("a standard queue knows no attempts", func(t *testing.T) {
		s := ephemeral(t)
		mustCreate(t, s, "q", nil)
		if _, err := s.Receive(t.Context(), "q", ReceiveOptions{Attempt: "x"}); !errors.Is(err, ErrInvalidParameter) {
			t.Errorf("error %v", err)
		}
	})
}

func TestALongPollIsWokenWhenAGroupOpens(t *testing.T) {
	inTime(t, func(t *testing.T, s *Service) {
		mustCreateFIFO(t, s, "q.fifo", nil)
		sendGroups(t, s, "q.fifo", "a-1", "a-2")
		first := want(t, s, "q.fifo", 1, "a-1")
		wake, cancel := s.Subscribe("q.fifo")
		defer cancel()
		answer := make(chan []Message, 1)
		go func() {
			wait := MaxWait
			got, err := s.Receive(t.Context(), "q.fifo", ReceiveOptions{Wait: &wait})
			if err != nil {
				t.Error(err)
			}
			answer <- got
		}()
		synctest.Wait()
		begin := time.Now()
		mustDelete(t, s, "q.fifo", first[0].Receipt)
		if got := <-answer; len(got) != 1 || got[0].Body != "a-2" || !time.Now().Equal(begin) {
			t.Errorf("received %+v after %v", got, time.Since(begin))
		}
		select {
		case <-wake:
		default:
			t.Error("a subscriber was not woken")
		}
	})
}

func TestAFIFODeadLetterKeepsItsGroupAndItsOrder(t *testing.T) {
	inTime(t, func(t *testing.T, s *Service) {
		mustCreateFIFO(t, s, "dead.fifo", nil)
		mustCreateFIFO(t, s, "q.fifo", map[string]string{"VisibilityTimeout": "5",
			"RedrivePolicy": `{"deadLetterTargetArn":"arn:aws:sqs:r:0:dead.fifo","maxReceiveCount":1}`})
		sendGroups(t, s, "q.fifo", "a-1", "a-2", "a-3")
		before := want(t, s, "q.fifo", 2, "a-1 a-2")
		later(t, 5*time.Second)
		want(t, s, "q.fifo", 10, "a-3")
		dead := want(t, s, "dead.fifo", 10, "a-1 a-2")
		m := dead[0]
		if m.ID != before[0].ID || m.GroupID != "a" || m.Source != "q.fifo" || m.ReceiveCount != 2 ||
			m.DeduplicationID == "" || !m.Sent.After(before[0].Sent) || m.SequenceNumber <= before[1].SequenceNumber {
			t.Errorf("dead letter %+v, before %+v", m, before[0])
		}
	})
}

// TestGroupsAndDeduplicationSurviveACrash also holds that a first receive on a
// FIFO queue is on disk before it is answered.
func TestGroupsAndDeduplicationSurviveACrash(t *testing.T) {
	dir := t.TempDir()
	s := open(t, Options{Dir: dir})
	mustCreateFIFO(t, s, "q.fifo", nil)
	mustCreateFIFO(t, s, "purged.fifo", nil)
	sendGroups(t, s, "q.fifo", "a-1", "a-2", "b-1", "b-2")
	sendGroups(t, s, "purged.fifo", "a-1")
	held := want(t, s, "q.fifo", 1, "a-1")
	if err := s.Purge(t.Context(), "purged.fifo"); err != nil {
		t.Fatal(err)
	}
	before := sendOne(t, s, "q.fifo", Outgoing{Body: "b-1", GroupID: "b"})

	c := crash(t, dir)
	if after := sendOne(t, c, "q.fifo", Outgoing{Body: "b-1", GroupID: "b"}); after != before || !after.Duplicate {
		t.Errorf("sent again after the crash: %+v, before %+v", after, before)
	}
	if sent := sendOne(t, c, "purged.fifo", Outgoing{Body: "a-1", GroupID: "a"}); sent.Duplicate {
		t.Error("what was purged is remembered")
	}
	want(t, c, "q.fifo", 10, "b-1 b-2") // a is locked
	if err := change(t, c, "q.fifo", held[0].Receipt, time.Minute); err != nil {
		t.Errorf("its worker extends the lease after the crash: %v", err)
	}
	mustDelete(t, c, "q.fifo", held[0].Receipt)
	a := want(t, c, "q.fifo", 10, "a-2")
	if a[0].GroupID != "a" || a[0].SequenceNumber <= held[0].SequenceNumber {
		t.Errorf("after the crash %+v", a[0])
	}
}

func TestTheTypeOfAQueueCannotBeChanged(t *testing.T) {
	s := ephemeral(t)
	mustCreate(t, s, "q", nil)
	mustCreateFIFO(t, s, "q.fifo", nil)
	for _, row := range []struct {
		name, queue string
		set         map[string]string
		want        error
	}{
		{"a FIFO queue to standard", "q.fifo", map[string]string{"FifoQueue": "false"}, ErrInvalidAttributeValue},
		{"a FIFO queue to FIFO", "q.fifo", map[string]string{"FifoQueue": "true"}, nil},
		{"a standard queue to FIFO", "q", map[string]string{"FifoQueue": "true"}, ErrInvalidAttributeName},
		{"a limit per group, scope not given", "q.fifo", map[string]string{"FifoThroughputLimit": "perMessageGroupId"},
			ErrInvalidAttributeValue},
		{"a limit and a scope per group", "q.fifo", map[string]string{"FifoThroughputLimit": "perMessageGroupId",
			"DeduplicationScope": "messageGroup"}, nil},
	} {
		t.Run(row.name, func(t *testing.T) {
			if err := s.SetAttributes(t.Context(), row.queue, row.set); !errors.Is(err, row.want) ||
				(err == nil) != (row.want == nil) {
				t.Errorf("error %v, want %v", err, row.want)
			}
		})
	}
	all, err := s.Attributes("q.fifo")
	if err != nil || all["FifoQueue"] != "true" || all["ContentBasedDeduplication"] != "true" {
		t.Errorf("attributes %v, %v", all, err)
	}
}

// TestManyReceiversKeepTheOrderOfEachGroup works with real goroutines.
func TestManyReceiversKeepTheOrderOfEachGroup(t *testing.T) {
	s := open(t, Options{Dir: t.TempDir(), MemoryBytes: 20_000})
	mustCreateFIFO(t, s, "q.fifo", nil)
	const groups, each = 5, 30
	var mu sync.Mutex
	next := map[string]int{}
	var wg sync.WaitGroup
	for g := range groups {
		wg.Go(func() {
			for i := range each {
				sendGroups(t, s, "q.fifo", fmt.Sprintf("%d-%d", g, i))
			}
		})
	}
	done := make(chan struct{})
	for range 2 * groups {
		wg.Go(func() {
			wait := 5 * time.Millisecond
			for {
				select {
				case <-done:
					return
				default:
				}
				got, err := s.Receive(t.Context(), "q.fifo", ReceiveOptions{Max: 3, Wait: &wait})
				if err != nil {
					t.Error(err)
					return
				}
				for _, m := range got {
					mu.Lock()
					if want := fmt.Sprintf("%s-%d", m.GroupID, next[m.GroupID]); m.Body != want {
						t.Errorf("received %s, want %s", m.Body, want)
					}
					if next[m.GroupID]++; next["all"] == groups*each-1 {
						close(done)
					}
					next["all"]++
					mu.Unlock()
					if err := s.Delete(t.Context(), "q.fifo", []string{m.Receipt})[0]; err != nil {
						t.Error(err)
					}
				}
			}
		})
	}
	wg.Wait()
	wantCounts(t, s, "q.fifo", 0, 0, 0)
}
