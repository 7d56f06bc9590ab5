// Package outlook computes what to expect of a size of a fleet: how long messages will take, and how many will be in
// time, if the size stayed as it is. Pages and commands that explain show it; no policy decides by it.
//
//	x := outlook.Of(observation, 5)
//	if x.Now.Known {
//		fmt.Println(x.Now.Seconds, x.Now.InTime, x.Late)
//	}
//
// [Of] returns an [Outlook], which has an [Expectation] for a message that arrives now and one for the long run.
// [ArrivingNow] returns the first alone, in a tenth of the time. Both are pure functions of an observation. They use
// queueing formulas where policy/planning plans with bounds: an expectation is the middle of what may happen, a plan
// must hold for nearly all messages.
//
// Use policy/planning to decide a size, and package sim to see what a policy makes of a whole trace.
package outlook

import (
	"fmt"
	"math"

	"github.com/muster-scale/muster"
	"github.com/muster-scale/muster/internal/render"
	"github.com/muster-scale/muster/policy/internal/durations"
)

// Outlook is the expected effect of a size on the latency objective, if the size stayed as it is from now on. A policy
// that launches later can do better than the outlook of the present size.
type Outlook struct {
	// Workers is the size.
	Workers int `json:"workers"`
	// Now is for a message that arrives at the instant of the observation.
	Now Expectation `json:"now"`
	// Steady is for all messages in the long run, at the arrival rate of the past five minutes.
	Steady Expectation `json:"steady"`
	// Late is how many of the waiting messages are expected to end after the objective. It is 0 if Now is not known.
	Late float64 `json:"late"`
}

// Expectation is how long messages take from sent to finished.
type Expectation struct {
	// Known is false if there is no such time. Reason then says why, and the numbers are 0.
	Known  bool   `json:"known"`
	Reason string `json:"reason,omitzero"`
	// Seconds is the mean time. InTime is the share of messages, 0 to 1, that take no longer than the objective.
	Seconds float64 `json:"expected_s"`
	InTime  float64 `json:"in_time"`
}

// Of returns the outlook of o's fleet with so many workers. If there are more now, idle ones stop first; if
// there are fewer, the missing ones are launched now. It assumes that messages are received in the order in which they
// arrived, that durations are lognormal with the measured mean m and variation v (deviation over mean), and that
// workers take messages after the mean boot time.
//
// Now, by renewal theory: within t seconds
//
//	busy slots begin              t/m
//	slots beginning work begin    t/m - (1 - v^2)/2   after their first message
//	free slots begin              one more, at once
//	booting slots begin           the same, from the end of their boot on
//
// The sum over all slots is N(t), with the variance v^2 t/m for each slot. A message with k others before it still
// waits at t with the probability P(N(t) < k + 1/2) of a normal distribution. The mean wait is exact for one slot, and
// for any number of slots with exponential work. Otherwise it is close where more messages wait than there are slots.
//
// Steady, by Erlang's formula C with the correction of Allen and Cunneen: a message waits with the probability C(c, r
// m), for c slots and r messages a second. If it waits, then for an exponential time with the mean
//
//	m (1 + v^2) / (2 (c - r m))
//
// Real arrivals that are less even than random ones make it longer.
func Of(o muster.Observation, workers int) Outlook {
	x := Outlook{Workers: workers}
	w, reason := waitModelOf(o, workers)
	if reason != "" {
		x.Now.Reason, x.Steady.Reason = reason, reason
		return x
	}
	x.Now = w.arrivingNow(o)
	x.Steady = w.longRun(o.Arrivals, float64(workers)*perWorker(o.Capacity))
	if x.Now.Known {
		x.Late = w.lateMessages(o)
	}
	return x
}

// ArrivingNow returns the part Now of the outlook alone, in a tenth of the time.
func ArrivingNow(o muster.Observation, workers int) Expectation {
	w, reason := waitModelOf(o, workers)
	if reason != "" {
		return Expectation{Reason: reason}
	}
	return w.arrivingNow(o)
}

// waitModelOf returns the model of the waits with so many workers, or the reason why there is none.
func waitModelOf(o muster.Observation, workers int) (w waitModel, reason string) {
	work, known := durations.Of(durations.WithDurationsAt(o, workers))
	switch {
	case !known:
		return w, "how long the work takes is not known yet"
	case workers < 1:
		return w, "without a worker no message is begun"
	}
	return newWaitModel(o, work, workers), ""
}

