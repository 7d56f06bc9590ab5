package sim

import (
	"fmt"
	"math"
	"os"
	"testing"
	"time"

	"github.com/muster-scale/muster"
	"github.com/muster-scale/muster/controller"
	"github.com/muster-scale/muster/policy"
	"github.com/muster-scale/muster/sim/internal/kernel"
	"github.com/muster-scale/muster/sim/internal/laws"
	"github.com/muster-scale/muster/sim/trace"
	"github.com/muster-scale/muster/sim/world"
)

// The laws of queues are known exactly. Here the whole simulator, with its controller, roster and leases, is held to
// them in the two steps that package laws explains. With MUSTER_SLOW=1 the simulator also runs until a simulated mean
// alone is precise: ten minutes of a core, so go test needs -timeout 60m.

// fewer is by how much the messages of a recursion are fewer than the tolerances ask for, because each test would take
// seconds. With MUSTER_SLOW=1 they are not, and under the race detector there are fewer still.
func fewer() int {
	switch {
	case slowdown > 1:
		return 16
	case slow():
		return 1
	}
	return 4
}

// shareOf widens a tolerance as it must be where fewer messages are drawn: the deviation of a mean grows by the root.
func shareOf(tolerance float64) float64 { return tolerance * math.Sqrt(float64(fewer())) }

// slow tells whether tests that take minutes run.
func slow() bool { return os.Getenv("MUSTER_SLOW") == "1" }

