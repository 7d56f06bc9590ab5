package peer

import (
	"math"
	"time"

	"github.com/muster-scale/muster"
	"github.com/muster-scale/muster/internal/render"
)

// Laravel is the hybrid strategy of cboxdk's Laravel queue autoscaler: the larger of what the arrival rate occupies and
// of what drains the backlog before the goal is missed, the more the nearer that is. Use it in an [Every].
//
// Sources: cboxdk/laravel-queue-autoscale src/Scaling/Strategies/HybridStrategy.php, src/Scaling/Calculators,
// src/Policies/ConservativeScaleDownPolicy.php, src/Manager, config/queue-autoscale.php and its balanced profile.
type Laravel struct {
	// Share is the goal for the time a message waits, as a share of the latency objective, above 0.
	Share float64
	// Prior is the processing duration until one was measured; two seconds when zero.
	Prior time.Duration
	// Cooldown is how long after a change the size may not change the other way.
	Cooldown time.Duration
}

const (
	laravelDuration = 2 * time.Second // processing duration nobody knows
	laravelSpawn    = 2.0             // seconds a worker takes to start, until five were measured
	laravelBreach   = 0.5             // share of the goal that must have passed before the backlog counts
	laravelBusy     = 0.9             // utilization at which one more is wanted
	laravelSteady   = 0.05            // variation of the throughput below which a fall goes by one
	laravelRemove   = 0.25            // share of the workers that may go at once
)

// Names kept by the Laravel policy: when it looked, the backlog, the total work and the throughput then, and its
// target.
const (
	keptLooked  = "looked_s"
	keptBacklog = "backlog"
	keptTotal   = "total"
	keptDone    = "done_per_s"
)

// Decide implements [muster.Policy].
func (p Laravel) Decide(o muster.Observation, recent muster.Recent) muster.Decision {
	t := begin(o, recent, "laravel", keptTarget)
	if d, lacks := t.lacks(needWork | needCapacity); lacks {
		return d
	}
	looks := looksOf(recent, seconds(o.At))
	now := look{at: seconds(o.At), backlog: o.Backlog().Value, total: work(o)}
	now.done = throughput(o, looks, now)
	looks = append(looks, now)
	for _, v := range []muster.Value{{Name: keptLooked, Value: now.at}, {Name: keptBacklog, Value: now.backlog},
		{Name: keptTotal, Value: now.total}, {Name: keptDone, Value: now.done}} {
		t.keep.set(v.Name, v.Value)
	}
	age := 0.0 // where the age cannot be had the strategy goes without
	if s := o.OldestAge(); s.Known {
		age = math.Floor(s.Value)
	}
	goal := p.Share * o.Objective.Latency.Seconds()
	duration := p.duration(o.Processing)
	rate := arrivalRate(looks, age, goal)
	steady, drain := rate*duration, draining(now.backlog, age, max(1, goal-spawn(o.Boot)), duration)
	target := max(steady, drain) / slots(o)
	if now.backlog > 0 && o.Capacity.Active() == 0 {
		target = max(target, 1)
	}
	if c := o.Capacity; c.Slots > 0 && float64(c.BusySlots)/float64(c.Slots) >= laravelBusy &&
		target <= float64(c.Active()) {
		target = float64(c.Active() + 1)
	}
	n := clamp(workers(target), o.Limits.Min, o.Limits.Max)
	n = clamp(smooth(t.keep, looks, n), o.Limits.Min, o.Limits.Max)
	t.keep.set(keptTarget, float64(n))
	in := []muster.Value{num("arrivals_per_s", rate), num("duration_s", duration), num("rate_needs", steady),
		num("drain_needs", drain), num("age_s", age)}
	return p.change(t, recent, n, in, age > 0 && age >= goal)
}

// change applies what the product does to a target: no turn within the cooldown, unless up while the goal is missed,
// and no more than a quarter of the workers at once.
func (p Laravel) change(t *turn, recent muster.Recent, n int, in []muster.Value, late bool) muster.Decision {
	size := t.d.Previous
	if n > size {
		if ago, is := turned(t.o, recent, p.Cooldown, down); is && !late {
			return t.hold(muster.CoolingDown, in, "%s wanted, but the size fell %s ago", render.Plural(n, "worker"),
				render.Seconds(ago.Seconds()))
		}
	}
	if n < size {
		if ago, is := turned(t.o, recent, p.Cooldown, up); is {
			return t.hold(muster.CoolingDown, in, "%s wanted, but the size rose %s ago", render.Plural(n, "worker"),
				render.Seconds(ago.Seconds()))
		}
		n = max(n, size-max(1, workers(float64(size)*laravelRemove)))
	}
	return t.settle(n, in, "%s slots for the arrivals and %s for the backlog: %s", render.Number(in[2].Value),
		render.Number(in[3].Value), render.Plural(n, "worker"))
}

// turned tells whether the last change of the size was in the given direction and less than d ago.
func turned(o muster.Observation, recent muster.Recent, d time.Duration, direction bool) (time.Duration, bool) {
	ago, is := within(o, recent, d, direction)
	if other, was := within(o, recent, d, !direction); is && was && other <= ago {
		return 0, false
	}
	return ago, is
}

// duration is the processing duration in seconds; one below 10 ms or above 10 min is not believed.
func (p Laravel) duration(e muster.Estimate) float64 {
	if e.Known && !e.Prior && e.MeanSeconds >= 0.01 && e.MeanSeconds <= 600 {
		return e.MeanSeconds
	}
	if p.Prior > 0 {
		return p.Prior.Seconds()
	}
	return laravelDuration.Seconds()
}

// spawn is the time in seconds that a worker takes to start.
func spawn(e muster.Estimate) float64 {
	if e.Known && !e.Prior && e.Count >= 5 {
		return max(0, e.MeanSeconds)
	}
	return laravelSpawn
}

// draining is the number of slots that drain the backlog before the goal is missed. An age of 0 is one nobody knows.
func draining(backlog, age, goal, duration float64) float64 {
	if backlog == 0 {
		return 0
	}
	if age == 0 {
		return backlog / max(goal/duration, 1)
	}
	progress := min(age/goal, 1.5)
	if progress < laravelBreach {
		return 0
	}
	base := backlog / max(duration, 0.1)
	if left := goal - age; left > 0 {
		base = backlog / max(left/duration, 1)
	}
	return base * min(1+8*(progress-laravelBreach)*(progress-laravelBreach), 5)
}

// smooth lets a target fall by one at a time while the throughput is steady.
func smooth(k notes, looks []look, n int) int {
	was, ok := k.get(keptTarget)
	if !ok || n >= workers(was) || !steadyThroughput(looks) {
		return n
	}
	return max(n, workers(was)-1)
}