// arrivingNow returns the expectation for a message that arrives now, behind the whole backlog.
func (w waitModel) arrivingNow(o muster.Observation) Expectation {
	backlog := o.Backlog()
	switch {
	case !backlog.Known:
		return Expectation{Reason: "the backlog is " + backlog.String()}
	case !o.Capacity.Known:
		return Expectation{Reason: "the fleet could not be listed: " + o.Capacity.Reason}
	case w.slots() == 0:
		return Expectation{Reason: "no slot is there or on its way"}
	}
	return w.expectation(func(t float64) float64 { return w.waitsLonger(t, backlog.Value) })
}

// pendingSlots are slots of workers that take messages from the time at on, in seconds from now.
type pendingSlots struct{ at, slots float64 }

// waitModel is what the time until a message begins depends on. All times are in seconds, slots are counts.
type waitModel struct {
	// mean and variation are those of the durations, latency is the objective.
	mean, variation, latency float64
	// free slots have no message, busy ones are somewhere in their work; pending ones take messages later.
	free, busy float64
	pending    []pendingSlots
}

// perWorker returns the slots of a worker, at least 1.
func perWorker(c muster.Capacity) float64 { return math.Max(1, c.SlotsPerWorker) }

// newWaitModel returns the model for so many workers: the present ones, less those that would stop, more those that
// would be launched.
func newWaitModel(o muster.Observation, work durations.Work, workers int) waitModel {
	c := o.Capacity
	w := waitModel{mean: work.Mean, variation: work.Deviation / work.Mean, latency: o.Objective.Latency.Seconds()}
	held := float64(c.BusySlots)
	if f := o.InFlight(); f.Known {
		held = f.Value // counted at the same instant as the backlog
	}
	w.busy = math.Min(held, float64(c.Slots))
	w.free = float64(c.Slots) - w.busy
	slots, boot := perWorker(c), durations.CautiousBoot.Seconds()
	if o.Boot.Known {
		boot = o.Boot.MeanSeconds
	}
	warm, ready := boot, 0
	if p := o.Pool; p != nil && p.Boot.Known {
		warm, ready = p.Boot.MeanSeconds, p.Ready
	}
	// Workers stop in this order: idle ones, booting ones (the last launched first), busy ones.
	excess := math.Max(0, float64(c.Active()-workers)) * slots
	take := func(from *float64) {
		n := math.Min(*from, excess)
		*from -= n
		excess -= n
	}
	take(&w.free)
	unseen := c.Ordered + c.Booting
	for _, g := range o.Coming {
		unseen -= g.Members
		// A worker that is overdue by some time is taken to need that time again.
		w.addPending(math.Abs(warm-g.AgeSeconds), float64(g.Warm)*slots)
		w.addPending(math.Abs(boot-g.AgeSeconds), float64(g.Members-g.Warm)*slots)
	}
	w.addPending(boot, float64(max(0, unseen))*slots)
	for i := len(w.pending) - 1; i >= 0; i-- {
		take(&w.pending[i].slots)
	}
	take(&w.busy)
	more := max(0, workers-c.Active())
	w.addPending(warm, float64(min(more, ready))*slots)
	w.addPending(boot, float64(max(0, more-ready))*slots)
	return w
}

// addPending adds slots that take messages from the time at on.
func (w *waitModel) addPending(at, slots float64) {
	if slots > 0 {
		w.pending = append(w.pending, pendingSlots{at, slots})
	}
}

// slots returns the number of slots in service and on their way.
func (w waitModel) slots() float64 {
	n := w.free + w.busy
	for _, a := range w.pending {
		n += a.slots
	}
	return n
}

// waitsLonger returns the probability that a message with so many others before it waits longer than t.
func (w waitModel) waitsLonger(t, ahead float64) float64 {
	if ahead < w.free {
		return 0
	}
	renewals := func(t float64) float64 {
		v := math.Min(1, w.variation)
		return math.Max(0, t/w.mean-(1-v*v)/2)
	}
	begun := w.free*(1+renewals(t)) + w.busy*t/w.mean
	worked := (w.free + w.busy) * t
	for _, a := range w.pending {
		if t >= a.at {
			begun += a.slots * (1 + renewals(t-a.at))
			worked += a.slots * (t - a.at)
		}
	}
	return normal(ahead+0.5-begun, w.variation*math.Sqrt(worked/w.mean))
}

