package peer

import (
	"math"
	"time"

	"github.com/muster-scale/muster"
	"github.com/muster-scale/muster/internal/render"
)

// Laravel is the hybrid strategy of cboxdk's Laravel queue autoscaler. It takes the maximum of two sizes: the slots
// that the arrival rate occupies, and the slots that drain the backlog before the goal is missed, which grow as the
// goal approaches. Use it in an [Every].
//
// Sources: cboxdk/laravel-queue-autoscale src/Scaling/Strategies/HybridStrategy.php, src/Scaling/Calculators,
// src/Policies/ConservativeScaleDownPolicy.php, src/Manager, config/queue-autoscale.php and its balanced profile.
type Laravel struct {
	// Share is the goal for the waiting time, as a share of the latency objective, above 0.
	Share float64
	// Prior is the processing duration before one was measured; zero means two seconds.
	Prior time.Duration
	// Cooldown is how long after a change the size may not change in the other direction.
	Cooldown time.Duration
}

const (
	laravelDuration = 2 * time.Second // processing duration without a measurement or prior
	laravelSpawn    = 2.0             // start-up time in seconds until five were measured
	laravelBreach   = 0.5             // share of the goal that must have passed before the backlog counts
	laravelBusy     = 0.9             // utilization from which one more worker is added
	laravelSteady   = 0.05            // variation of the throughput below which a fall is one worker
	laravelRemove   = 0.25            // largest share of the workers that one fall removes
)

// Names kept by the Laravel policy, beside its target: the time of the last evaluation, the backlog, the total work and
// the throughput then.
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
	age := 0.0 // unknown counts as 0, and the strategy works without it
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

// change applies the product's limits to a target. Within the cooldown the direction does not turn, except upwards
// while the goal is missed. A fall removes at most a quarter of the workers.
func (p Laravel) change(t *turn, recent muster.Recent, n int, in []muster.Value, late bool) muster.Decision {
	size := t.d.Previous
	if n > size {
		if ago, is := turned(t.o, recent, p.Cooldown, down); is && !late {
			return t.hold(muster.CoolingDown, in, "%s needed, but the size fell %s ago", render.Plural(n, "worker"),
				render.Seconds(ago.Seconds()))
		}
	}
	if n < size {
		if ago, is := turned(t.o, recent, p.Cooldown, up); is {
			return t.hold(muster.CoolingDown, in, "%s needed, but the size rose %s ago", render.Plural(n, "worker"),
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

// duration returns the processing duration in seconds. A measurement below 10 ms or above 10 min is not trusted.
func (p Laravel) duration(e muster.Estimate) float64 {
	if e.Known && !e.Prior && e.MeanSeconds >= 0.01 && e.MeanSeconds <= 600 {
		return e.MeanSeconds
	}
	if p.Prior > 0 {
		return p.Prior.Seconds()
	}
	return laravelDuration.Seconds()
}

// spawn returns the start-up time of a worker in seconds.
func spawn(e muster.Estimate) float64 {
	if e.Known && !e.Prior && e.Count >= 5 {
		return max(0, e.MeanSeconds)
	}
	return laravelSpawn
}

// draining returns the slots that drain the backlog before the goal is missed. An age of 0 is unknown.
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

// smooth lets a target fall by at most one at a time while the throughput is steady.
func smooth(k notes, looks []look, n int) int {
	was, ok := k.get(keptTarget)
	if !ok || n >= workers(was) || !steadyThroughput(looks) {
		return n
	}
	return max(n, workers(was)-1)
}
