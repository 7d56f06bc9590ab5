package queue

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/muster-scale/muster/queue/internal/machine"
)

func TestLongPollsAreServedInTheirOrder(t *testing.T) {
	inTime(t, func(t *testing.T, s *Service) {
		mustCreate(t, s, "q", nil)
		wait := MaxWait
		type outcome struct {
			who  int
			body string
			at   time.Time
		}
		answers := make(chan outcome, 3)
		begin := time.Now()
		for who := range 3 {
			go func() {
				got, err := s.Receive(t.Context(), "q", ReceiveOptions{Wait: &wait})
				if err != nil {
					t.Error(err)
				}
				o := outcome{who: who, at: time.Now()}
				for _, m := range got {
					o.body += m.Body
				}
				answers <- o
			}()
			synctest.Wait()
		}
		later(t, 3*time.Second)
		mustSend(t, s, "q", "a")
		later(t, 3*time.Second)
		mustSend(t, s, "q", "b")
		for i, want := range []outcome{{0, "a", begin.Add(3 * time.Second)}, {1, "b", begin.Add(6 * time.Second)},
			{2, "", begin.Add(MaxWait)}} {
			if got := <-answers; got.who != want.who || got.body != want.body || !got.at.Equal(want.at) {
				t.Errorf("answer %d: %+v, want %+v", i, got, want)
			}
		}
		wantCounts(t, s, "q", 0, 2, 0)
	})
}

func TestALongPollIsWokenBy(t *testing.T) {
	for name, arrange := range map[string]func(*testing.T, *Service){
		"the end of a delay": func(t *testing.T, s *Service) {
			d := 2 * time.Second
			if _, err := s.Send(t.Context(), "q", []Outgoing{{Body: "a", Delay: &d}}); err != nil {
				t.Error(err)
			}
		},
		"the end of a visibility timeout": func(t *testing.T, s *Service) {
			mustSend(t, s, "q", "a")
			d := 2 * time.Second
			if _, err := s.Receive(t.Context(), "q", ReceiveOptions{Visibility: &d}); err != nil {
				t.Error(err)
			}
		},
		"a message handed back": func(t *testing.T, s *Service) {
			mustSend(t, s, "q", "a")
			m := takeOne(t, s, "q")
			go func() {
				<-time.After(2 * time.Second)
				if err := change(t, s, "q", m.Receipt, 0); err != nil {
					t.Error(err)
				}
			}()
		},
	} {
		t.Run(name, func(t *testing.T) {
			inTime(t, func(t *testing.T, s *Service) {
				mustCreate(t, s, "q", nil)
				arrange(t, s)
				begin, wait := time.Now(), MaxWait
				got, err := s.Receive(t.Context(), "q", ReceiveOptions{Wait: &wait})
				if err != nil || len(got) != 1 || time.Since(begin) != 2*time.Second {
					t.Errorf("after %v: %d messages, %v; want 1 after 2s", time.Since(begin), len(got), err)
				}
			})
		})
	}
}

func TestACancelledLongPollTakesNothing(t *testing.T) {
	inTime(t, func(t *testing.T, s *Service) {
		mustCreate(t, s, "q", nil)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		wait := MaxWait
		if got, err := s.Receive(ctx, "q", ReceiveOptions{Wait: &wait}); !errors.Is(err, context.DeadlineExceeded) ||
			len(got) != 0 {
			t.Errorf("cancelled receive: %v, %v", got, err)
		}
		mustSend(t, s, "q", "a")
		wantCounts(t, s, "q", 1, 0, 0)
	})
}

func TestALongPollEndsWhenItsQueueIsDeletedOrTheServiceClosed(t *testing.T) {
	for name, row := range map[string]struct {
		end  func(*testing.T, *Service) error
		want error
	}{
		"deleted": {func(t *testing.T, s *Service) error { return s.DeleteQueue(t.Context(), "q") }, ErrQueueNotFound},
		"closed":  {func(_ *testing.T, s *Service) error { return s.Close() }, ErrClosed},
	} {
		t.Run(name, func(t *testing.T) {
			inTime(t, func(t *testing.T, s *Service) {
				mustCreate(t, s, "q", nil)
				answer := make(chan error, 1)
				go func() {
					wait := MaxWait
					_, err := s.Receive(t.Context(), "q", ReceiveOptions{Wait: &wait})
					answer <- err
				}()
				synctest.Wait()
				if err := row.end(t, s); err != nil {
					t.Fatal(err)
				}
				if err := <-answer; !errors.Is(err, row.want) {
					t.Errorf("waiting receive ended with %v, want %v", err, row.want)
				}
			})
		})
	}
}

func TestASubscriberIsWokenByArrivalsAndByTheLastMessage(t *testing.T) {
	inTime(t, func(t *testing.T, s *Service) {
		wake, cancel := s.Subscribe("q")
		woken := func() bool {
			synctest.Wait()
			select {
			case <-wake:
				return true
			default:
				return false
			}
		}
		mustCreate(t, s, "q", map[string]string{"VisibilityTimeout": "5"})
		if woken() {
			t.Error("woken by an empty queue")
		}
		mustSend(t, s, "q", "a", "b")
		if !woken() || woken() {
			t.Error("two sends must leave one signal")
		}
		mustDelete(t, s, "q", take(t, s, "q")[0].Receipt)
		if woken() {
			t.Error("woken although a message is left and none arrived")
		}
		later(t, 5*time.Second)
		if !woken() {
			t.Error("not woken by the end of a visibility timeout")
		}
		b := takeOne(t, s, "q")
		mustDelete(t, s, "q", b.Receipt)
		if !woken() {
			t.Error("not woken by the last delete")
		}
		cancel()
		mustSend(t, s, "q", "c")
		if woken() {
			t.Error("woken after cancelling")
		}
	})
}

// TestALongPollPassesOverAnyNumberOfDeadLetters holds that a step is bounded
// and that the poll goes on after it.
func TestALongPollPassesOverAnyNumberOfDeadLetters(t *testing.T) {
	inTime(t, func(t *testing.T, s *Service) {
		mustCreate(t, s, "dead", nil)
		mustCreate(t, s, "q", nil)
		const poison = 2*machine.MaxSkipped + 500
		for range poison / MaxBatch {
			if _, err := s.Send(t.Context(), "q", slices.Repeat([]Outgoing{{Body: "poison"}}, MaxBatch)); err != nil {
				t.Fatal(err)
			}
		}
		for range poison / MaxBatch {
			take(t, s, "q")
		}
		if err := s.SetAttributes(t.Context(), "q",
			map[string]string{"RedrivePolicy": `{"deadLetterTargetArn":"arn:aws:sqs:r:0:dead","maxReceiveCount":1}`}); err != nil {
			t.Fatal(err)
		}
		later(t, 30*time.Second)
		mustSend(t, s, "q", "good")
		wait := MaxWait
		got, err := s.Receive(t.Context(), "q", ReceiveOptions{Wait: &wait})
		if err != nil || len(got) != 1 || got[0].Body != "good" {
			t.Fatalf("received %q, %v", bodies(got), err)
		}
		wantCounts(t, s, "dead", poison, 0, 0)
	})
}
