package planning

import (
	"fmt"
	"math"

	"github.com/muster-scale/muster"
	"github.com/muster-scale/muster/internal/render"
	"github.com/muster-scale/muster/policy/internal/durations"
	"github.com/muster-scale/muster/policy/internal/rules"
)

// pool is the warm pool of a fleet as the plan needs it. A launch takes an instance from the pool as long as it has
// one.
type pool struct {
	// exists is true for a fleet with a warm pool, even an empty one.
	exists bool
	// ready is how many instances can start now. boot is their boot time in seconds, or that of a cold start while none
	// from the pool was measured.
	ready, boot float64
}

// poolOf returns the warm pool of o. cold is the boot time of a cold start in seconds. Until the first boot from the
// pool was measured, the pool counts as no faster than a cold start.
func poolOf(o muster.Observation, cold float64) pool {
	if o.Pool == nil {
		return pool{boot: cold}
	}
	p := pool{exists: true, ready: float64(o.Pool.Ready), boot: cold}
	if o.Pool.Boot.Known {
		p.boot = math.Min(cold, durations.Boot(o.Pool.Boot))
	}
	return p
}

// soonestBoot returns the boot time in seconds of the next worker launched: from the pool if it has one.
func (p *plan) soonestBoot() float64 {
	if p.pool.ready > 0 {
		return p.pool.boot
	}
	return p.boot
}

// canBegin tells whether workers from the pool alone, launched so many seconds before the last moment, begin that many
// messages in time.
func (w pool) canBegin(p *plan, messages, before float64) bool {
	return w.ready > 0 && before >= w.boot && messages <= w.ready*p.slots*p.starts(before-w.boot, p.varied)
}

// workersToBegin returns how many workers, launched so many seconds before the last moment, begin so many messages;
// instances of the pool first. It is a fraction. If cold starts are too late for the rest, it returns all that the pool
// has. cold returns the number of cold starts.
func (p *plan) workersToBegin(messages, before float64, cold func(messages, before float64) float64) float64 {
	workers := 0.0
	if in := before - p.pool.boot; p.pool.ready > 0 && in >= 0 {
		each := p.slots * p.starts(in, p.varied)
		if messages <= each*p.pool.ready {
			return messages / each
		}
		workers, messages = p.pool.ready, messages-each*p.pool.ready
	}
	if p.pool.ready > 0 && before < p.boot {
		return workers
	}
	return workers + cold(messages, before)
}

// poolInTime returns how many instances of the pool are in time for a message that has arrived: so many workers need
// not be kept.
func (p *plan) poolInTime() float64 {
	if p.latency-p.LongTermTail-p.pool.boot-p.step-p.lag <= 0 {
		return 0
	}
	return p.pool.ready
}

// poolReplaces returns how many kept workers the pool replaces:
//
//	n max(0, 1 - b' / max(b', x))
//
// n is the number of instances in time, b' their boot time, x the time in seconds that a message may wait. An instance
// from the pool begins b' later than a kept worker, so it works off less of a burst.
func (p *plan) poolReplaces() float64 {
	spare := p.latency - p.LongTermMean
	return p.poolInTime() * math.Max(0, 1-p.pool.boot/math.Max(p.pool.boot, spare))
}

// mustLaunchNow tells whether the objective leaves no time to postpone the launch of the needed workers.
func (p *plan) mustLaunchNow(n need) bool {
	return n.sooner || p.slack() <= 0 && float64(rules.Ceil(n.workers)) > p.poolInTime()
}

// bootText says why so many workers are launched now: how long they boot, and from where.
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
