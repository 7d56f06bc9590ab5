package cloud_test

import (
	"testing"
	"time"

	"github.com/muster-scale/muster/sim/cloud"
	"github.com/muster-scale/muster/sim/cloud/account"
	"github.com/muster-scale/muster/sim/cloud/groupapi"
	"github.com/muster-scale/muster/sim/cloud/groups"
)

func TestTimeOnlyGoesForward(t *testing.T) {
	f := newFleet(t, cloud.Settings{}, 0, 5, 2)
	f.pass(2 * time.Minute)
	f.Advance(start)
	expect(t, "now", f.Now(), start.Add(2*time.Minute))
	expect(t, "in service", len(f.in(groupapi.InService)), 2)
}

func TestOneLongStepIsAsManyShortOnes(t *testing.T) {
	walk := func(step time.Duration) []groupapi.Activity {
		f := newFleet(t, cloud.Settings{Seed: 5, Machines: groups.Machines{Spread: 0.5, BootFails: 0.3}}, 0, 20, 20)
		for until := f.Now().Add(time.Hour); f.Now().Before(until); {
			f.pass(step)
		}
		return f.activities()
	}
	long, short := walk(time.Hour), walk(time.Second)
	expect(t, "activities", len(long), len(short))
	for k := range long {
		expect(t, long[k].Description, long[k], short[k])
	}
	if len(long) < 22 {
		t.Errorf("%d activities: with boots that fail there are more than 20", len(long))
	}
}

func TestEventsAreKeptUpToTheirBound(t *testing.T) {
	f := newFleet(t, cloud.Settings{}, 0, 100, 0)
	for range 110 {
		f.resize(100)
		f.pass(5 * time.Minute)
		f.resize(0)
		f.pass(5 * time.Minute)
	}
	all := f.TakeEvents()
	expect(t, "events", len(all), account.MaxEvents)
	expect(t, "the newest is there", f.Now().Sub(all[len(all)-1].At) < 5*time.Minute, true)
	expect(t, "taken", len(f.TakeEvents()), 0)
}

func TestTroublesEndWhenTheyShould(t *testing.T) {
	f := newFleet(t, cloud.Settings{Seed: 1, Rates: []account.Rate{}}, 0, 5, 0)
	failed := func(n int) (all int) {
		for range n {
			if f.Admit(account.AutoScalingService, "SetDesiredCapacity").Fault != nil {
				all++
			}
		}
		return all
	}
	f.Inject(account.Injection{Trouble: account.Throttled, Times: 3})
	expect(t, "three times", failed(10), 3)
	f.Inject(account.Injection{Trouble: account.AccessDenied, Until: f.Now().Add(time.Minute)})
	expect(t, "for a minute", failed(10), 10)
	f.pass(time.Minute)
	expect(t, "and no longer", failed(10), 0)
	f.Inject(account.Injection{Trouble: account.InternalFailure, Share: 0.25})
	if n := failed(1000); n < 200 || n > 300 {
		t.Errorf("a quarter of 1000 calls: %d failed", n)
	}
	f.Inject(account.Injection{Trouble: account.Timeout, Service: account.ECSService})
	f.ClearInjections()
	expect(t, "cleared", failed(10), 0)
}
