package policy_test

import (
	"testing"
	"time"
	_ "time/tzdata" // the tests' zones do not depend on the machine

	"github.com/muster-scale/muster"
	"github.com/muster-scale/muster/policy"
)

func TestAnInstantIsInAnIntervalByWhatTheClocksShow(t *testing.T) {
	office := policy.Interval{Days: []string{"mon", "tue", "wed", "thu", "fri"}, From: "08:00", To: "18:00",
		Zone: "Europe/Berlin"}
	night := policy.Interval{Days: []string{"fri"}, From: "22:00", To: "06:00", Zone: "Europe/Berlin"}
	small := policy.Interval{From: "02:30", To: "02:45", Zone: "Europe/Berlin"}
	long := policy.Interval{From: "01:00", To: "04:00", Zone: "Europe/Berlin"}
	for _, row := range []struct {
		name     string
		interval policy.Interval
		at       string
		want     bool
	}{
		{"Monday at eight in winter", office, "2026-01-05T07:00:00Z", true},
		{"a second before", office, "2026-01-05T06:59:59Z", false},
		{"Monday at eight in summer", office, "2026-07-06T06:00:00Z", true},
		{"the end is not in it", office, "2026-01-05T17:00:00Z", false},
		{"Saturday", office, "2026-01-10T10:00:00Z", false},
		{"Friday night", night, "2026-01-09T22:30:00Z", true},
		{"the morning after Friday night", night, "2026-01-10T04:59:00Z", true},
		{"Friday morning belongs to Thursday night", night, "2026-01-09T04:00:00Z", false},
		{"its end on Saturday", night, "2026-01-10T05:00:00Z", false},
		{"an hour that spring skips never shows", small, "2026-03-29T01:35:00Z", false},
		{"an hour that autumn repeats shows the first time", small, "2026-10-25T00:35:00Z", true},
		{"and the second time", small, "2026-10-25T01:35:00Z", true},
		{"an interval around the skipped hour goes on", long, "2026-03-29T01:00:00Z", true},
		{"and ends when the clocks show its end", long, "2026-03-29T02:00:00Z", false},
		{"equal times are the whole day", policy.Interval{From: "00:00", To: "00:00"}, "2026-01-01T23:59:59Z", true},
		{"the end of the day", policy.Interval{From: "12:00", To: "24:00"}, "2026-01-01T23:59:59Z", true},
	} {
		at, err := time.Parse(time.RFC3339, row.at)
		if err != nil {
			t.Fatal(err)
		}
		if got := row.interval.Contains(at); got != row.want {
			t.Errorf("%s: %v, want %v", row.name, got, row.want)
		}
	}
}

func TestStepsAndSchedules(t *testing.T) {
	three := 3
	step := policy.Spec{Name: "step", Cooldown: time.Minute, Steps: []policy.StepChange{
		{From: 0, To: 10, Add: -1}, {From: 100, To: 500, Add: 2}, {From: 500, To: 1000, Percent: 50},
		{From: 1000, Set: &three},
	}}
	age := policy.Spec{Name: "step", Metric: policy.MetricUtilization,
		Steps: []policy.StepChange{{From: 0.9, Percent: 100}}}
	day := policy.Spec{Name: "schedule", Intervals: []policy.Interval{{From: "11:00", To: "13:00", Workers: 7},
		{From: "10:00", To: "20:00", Workers: 2}}}
	off := policy.Spec{Name: "schedule", Intervals: []policy.Interval{{From: "13:00", To: "14:00", Workers: 7}}}
	either := policy.Spec{Name: "largest", Largest: []policy.Spec{day, {Name: "exact"}}}
	changed := func(ago time.Duration) muster.Recent {
		return muster.Recent{{At: t0.Add(-ago), Desired: 4, Previous: 1}}
	}
	for _, row := range []struct {
		name   string
		spec   policy.Spec
		see    see
		recent muster.Recent
		want   int
	}{
		{"below the first step one goes", step, see{backlog: 3, idle: 4}, nil, 3},
		{"never below none", step, see{backlog: 3}, nil, 0},
		{"between steps the size stays", step, see{backlog: 50, idle: 4}, nil, 4},
		{"two more from a hundred on", step, see{backlog: 100, idle: 4}, nil, 6},
		{"half as many again from five hundred on", step, see{backlog: 999, idle: 4}, nil, 6},
		{"a percentage of nothing is one", step, see{backlog: 999}, nil, 1},
		{"a set size", step, see{backlog: 5000, idle: 4}, nil, 3},
		{"the next step waits for the cooldown", step, see{backlog: 100, idle: 4}, changed(59 * time.Second), 4},
		{"and comes after it", step, see{backlog: 100, idle: 4}, changed(60 * time.Second), 6},
		{"steps on utilization", age, see{backlog: 2, inFlight: 2, busy: 2}, nil, 4},
		{"the first interval that is on", day, see{}, nil, 7},
		{"no interval is on", off, see{idle: 3}, nil, 0},
		{"the calendar's size, and more for what waits", either, see{backlog: 9, idle: 0}, nil, 9},
		{"the calendar's size at the least", either, see{}, nil, 7},
	} {
		t.Run(row.name, func(t *testing.T) {
			p, err := policy.New(row.spec)
			if err != nil {
				t.Fatal(err)
			}
			if d := p.Decide(row.see.observation(), row.recent); d.Desired != row.want {
				t.Errorf("desired %d, want %d\n%s", d.Desired, row.want, d.Sentence())
			}
		})
	}
	for name, spec := range map[string]policy.Spec{
		"overlapping steps":   {Name: "step", Steps: []policy.StepChange{{From: 0, Add: 1}, {From: 5, Add: 2}}},
		"a step of two kinds": {Name: "step", Steps: []policy.StepChange{{From: 0, Add: 1, Percent: 2}}},
		"no steps":            {Name: "step"},
		"an unknown metric":   {Name: "step", Metric: "cpu", Steps: []policy.StepChange{{From: 0, Add: 1}}},
		"an unknown zone": {Name: "schedule",
			Intervals: []policy.Interval{{From: "01:00", To: "02:00", Zone: "Europe/Berlon"}}},
		"a time of 25:00": {Name: "schedule", Intervals: []policy.Interval{{From: "25:00", To: "02:00"}}},
		"an unknown day": {Name: "schedule",
			Intervals: []policy.Interval{{From: "01:00", To: "02:00", Days: []string{"monday"}}}},
	} {
		if spec.Check() == nil {
			t.Errorf("%s: found no fault", name)
		}
	}
}
