package peer

import (
	"time"

	"github.com/muster-scale/muster"
	"github.com/muster-scale/muster/internal/render"
)

// Buildkite is the Buildkite agent scaler: one agent for each scheduled or running job. It only scales out; an instance
// whose agents were idle for a while ends itself. Use it in an [Every], with workers that stop when idle.
//
// Sources: buildkite/buildkite-agent-scaler scaler/scaling_calculator.go and scaler/scaler.go;
// buildkite/elastic-ci-stack-for-aws templates/aws-stack.yml.
type Buildkite struct {
	// Cooldown is the shortest time between two rises.
	Cooldown time.Duration
}

// buildkiteMost is the largest number of instances that the scaler sets.
const buildkiteMost = 1000

// Decide implements [muster.Policy].
func (p Buildkite) Decide(o muster.Observation, recent muster.Recent) muster.Decision {
	t := begin(o, recent, "buildkite")
	if d, lacks := t.lacks(needWork | needCapacity); lacks {
		return d
	}
	n := min(workers(work(o)/slots(o)), buildkiteMost)
	in := []muster.Value{num("jobs", work(o)), num("agents_per_instance", slots(o))}
	if n <= t.d.Previous {
		d := t.settle(t.d.Previous, in, "%s jobs need %s, and idle instances end themselves", render.Number(work(o)),
			render.Plural(n, "instance"))
		d.Floor = 0
		return d
	}
	if ago, is := within(o, recent, p.Cooldown, up); is {
		d := t.hold(muster.CoolingDown, in, "%s needed, but the last rise was %s ago", render.Plural(n, "instance"),
			render.Seconds(ago.Seconds()))
		d.Floor = 0
		return d
	}
	d := t.settle(n, in, "%s jobs need %s", render.Number(work(o)), render.Plural(n, "instance"))
	d.Floor = 0
	return d
}
