package lease_test

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/muster-scale/muster/worker/lease"
	"github.com/muster-scale/muster/worker/protocol"
)

// paid is a lease whose paid periods end every 100 s; it offers to leave in the last 20 s of each.
func paid() *lease.Lease {
	l := lease.New(lease.Options{Fleet: "f", Member: "m", Worker: "w", Slots: 3,
		Billing: lease.Billing{Start: at(0), Period: 100 * time.Second, Margin: 20 * time.Second}})
	return &l
}

func TestLeaseOffersToLeaveWhenAPaidPeriodEnds(t *testing.T) {
	nothing := func(l *lease.Lease, now float64) { l.EndReceive(at(now), l.BeginReceive(1), 0) }
	kept := func(l *lease.Lease, now float64) {
		l.Tick(at(now))
		l.Mint(at(now), "token")
		l.Obey(at(now), l.Report(at(now)), protocol.Directive{Ask: protocol.Work})
		nothing(l, now)
	}
	for _, row := range []struct {
		name  string
		drive func(l *lease.Lease)
		now   float64
		want  protocol.WorkerState
	}{
		{"idle, near the end", func(l *lease.Lease) { nothing(l, 79) }, 80, protocol.Draining},
		{"idle, at the very end", func(l *lease.Lease) { nothing(l, 79) }, 99.9, protocol.Draining},
		{"idle, before that", func(l *lease.Lease) { nothing(l, 79) }, 79.9, protocol.Receiving},
		{"idle, just after the end: another period is paid for", func(l *lease.Lease) { nothing(l, 99) }, 100,
			protocol.Receiving},
		{"near the end of the next period", func(l *lease.Lease) { nothing(l, 150) }, 180, protocol.Draining},
		{"a message is held", func(l *lease.Lease) { l.EndReceive(at(70), l.BeginReceive(1), 1) }, 90,
			protocol.Receiving},
		{"a receive may still bring a message", func(l *lease.Lease) { nothing(l, 79); l.BeginReceive(1) }, 90,
			protocol.Receiving},
		{"nobody knows whether messages wait", func(*lease.Lease) {}, 90, protocol.Receiving},
		{"the last receive failed", func(l *lease.Lease) { nothing(l, 79); l.FailReceive(at(85), l.BeginReceive(1)) },
			90, protocol.Receiving},
		{"the last receive brought a message, which is done", func(l *lease.Lease) {
			l.EndReceive(at(70), l.BeginReceive(1), 1)
			l.End(at(85), lease.End{Received: at(70), Took: time.Second, OK: true})
		}, 90, protocol.Receiving},
		{"it was kept in this period", func(l *lease.Lease) { nothing(l, 79); kept(l, 81) }, 99, protocol.Receiving},
		{"it was kept in the period before", func(l *lease.Lease) { nothing(l, 79); kept(l, 81) }, 181,
			protocol.Draining},
		{"the clock was set back to before the first period", func(l *lease.Lease) { nothing(l, 79) }, -30,
			protocol.Receiving},
	} {
		t.Run(row.name, func(t *testing.T) {
			l := paid()
			l.Ready(at(0))
			row.drive(l)
			l.Tick(at(row.now))
			if l.State() != row.want || l.State() == protocol.Draining && l.Cause() != protocol.EndOfBilling {
				t.Errorf("the worker is %s (%s), want %s", l.State(), l.Cause(), row.want)
			}
		})
	}
}

func TestLeaseThatIsPaidByPeriodsKeepsItsPromises(t *testing.T) {
	offers := 0
	rapid.Check(t, func(t *rapid.T) {
		// Most of each period is near its end, so that many scripts are idle then.
		lease := lease.New(lease.Options{Fleet: "f", Member: "m", Worker: "w", Slots: 3,
			Billing: lease.Billing{Start: at(0), Period: 30 * time.Second, Margin: 28 * time.Second}})
		l := &lease
		s := subject{l, l.BeginReceive, l.EndReceive, func(now time.Time) {
			l.Tick(now)
			if l.Cause() == protocol.EndOfBilling {
				offers++
			}
		}, l.Mint, l.Obey, l.Report}
		if err := play(scripts.Draw(t, "script"), s); err != nil {
			t.Fatal(err)
		}
	})
	if offers == 0 {
		t.Error("no script had a worker offer to leave at the end of a paid period")
	}
}
