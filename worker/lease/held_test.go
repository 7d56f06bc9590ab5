package lease_test

import (
	"math"
	"testing"
	"time"

	"github.com/muster-scale/muster/worker/lease"
)

func TestLeaseSaysHowLongItHasHeldItsMessages(t *testing.T) {
	for _, row := range []struct {
		name string
		do   func(l subject)
		now  float64
		want float64
	}{
		{"nothing held", func(subject) {}, 10, 0},
		{"one message", func(l subject) { l.EndReceive(at(1), l.BeginReceive(1), 1) }, 10, 9},
		{"two that came together", func(l subject) { l.EndReceive(at(1), l.BeginReceive(2), 2) }, 10, 18},
		{"two that came apart", func(l subject) {
			l.EndReceive(at(1), l.BeginReceive(1), 1)
			l.EndReceive(at(4), l.BeginReceive(1), 1)
		}, 10, 15},
		{"an empty receive holds nothing", func(l subject) { l.EndReceive(at(1), l.BeginReceive(2), 0) }, 10, 0},
		{"the first of two is finished", func(l subject) {
			l.EndReceive(at(1), l.BeginReceive(1), 1)
			l.EndReceive(at(4), l.BeginReceive(1), 1)
			l.End(at(6), lease.End{Received: at(1), Took: 5 * time.Second, OK: true})
		}, 10, 6},
		{"the second of two is given back", func(l subject) {
			l.EndReceive(at(1), l.BeginReceive(1), 1)
			l.EndReceive(at(4), l.BeginReceive(1), 1)
			l.Returned(at(6), at(4))
		}, 10, 9},
		{"all of them went", func(l subject) {
			l.EndReceive(at(1), l.BeginReceive(2), 2)
			l.Returned(at(3), at(1))
			l.End(at(9), lease.End{Received: at(1), Took: 8 * time.Second})
		}, 10, 0},
		{"no more than to the millisecond", func(l subject) { l.EndReceive(at(1), l.BeginReceive(1), 1) }, 2.0004, 1},
	} {
		t.Run(row.name, func(t *testing.T) {
			l := sound()
			l.Ready(at(0))
			row.do(l)
			if got := l.Report(at(row.now)).HeldSeconds; got != row.want {
				t.Errorf("held for %v s in all, want %v", got, row.want)
			}
		})
	}
}

// A message is held longer than it is worked on: its deletion takes time too. A worker that is never without one must
// not add that up.
func TestLeaseThatIsNeverEmptyForgetsWhatItLetGo(t *testing.T) {
	l := sound()
	l.Ready(at(0))
	l.EndReceive(at(0), l.BeginReceive(1), 1)
	received := 0.0
	for now := 10.0; now < 100_000; now += 10 {
		l.EndReceive(at(now-5), l.BeginReceive(1), 1)
		l.End(at(now), lease.End{Received: at(received), Took: 9 * time.Second, OK: true})
		received = now - 5
		if got := l.Report(at(now)).HeldSeconds; math.Abs(got-5) > 0.001 {
			t.Fatalf("after %v s it says that it has held its one message for %v s, want 5", now, got)
		}
	}
}
