package sim

import (
	"testing"
	"time"

	"github.com/muster-scale/muster"
	"github.com/muster-scale/muster/controller"
	"github.com/muster-scale/muster/policy"
	"github.com/muster-scale/muster/sim/internal/laws"
	"github.com/muster-scale/muster/sim/queueing"
	"github.com/muster-scale/muster/sim/world"
	"github.com/muster-scale/muster/worker/lease"
)

func TestTheSimulatorsWithAndWithoutAControllerAgree(t *testing.T) {
	const boot, service, n = 20 * time.Second, 2 * time.Second, 50_000
	for _, q := range []struct {
		name  string
		slots int
		bare  queueing.Options
		full  func(t testing.TB) (controller.Settings, world.World)
		share float64
	}{
		{"a fixed fleet", 1, queueing.Options{Size: queueing.FixedSize(20), Max: 20},
			func(t testing.TB) (controller.Settings, world.World) { return standing(t, 20), world.World{} }, 1e-12},
		{"a fixed fleet with several slots", 4, queueing.Options{Size: queueing.FixedSize(5), Max: 5},
			func(t testing.TB) (controller.Settings, world.World) { return standing(t, 5), world.World{} }, 1e-3},
		// The worker of a message is drawn: in turns no worker would ever be idle for long, and the receive calls of
		// the full simulator come to their turns otherwise. A launch for each message that finds no worker, by a
		// controller that polls when a message comes; its answers take until its next step, 50 ms later at most. A
		// worker of the full simulator may stop by lease.EarlyStop sooner, by half of that on average.
		{"a worker for each message", 1, queueing.Options{Size: queueing.DelayedOff(1), Max: 500,
			Boot:     world.Draw{Mean: boot},
			IdleStop: 30*time.Second - lease.EarlyStop/2, Random: true,
		}, func(t testing.TB) (controller.Settings, world.World) {
			s, err := controller.NewSettings(controller.Settings{
				Fleet: "f", Queues: []string{"q"}, Objective: muster.Objective{Latency: time.Minute, Quantile: 0.99},
				Spec:   policy.Spec{Name: "exact"},
				Limits: muster.Limits{Max: 500, LaunchesPerHour: 1_000_000}, BootPrior: boot,
			})
			if err != nil {
				t.Fatal(err)
			}
			return s, world.World{Boot: world.Draw{Mean: boot}, IdleStop: 30 * time.Second, Wakes: true, Random: true}
		}, 0.02},
	} {
		t.Run(q.name, func(t *testing.T) {
			tr := laws.Poisson(3, n, time.Minute, 120*time.Millisecond, service, laws.Exponential())
			settings, w := q.full(t)
			w.Slots, settings.Slots = q.slots, q.slots
			full := ran(t, Options{Settings: settings, World: w, Trace: tr, Seed: 1})
			o := q.bare
			o.Trace, o.Seed, o.Slots, o.Latency = tr, 1, q.slots, time.Minute
			bare, err := queueing.Run(o)
			if err != nil || len(bare.Faults) > 0 {
				t.Fatal(err, bare.Faults)
			}
			near(t, "mean wait in s", bare.MeanWait, full.MeanWait, q.share)
			near(t, "p95 in s", bare.P95, full.P95, max(q.share, 0.005))
			near(t, "busy seconds", bare.BusySeconds, full.BusySeconds, 1e-9)
			if q.bare.Boot.Mean > 0 {
				near(t, "worker-seconds", bare.WorkerSeconds, full.WorkerSeconds, q.share)
			}
			if bare.Messages != full.Messages {
				t.Errorf("found %d and %d messages", bare.Messages, full.Messages)
			}
		})
	}
}
