package policy_test

import (
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/muster-scale/muster"
	"github.com/muster-scale/muster/policy"
)

// delegatedSeen is an observation of 300 s and workers of one slot, with a mean processing duration in seconds; 0 is
// unknown.
func delegatedSeen(at time.Duration, mean float64, backlog float64) muster.Observation {
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC).Add(at)
	return muster.Observation{
		Fleet: "web", At: now, Objective: muster.Objective{Latency: 300 * time.Second, Quantile: 0.99},
		Limits:     muster.Limits{Max: 100, LaunchesPerHour: 1000},
		Capacity:   muster.Capacity{Known: true, SlotsPerWorker: 1, Desired: 3},
		Processing: muster.Estimate{Known: mean > 0, MeanSeconds: mean, Count: 9},
		Queues: []muster.QueueObservation{{Queue: "work", Backlog: muster.Measured(now, backlog),
			InFlight: muster.Measured(now, 0)}},
	}
}

func delegatedPolicy(t interface{ Fatal(...any) }, s policy.Spec) muster.Policy {
	s.Delegate = &policy.Delegation{ChangePercent: 20, Every: 5 * time.Minute}
	p, err := policy.New(s)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestADelegatedTargetFollowsTheDurations(t *testing.T) {
	rows := []struct {
		name  string
		spec  policy.Spec
		steps []struct {
			at           time.Duration
			mean, target float64
		}
	}{
		{"as measured, by more than the change, and not too often", policy.Spec{Name: "dynamic-backlog"}, []struct {
			at           time.Duration
			mean, target float64
		}{
			{0, 0, 0},                   // unknown: the cloud has none yet
			{time.Minute, 25, 12},       // the first that is known counts at once
			{2 * time.Minute, 24, 12},   // 12.5 is within the change
			{3 * time.Minute, 50, 12},   // 6 is not, but 12 stays for five minutes
			{6 * time.Minute, 50, 6},    // and then moves
			{7 * time.Minute, 0, 6},     // what is unknown changes nothing
			{30 * time.Minute, 51, 6},   // nor does what moves little, however late
			{31 * time.Minute, 37.5, 8}, // back up
		}},
		{"as configured until something was measured", policy.Spec{Name: "dynamic-backlog", Acceptable: 10}, []struct {
			at           time.Duration
			mean, target float64
		}{{0, 0, 10}, {10 * time.Minute, 100, 3}}},
		{"fixed", policy.Spec{Name: "backlog-per-worker", Acceptable: 100}, []struct {
			at           time.Duration
			mean, target float64
		}{{0, 0, 100}, {10 * time.Minute, 99, 100}}},
		{"fixed by a duration", policy.Spec{Name: "backlog-per-worker", Processing: 25 * time.Second}, []struct {
			at           time.Duration
			mean, target float64
		}{{0, 0, 12}, {10 * time.Minute, 99, 12}}},
		{"a utilization", policy.Spec{Name: "worker-utilization"}, []struct {
			at           time.Duration
			mean, target float64
		}{{0, 0, 0.7}, {10 * time.Minute, 99, 0.7}}},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			p := delegatedPolicy(t, row.spec)
			var recent muster.Recent
			for _, s := range row.steps {
				d := p.Decide(delegatedSeen(s.at, s.mean, 50), recent)
				if d.Verdict != muster.Delegate || d.Desired != 3 || d.Previous != 3 {
					t.Errorf("at %s: %+v, want the size untouched and left to the cloud", s.at, d)
				}
				if got := policy.TargetOf(d); got != s.target {
					t.Errorf("at %s the target is %g, want %g: %s", s.at, got, s.target, d.Sentence())
				}
				if !strings.HasPrefix(d.Sentence(), "left to the cloud: the ") {
					t.Errorf("at %s: %s", s.at, d.Sentence())
				}
				recent = recent.With(d, row.spec.Memory())
			}
		})
	}
}

func TestADelegatedTargetIsNeverFarFromWhatIsMeasuredForLong(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := delegatedPolicy(t, policy.Spec{Name: "dynamic-backlog"})
		var recent muster.Recent
		at, was, movedAt := time.Duration(0), 0.0, time.Duration(0)
		for range rapid.IntRange(1, 40).Draw(t, "steps") {
			at += time.Duration(rapid.IntRange(1, 400).Draw(t, "seconds")) * time.Second
			mean := rapid.Float64Range(0.01, 1000).Draw(t, "mean")
			d := p.Decide(delegatedSeen(at, mean, 1), recent)
			target := policy.TargetOf(d)
			if want := 300 / mean; target != want && (target < want/1.26 || target > want*1.26) &&
				at-movedAt >= 5*time.Minute {
				t.Fatalf("the target is %g for %s although %g is measured", target, at-movedAt, want)
			}
			if target != was {
				if was > 0 && at-movedAt < 5*time.Minute {
					t.Fatalf("the target moved from %g to %g after %s", was, target, at-movedAt)
				}
				was, movedAt = target, at
			}
			recent = recent.With(d, time.Hour)
		}
	})
}

func TestOnlyPoliciesOfOneNumberAreDelegated(t *testing.T) {
	for _, s := range []policy.Spec{
		{Name: "deadline"}, {Name: "exact"}, {Name: "worker-utilization", Signal: policy.SignalReports},
	} {
		s.Delegate = &policy.Delegation{ChangePercent: 20}
		if _, err := policy.New(s); err == nil {
			t.Errorf("%s %s can be delegated", s.Name, s.Signal)
		}
	}
	s := policy.Spec{Name: "worker-utilization", Delegate: &policy.Delegation{ChangePercent: 0, Every: 48 * time.Hour}}
	if _, err := policy.New(s); err == nil || !strings.Contains(err.Error(), "delegate.change") ||
		!strings.Contains(err.Error(), "delegate.every") {
		t.Errorf("got %v", err)
	}
}
