package lease_test

import (
	"testing"
	"time"

	"github.com/muster-scale/muster/worker/lease"
	"github.com/muster-scale/muster/worker/protocol"
)

// tell answers a report of l with an idle stop.
func tell(l *lease.Lease, seconds float64, idle time.Duration) {
	l.Obey(at(seconds), l.Report(at(seconds)), protocol.Directive{Ask: protocol.Work, IdleStop: idle})
}

// The controller may tell a shorter idle stop than that of the options, and the newest answer counts.
func TestTheControllerTellsHowLongAWorkerMayBeIdle(t *testing.T) {
	hold := func(l *lease.Lease, from, until float64) {
		l.EndReceive(at(from), l.BeginReceive(1), 1)
		l.End(at(until), lease.End{Received: at(from), Took: time.Second, OK: true})
	}
	for _, test := range []struct {
		name  string
		own   time.Duration
		drive func(l *lease.Lease)
		now   float64
		want  protocol.WorkerState
	}{
		{"none is told, and the worker has none", 0, func(l *lease.Lease) { tell(l, 1, 0) }, 900, protocol.Receiving},
		{"one is told: its time is over", 0, func(l *lease.Lease) { tell(l, 1, 2*time.Second) }, 2, protocol.Draining},
		{"one is told: its time is not over", 0, func(l *lease.Lease) { tell(l, 1, 2*time.Second) }, 1.9,
			protocol.Receiving},
		{"its own is shorter", time.Second, func(l *lease.Lease) { tell(l, 0.5, 10*time.Second) }, 1,
			protocol.Draining},
		{"its own is longer", time.Minute, func(l *lease.Lease) { tell(l, 1, 2*time.Second) }, 3, protocol.Draining},
		{"a later answer tells none", 0, func(l *lease.Lease) {
			tell(l, 1, 2*time.Second)
			tell(l, 1.5, 0)
		}, 30, protocol.Receiving},
		{"the time begins when the last message is finished", 0, func(l *lease.Lease) {
			tell(l, 1, 2*time.Second)
			hold(l, 1, 10)
		}, 11.9, protocol.Receiving},
		{"and is over after it", 0, func(l *lease.Lease) {
			tell(l, 1, 2*time.Second)
			hold(l, 1, 10)
		}, 12, protocol.Draining},
		{"the controller has not answered for a minute: the worker goes on", 0, func(l *lease.Lease) {
			tell(l, 1, 2*time.Second)
			hold(l, 1, 60)
		}, 900, protocol.Receiving},
	} {
		t.Run(test.name, func(t *testing.T) {
			l := lease.New(lease.Options{Fleet: "f", Member: "m", Worker: "w", Slots: 1, IdleStop: test.own})
			l.Ready(at(0))
			test.drive(&l)
			l.Tick(at(test.now))
			if l.State() != test.want {
				t.Errorf("the worker is %s, want %s", l.State(), test.want)
			}
			if l.State() == protocol.Draining && l.Cause() != protocol.IdleTooLong {
				t.Errorf("it stops because of %q, want %q", l.Cause(), protocol.IdleTooLong)
			}
		})
	}
}
