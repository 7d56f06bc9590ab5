package planning

import (
	"fmt"
	"math"

	"github.com/muster-scale/muster"
	"github.com/muster-scale/muster/internal/render"
	"github.com/muster-scale/muster/policy/internal/rules"
)

// pool is a warm pool as a plan sees it: so many workers are launched from it before others, and take messages after
// boot seconds.
type pool struct {
	exists      bool
	ready, boot float64
}

// poolOf is the warm pool, where workers that are started anew boot within cold seconds. Before the first boot from it
// was measured it promises nothing.
func poolOf(o muster.Observation, cold float64) pool {
	if o.Pool == nil {
		return pool{boot: cold}
	}
	p := pool{exists: true, ready: float64(o.Pool.Ready), boot: cold}
	if o.Pool.Boot.Known {
		p.boot = math.Min(cold, bootOf(o.Pool.Boot))
	}
	return p
}

// soonest is the boot time of the next worker that is launched.
func (p *plan) soonestBoot() float64 {
	if p.pool.ready > 0 {
		return p.pool.boot
	}
	return p.boot
}

// begins tells whether workers from the pool that are launched so many seconds before begin that many messages.
func (w pool) canBegin(p *plan, messages, before float64) bool {
	return w.ready > 0 && before >= w.boot && messages <= w.ready*p.slots*p.starts(before-w.boot, p.varied)
}

// toBegin is how many workers that are launched after the delay begin so many messages by the latest moment: those of
// the pool first. Where others come too late it is all that the pool has.
func (p *plan) workersToBegin(messages, latest, delay float64) float64 {
	workers := 0.0
	if in := latest - delay - p.pool.boot; p.pool.ready > 0 && in >= 0 {
		each := p.slots * p.starts(in, p.varied)
		if messages <= each*p.pool.ready {
			return messages / each
		}
		workers, messages = p.pool.ready, messages-each*p.pool.ready
	}
	in := latest - (delay + p.boot)
	if p.pool.ready > 0 && in < 0 {
		return workers
	}
	return workers + messages/(p.slots*p.starts(in, p.varied))
}

// inTime is how many workers of the pool are in time for a message that is already there: so many need not be kept.
func (p *plan) poolInTime() float64 {
	if p.latency-p.LongTermTail-p.pool.boot-p.step-p.lag <= 0 {
		return 0
	}
	return p.pool.ready
}

// standIn is for how many workers that are kept the pool stands in. It begins a boot time later: of the time that a
// message may wait it has so much less.
func (p *plan) poolReplaces() float64 {
	spare := p.latency - p.LongTermMean
	return busiestShare * p.poolInTime() * math.Max(0, 1-p.pool.boot/math.Max(p.pool.boot, spare))
}

// hurried tells whether the objective leaves no time to put off a launch of those that are needed.
func (p *plan) mustLaunchNow(n need) bool {
	return n.sooner || p.slack() <= 0 && float64(rules.Ceil(n.workers)) > p.poolInTime()
}

// boots says in words why so many workers are launched now and not later.
func (p *plan) bootText(launch int) string {
	seconds := func(s float64) string { return render.Seconds(math.Round(s)) }
	warm := min(launch, int(p.pool.ready))
	switch {
	case warm <= 0:
		return fmt.Sprintf(" because a worker needs %s to boot", seconds(p.boot))
	case warm == launch:
		return fmt.Sprintf(": from the warm pool in about %s", seconds(p.pool.boot))
	}
	return fmt.Sprintf(": %d from the warm pool in about %s, %d cold in about %s", warm, seconds(p.pool.boot),
		launch-warm, seconds(p.boot))
}
