package tracking

import (
	"testing"
	"time"
)

// TestATrackerFollowsItsMetric plays series of datapoints, one a minute, to a policy with a target of 10.
func TestATrackerFollowsItsMetric(t *testing.T) {
	group := Policy{Pair: Fixed(), Period: time.Minute, Warmup: 3 * time.Minute}
	service := Policy{Pair: Fixed(), Period: time.Minute, Service: true, ScaleOut: 5 * time.Minute,
		ScaleIn: 5 * time.Minute}
	repeat := func(v float64, n int) (all []*float64) {
		for range n {
			all = append(all, &v)
		}
		return all
	}
	missing := make([]*float64, 30)
	for _, c := range []struct {
		name   string
		policy Policy
		points []*float64
		at     Capacity
		want   int
	}{
		{"two points above scale nothing", group, repeat(25, 2), Capacity{InService: 4, Desired: 4, Max: 50}, 4},
		{"three points above scale out to what they need", group, repeat(25, 3),
			Capacity{InService: 4, Desired: 4, Max: 50}, 10},
		{"up to the maximum", group, repeat(25, 3), Capacity{InService: 4, Desired: 4, Max: 7}, 7},
		{"from none to one", group, repeat(25, 3), Capacity{Max: 50}, 1},
		{"14 points below scale nothing", group, repeat(5, 14), Capacity{InService: 4, Desired: 4, Max: 50}, 4},
		{"15 points below scale in", group, repeat(5, 15), Capacity{InService: 4, Desired: 4, Max: 50}, 2},
		{"not below the minimum", group, repeat(0, 15), Capacity{InService: 4, Desired: 4, Min: 3, Max: 50}, 3},
		{"not while members warm up", group, repeat(5, 15), Capacity{InService: 4, Desired: 4, Max: 50, Pending: true},
			4},
		{"not where scale-in is disabled", Policy{Pair: Fixed(), DisableScaleIn: true}, repeat(5, 15),
			Capacity{InService: 4, Desired: 4, Max: 50}, 4},
		{"missing points scale nothing", group, missing, Capacity{InService: 4, Desired: 4, Max: 50}, 4},
		{"a service applies the metric to the desired count", service, repeat(25, 3),
			Capacity{InService: 1, Desired: 4, Max: 50}, 10},
		{"a service within its cooldown counts from before the scale-out", service, repeat(25, 6),
			Capacity{InService: 4, Desired: 4, Max: 50}, 10},
	} {
		t.Run(c.name, func(t *testing.T) {
			var tr Tracker
			tr.SetTarget(10)
			now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
			for _, p := range c.points {
				c.at.Desired = tr.Point(c.policy, now, p, c.at)
				now = now.Add(time.Minute)
			}
			if c.at.Desired != c.want {
				t.Errorf("found a desired count of %d, want %d", c.at.Desired, c.want)
			}
		})
	}
}

func TestAnotherTargetResetsTheAlarms(t *testing.T) {
	var tr Tracker
	p, at, high := Policy{Pair: Fixed(), Period: time.Minute}, Capacity{InService: 4, Desired: 4, Max: 50}, 25.0
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	if got := tr.Point(p, now, &high, at); got != 4 {
		t.Errorf("found %d without a target, want 4", got)
	}
	tr.SetTarget(10)
	for range 2 {
		now = now.Add(time.Minute)
		at.Desired = tr.Point(p, now, &high, at)
	}
	if at.Desired != 10 {
		t.Errorf("found %d after three points, of which one came before the target, want 10", at.Desired)
	}
	tr.SetTarget(12)
	if tr.high.State != "INSUFFICIENT_DATA" || tr.Target() != 12 {
		t.Errorf("found %q at a target of %v, want INSUFFICIENT_DATA at 12", tr.high.State, tr.Target())
	}
}
