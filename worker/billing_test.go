package worker_test

import (
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/muster-scale/muster/mustertest"
	"github.com/muster-scale/muster/worker"
	"github.com/muster-scale/muster/worker/lease"
	"github.com/muster-scale/muster/worker/protocol"
)

func TestRunOffersToLeaveWhenAPaidPeriodEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var offered atomic.Int64
		c := &fakeController{rule: func(_ int, r protocol.Report) (protocol.Directive, error) {
			switch {
			case r.Token == "":
				return work, nil
			case offered.Load() < 2: // it is needed in the first two periods
				offered.Add(1)
				return work, nil
			}
			return protocol.Directive{Ask: protocol.Leave, Token: r.Token}, nil
		}}
		q := newFakeQueue()
		begun := time.Now()
		r := run(t, worker.Options{Queue: q, Reporter: c, Do: takes(time.Second),
			Billing: lease.Billing{Period: time.Hour}})
		after(57 * time.Minute)
		if got := c.last(); got.State != protocol.Receiving || offered.Load() > 0 {
			t.Errorf("after 57 minutes it is %s", got.State)
		}
		after(30 * time.Minute)
		q.send("a")
		r.left(2 * time.Hour)
		if last := c.last(); last.Cause != protocol.EndOfBilling || offered.Load() != 2 {
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
		r := run(t, worker.Options{Queue: newFakeQueue("a", "b", "c"), Reporter: c, Slots: 3, Do: takes(3 * time.Hour),
			Billing: lease.Billing{Period: time.Hour, Margin: time.Minute}})
		after(179 * time.Minute)
		for _, r := range c.all() {
			if r.State != protocol.Starting && r.State != protocol.Receiving {
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
		o.Billing = lease.Billing{Period: 10 * time.Minute, Margin: time.Minute}
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
	for _, b := range []lease.Billing{
		{Period: time.Second}, {Period: 32 * 24 * time.Hour}, {Period: -time.Hour},
		{Period: time.Hour, Margin: 31 * time.Minute}, {Period: time.Hour, Margin: -time.Second},
	} {
		err := worker.Run(t.Context(), worker.Options{Queue: newFakeQueue(), Do: takes(0), Billing: b})
		if err == nil || !strings.Contains(err.Error(), "billing") {
			t.Errorf("%+v gave the error %v", b, err)
		}
	}
}
