package peer

import (
	"time"

	"github.com/muster-scale/muster"
	"github.com/muster-scale/muster/internal/render"
)

// Nomad is the target-value strategy of the Nomad autoscaler on an AWS Auto Scaling group. One action runs at a time:
// it decides nothing while a launch is unfinished or a member drains, nor for a cooldown after any action. So a long
// drain blocks the next rise. Use it in an [Every].
//
// Sources: hashicorp/nomad-autoscaler plugins/builtin/strategy/target-value/plugin/plugin.go,
// plugins/builtin/target/aws-asg/plugin, policy/handler.go, policy/check.go.
type Nomad struct {
	// Target is backlog plus in flight per member, above 0.
	Target float64
	// Cooldown follows every action.
	Cooldown time.Duration
}

// nomadPrecision is the distance of the factor from 1 up to which nothing is done.
const nomadPrecision = 0.01

// Decide implements [muster.Policy].
func (p Nomad) Decide(o muster.Observation, recent muster.Recent) muster.Decision {
	t := begin(o, recent, "nomad")
	if d, lacks := t.lacks(needWork | needCapacity); lacks {
		return d
	}
	count := o.Capacity.Desired
	metric := work(o) / float64(max(1, count))
	factor := metric / p.Target
	in := []muster.Value{num("metric", metric), num("target", p.Target), num("count", float64(count)),
		num("factor", factor)}
	if leaving := o.Capacity.Draining + o.Capacity.Released; leaving > 0 {
		return t.hold(muster.CoolingDown, in, "%s still draining, and nothing is scaled until that has ended",
			render.Plural(leaving, "member"))
	}
	if o.Capacity.Ordered > 0 {
		return t.hold(muster.CoolingDown, in, "the last launch is not finished")
	}
	if ago, is := within(o, recent, p.Cooldown, up, down); is {
		return t.hold(muster.CoolingDown, in, "the last action was %s ago", render.Seconds(ago.Seconds()))
	}
	if count > 0 && factor >= 1-nomadPrecision && factor <= 1+nomadPrecision {
		return t.settle(count, in, "the factor is %s, near enough to 1", render.Number(factor))
	}
	n := workers(float64(max(1, count)) * factor)
	return t.settle(n, in, "%s each at a target of %s is a factor of %s, so %s", render.Number(metric),
		render.Number(p.Target),
		render.Number(factor), render.Plural(n, "member"))
}
