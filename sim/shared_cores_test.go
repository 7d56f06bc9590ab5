package sim

import (
	"testing"
	"time"

	"github.com/muster-scale/muster/policy"
	"github.com/muster-scale/muster/sim/scoring"
	"github.com/muster-scale/muster/sim/trace"
	"github.com/muster-scale/muster/sim/world"
)

// sixBursts are six of n messages of equal work at once, five minutes apart.
func sixBursts(n int, service time.Duration) trace.Trace {
	var all []trace.Message
	for burst := range 6 {
		for i := range n {
			all = append(all, trace.Message{
				Arrival: time.Duration(burst)*5*time.Minute + time.Duration(i)*10*time.Millisecond, Service: service})
		}
	}
	return trace.Of("bursts", all...)
}

// Workers that compute on the two cores of one machine get no more done than two: once that was measured, more are not
// launched, and more messages are in time for a fraction of the worker-seconds.
func TestMoreWorkersThanTheCoresHaveUseForAreNotLaunched(t *testing.T) {
	const sec = time.Second
	for _, row := range []struct {
		name      string
		trace     trace.Trace
		objective time.Duration
		shares    float64 // of the worker-seconds without the measure, at the most
	}{
		{"time for two", sixBursts(20, 4*sec), time.Minute, 0.4},
		{"time for two, just so", sixBursts(20, 10*sec), 2 * time.Minute, 0.4},
		{"no time for all", sixBursts(20, 10*sec), time.Minute, 0.4},
		{"no time for most", sixBursts(40, 10*sec), time.Minute, 0.4},
		{"many short ones", sixBursts(100, sec), time.Minute, 0.4},
		{"many short ones, no time for all", sixBursts(100, sec), 30 * sec, 0.4},
	} {
		t.Run(row.name, func(t *testing.T) {
			play := func(unshared bool) (scoring.Result, [7]int) {
				var most [7]int // workers that existed at once, by burst
				res := ran(t, Options{
					Settings: fleet(t, policy.Spec{Name: "deadline", Prompt: true}, row.objective, 0, 20), Seed: 1,
					Trace:  row.trace,
					World:  world.World{Cores: 2, Boot: world.Draw{Mean: 500 * time.Millisecond}},
					inject: inject{unshared: unshared},
					Stepped: func(v View) {
						burst := min(len(most)-1, int(v.At/(5*time.Minute)))
						most[burst] = max(most[burst], v.Live)
					},
				})
				return res, most
			}
			res, most := play(false)
			without, mostWithout := play(true)
			t.Logf("%.3f in time for %.0f worker-seconds, at most %v workers; without the measure %.3f for %.0f, at "+
				"most %v",
				res.InTimeRatio, res.WorkerSeconds, most, without.InTimeRatio, without.WorkerSeconds, mostWithout)
			for burst, n := range most {
				if burst > 1 && n > 3 {
					t.Errorf("burst %d: %d workers on two cores, want 3 at most", burst+1, n)
				}
			}
			if res.InTimeRatio < without.InTimeRatio || res.WorkerSeconds > row.shares*without.WorkerSeconds {
				t.Errorf("%.3f in time for %.0f worker-seconds, without the measure %.3f for %.0f; want no fewer, "+
					"for %g of it",
					res.InTimeRatio, res.WorkerSeconds, without.InTimeRatio, without.WorkerSeconds, row.shares)
			}
		})
	}
}

// Work that mostly waits shares nothing, however few the cores are said to be: as many workers as ever keep the
// objective.
func TestWorkThatWaitsKeepsItsWorkers(t *testing.T) {
	for _, row := range []struct {
		name      string
		messages  int
		service   time.Duration
		objective time.Duration
	}{
		{"long ones", 20, 10 * time.Second, time.Minute},
		{"many", 100, time.Second, 30 * time.Second},
	} {
		t.Run(row.name, func(t *testing.T) {
			play := func(unshared bool) scoring.Result {
				return ran(t, Options{
					Settings: fleet(t, policy.Spec{Name: "deadline", Prompt: true}, row.objective, 0, 20), Seed: 1,
					Trace:  sixBursts(row.messages, row.service),
					World:  world.World{Cores: 20, Boot: world.Draw{Mean: 500 * time.Millisecond}},
					inject: inject{unshared: unshared},
				})
			}
			res, without := play(false), play(true)
			if res.InTimeRatio < 1 || res.WorkerSeconds > 1.02*without.WorkerSeconds {
				t.Errorf("%.3f in time for %.0f worker-seconds, want all for no more than %.0f", res.InTimeRatio,
					res.WorkerSeconds, without.WorkerSeconds)
			}
		})
	}
}
