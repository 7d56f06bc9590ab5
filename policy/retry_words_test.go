package policy_test

import (
	"strings"
	"testing"
	"time"

	"github.com/muster-scale/muster"
	"github.com/muster-scale/muster/policy"
)

// Messages that wait for a retry are named as what they are: no sentence calls them workers, says that nothing is the
// matter, or promises what fails.
func TestSentencesSayWhatWaitsForARetry(t *testing.T) {
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	known := muster.Estimate{Known: true, Count: 100, MeanSeconds: 1, P50Seconds: 1, P95Seconds: 1, P99Seconds: 1}
	stuck := func(backlog, failed, finished float64) muster.Observation {
		q := muster.QueueObservation{Queue: "jobs", Backlog: muster.Measured(now, backlog),
			InFlight: muster.Measured(now, 501), OldestAge: muster.Measured(now, 1)}
		return muster.Observation{
			Fleet: "f", At: now, Queues: []muster.QueueObservation{q},
			Limits:     muster.Limits{Max: 10, LaunchesPerHour: 100},
			Objective:  muster.Objective{Latency: time.Minute, Quantile: 0.99},
			Capacity:   muster.Capacity{Known: true, Desired: 1, Busy: 1, Slots: 1, BusySlots: 1, SlotsPerWorker: 1},
			Processing: known,
			Boot:       muster.Estimate{Known: true, MeanSeconds: 1, P50Seconds: 1, P95Seconds: 1, P99Seconds: 1},
			Progress: &muster.Progress{Retrying: muster.Measured(now, 500), Failed: failed, Finished: finished,
				Failing: known},
		}
	}
	const failing = "; 501 of 502 attempts failed in the last 5 minutes"
	unknown := stuck(0, 501, 1)
	unknown.Processing = muster.Estimate{}
	quiet := stuck(0, 0, 0)
	quiet.Progress.Retrying = muster.Measured(now, 0)
	one := stuck(0, 1, 0)
	one.Progress.Retrying = muster.Measured(now, 1)
	old := quiet
	old.Progress = nil
	for _, row := range []struct {
		name string
		spec policy.Spec
		see  muster.Observation
		want string
	}{
		{"deadline", policy.Spec{Name: "deadline"}, stuck(0, 501, 1), "no message can be received now, 500 wait for " +
			"their retry; 1 worker is busy" + failing},
		{"deadline, of a duration that is not known", policy.Spec{Name: "deadline"}, unknown,
			"no message can be received now, 500 wait for their retry; 1 worker is busy" + failing},
		{"deadline, messages wait as well", policy.Spec{Name: "deadline"}, stuck(5, 501, 1),
			"1 worker finishes them by 12:00:06, in time" + failing},
		{"deadline, nothing failed lately", policy.Spec{Name: "deadline"}, stuck(0, 0, 0),
			"no message can be received now, 500 wait for their retry; 1 worker is busy"},
		{"deadline, nothing waits for a retry", policy.Spec{Name: "deadline"}, quiet,
			"nothing waits; 1 worker is busy"},
		{"exact", policy.Spec{Name: "exact"}, stuck(0, 501, 1), "no message can be received now, 500 wait for their " +
			"retry, and workers that stay idle leave by themselves"},
		{"exact, messages wait as well", policy.Spec{Name: "exact"}, stuck(5, 501, 1),
			"so 5 more workers; 500 messages wait for their retry"},
		{"backlog-per-worker", policy.Spec{Name: "backlog-per-worker", Acceptable: 10}, stuck(0, 501, 1),
			"so 0 workers; 500 messages wait for their retry"},
		{"dynamic-backlog", policy.Spec{Name: "dynamic-backlog"}, stuck(0, 501, 1), "so 0 workers; 500 messages wait " +
			"for their retry"},
		{"dynamic-backlog, of a duration that is not known", policy.Spec{Name: "dynamic-backlog"}, unknown,
			"no processing duration was measured yet; 500 messages wait for their retry"},
		{"worker-utilization", policy.Spec{Name: "worker-utilization"}, stuck(0, 501, 1),
			"so 716 workers; 500 messages wait for their retry; 0 launches in the past hour, 100 are allowed; the " +
				"maximum is 10"},
		{"worker-utilization of what workers report", policy.Spec{Name: "worker-utilization", Signal: "reports"},
			stuck(0, 501, 1), "so 2 workers"},
		{"worker-utilization, nothing waits for a retry", policy.Spec{Name: "worker-utilization", Signal: "in-flight"},
			quiet,
			"so 716 workers; 0 launches in the past hour, 100 are allowed; the maximum is 10"},
		{"step", policy.Spec{Name: "step", Metric: policy.MetricBacklog,
			Steps: []policy.StepChange{{From: 0, Set: new(int)}}}, stuck(0, 501, 1),
			"the backlog of 0 is at 0 or more: set 0; 500 messages wait for their retry"},
		{"one message", policy.Spec{Name: "backlog-per-worker", Acceptable: 10}, one, "so 0 workers; 1 message waits " +
			"for its retry"},
		{"exact, before progress was recorded", policy.Spec{Name: "exact"}, old, "nothing waits, and workers that " +
			"stay idle leave by themselves"},
	} {
		t.Run(row.name, func(t *testing.T) {
			p, err := policy.New(row.spec)
			if err != nil {
				t.Fatal(err)
			}
			got := p.Decide(row.see, nil).Sentence()
			if !strings.HasSuffix(got, row.want) || strings.Contains(got, "501 workers") {
				t.Errorf("found %q, want it to end in %q", got, row.want)
			}
		})
	}
}

// A fleet of which every attempt fails does not keep its workers for ever because it never learns how long the work
// takes.
func TestWorkersOfAFleetThatOnlyFailsGo(t *testing.T) {
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	zero := muster.Measured(now, 0)
	o := muster.Observation{
		Fleet: "f", At: now, Queues: []muster.QueueObservation{{Queue: "jobs", Backlog: zero, InFlight: zero,
			OldestAge: zero}},
		Limits:    muster.Limits{Max: 10, LaunchesPerHour: 100},
		Objective: muster.Objective{Latency: time.Minute, Quantile: 0.99},
		Capacity: muster.Capacity{Known: true, Desired: 3, Idle: 2, Busy: 1, Slots: 3, BusySlots: 1,
			SlotsPerWorker: 1},
		Progress: &muster.Progress{Retrying: zero},
	}
	p, err := policy.New(policy.Spec{Name: "deadline"})
	if err != nil {
		t.Fatal(err)
	}
	if d := p.Decide(o, nil); d.Desired != 3 {
		t.Errorf("before any attempt has ended: %s", d.Sentence())
	}
	o.Progress = &muster.Progress{Retrying: zero, Failing: muster.Estimate{Known: true, Count: 9, MeanSeconds: 1}}
	if d := p.Decide(o, nil); d.Desired != 1 {
		t.Errorf("after nine attempts that failed: %s, want the busy worker alone", d.Sentence())
	}
	// The next message would launch a worker again, so a message every few seconds keeps one.
	o.Capacity.Idle, o.Capacity.Busy, o.Capacity.BusySlots = 3, 0, 0
	for _, row := range []struct {
		perMinute float64
		want      int
	}{{0, 0}, {0.1, 0}, {20, 1}} {
		o.Arrivals = muster.Arrivals{Known: true, Minute: row.perMinute / 60, WatchedSeconds: 600}
		if d := p.Decide(o, nil); d.Desired != row.want {
			t.Errorf("%v messages a minute, all of which fail: %s, want %d", row.perMinute, d.Sentence(), row.want)
		}
	}
}
