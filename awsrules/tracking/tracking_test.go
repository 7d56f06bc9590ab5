package tracking

import (
	"math"
	"testing"
	"time"

	"github.com/muster-scale/muster/awsrules/alarm"
)

func ptr[T any](v T) *T { return &v }

func TestTheSizeIsProportionalAndRoundedUp(t *testing.T) {
	for _, c := range []struct {
		name           string
		capacity       int
		metric, target float64
		want           int
	}{
		{"1,500 visible on 10 instances at 100 each: 15, as published", 10, 150, 100, 15},
		{"the published test of 25 s: 48 waiting for 1 at 12", 1, 48, 12, 4},
		{"a scale-out is rounded up", 4, 26, 10, 11},
		{"a scale-in that would remove 1.5 removes 1", 10, 8.5, 10, 9},
		{"0.62 of 0.7 on 100", 100, 0.62, 0.7, 89},
		{"7/0.7 is 10, however it is divided", 1, 7, 0.7, 10},
		{"nothing waits", 5, 0, 10, 0},
		{"nothing is there", 0, 50, 10, 0},
		{"a metric beyond all bounds", 5, math.MaxFloat64, 1e-9, math.MaxInt32},
		{"a metric below zero", 5, -3, 10, 0},
	} {
		if got := Size(c.capacity, c.metric, c.target); got != c.want {
			t.Errorf("%s: %d, want %d", c.name, got, c.want)
		}
	}
}

func TestTheFixedPairIsThreeAboveAndFifteenBelowNineTenths(t *testing.T) {
	high, low := Fixed().HighAlarm(10), Fixed().LowAlarm(10)
	if high.Threshold != 10 || high.Comparison != alarm.Above || high.Periods != 3 || high.Datapoints != 3 {
		t.Errorf("high: %+v", high)
	}
	if low.Threshold != 9 || low.Comparison != alarm.Below || low.Periods != 15 || low.Datapoints != 15 {
		t.Errorf("low: %+v", low)
	}
	for _, r := range []alarm.Rule{high, low} {
		if err := r.Check(); err != nil {
			t.Error(err)
		}
	}
}

func TestAScaleOut(t *testing.T) {
	for _, c := range []struct {
		name              string
		metric            *float64
		capacity, desired int
		want              int
		out               bool
	}{
		{"to what the metric asks for", ptr(26.0), 4, 4, 11, true},
		{"launches under way count", ptr(26.0), 4, 11, 11, false},
		{"never down", ptr(26.0), 4, 15, 11, false},
		{"up to the most", ptr(100.0), 4, 4, 20, true},
		{"from nothing by what AWS does not say", ptr(100.0), 0, 0, 1, true},
		{"without a metric not at all", nil, 4, 4, 4, false},
	} {
		got, out := Out(Reading{Target: 10, Metric: c.metric}, c.capacity, c.desired, 20, 1)
		if got != c.want || out != c.out {
			t.Errorf("%s: %d, %v, want %d, %v", c.name, got, out, c.want, c.out)
		}
	}
}

func TestAScaleInNeedsAllPolicies(t *testing.T) {
	low := func(metric float64) Reading {
		return Reading{Target: 10, Metric: &metric, High: alarm.OK, Low: alarm.Alarm}
	}
	with := func(r Reading, change func(*Reading)) Reading {
		change(&r)
		return r
	}
	for _, c := range []struct {
		name string
		all  []Reading
		want int
		in   bool
	}{
		{"one policy", []Reading{low(5)}, 5, true},
		{"the largest of several", []Reading{low(5), low(7)}, 7, true},
		{"not below the least", []Reading{low(0)}, 2, true},
		{"one whose low alarm is not raised", []Reading{low(5), with(low(5),
			func(r *Reading) { r.Low = alarm.OK })}, 10, false},
		{"one without data", []Reading{low(5), with(low(5),
			func(r *Reading) { r.Low, r.Metric = alarm.InsufficientData, nil })}, 10, false},
		{"one that may not scale in is not asked", []Reading{low(5), with(low(5),
			func(r *Reading) { r.Low, r.DisableScaleIn = alarm.OK, true })}, 5, true},
		{"but may want out", []Reading{low(5), with(low(5),
			func(r *Reading) { r.High, r.DisableScaleIn = alarm.Alarm, true })}, 10, false},
		{"none that may scale in", []Reading{with(low(5), func(r *Reading) { r.DisableScaleIn = true })}, 2, false},
		{"none at all", nil, 2, false},
		{"no change", []Reading{low(10)}, 10, false},
	} {
		if got, in := In(c.all, 10, 10, 2); got != c.want || in != c.in {
			t.Errorf("%s: %d, %v, want %d, %v", c.name, got, in, c.want, c.in)
		}
	}
}

func TestTheWarmUpIsThePolicysOrTheGroupsOrTheCooldown(t *testing.T) {
	for _, c := range []struct {
		policy, group *time.Duration
		want          time.Duration
	}{{ptr(time.Second), ptr(time.Minute), time.Second}, {ptr(time.Duration(0)), ptr(time.Minute), 0},
		{nil, ptr(time.Minute), time.Minute}, {nil, nil, 300 * time.Second}} {
		if got := Warmup(c.policy, c.group, 300*time.Second); got != c.want {
			t.Errorf("%v and %v: %s, want %s", c.policy, c.group, got, c.want)
		}
	}
}

func TestCooldownsOfApplicationAutoScaling(t *testing.T) {
	start := time.Date(2026, 11, 2, 9, 0, 0, 0, time.UTC)
	at := func(seconds int) time.Time { return start.Add(time.Duration(seconds) * time.Second) }
	const cooldown = 300 * time.Second
	var c Cooldowns
	if got := c.Capacity(at(0), 4, cooldown); got != 4 {
		t.Errorf("at first the metric is applied to %d, want the desired 4", got)
	}
	if !c.MayScaleIn(at(0), cooldown) {
		t.Error("nothing has changed and a scale-in must wait")
	}
	c.ScaledOut(at(0), 4, cooldown)
	c.ScaledOut(at(100), 8, cooldown) // a larger one within the cooldown
	for _, row := range []struct{ at, want int }{{100, 4}, {299, 4}, {300, 10}} {
		if got := c.Capacity(at(row.at), 10, cooldown); got != row.want {
			t.Errorf("after %d s the metric is applied to %d, want %d", row.at, got, row.want)
		}
	}
	for second, want := range map[int]bool{399: false, 400: true} {
		if got := c.MayScaleIn(at(second), cooldown); got != want {
			t.Errorf("a scale-in after %d s: %v, want %v", second, got, want)
		}
	}
	c.ScaledIn(at(500))
	if c.MayScaleIn(at(799), cooldown) || !c.MayScaleIn(at(800), cooldown) {
		t.Error("a scale-in waits for the cooldown of the last one")
	}
}
