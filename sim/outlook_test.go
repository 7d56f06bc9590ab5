package sim

import (
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/muster-scale/muster/policy/outlook"
	"github.com/muster-scale/muster/sim/internal/laws"
	"github.com/muster-scale/muster/sim/world"

	"github.com/muster-scale/muster"
	"github.com/muster-scale/muster/controller"
	"github.com/muster-scale/muster/policy"
	"github.com/muster-scale/muster/sim/trace"
)

// expected is the mean of what the outlook says at each step of a run, told how long work takes and how fast it comes:
// how well those are measured is another question.
type expected struct {
	workers         int
	work            muster.Estimate
	rate            float64
	seconds, inTime float64
	steps           float64
	steady          outlook.Expectation
}

func (e *expected) stepped(v View) {
	if v.At < time.Minute {
		return // before the first message
	}
	o := v.Outcome.Observation
	const many = 1e6
	o.Processing, o.Pace = e.work, muster.Pace{Finished: many, Seconds: many * e.work.MeanSeconds}
	o.Arrivals = muster.Arrivals{Known: true, FiveMinutes: e.rate}
	x := outlook.Of(o, e.workers)
	if x.Now.Known {
		e.seconds, e.inTime, e.steps = e.seconds+x.Now.Seconds, e.inTime+x.Now.InTime, e.steps+1
	}
	e.steady = x.Steady
}

// A poll finds the queue as an arrival does, because arrivals are random: on average the outlook of the polls is
// the time that messages take.
func TestTheOutlookIsOnAverageWhatMessagesTake(t *testing.T) {
	for _, x := range []struct {
		k    int
		load float64
		law  laws.Law
		// within is how far the mean may be off, and that in the long run; share the same for the share in time.
		within, share float64
	}{
		{1, 0.6, laws.Exponential(), 0.04, 0.03},
		{4, 0.7, laws.Exponential(), 0.04, 0.03},
		{4, 0.7, laws.Deterministic(), 0.04, 0.02},
		{8, 0.85, laws.Lognormal(1), 0.06, 0.02},
	} {
		t.Run(fmt.Sprintf("%d workers, %s, load %g", x.k, x.law.Name, x.load), func(t *testing.T) {
			const service = 4 * time.Second
			s := standing(t, x.k)
			s.Poll, s.Objective.Latency, s.Learn = 3*time.Second, 12*time.Second, 24*time.Hour
			e := expected{workers: x.k, work: takes(4, 4*x.law.CV), rate: x.load * float64(x.k) / 4}
			gap := time.Duration(float64(service) / (x.load * float64(x.k)))
			res := ran(t, Options{Settings: s, Trace: laws.Poisson(3, 20_000, time.Minute, gap, service, x.law),
				Stepped: e.stepped})
			near(t, "mean seconds by the outlook and by the simulator", e.seconds/e.steps, res.MeanTime, x.within)
			near(t, "share in time", e.inTime/e.steps, res.InTimeRatio, x.share)
			near(t, "mean seconds by the outlook in the long run", e.steady.Seconds, res.MeanTime, x.within)
			near(t, "share in time in the long run", e.steady.InTime, res.InTimeRatio, x.share)
		})
	}
}

// With a backlog at once the outlook says what then happens: how many of those that wait are late, for each size.
func TestTheOutlookKnowsHowManyWillBeLate(t *testing.T) {
	const n, service, boot = 200, 10 * time.Second, time.Minute
	for _, k := range []int{5, 8, 12, 20} {
		t.Run(fmt.Sprintf("%d workers", k), func(t *testing.T) {
			s, err := controller.NewSettings(controller.Settings{
				Fleet: "f", Queues: []string{"q"},
				Objective: muster.Objective{Latency: 4 * time.Minute, Quantile: 0.99}, BootPrior: boot,
				Spec: policy.Spec{Name: "schedule", Processing: service,
					Intervals: []policy.Interval{{From: "00:05", To: "24:00", Workers: k}}},
				Limits: muster.Limits{Max: k, LaunchesPerHour: 1000},
			})
			if err != nil {
				t.Fatal(err)
			}
			var said outlook.Outlook
			r := laws.NewStream(5, n, 0, time.Nanosecond, service, laws.Lognormal(0.5))
			var all []trace.Message
			for range n {
				m, _ := r.Next()
				all = append(all, trace.Message{Arrival: 5*time.Minute - time.Second, Service: m.Service})
			}
			res := ran(t, Options{
				Settings: s, World: world.World{Boot: world.Draw{Mean: boot}}, Trace: trace.Of("backlog", all...),
				Stepped: func(v View) {
					if said.Workers == 0 && v.At >= 5*time.Minute {
						o := v.Outcome.Observation
						o.Processing = takes(service.Seconds(), 0.5*service.Seconds())
						said = outlook.Of(o, k)
					}
				},
			})
			late := float64(res.Messages) * (1 - res.InTimeRatio)
			t.Logf("said %.1f late and %.0f s for a message that arrives now; %.0f were late, the last took %.0f s",
				said.Late, said.Now.Seconds, late, res.P99)
			if math.Abs(said.Late-late) > 0.04*n {
				t.Errorf("the outlook says that %.1f of %d will be late, and %.0f were", said.Late, n, late)
			}
			if math.Abs(said.Now.Seconds/res.P99-1) > 0.1 {
				t.Errorf(
					"the outlook says that a message behind all others takes %.0f s, and the last ones took %.0f s",
					said.Now.Seconds, res.P99)
			}
		})
	}
}

// takes is the estimate of a work with the given mean and deviation, in seconds.
func takes(mean, deviation float64) muster.Estimate {
	return muster.Estimate{Known: true, Count: 1000, MeanSeconds: mean, P50Seconds: mean,
		P95Seconds: mean + 1.7*deviation, P99Seconds: mean + 2.5*deviation}
}
