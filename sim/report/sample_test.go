package report

import (
	"fmt"
	"testing"
	"time"

	"github.com/muster-scale/muster"
	"github.com/muster-scale/muster/controller"
	"github.com/muster-scale/muster/policy"
	"github.com/muster-scale/muster/sim"
	"github.com/muster-scale/muster/sim/scoring"
	"github.com/muster-scale/muster/sim/trace"
	"github.com/muster-scale/muster/sim/world"
)

// decided is a step that came to a decision.
func decided(from, to int, why string) controller.Outcome {
	return controller.Outcome{Ready: true, Decision: muster.Decision{
		Previous: from, Desired: to, Verdict: muster.Apply, Trail: []muster.Term{{Rule: "exact", Out: to, Why: why}},
	}}
}

// burst is a run by hand, so that the pictures do not change with the policies: forty messages of 20 s at once, ten
// workers that boot for 30 s. The controller knows nothing for two seconds, and the last messages wait for longer than
// the objective.
func burst() Run {
	r := NewRecorder(muster.Objective{Latency: time.Minute, Quantile: 0.99})
	for s := range 121 {
		v := sim.View{At: time.Duration(s) * time.Second, Sent: 40, Backlog: 40}
		working := min(10, max(0, s-28)/2*10)
		started := 0
		if s >= 30 {
			started = min(40, 10*(1+(s-30)/20))
		}
		v.Backlog = 40 - started
		if s >= 110 {
			working = 0
		}
		if v.Backlog > 0 {
			v.OldestAge = v.At
		}
		v.Busy = min(working, 10)
		v.Live, v.Ready = 10, 0
		if s >= 30 {
			v.Ready = 10
		}
		switch {
		case s < 2:
			v.Live = 0
		case s == 2:
			v.Live, v.Outcome = 0, decided(0, 8, "40 messages of 20s fit into a minute with 8 workers")
		case s == 3:
			v.Outcome = decided(8, 8, "steady")
		case s == 4:
			v.Outcome = decided(8, 10, "2 more, because booting takes 30s & the objective is 1m")
		case s == 112:
			v.Outcome = decided(10, 0, `nothing is left; "idle" workers < 11 leave`)
		case s > 112:
			v.Live, v.Ready, v.Outcome = 120-s, 0, decided(0, 0, "steady")
		default:
			v.Outcome = decided(10, 10, "steady")
		}
		r.Stepped(v)
	}
	return r.Run(scoring.Result{
		Policy: "exact", Trace: "burst", Seed: 7, Messages: 40, InTime: 20, InTimeRatio: 0.5, P50: 60, P95: 110,
		P99:           110,
		WorkerSeconds: 1144.5, Bound: 950, Method: "work and boot", Ratio: 1144.5 / 950, PeakWorkers: 10,
		Launches: 10, ScaleEvents: 3,
		Reversals: 1, Cost: 0.3179, MeanWait: 60, MeanTime: 80, BusySeconds: 800, Seconds: 120, Steps: 121, Records: 5,
		Faults: []string{"at 2m0s: a fault planted for the picture"},
	})
}

// reached is a run without a recorder.
func reached(policy, trace string, cost, share float64) Run {
	return Run{Objective: muster.Objective{Latency: time.Minute, Quantile: 0.99}, Result: scoring.Result{
		Policy: policy, Trace: trace, Messages: 1000, InTime: int64(share * 1000), InTimeRatio: share,
		WorkerSeconds: cost, P95: 40,
	}}
}

// several are runs on two traces: one with costs far apart, one with a known bound.
func several() []Run {
	all := []Run{
		burst(), reached("dynamic-backlog", "burst", 980, 0.12), reached("worker-utilization", "burst", 1300, 0.48),
		reached("step", "burst", 1144.5, 0.5),
		reached("exact", "a day", 30_000, 1), reached("exact", "a day", 31_000, 1),
		reached("backlog-per-worker", "a day", 12_000, 0.82),
		reached("worker-utilization", "a day", 28_000, 0.9987), reached("schedule", "a day", 200_000, 0.999),
	}
	all[5].Result.Seed = 2
	for i := range 4 {
		all[i].Result.Bound, all[i].Result.Method = 950, "work and boot"
	}
	return all
}

// simulated runs the policy exact on a burst and some stragglers.
func simulated(t *testing.T, watch func(sim.View)) (scoring.Result, controller.Settings) {
	t.Helper()
	s, err := controller.NewSettings(controller.Settings{
		Fleet: "f", Queues: []string{"q"}, Spec: policy.Spec{Name: "exact"},
		Objective: muster.Objective{Latency: 5 * time.Minute, Quantile: 0.99},
		Limits:    muster.Limits{Max: 100, LaunchesPerHour: 10000}, BootPrior: 90 * time.Second,
	})
	if err != nil {
		t.Fatal(err)
	}
	var messages []trace.Message
	for n := range 80 {
		messages = append(messages, trace.Message{Arrival: time.Duration(max(0, n-50)) * 10 * time.Second,
			Service: 25 * time.Second})
	}
	res, err := sim.Run(sim.Options{
		Settings: s, World: world.World{Boot: world.Draw{Mean: 90 * time.Second}, IdleStop: 30 * time.Second},
		Trace: trace.Of("burst and stragglers", messages...), Seed: 1, Stepped: watch,
	})
	if err != nil {
		t.Fatal(err)
	}
	return res, s
}

func ExampleRecorder() {
	objective := muster.Objective{Latency: time.Minute, Quantile: 0.99}
	settings, err := controller.NewSettings(controller.Settings{
		Fleet: "words", Queues: []string{"words"}, Spec: policy.Spec{Name: "exact"}, Objective: objective,
		Limits: muster.Limits{Max: 10, LaunchesPerHour: 100}, BootPrior: 5 * time.Second,
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	recorder := NewRecorder(objective)
	result, err := sim.Run(sim.Options{
		Settings: settings, World: world.World{Boot: world.Draw{Mean: 5 * time.Second}, IdleStop: 10 * time.Second},
		Seed:  1,
		Trace: trace.Of("one message", trace.Message{Service: 10 * time.Second}), Stepped: recorder.Stepped,
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	run := recorder.Run(result)
	// Now HTML, SVG and Attainment can draw it.
	fmt.Printf("%s took %s on %s", run.Result.Policy, duration(run.Result.P50), run.Result.Trace)
	// Output: exact took 15s on one message
}
