package sim

import (
	"syscall"
	"testing"
	"time"

	"github.com/muster-scale/muster"
	"github.com/muster-scale/muster/controller"
	"github.com/muster-scale/muster/policy"
	"github.com/muster-scale/muster/sim/internal/laws"
	"github.com/muster-scale/muster/sim/world"
)

// processorTime is what this process has used: what else the machine does does not count.
func processorTime(b *testing.B) time.Duration {
	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
		b.Fatal(err)
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}

// BenchmarkRun replays a Poisson process of 64 messages a second with the controller, the roster, the leases and the
// recording, under policies of both kinds: those that let workers leave, and one that says when.
func BenchmarkRun(b *testing.B) {
	for _, name := range []string{"exact", "deadline"} {
		b.Run(name, func(b *testing.B) {
			s, err := controller.NewSettings(controller.Settings{
				Fleet: "f", Queues: []string{"q"}, Objective: muster.Objective{Latency: time.Minute, Quantile: 0.99},
				Spec: policy.Spec{Name: name}, Limits: muster.Limits{Max: 500, LaunchesPerHour: 1_000_000},
				Poll: time.Second,
			})
			if err != nil {
				b.Fatal(err)
			}
			const n = 400_000
			begin := processorTime(b)
			for b.Loop() {
				w := world.World{Boot: world.Draw{Mean: 30 * time.Second}, IdleStop: 30 * time.Second}
				if _, err := Run(Options{Settings: s, World: w,
					Trace: laws.Poisson(1, n, 0, time.Second/64, 200*time.Millisecond,
						laws.Exponential()), Seed: 1}); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(n)*float64(b.N)/(processorTime(b)-begin).Seconds(), "messages/s")
		})
	}
}
