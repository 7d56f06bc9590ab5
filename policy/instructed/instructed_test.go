package instructed_test

import (
	"strings"
	"testing"
	"time"

	"github.com/muster-scale/muster"
	"github.com/muster-scale/muster/override"
	"github.com/muster-scale/muster/policy"
	"github.com/muster-scale/muster/policy/instructed"
)

var t0 = time.Date(2026, 11, 23, 14, 0, 0, 0, time.UTC)

// seen is a fleet of 10 idle workers in a range of 2 to 50, whose queue has a number of messages.
func seen(backlog float64, l override.List) muster.Observation {
	o := muster.Observation{
		Fleet: "f", At: t0, Poll: time.Second, Objective: muster.Objective{Latency: time.Minute, Quantile: 0.99},
		Limits: muster.Limits{Min: 2, Max: 50, LaunchesPerHour: 1000},
		Queues: []muster.QueueObservation{{Queue: "q", Backlog: muster.Measured(t0, backlog),
			InFlight: muster.Measured(t0, 0)}},
		Capacity: muster.Capacity{Known: true, Desired: 10, Idle: 10, Slots: 10, SlotsPerWorker: 1},
		Boot:     muster.Estimate{Known: true, Count: 50, MeanSeconds: 30, P95Seconds: 50, P99Seconds: 58},
	}
	o.Overrides = l
	o.Limits.Min, o.Limits.Max = l.Limits(t0, 2, 50)
	return o
}

// one is an override that acts now.
func one(k override.Kind, change func(*override.Override)) override.List {
	o := override.Override{ID: "o", Kind: k, Reason: "a test", Begin: t0.Add(-time.Minute), End: t0.Add(time.Hour)}
	if change != nil {
		change(&o)
	}
	return override.List{o}
}

func TestEachInstructionIsATermOfTheDecision(t *testing.T) {
	twenty, three := 20, 3
	reserve := func(n int, begin time.Time) override.List {
		return one(override.Reserve, func(o *override.Override) {
			o.Workers, o.Begin = n, begin
			o.Grant = &override.Grant{Workers: n, LaunchAt: begin.Add(-time.Minute)}
		})
	}
	for _, x := range []struct {
		name    string
		backlog float64
		list    override.List
		spec    policy.Spec
		want    int
		floor   int
		reason  muster.Reason
		text    string
	}{
		{"no instruction", 0, nil, policy.Spec{}, 2, 2, "", ""},
		{"a pause with less work", 0, one(override.Pause, nil), policy.Spec{}, 10, 10, muster.Paused,
			"paused until 15:00 UTC (a test): it would be 2 workers"},
		{"a pause with more work", 30, one(override.Pause, nil), policy.Spec{}, 10, 10, muster.Paused,
			"it would be 30 workers"},
		{"held scale-in with less work", 0, one(override.HoldScaleIn, nil), policy.Spec{}, 10, 10,
			muster.ScaleInHeld, "scale-in is held until 15:00 UTC (a test)"},
		{"held scale-in with more work", 30, one(override.HoldScaleIn, nil), policy.Spec{}, 30, 30, "",
			"scale-in is held until 15:00 UTC"},
		{"a lower maximum", 30, one(override.Limits, func(o *override.Override) { o.Max = &twenty }), policy.Spec{},
			20, 20, "", "max 20 until 15:00 UTC (a test)"},
		{"a higher minimum", 0, one(override.Limits, func(o *override.Override) { o.Min = &three }), policy.Spec{},
			3, 3, "", "min 3 until 15:00 UTC (a test)"},
		{"a reservation", 0, reserve(40, t0), policy.Spec{}, 40, 40, "",
			"reserved: 40 workers until 15:00 UTC (a test)"},
		{"a reservation one boot ahead", 0, reserve(40, t0.Add(time.Minute)), policy.Spec{}, 40, 40, "",
			"reserved: 40 workers from 14:01 UTC until 15:00 UTC (a test)"},
		{"a reservation further ahead", 0, reserve(40, t0.Add(61*time.Second)), policy.Spec{}, 2, 2, "", ""},
		{"a reservation below the demand", 30, reserve(5, t0), policy.Spec{}, 30, 5, "", "reserved: 5 workers"},
		{"a reservation above the maximum", 0, reserve(90, t0), policy.Spec{}, 50, 50, "", "the maximum is 50"},
		{"a reservation above the budget", 0, reserve(40, t0), policy.Spec{PricePerHour: 1, BudgetPerHour: 12}, 12, 12,
			"", "a budget of 12 an hour"},
		{"a reservation waits for no window", 0, reserve(40, t0), policy.Spec{
			Out: policy.Shape{Stabilization: time.Minute, MaxWorkers: 1, Period: time.Minute}}, 40, 40, "", ""},
	} {
		t.Run(x.name, func(t *testing.T) {
			x.spec.Name, x.spec.Acceptable = "backlog-per-worker", 1
			p, err := policy.New(x.spec)
			if err != nil {
				t.Fatal(err)
			}
			o := seen(x.backlog, x.list)
			d := p.Decide(o, nil)
			if d.Desired != x.want || d.Reason != x.reason || d.Floor < x.floor {
				t.Errorf("desired %d, floor %d, reason %q; want %d, at least %d, %q: %s", d.Desired, d.Floor, d.Reason,
					x.want, x.floor, x.reason, d.Sentence())
			}
			if !strings.Contains(d.Sentence(), x.text) {
				t.Errorf("found %q, want it to say %q", d.Sentence(), x.text)
			}
		})
	}
}

// TestTheRecommendationIsThatOfTheDemand holds that windows of the policy do not see a reservation, so that the size
// falls at once when it ends.
func TestTheRecommendationIsThatOfTheDemand(t *testing.T) {
	p, err := policy.New(policy.Spec{Name: "backlog-per-worker", Acceptable: 1,
		In: policy.Shape{Stabilization: time.Minute}})
	if err != nil {
		t.Fatal(err)
	}
	list := one(override.Reserve, func(o *override.Override) {
		o.Workers, o.Grant = 40, &override.Grant{Workers: 40}
	})
	if d := p.Decide(seen(0, list), nil); d.Wish != 0 || d.Desired != 40 {
		t.Errorf("the recommendation is %d and desired %d, want 0 and 40", d.Wish, d.Desired)
	}
}

func TestAReservationLaunchesOneSlowBootAndTwoPollsAhead(t *testing.T) {
	o := seen(0, nil)
	if got := instructed.Lead(o); got != time.Minute {
		t.Errorf("found %s, want 58s and two polls", got)
	}
	o.Boot.Count = 5
	if got := instructed.Lead(o); got != 118*time.Second {
		t.Errorf("with few measured boots found %s, want twice 58s and two polls", got)
	}
}