// normal returns the probability that a normal number of mean 0 and the given deviation is below x.
func normal(x, deviation float64) float64 {
	if deviation > 0 {
		return math.Erfc(-x/deviation/math.Sqrt2) / 2
	}
	if x > 0 {
		return 1
	}
	return 0
}

// workWithin returns the probability that the work of a message takes no longer than t, by the lognormal distribution.
// 1e-9 makes equal durations count as within when t is exactly their length.
func (w waitModel) workWithin(t float64) float64 {
	if t <= 0 {
		return 0
	}
	spread := math.Log1p(w.variation * w.variation)
	return normal(math.Log(t/w.mean)+spread/2+1e-9, math.Sqrt(spread))
}

// cells is the number of steps of the sum over waits.
const cells = 400

// expectation returns the mean time and the share in time by a sum over all waits. longer returns the probability of a
// wait above t.
func (w waitModel) expectation(longer func(t float64) float64) Expectation {
	now := longer(0)
	e := Expectation{Known: true, Seconds: w.mean, InTime: (1 - now) * w.workWithin(w.latency)}
	if now == 0 {
		return e
	}
	end := w.mean
	for range 64 {
		if longer(end) < 1e-5 {
			break
		}
		end *= 2
	}
	step := end / cells
	before := now
	for i := range cells {
		t := float64(i) * step
		after := longer(t + step)
		e.Seconds += (before + after) / 2 * step
		e.InTime += (before - after) * w.workWithin(w.latency-t-step/2)
		before = after
	}
	e.InTime = math.Min(1, math.Max(0, e.InTime+before*w.workWithin(w.latency-end)))
	return e
}

// lateMessages returns how many of the waiting messages are expected to be late. The messages of a group wait one
// behind the other, so each group is cut into parts.
func (w waitModel) lateMessages(o muster.Observation) float64 {
	groups := o.Waiting
	if len(groups) == 0 {
		if oldest := o.OldestAge(); o.Backlog().Value > 0 {
			groups = []muster.Waiting{{AgeSeconds: oldest.Value, Messages: o.Backlog().Value}}
		}
	}
	late, ahead := 0.0, 0.0
	for _, g := range groups {
		parts := math.Ceil(math.Min(g.Messages, 64/float64(len(groups))))
		for i := 0.5; i < parts; i++ {
			middle := ahead + g.Messages*i/parts - 0.5
			late += g.Messages / parts * (1 - w.finishedWithin(w.latency-g.AgeSeconds, math.Max(0, middle)))
		}
		ahead += g.Messages
	}
	return late
}

// finishedWithin returns the probability that a message with so many others before it is finished within t: the mean
// over 16 equally likely durations.
func (w waitModel) finishedWithin(t, ahead float64) float64 {
	const draws = 16
	spread := math.Log1p(w.variation * w.variation)
	sum := 0.0
	for i := range draws {
		quantile := math.Sqrt2 * math.Erfinv(2*(float64(i)+0.5)/draws-1)
		work := w.mean * math.Exp(quantile*math.Sqrt(spread)-spread/2)
		if work <= t {
			sum += 1 - w.waitsLonger(t-work, ahead)
		}
	}
	return sum / draws
}

// longRun returns the expectation in the long run with so many slots, at the arrival rate of the past five minutes. It
// is unknown if more work arrives than the slots can do.
func (w waitModel) longRun(a muster.Arrivals, slots float64) Expectation {
	if !a.Known {
		return Expectation{Reason: "arrivals are not known yet"}
	}
	load := a.FiveMinutes * w.mean
	whole := math.Floor(slots)
	if load >= whole {
		return Expectation{Reason: fmt.Sprintf("work for %s slots arrives and there are %s", render.Number(load),
			render.Number(whole))}
	}
	waits := erlangC(whole, load)
	each := w.mean * (1 + w.variation*w.variation) / 2 / (whole - load)
	return w.expectation(func(t float64) float64 { return waits * math.Exp(-t/each) })
}

// erlangC returns the probability that a message waits if work for load slots arrives at random, and there are more
// slots than that. It is Erlang's formula C, computed from formula B by the usual recursion.
func erlangC(slots, load float64) float64 {
	lost := 1.0
	for n := 1.0; n <= slots; n++ {
		lost = load * lost / (n + load*lost)
		if lost < 1e-12 {
			return 0
		}
	}
	return lost / (1 - load/slots*(1-lost))
}
