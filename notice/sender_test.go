package notice_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/muster-scale/muster/incident"
	"github.com/muster-scale/muster/notice"
)

// channel is a channel that answers as told, and notes when it was called.
type channel struct {
	mu    sync.Mutex
	calls []time.Time
	ids   []string
	send  func(ctx context.Context, call int) error
}

func (c *channel) Send(ctx context.Context, n incident.Notice) (string, error) {
	c.mu.Lock()
	c.calls, c.ids = append(c.calls, time.Now()), append(c.ids, n.ID)
	call := len(c.calls)
	c.mu.Unlock()
	if c.send == nil {
		return "ok", nil
	}
	return "ok", c.send(ctx, call)
}

func (c *channel) sent() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return strings.Join(c.ids, " ")
}

func named(id string) incident.Notice { return incident.Notice{ID: id, Event: incident.Opened} }

// running runs a sender within the bubble of the test.
func running(t *testing.T, o notice.Options) *notice.Sender {
	s := notice.New(o)
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() { defer close(done); s.Run(ctx) }()
	t.Cleanup(func() { stop(); <-done })
	return s
}

func TestAFailingChannelIsRetriedWithGrowingPauses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &channel{send: func(_ context.Context, call int) error {
			if call < 12 {
				return errors.New("down")
			}
			return nil
		}}
		s := running(t, notice.Options{Destinations: []notice.Destination{{Name: "a", Retry: time.Hour, Channel: c}}})
		s.Tell(named("1"))
		time.Sleep(time.Hour)
		synctest.Wait()
		if len(c.calls) != 12 {
			t.Fatalf("found %d attempts, want 12", len(c.calls))
		}
		for i := 1; i < len(c.calls); i++ {
			whole := min(notice.LongestPause, notice.FirstPause<<(i-1))
			if pause := c.calls[i].Sub(c.calls[i-1]); pause < whole/2 || pause > whole {
				t.Errorf("pause %d was %s, want %s to %s", i, pause, whole/2, whole)
			}
		}
		if x := s.Status()[0]; x.Sent != 1 || x.Failed != 11 || x.Waiting != 0 || x.LastError != "" {
			t.Errorf("status %+v", x)
		}
	})
}

func TestANoticeIsGivenUpAfterItsRetryTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &channel{send: func(context.Context, int) error { return errors.New("down") }}
		s := running(t, notice.Options{Destinations: []notice.Destination{{Name: "a", Retry: time.Minute, Channel: c}}})
		s.Tell(named("1"))
		time.Sleep(2 * time.Minute)
		synctest.Wait()
		if x := s.Status()[0]; x.Lost != 1 || x.Waiting != 0 || x.LastError != "down" {
			t.Errorf("status %+v", x)
		}
		if last := c.calls[len(c.calls)-1].Sub(c.calls[0]); last != time.Minute {
			t.Errorf("the last attempt was after %s, want the whole minute", last)
		}
	})
}

func TestARefusalIsFinal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &channel{send: func(_ context.Context, call int) error {
			if call == 1 {
				return fmt.Errorf("no such address: %w", notice.ErrRefused)
			}
			return nil
		}}
		s := running(t, notice.Options{Destinations: []notice.Destination{{Name: "a", Retry: time.Hour, Channel: c}}})
		s.Tell(named("1"))
		s.Tell(named("2"))
		synctest.Wait()
		if x := s.Status()[0]; x.Lost != 1 || x.Sent != 1 || c.sent() != "1 2" {
			t.Errorf("sent %s, status %+v", c.sent(), x)
		}
	})
}

