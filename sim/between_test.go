package sim

import (
	"testing"
	"time"

	"github.com/muster-scale/muster"
	"github.com/muster-scale/muster/controller"
	"github.com/muster-scale/muster/policy"
	"github.com/muster-scale/muster/sim/internal/laws"
	"github.com/muster-scale/muster/sim/world"
)

// A worker asks for its next message before that comes, and reports meanwhile that it holds none. So the controller
// never takes the time since the last report for time that one message was held.
func TestWorkInHandIsNeverSeenToTakeLongerThanItDoes(t *testing.T) {
	const service = 700 * time.Millisecond
	for _, handover := range []time.Duration{0, 20 * time.Millisecond} {
		s, err := controller.NewSettings(controller.Settings{
			Fleet: "f", Queues: []string{"q"}, Objective: muster.Objective{Latency: time.Minute, Quantile: 0.99},
			Spec:   policy.Spec{Name: "exact"},
			Limits: muster.Limits{Max: 2, LaunchesPerHour: 100}, Poll: 100 * time.Millisecond,
		})
		if err != nil {
			t.Fatal(err)
		}
		most, steps := 0.0, 0
		res := ran(t, Options{
			Settings: s, World: world.World{Handover: handover, IdleStop: time.Second},
			Trace: laws.Poisson(1, 40, 0, time.Millisecond, service, laws.Deterministic()),
			Stepped: func(v View) {
				most = max(most, v.Outcome.Observation.Capacity.HeldMeanSeconds)
				steps++
			},
		})
		// A change is reported 100 ms after the report before it, at the latest.
		if limit := service.Seconds() + 2*reportGap.Seconds(); most > limit || most <= 0 {
			t.Errorf("handover %s: messages of %s were seen held for up to %.3f s, want %.3f s at most; in %d steps",
				handover, service, most, limit, steps)
		}
		if res.Messages != 40 || res.PeakWorkers != 2 {
			t.Errorf("handover %s: found %d messages and %d workers, want 40 and 2", handover, res.Messages,
				res.PeakWorkers)
		}
	}
}

func TestTheHandoverDelaysTheNextMessageAndNotTheOneThatIsDone(t *testing.T) {
	const service, handover = time.Second, 250 * time.Millisecond
	var done []time.Duration
	ran(t, Options{
		Settings: standing(t, 1), World: world.World{Handover: handover},
		Trace:    laws.Poisson(1, 3, time.Minute, time.Nanosecond, service, laws.Deterministic()),
		Finished: func(_, finished time.Duration) { done = append(done, finished-time.Minute) },
	})
	for i, want := range []time.Duration{service, 2*service + handover, 3*service + 2*handover} {
		if i >= len(done) || (done[i]-want).Abs() > time.Microsecond {
			t.Fatalf("found messages done at %v, want the number %d at %s", done, i+1, want)
		}
	}
}
