package controller_test

import (
	"testing"
	"time"

	"github.com/muster-scale/muster"
	"github.com/muster-scale/muster/controller/audit"
	"github.com/muster-scale/muster/policy"
)

// aged is a fleet without workers, whose messages are known by age.
func aged(groups ...muster.Waiting) muster.Observation {
	sum := 0.0
	for _, g := range groups {
		sum += g.Messages
	}
	return muster.Observation{
		Fleet: "f", At: t0, Objective: muster.Objective{Latency: 300 * time.Second, Quantile: 0.99},
		Limits: muster.Limits{Max: 100, LaunchesPerHour: 1000},
		Queues: []muster.QueueObservation{{Queue: "q", Backlog: muster.Measured(t0, sum),
			InFlight:  muster.Measured(t0, 0),
			OldestAge: muster.Measured(t0, groups[0].AgeSeconds)}},
		Capacity: muster.Capacity{Known: true, SlotsPerWorker: 1}, Waiting: groups,
		Processing: muster.Estimate{Known: true, Count: 100, MeanSeconds: 10, P50Seconds: 10, P95Seconds: 10,
			P99Seconds: 10},
		Boot: muster.Estimate{Known: true, Count: 9, MeanSeconds: 60, P50Seconds: 60, P95Seconds: 60,
			P99Seconds: 60},
	}
}

// asked is a policy that is watched by what it is asked.
type asked func(muster.Observation)

func (f asked) Decide(o muster.Observation, _ muster.Recent) muster.Decision {
	f(o)
	return muster.Decision{Desired: int(o.Backlog().Value) / 10}
}

func TestWhatWouldChangeADecisionIsAskedWithAsManyAgesAsMessages(t *testing.T) {
	full := make([]muster.Waiting, muster.MaxGroups)
	for i := range full {
		full[i] = muster.Waiting{AgeSeconds: float64(90 - i), Messages: 2}
	}
	for _, groups := range [][]muster.Waiting{{{AgeSeconds: 81, Messages: 20}, {AgeSeconds: 12, Messages: 14}}, full} {
		o := aged(groups...)
		questions := 0
		p := asked(func(o muster.Observation) {
			questions++
			sum, last := 0.0, o.Waiting
			for _, g := range o.Waiting {
				sum += g.Messages
			}
			if sum != o.Backlog().Value || len(last) > muster.MaxGroups || len(last) > 0 &&
				last[0].AgeSeconds != groups[0].AgeSeconds {
				t.Errorf("asked about a backlog of %v with %v messages by age, in %d groups: %v", o.Backlog(), sum,
					len(o.Waiting), o.Waiting)
			}
		})
		audit.ExplainDecision(p, o, nil, p.Decide(o, nil))
		if questions < 5 {
			t.Errorf("only %d questions were asked", questions)
		}
	}
}

func TestWhatWouldChangeADecisionOfDeadlineIsFoundByAges(t *testing.T) {
	p, err := policy.New(policy.Spec{Name: "deadline"})
	if err != nil {
		t.Fatal(err)
	}
	o := aged(muster.Waiting{AgeSeconds: 200, Messages: 2}, muster.Waiting{AgeSeconds: 10, Messages: 30})
	e := audit.ExplainDecision(p, o, nil, p.Decide(o, nil))
	for _, c := range e.Changes {
		if c.Desired != e.Decision.Desired {
			return
		}
	}
	t.Errorf("no other backlog would change %q: %v", e.Why, e.Changes)
}
