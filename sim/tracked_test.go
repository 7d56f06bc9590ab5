package sim

import (
	"testing"
	"time"

	"github.com/muster-scale/muster/awsrules/tracking"
	"github.com/muster-scale/muster/policy"
	"github.com/muster-scale/muster/sim/trace"
	"github.com/muster-scale/muster/sim/world"
)

// steady is a trace of messages at equal distances.
func steady(n int, every, work time.Duration) trace.Trace {
	all := make([]trace.Message, n)
	for i := range all {
		all[i] = trace.Message{Arrival: time.Duration(i) * every, Service: work}
	}
	return trace.Of("steady", all...)
}

// A delegated fleet is sized by the target tracking of AWS, by the rules of package tracking: three datapoints of a
// minute above the target scale out, and fifteen below nine tenths of it scale in. Muster sets the target alone.
func TestADelegatedFleetIsSizedByTargetTracking(t *testing.T) {
	group := tracking.Policy{Pair: tracking.Fixed(), Period: time.Minute, Warmup: 2 * time.Minute}
	service := group
	service.Service, service.ScaleOut, service.ScaleIn = true, 5*time.Minute, 5*time.Minute
	outOnly := group
	outOnly.DisableScaleIn = true
	for _, row := range []struct {
		name         string
		tracking     tracking.Policy
		spec         policy.Spec
		silent       bool
		atLeast, max int
		stays        bool
	}{
		{"a group, by the backlog per worker", group, policy.Spec{Name: "backlog-per-worker", Acceptable: 3}, false, 8,
			40, false},
		{"a group whose workers do not report", group, policy.Spec{Name: "backlog-per-worker", Acceptable: 3}, true, 8,
			40, false},
		{"a service", service, policy.Spec{Name: "backlog-per-worker", Acceptable: 3}, false, 8, 40, false},
		{"by the utilization", group, policy.Spec{Name: "worker-utilization", Target: 0.7}, false, 8, 40, false},
		{"by what was measured", group, policy.Spec{Name: "dynamic-backlog", Acceptable: 3}, false, 8, 40, false},
		{"up to the maximum", group, policy.Spec{Name: "backlog-per-worker", Acceptable: 3}, false, 5, 5, false},
		{"only out", outOnly, policy.Spec{Name: "backlog-per-worker", Acceptable: 3}, false, 8, 40, true},
	} {
		t.Run(row.name, func(t *testing.T) {
			row.spec.Delegate = &policy.Delegation{ChangePercent: 20, Every: 5 * time.Minute}
			s := fleet(t, row.spec, 5*time.Minute, 0, row.max)
			s.Unreported = row.silent
			const n, work = 1200, 20 * time.Second // ten workers' work for forty minutes
			res := ran(t, Options{Settings: s, Trace: steady(n, 2*time.Second, work), World: world.World{
				Tracking: &row.tracking, Silent: row.silent, Boot: world.Draw{Mean: 30 * time.Second},
				Tail: 2 * time.Hour,
			}})
			if res.Unfinished != 0 || res.Messages != n {
				t.Errorf("%d of %d messages are not finished, want none", res.Unfinished, res.Messages)
			}
			if res.PeakWorkers < row.atLeast || res.PeakWorkers > row.max {
				t.Errorf("found %d workers at the peak, want %d to %d", res.PeakWorkers, row.atLeast, row.max)
			}
			// What is idle costs for about a quarter of an hour, and to the end where nothing scales in.
			idle := res.WorkerSeconds - res.BusySeconds
			if least := float64(res.PeakWorkers) * 7000; row.stays && idle < least {
				t.Errorf("found %.0f idle worker-seconds, want at least %.0f", idle, least)
			}
			if most := float64(res.PeakWorkers) * 5400; !row.stays && idle > most {
				t.Errorf("found %.0f idle worker-seconds, want at most %.0f", idle, most)
			}
		})
	}
}

// Without a target there is no policy at work: nothing is launched, and nothing is guessed.
func TestADelegatedFleetWithoutATargetStays(t *testing.T) {
	s := fleet(t, policy.Spec{Name: "dynamic-backlog", Delegate: &policy.Delegation{ChangePercent: 20}}, 5*time.Minute,
		0, 10)
	res, err := Run(Options{Settings: s, Trace: steady(10, time.Second, time.Second), World: world.World{
		Tracking: &tracking.Policy{Pair: tracking.Fixed(), Period: time.Minute},
	}})
	if err != nil {
		t.Fatal(err)
	}
	if res.Launches != 0 || res.Unfinished != 10 {
		t.Errorf("found %d launches and %d unfinished messages, want 0 and 10", res.Launches, res.Unfinished)
	}
}
