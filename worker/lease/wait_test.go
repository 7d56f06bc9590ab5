package lease_test

import (
	"testing"
	"time"

	"github.com/muster-scale/muster/worker/lease"
	"github.com/muster-scale/muster/worker/protocol"
)

func TestAReceiveCallEndsWithTheIdleStop(t *testing.T) {
	const longest = 20 * time.Second
	for _, test := range []struct {
		name  string
		own   time.Duration
		drive func(l *lease.Lease)
		now   float64
		want  time.Duration
	}{
		{"no controller, no idle stop", 0, func(*lease.Lease) {}, 0, longest},
		{"no controller: until the idle stop", 8 * time.Second, func(*lease.Lease) {}, 2, 6 * time.Second},
		{"in whole seconds", 8 * time.Second, func(*lease.Lease) {}, 2.4, 6 * time.Second},
		{"the idle stop is far away", time.Minute, func(*lease.Lease) {}, 2, longest},
		{"it is due: a second all the same", 8 * time.Second, func(*lease.Lease) {}, 8, time.Second},
		{"the first report has no answer yet", 0, func(l *lease.Lease) { l.Report(at(0)) }, 0, time.Second},
		{"nobody answers reports, as with a receiver of metrics", 0, func(l *lease.Lease) {
			for range protocol.MaxUnanswered + 1 {
				l.Report(at(0))
			}
		}, 0, longest},
		{"it has one", 0, func(l *lease.Lease) { tell(l, 0, 0) }, 0, longest},
		{"the controller tells an idle stop", 0, func(l *lease.Lease) { tell(l, 0, 3*time.Second) }, 1,
			2 * time.Second},
	} {
		t.Run(test.name, func(t *testing.T) {
			l := lease.New(lease.Options{Fleet: "f", Member: "m", Worker: "w", Slots: 1, IdleStop: test.own})
			l.Ready(at(0))
			test.drive(&l)
			if got := l.ReceiveWait(at(test.now), longest); got != test.want {
				t.Errorf("it waits for %s, want %s", got, test.want)
			}
			if got := l.ReceiveWait(at(test.now), time.Second/2); got != time.Second/2 {
				t.Errorf("where half a second is allowed, it waits for %s", got)
			}
		})
	}
}

// A message ended shortly after a receive call had begun. When that call ends, nearly all of the idle time is over, and
// another call would last for a second.
func TestAWorkerStopsALittleEarlyInsteadOfWaitingForAnotherCall(t *testing.T) {
	for _, test := range []struct {
		name  string
		idle  time.Duration
		brief int     // messages of the call that ends at now
		now   float64 // the last message ended at 0
		want  protocol.WorkerState
	}{
		{"nearly over", time.Second, 0, 0.95, protocol.Draining},
		{"the half is over", time.Second, 0, 0.5, protocol.Draining},
		{"less than the half", time.Second, 0, 0.45, protocol.Receiving},
		{"of a long time, half a second is left", time.Minute, 0, 59.5, protocol.Draining},
		{"more is left", time.Minute, 0, 59.4, protocol.Receiving},
		{"the call brought a message", time.Second, 1, 0.95, protocol.Receiving},
	} {
		t.Run(test.name, func(t *testing.T) {
			l := lease.New(lease.Options{Fleet: "f", Member: "m", Worker: "w", Slots: 1, IdleStop: test.idle})
			l.Ready(at(0))
			asked := l.BeginReceive(1)
			l.Tick(at(test.now)) // a running call may still bring a message
			if l.State() != protocol.Receiving {
				t.Fatalf("the worker is %s while it receives", l.State())
			}
			l.EndReceive(at(test.now), asked, test.brief)
			l.Tick(at(test.now))
			if l.State() != test.want {
				t.Errorf("the worker is %s, want %s", l.State(), test.want)
			}
		})
	}
}
