package sim

import (
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/muster-scale/muster/policy"
	"github.com/muster-scale/muster/sim/scoring"
	"github.com/muster-scale/muster/sim/trace"
	"github.com/muster-scale/muster/sim/world"
)

// Messages that always fail are hidden longer each time, and are dead letters in the end. However often they come back,
// no policy has more workers for them than there are messages, and none stays.
func TestPoisonNeverGrowsAFleet(t *testing.T) {
	for _, spec := range []policy.Spec{
		{Name: "exact"}, {Name: "deadline", Processing: time.Second, Prompt: true},
		{Name: "deadline", Processing: time.Second},
		{Name: "dynamic-backlog", Processing: time.Second}, {Name: "backlog-per-worker", Acceptable: 1},
		{Name: "worker-utilization", Target: 0.7},
		{Name: "worker-utilization", Target: 0.7, Signal: policy.SignalInFlight},
	} {
		for _, n := range []int{1, 3} {
			t.Run(fmt.Sprint(spec.Name, " ", spec.Signal, spec.Prompt, " ", n), func(t *testing.T) {
				most, least := 0, 0
				if spec.Signal == policy.SignalInFlight {
					least = 1 // it sees nothing of what only waits
				}
				res, err := Run(Options{
					Settings: fleet(t, spec, 30*time.Second, least, 50), Seed: 1,
					World: world.World{Poison: 1, MaxReceives: 8, RetryBase: 5 * time.Second,
						Visibility: 30 * time.Second,
						IdleStop:   20 * time.Second, Boot: world.Draw{Mean: 2 * time.Second}},
					Trace:   batch(n, time.Minute, time.Second),
					Stepped: func(v View) { most = max(most, v.Outcome.Decision.Desired, v.Live) },
				})
				if err != nil {
					t.Fatal(err)
				}
				// A utilization of 0.7 needs 1 / 0.7 workers for each message, rounded up.
				bound := n
				if spec.Name == "worker-utilization" {
					bound = (10*n + 6) / 7
				}
				if res.Dead != int64(n) || most > bound || most == 0 {
					t.Errorf("%d of %d messages are dead letters, by %d workers; want all, by 1 to %d", res.Dead, n,
						most, bound)
				}
			})
		}
	}
}

// Which messages of a tree fail is decided by the tree and not by the order in which a fleet gets to them. Otherwise a
// policy could seem better by the luck of a long message that does not fail.
func TestTheSameMessagesOfATreeFailUnderEveryPolicy(t *testing.T) {
	trees, err := trace.Generate("tree:roots=20,every=10s,depth=4,fanout=4,most=60,service=8s,cv=2", 3)
	if err != nil {
		t.Fatal(err)
	}
	var first scoring.Result
	for n, workers := range []int{1, 7, 50} {
		got, err := Run(Options{
			Settings: fleet(t, policy.Spec{Name: "exact"}, time.Minute, 0, workers), Seed: 1, Trace: trees,
			World: world.World{Trees: true, Poison: 0.1, MaxReceives: 2, RetryBase: time.Second,
				Visibility: 30 * time.Second, Boot: world.Draw{Mean: 2 * time.Second}},
		})
		if err != nil {
			t.Fatal(err)
		}
		if n == 0 {
			first = got
		}
		if got.Dead == 0 || got.Dead != first.Dead || got.Messages != first.Messages ||
			math.Abs(got.BusySeconds-first.BusySeconds) > 1e-6*first.BusySeconds {
			t.Errorf("%d workers: %d of %d messages are dead letters after %.1f s of work; one: %d of %d after %.1f s",
				workers, got.Dead, got.Messages, got.BusySeconds, first.Dead, first.Messages, first.BusySeconds)
		}
	}
}
