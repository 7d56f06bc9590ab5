// Package scoretest has events for the tests of package score and of those below it: events of a few minutes, limits
// that are computed at once, and few peers with few settings. The real scenarios would take minutes.
package scoretest

import (
	"fmt"
	"testing"
	"time"

	"github.com/muster-scale/muster"
	"github.com/muster-scale/muster/sim/contest"
	"github.com/muster-scale/muster/sim/limit"
	"github.com/muster-scale/muster/sim/trace"
	"github.com/muster-scale/muster/sim/worlds"
)

// Tiny is a scenario of one slot and boots of a minute.
func Tiny(name, spec string, latency time.Duration) trace.Scenario {
	return trace.Scenario{Name: name, Spec: spec, Objective: muster.Objective{Latency: latency, Quantile: 0.99},
		Boot: time.Minute, Slots: 1, Max: 50}
}

// Weak computes a limit from two simple bounds, which takes no time. It is far below the real one, so ratios to it mean
// nothing.
func Weak(p *contest.Prepared) error {
	f, err := limit.Read(limit.Problem{Trace: p.Trace, Latency: p.Event.Objective.Latency, Quantile: 0.99,
		Boot: p.Event.World.Boot.Mean, Slots: 1})
	if err == nil {
		p.Limits = limit.Bounds{Prescient: f.Work(), Causal: f.Rush(limit.Causal)}
	}
	return err
}

// World is a world of a few minutes: number 1 is a burst, the others have more messages the larger the number.
func World(number uint64) worlds.World {
	spec := fmt.Sprintf("poisson:rate=%g,duration=6m,service=10s,cv=0.5", 0.1*float64(number))
	if number == 1 {
		spec = "burst:size=5,service=10s"
	}
	e := contest.Scenario(Tiny(fmt.Sprintf("world %d", number), spec, 5*time.Minute))
	return worlds.World{Number: number, Event: e, Shape: worlds.Poisson, Mean: 10, Tail: 20, Boot: 60, Latency: 300,
		Load: float64(number), Length: 360, Slots: 1, Messages: 100, Told: "none"}
}

// Peers are two peers, each with three settings.
func Peers(t testing.TB) (all []contest.Contender) {
	t.Helper()
	for _, name := range []string{"keda-tuned", "s3"} {
		c, err := contest.Find(name)
		if err != nil {
			t.Fatal(err)
		}
		c.Sweep = c.Sweep[:3]
		all = append(all, c)
	}
	return all
}