// standing are the settings of a fleet of exactly k workers, by a schedule.
func standing(t testing.TB, k int) controller.Settings {
	s, err := controller.NewSettings(controller.Settings{
		Fleet: "f", Queues: []string{"q"}, Objective: muster.Objective{Latency: time.Minute, Quantile: 0.99},
		Spec:   policy.Spec{Name: "schedule", Intervals: []policy.Interval{{From: "00:00", To: "24:00", Workers: k}}},
		Limits: muster.Limits{Min: k, Max: k, LaunchesPerHour: 1000}, Poll: 10 * time.Second,
	})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func near(t *testing.T, what string, found, want, share float64) {
	t.Helper()
	off := found/want - 1
	t.Logf("%s: %.6g, want %.6g: %+.3f %%", what, found, want, 100*off)
	if !(math.Abs(off) <= share) {
		t.Errorf("%s: found %.6g, want %.6g within %g %%", what, found, want, 100*share)
	}
}

func TestAStandingFleetWaitsAsTheLawsOfQueuesSay(t *testing.T) {
	const service = 10 * time.Millisecond
	type formula = func(p laws.Path, k int) float64
	byErlang := func(p laws.Path, k int) float64 { return laws.ErlangC(k, p.Load(k), p.Service()).Seconds() }
	byPollaczek := func(p laws.Path, _ int) float64 { return laws.Pollaczek(p.Load(1), p.CV(), p.Service()).Seconds() }
	for _, q := range []struct {
		k        int
		law      laws.Law
		formulas []formula
		millions [3]int // of messages until the mean is known to half a percent or better, for each load
	}{
		{1, laws.Exponential(), []formula{byErlang, byPollaczek}, [3]int{5, 5, 20}},
		{4, laws.Exponential(), []formula{byErlang}, [3]int{10, 10, 20}},
		{16, laws.Exponential(), []formula{byErlang}, [3]int{40, 20, 20}},
		{1, laws.Deterministic(), []formula{byPollaczek}, [3]int{5, 5, 10}},
		{1, laws.Lognormal(2), []formula{byPollaczek}, [3]int{20, 20, 40}},
	} {
		for i, load := range []float64{0.5, 0.7, 0.9} {
			t.Run(fmt.Sprintf("%d workers, %s, load %g", q.k, q.law.Name, load), func(t *testing.T) {
				gap := time.Duration(float64(service) / (load * float64(q.k)))
				recursion := func(seed uint64, n int) laws.Path {
					return laws.Follow(laws.NewStream(seed, n, time.Minute, gap, service, q.law), make(laws.FreeAt,
						q.k).Serve)
				}
				enough := q.millions[i] * 1_000_000
				long := recursion(1, enough/fewer())
				for _, formula := range q.formulas {
					near(t, "mean wait in s by the recursion and by the formula", long.MeanWait(), formula(long, q.k),
						shareOf(0.01))
				}

				n := 100_000 / slowdown
				if slow() {
					n = enough
				}
				res, err := Run(Options{Settings: standing(t, q.k),
					Trace: laws.Poisson(2, n, time.Minute, gap, service, q.law)})
				if err != nil {
					t.Fatal(err)
				}
				same := recursion(2, n)
				near(t, "mean wait in s by the simulator and by the recursion", res.MeanWait, same.MeanWait(), 1e-12)
				if slow() {
					near(t, "mean wait in s by the simulator and by the formula", res.MeanWait,
						q.formulas[0](same, q.k), 0.01)
				}
				if res.Messages != int64(n) || res.PeakWorkers != q.k || len(res.Faults) > 0 {
					t.Errorf("found %d messages, %d workers, faults %v; want %d, %d and none", res.Messages,
						res.PeakWorkers, res.Faults, n, q.k)
				}
			})
		}
	}
}

// lingers is how long a worker without work stays although it is to leave at once: its receive call waits that long.
const lingers = time.Second

// setUp is the mean time in the system, by the recursion, of a queue whose only worker leaves when nothing is left to
// do and is launched again, which takes a time of its own, at the next arrival.
type setUp struct {
	free time.Duration // when the worker has finished what it has
	boot func() time.Duration
}

func (s *setUp) serve(m trace.Message) (wait time.Duration) {
	start := max(m.Arrival, s.free)
	if m.Arrival > s.free+lingers {
		start += s.boot()
	}
	s.free = start + m.Service
	return start - m.Arrival
}

// setUpWait is the mean wait in an M/M/1 queue with exponential set-up of the given mean: load / (mu - lambda) +
// set-up.
//
// A worker that lingers meets an arrival before it is gone with the probability 1 - p, p = exp(-lambda * lingers). The
// first message of a busy time then waits for a set-up with the probability p only, and the second term is by the
// theorem for queues with an exceptional first service (2 E[D] + lambda E[D^2]) / (2 + 2 lambda E[D]), with D the
// set-up or nothing.
func setUpWait(lambda, service, boot float64) float64 {
	p := math.Exp(-lambda * lingers.Seconds())
	load := lambda * service
	return load*service/(1-load) + p*boot*(1+lambda*boot)/(1+p*lambda*boot)
}

func TestAWorkerThatIsLaunchedForEachBusyTimeWaitsAsTheLawSays(t *testing.T) {
	const service = 100 * time.Second
	for _, q := range []struct {
		load float64
		boot time.Duration
	}{{0.3, 10 * service}, {0.5, 2 * service}, {0.7, service / 2}, {0.8, 3 * service}} {
		t.Run(fmt.Sprintf("load %g, set-up %s", q.load, q.boot), func(t *testing.T) {
			gap := time.Duration(float64(service) / q.load)
			boot := world.Draw{Mean: q.boot, Exponential: true}
			recursion := func(seed uint64, n int) laws.Path {
				chance := kernel.NewStreams(seed).Boot
				return laws.Follow(laws.NewStream(seed, n, time.Minute, gap, service, laws.Exponential()),
					(&setUp{free: -time.Hour, boot: func() time.Duration { return boot.Next(chance) }}).serve)
			}
			long := recursion(1, 5_000_000/fewer())
			want := setUpWait(1/gap.Seconds(), service.Seconds(), q.boot.Seconds())
			near(t, "mean wait in s by the recursion and by the formula", long.MeanWait(), want, shareOf(0.01))
			near(t, "formula with and without lingering", want, q.load/(1-q.load)*service.Seconds()+q.boot.Seconds(),
				0.01)

			n := 10_000 / slowdown
			if slow() {
				n = 2_000_000
			}
			s, err := controller.NewSettings(controller.Settings{
				Fleet: "f", Queues: []string{"q"}, Objective: muster.Objective{Latency: time.Hour, Quantile: 0.99},
				Spec:   policy.Spec{Name: "exact"},
				Limits: muster.Limits{Max: 1, LaunchesPerHour: 1_000_000}, Poll: 5 * time.Minute,
				BootPrior: 24 * time.Hour,
			})
			if err != nil {
				t.Fatal(err)
			}
			w := world.World{Boot: boot, IdleStop: 1, Visibility: 2 * lingers, Wakes: true,
				ReportEvery: 5 * time.Second}
			res, err := Run(Options{Settings: s, World: w,
				Trace: laws.Poisson(2, n, time.Minute, gap, service, laws.Exponential()), Seed: 2})
			if err != nil {
				t.Fatal(err)
			}
			near(t, "mean wait in s by the simulator and by the recursion", res.MeanWait, recursion(2, n).MeanWait(),
				1e-5)
			if res.PeakWorkers != 1 || len(res.Faults) > 0 {
				t.Errorf("found %d workers at a time, faults %v; want 1 and none", res.PeakWorkers, res.Faults)
			}
			if slow() {
				near(t, "mean wait in s by the simulator alone", res.MeanWait, want, 0.01)
			}
		})
	}
}
