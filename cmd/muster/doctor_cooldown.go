package main

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/muster-scale/muster"
	"github.com/muster-scale/muster/config"
	"github.com/muster-scale/muster/controller"
	"github.com/muster-scale/muster/fleet/delegate"
	"github.com/muster-scale/muster/fleet/ecs"
)

// arrives is how long CloudWatch takes until a value that was published can be judged: about a minute.
const arrives = time.Minute

// cooldowns looks whether a scaling policy of a delegated service rises again before its metric can show what the last rise did: once
// the new tasks have booted, the period in which they count is over, and its value has arrived.
func (e *exam) cooldowns(ctx context.Context, f config.Fleet, o controller.LoopOptions) {
	s, ok := o.Fleet.(interface {
		Cooldowns(context.Context) (map[string]time.Duration, error)
	})
	if f.Delegate == nil || !ok {
		return
	}
	all, err := s.Cooldowns(ctx)
	if err != nil {
		return // that they cannot be read was found already
	}
	ours := delegate.PolicyName(f.Name)
	if all[ours] = f.Delegate.Cooldown; f.Delegate.Cooldown == 0 {
		all[ours] = ecs.DefaultCooldown
	}
	shows := f.Workers.Boot + f.Delegate.Period + arrives
	for _, name := range slices.Sorted(maps.Keys(all)) {
		if wait := all[name]; wait < shows {
			e.find(f.Name, "cooldown", levelNote, "the scaling policy %s waits %s after a rise, and its metric shows what that did only after %s (%s of boot, a period of %s, and about %s until CloudWatch has it): it rises again meanwhile, beyond what is needed; state delegate.cooldown, or ScaleOutCooldown of a policy of your own, of at least %s",
				name, muster.Seconds(wait.Seconds()), muster.Seconds(shows.Seconds()), muster.Seconds(f.Workers.Boot.Seconds()), muster.Seconds(f.Delegate.Period.Seconds()), muster.Seconds(arrives.Seconds()), muster.Seconds(shows.Seconds()))
		}
	}
}
