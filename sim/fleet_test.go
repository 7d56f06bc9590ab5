package sim

import (
	"testing"
	"time"

	"github.com/muster-scale/muster/sim/internal/kernel"
	"github.com/muster-scale/muster/sim/internal/messages"
	"github.com/muster-scale/muster/sim/trace"
	"github.com/muster-scale/muster/sim/world"
)

// lone is a run without a loop: the test moves its members itself.
func lone(t *testing.T, w world.World) *run {
	r, err := newRun(Options{Settings: standing(t, 1), World: w, Trace: trace.Of("none")})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// due returns when the newest event of a kind is due.
func (r *run) due(t *testing.T, k kernel.Kind) time.Duration {
	t.Helper()
	var newest kernel.Event
	for _, e := range r.events.All() {
		if e.Kind == k && e.Seq > newest.Seq {
			newest = e
		}
	}
	if newest.Seq == 0 {
		t.Fatal("nothing is due")
	}
	return time.Duration(newest.At)
}

func TestAMessageOfADeadWorkerComesBackWhenItsHoldEnds(t *testing.T) {
	for _, x := range []struct {
		name     string
		dies     time.Duration
		notice   bool // the worker gives back what it holds
		back     time.Duration
		receives int32
	}{
		{"before the first extension", 14 * time.Second, false, 30 * time.Second, 1},
		{"at the first extension", 15 * time.Second, false, 45 * time.Second, 1},
		{"after it", 16 * time.Second, false, 45 * time.Second, 1},
		{"after three of them", 50 * time.Second, false, 75 * time.Second, 1},
		{"given back, it costs no attempt", 16 * time.Second, true, 16 * time.Second, 0},
	} {
		t.Run(x.name, func(t *testing.T) {
			r := lone(t, world.World{Visibility: 30 * time.Second})
			r.start("m")
			r.booted(0)
			ref := r.queue.Send(messages.Message{Service: int64(time.Hour)})
			r.hand()
			r.now = int64(x.dies)
			r.die(0, "it crashed", x.notice)
			if at := r.due(t, evVisible); at != x.back {
				t.Errorf("it comes back at %s, want %s", at, x.back)
			}
			if m := r.queue.At(ref); m.Receives != x.receives {
				t.Errorf("%d receives count, want %d", m.Receives, x.receives)
			}
			if r.queue.InFlight() != 1 || r.queue.InProgress() != 0 || time.Duration(r.busyTime) != x.dies ||
				r.busyMembers != 0 {
				t.Errorf("found %d in flight, %d in progress, %s of work, %d busy; want 1, 0, %s and 0",
					r.queue.InFlight(), r.queue.InProgress(), time.Duration(r.busyTime), r.busyMembers, x.dies)
			}
		})
	}
}

func TestAPoisonMessageIsTriedAsOftenAsAllowedEachTimeLater(t *testing.T) {
	const sent = time.Minute
	r := lone(t, world.World{Poison: 1, MaxReceives: 3, RetryBase: 10 * time.Second})
	var err error
	if r.reader, err = batch(1, sent, time.Second).Open(); err != nil {
		t.Fatal(err)
	}
	if err := r.loop(); err != nil {
		t.Fatal(err)
	}
	// One second of work, 10 s hidden, again, 20 s hidden, and a last time.
	died := time.Duration(r.lastFinish) - sent
	if res := r.finish(); res.Dead != 1 || res.Messages != 1 || res.BusySeconds != 3 || died != 33*time.Second ||
		len(res.Faults) > 0 {
		t.Errorf("%d dead of %d, after %s and %v s of work, faults %v; want 1 of 1, after 33 s and 3 s of work",
			res.Dead, res.Messages, died, res.BusySeconds, res.Faults)
	}
}

func TestAWarmPoolServesTheFirstLaunchesAndFillsAgain(t *testing.T) {
	const cold, warm = 100 * time.Second, time.Second
	r := lone(t, world.World{Boot: world.Draw{Mean: cold},
		Warm: world.WarmPool{Size: 2, Boot: world.Draw{Mean: warm}, Refill: 10 * time.Second}})
	for _, x := range []struct {
		at   time.Duration
		id   string
		boot time.Duration
	}{
		{0, "a", warm}, {0, "b", warm}, {0, "c", cold},
		{9 * time.Second, "d", cold},
		{10 * time.Second, "e", warm}, {10 * time.Second, "f", warm}, {10 * time.Second, "g", cold},
	} {
		for r.events.Len() > 0 && r.events.Next() <= int64(x.at) {
			if e := r.events.Pop(); e.Kind == evRefill {
				if err := r.happen(e); err != nil {
					t.Fatal(err)
				}
			}
		}
		r.now = int64(x.at)
		r.start(x.id)
		if found := r.due(t, evBooted) - x.at; found != x.boot {
			t.Errorf("%s, launched at %s, boots for %s, want %s", x.id, x.at, found, x.boot)
		}
	}
}
