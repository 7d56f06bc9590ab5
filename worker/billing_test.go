package worker_test

import (
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"github.com/muster-scale/muster"
	"github.com/muster-scale/muster/mustertest"
	"github.com/muster-scale/muster/worker"
)

// paid is a lease whose paid periods end every 100 s; it offers to leave in the last 20 s of each.
func paid() *worker.Lease {
	l := worker.NewLease(worker.LeaseOptions{Fleet: "f", Member: "m", Worker: "w", Slots: 3,
		Billing: worker.Billing{Start: at(0), Period: 100 * time.Second, Margin: 20 * time.Second}})
	return &l
}

func TestLeaseOffersToLeaveWhenAPaidPeriodEnds(t *testing.T) {
	nothing := func(l *worker.Lease, now float64) { l.EndReceive(at(now), l.BeginReceive(1), 0) }
	kept := func(l *worker.Lease, now float64) {
		l.Tick(at(now))
		l.Mint(at(now), "token")
		l.Obey(at(now), l.Report(at(now)), muster.Directive{Ask: muster.Work})
		nothing(l, now)
	}
	for _, row := range []struct {
		name  string
		drive func(l *worker.Lease)
		now   float64
		want  muster.WorkerState
	}{
		{"idle, near the end", func(l *worker.Lease) { nothing(l, 79) }, 80, muster.Draining},
		{"idle, at the very end", func(l *worker.Lease) { nothing(l, 79) }, 99.9, muster.Draining},
		{"idle, before that", func(l *worker.Lease) { nothing(l, 79) }, 79.9, muster.Receiving},
		{"idle, just after the end: another period is paid for", func(l *worker.Lease) { nothing(l, 99) }, 100, muster.Receiving},
		{"near the end of the next period", func(l *worker.Lease) { nothing(l, 150) }, 180, muster.Draining},
		{"a message is held", func(l *worker.Lease) { l.EndReceive(at(70), l.BeginReceive(1), 1) }, 90, muster.Receiving},
		{"a receive may still bring a message", func(l *worker.Lease) { nothing(l, 79); l.BeginReceive(1) }, 90, muster.Receiving},
		{"nobody knows whether messages wait", func(*worker.Lease) {}, 90, muster.Receiving},
		{"the last receive failed", func(l *worker.Lease) { nothing(l, 79); l.FailReceive(at(85), l.BeginReceive(1)) }, 90, muster.Receiving},
		{"the last receive brought a message, which is done", func(l *worker.Lease) {
			l.EndReceive(at(70), l.BeginReceive(1), 1)
			l.Finished(at(85), at(70), time.Second, true)
		}, 90, muster.Receiving},
		{"it was kept in this period", func(l *worker.Lease) { nothing(l, 79); kept(l, 81) }, 99, muster.Receiving},
		{"it was kept in the period before", func(l *worker.Lease) { nothing(l, 79); kept(l, 81) }, 181, muster.Draining},
		{"the clock was set back to before the first period", func(l *worker.Lease) { nothing(l, 79) }, -30, muster.Receiving},
	} {
		t.Run(row.name, func(t *testing.T) {
			l := paid()
			l.Ready(at(0))
			row.drive(l)
			l.Tick(at(row.now))
			if l.State() != row.want || l.State() == muster.Draining && l.Cause() != muster.EndOfBilling {
				t.Errorf("the worker is %s (%s), want %s", l.State(), l.Cause(), row.want)
			}
		})
	}
}

func TestLeaseThatIsPaidByPeriodsKeepsItsPromises(t *testing.T) {
	offers := 0
	rapid.Check(t, func(t *rapid.T) {
		// Most of each period is near its end, so that many scripts are idle then.
		lease := worker.NewLease(worker.LeaseOptions{Fleet: "f", Member: "m", Worker: "w", Slots: 3,
			Billing: worker.Billing{Start: at(0), Period: 30 * time.Second, Margin: 28 * time.Second}})
		l := &lease
		s := subject{l, l.BeginReceive, l.EndReceive, func(now time.Time) {
			l.Tick(now)
			if l.Cause() == muster.EndOfBilling {
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

func TestRunOffersToLeaveWhenAPaidPeriodEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var offered atomic.Int64
		c := &fakeController{rule: func(_ int, r muster.Report) (muster.Directive, error) {
			switch {
			case r.Token == "":
				return work, nil
			case offered.Load() < 2: // it is needed in the first two periods
				offered.Add(1)
				return work, nil
			}
			return muster.Directive{Ask: muster.Leave, Token: r.Token}, nil
		}}
		q := newFakeQueue()
		begun := time.Now()
		r := run(t, worker.Options{Queue: q, Reporter: c, Do: takes(time.Second), Billing: worker.Billing{Period: time.Hour}})
		after(57 * time.Minute)
		if got := c.last(); got.State != muster.Receiving || offered.Load() > 0 {
			t.Errorf("after 57 minutes it is %s", got.State)
		}
		after(30 * time.Minute)
		q.send("a")
		r.left(2 * time.Hour)
		if last := c.last(); last.Cause != muster.EndOfBilling || offered.Load() != 2 {
			t.Errorf("offered %d times before the last, whose cause was %q", offered.Load(), last.Cause)
		}
		if took := time.Since(begun); took < 178*time.Minute || took > 3*time.Hour {
			t.Errorf("left after %s, want shortly before the end of the third hour", took)
		}
	})
}

func TestRunThatIsBusyWhenAPaidPeriodEndsStays(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &fakeController{rule: keepWorking}
		r := run(t, worker.Options{Queue: newFakeQueue("a", "b", "c"), Reporter: c, Slots: 3, Do: takes(3 * time.Hour), Billing: worker.Billing{Period: time.Hour, Margin: time.Minute}})
		after(179 * time.Minute)
		for _, r := range c.all() {
			if r.State != muster.Starting && r.State != muster.Receiving {
				t.Fatalf("it said %s (%s) while it held %d messages", r.State, r.Cause, r.Busy)
			}
		}
		r.told()
		r.left(2 * time.Minute)
	})
}

// TestRunRestsAtTheEndOfAPaidPeriod: in a service and without a controller, the cleared flag is the offer.
func TestRunRestsAtTheEndOfAPaidPeriod(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := mustertest.NewECSAgent(time.Now)
		o := protectedOptions(a, guarded(t, a), time.Second)
		o.Billing = worker.Billing{Period: 10 * time.Minute, Margin: time.Minute}
		r := run(t, o)
		resting := 0
		for second := range 1200 {
			after(time.Second)
			if second > 5 && !a.Protected() {
				resting++
			}
		}
		if resting < 10 || resting > 60 {
			t.Errorf("rested for %d s in two periods, want about ten at the end of each", resting)
		}
		r.told()
		r.left(3 * time.Second)
	})
}

func TestBillingThatIsNotAllowed(t *testing.T) {
	for _, b := range []worker.Billing{
		{Period: time.Second}, {Period: 32 * 24 * time.Hour}, {Period: -time.Hour}, {Period: time.Hour, Margin: 31 * time.Minute}, {Period: time.Hour, Margin: -time.Second},
	} {
		err := worker.Run(t.Context(), worker.Options{Queue: newFakeQueue(), Do: takes(0), Billing: b})
		if err == nil || !strings.Contains(err.Error(), "billing") {
			t.Errorf("%+v gave the error %v", b, err)
		}
	}
}