func TestAHangingChannelDelaysNeitherTheOthersNorTheTeller(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hangs := &channel{send: func(ctx context.Context, _ int) error { <-ctx.Done(); return ctx.Err() }}
		works := &channel{}
		s := running(t, notice.Options{Destinations: []notice.Destination{
			{Name: "hangs", Retry: time.Hour, Channel: hangs}, {Name: "works", Retry: time.Hour, Channel: works}}})
		began := time.Now()
		for i := range notice.MaxWaiting + 30 {
			s.Tell(named(fmt.Sprint(i)))
			synctest.Wait()
		}
		if !time.Now().Equal(began) {
			t.Error("telling took time")
		}
		if n := len(works.calls); n != notice.MaxWaiting+30 {
			t.Errorf("the channel that works got %d notices", n)
		}
		x := s.Status()[0]
		if x.Dropped != 30 || x.Waiting != notice.MaxWaiting {
			t.Errorf("status %+v, want 30 dropped", x)
		}
		if first := s.Waiting()["hangs"][0].ID; first != "30" {
			t.Errorf("the oldest that waits is %s, want 30: the oldest are dropped", first)
		}
	})
}

func TestWhatWaitsAtTheEndIsSentByTheNextSender(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		down := &channel{send: func(ctx context.Context, _ int) error { <-ctx.Done(); return ctx.Err() }}
		changed := 0
		s := notice.New(notice.Options{Changed: func() { changed++ },
			Destinations: []notice.Destination{{Name: "a", Retry: time.Hour, Channel: down}}})
		ctx, stop := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() { defer close(done); s.Run(ctx) }()
		s.Tell(named("1"))
		s.Tell(named("2"))
		synctest.Wait()
		stop()
		<-done
		if x := s.Status()[0]; x.Failed != 0 || changed != 2 {
			t.Errorf("an interrupted attempt counts as made: %+v", x)
		}
		up := &channel{}
		running(t, notice.Options{Waiting: s.Waiting(), Destinations: []notice.Destination{{Name: "a", Channel: up}}})
		synctest.Wait()
		if up.sent() != "1 2" {
			t.Errorf("sent %q, want what waited", up.sent())
		}
	})
}

func TestAChannelIsToldOfItsKindsAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &channel{}
		s := running(t, notice.Options{Destinations: []notice.Destination{{Name: "a", Channel: c,
			Tells: func(k incident.Kind) bool { return k == incident.AtMaximum }}}})
		n := named("other")
		n.Incident.Kind = incident.CrashLoop
		s.Tell(n)
		n = named("mine")
		n.Incident.Kind = incident.AtMaximum
		s.Tell(n)
		s.Tell(incident.NewTest(time.Now()))
		synctest.Wait()
		if got := c.sent(); !strings.HasPrefix(got, "mine test/") {
			t.Errorf("sent %q", got)
		}
	})
}

func TestATryAsksEachChannelOnce(t *testing.T) {
	answers := notice.Try(t.Context(), []notice.Destination{
		{Name: "works", Channel: &channel{}},
		{Name: "fails", Channel: &channel{send: func(context.Context, int) error {
			return errors.New("down\nfor good")
		}}},
	}, incident.NewTest(time.Unix(0, 0)))
	want := []notice.Answer{{Channel: "works", Answer: "ok"}, {Channel: "fails", Error: "down for good"}}
	if answers[0] != want[0] || answers[1] != want[1] {
		t.Errorf("found %+v, want %+v", answers, want)
	}
}

func TestASecretIsOneLineOfAFile(t *testing.T) {
	dir := t.TempDir()
	for text, allowed := range map[string]bool{"s3cret\n": true, "": false, "\n": false, "a\nb": false,
		strings.Repeat("x", 70<<10): false} {
		path := filepath.Join(dir, "secret")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		got, err := notice.Secret("", notice.Under(dir, "secret"))
		if (err == nil) != allowed || allowed && got != "s3cret" {
			t.Errorf("%.10q: found %q, %v", text, got, err)
		}
	}
	if got, err := notice.Secret("stated", ""); err != nil || got != "stated" {
		t.Errorf("found %q, %v", got, err)
	}
}

func TestASparedErrorKeepsWhatItMeansAndNoSecret(t *testing.T) {
	err := notice.Spare(fmt.Errorf("POST https://x/T0K3N: %w", notice.ErrRefused), "T0K3N", "")
	if !errors.Is(err, notice.ErrRefused) || strings.Contains(err.Error(), "T0K3N") ||
		!strings.Contains(err.Error(), "***") {
		t.Errorf("found %v", err)
	}
}
