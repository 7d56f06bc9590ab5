package policy

import (
	"math"
	"time"

	"github.com/muster-scale/muster"
)

// plan is what deadlines are judged by: the messages that wait, the workers there are and will be, and the times that matter.
// All times are in seconds from now.
type plan struct {
	work
	waiting []muster.Waiting
	// begunBy is how many messages, whichever, have begun by the last moment of each group that waits: a launch changes nothing
	// of it.
	begunBy []float64
	// slots is how many messages a worker handles at once, up the slots in service, free those without a message.
	slots, up, free float64
	coming          []arrival
	// residual is how long slots that are busy now stay so on average.
	residual float64
	// varied is how far durations differ, mixed how far slots in use are
	// at different points of their work: 0 is not at all, 1 is so much that only means count.
	varied, mixed float64
	// latency is what is planned with, boot the time a worker needs that is launched now, step the time until the next
	// decision at the latest.
	latency, boot, step float64
	// quantile is the share of the messages that shall be in time.
	quantile float64
	// pool is the warm pool, from which workers are launched first.
	pool pool
	// blind is true while the ages of the messages are not known: then no launch is put off.
	blind bool
	// prompt is true when one worker is launched only because nobody is there.
	prompt bool
	// arrivals tell how many more will come; they count where a launch is too late for those that wait.
	arrivals muster.Arrivals
	// forecast tells how fast they will come; it is zero where none is used.
	forecast muster.Forecast
}

// arrival is workers that will take messages at an instant.
type arrival struct{ at, slots float64 }

func newPlan(o muster.Observation, w work, scale float64) plan {
	if scale <= 0 {
		scale = 1
	}
	c := o.Capacity
	p := plan{
		work: w, waiting: o.Waiting, slots: math.Max(1, c.SlotsPerWorker), up: float64(c.Slots), free: float64(max(0, c.Slots-c.BusySlots)),
		// What is seen late has waited for longer than it seems.
		latency: o.Objective.Latency.Seconds()*planned*scale - o.LateSeconds(), boot: bootOf(o.Boot), quantile: o.Objective.Quantile, arrivals: o.Arrivals,
	}
	p.pool = poolOf(o, p.boot)
	p.step = math.Max(2*orDefault(o.Poll, time.Second).Seconds(), 0.02*p.boot)
	p.hand(c)
	if backlog, oldest := o.Backlog(), o.OldestAge(); !oldest.Known && !o.Arrivals.Known {
		// Nobody knows how old they are. Half of the time they can wait is as likely to be over as not.
		p.blind = true
		p.waiting = []muster.Waiting{{AgeSeconds: math.Max(0, p.latency-p.tail-p.boot) / 2, Messages: backlog.Value}}
	} else if len(p.waiting) == 0 {
		p.waiting = []muster.Waiting{{AgeSeconds: oldest.Value, Messages: backlog.Value}}
	}
	for _, g := range o.Coming {
		if g.Warm > 0 {
			p.coming = append(p.coming, arrival{math.Max(math.Min(1, p.pool.boot), p.pool.boot-g.AgeSeconds), float64(g.Warm) * p.slots})
		}
		if cold := g.Members - g.Warm; cold > 0 {
			p.coming = append(p.coming, arrival{math.Max(1, p.boot-g.AgeSeconds), float64(cold) * p.slots})
		}
	}
	if waiting := o.Backlog().Value; waiting > 0 && waiting <= seldom && p.slack() > 0 {
		p.tail = math.Max(p.tail, w.longest)
	}
	p.begunBy = make([]float64, len(p.waiting))
	for i, g := range p.waiting {
		p.begunBy[i] = p.begun(p.lastMoment(g))
	}
	return p
}

// seldom is of how many messages those that begin at the last moment are no few: one in four or more of them does, so that one
// in a hundred that takes longer than planned is one too many.
const seldom = 4

// lastMoment is when the messages of a group must begin.
func (p *plan) lastMoment(g muster.Waiting) float64 { return p.latency - p.tail - g.AgeSeconds }

// hand judges the messages in hand. The less durations vary, the more the time they have been worked on tells about the rest:
// with a variation of one or more it tells nothing.
func (p *plan) hand(c muster.Capacity) {
	memory := p.variation * p.variation
	p.residual = memory*p.mean + (1-memory)*math.Max(0, p.mean-c.HeldMeanSeconds)
	p.varied = math.Min(1, p.variation/0.3)
	// Evenly spread over their work, slots differ by the mean over the square root of 12.
	p.mixed = math.Max(p.varied, math.Min(1, c.HeldDeviationSeconds*math.Sqrt(12)/p.mean))
}

// bootOf is the boot time that nearly all workers keep.
func bootOf(e muster.Estimate) float64 {
	if !e.Known || e.MeanSeconds <= 0 {
		return cautiousBoot.Seconds()
	}
	return math.Max(e.MeanSeconds, e.P95Seconds)
}

// slack is the time that a message can wait before a worker must be launched for it; at or below zero a launch comes too
// late for any message that is already there.
// It goes by the usual durations: what happens to take longer for some minutes is no reason to plan otherwise.
func (p *plan) slack() float64 { return p.latency - p.usual - p.boot - p.step }

func (p *plan) oldest() float64 {
	if len(p.waiting) == 0 {
		return 0
	}
	return p.waiting[0].AgeSeconds
}

// late tells whether no launch saves the oldest message any more.
func (p *plan) late() bool {
	return len(p.waiting) > 0 && p.latency-p.tail-p.oldest() < p.soonest()
}

// need is how many more workers it takes, and for whom.
type need struct {
	// workers is a fraction: 2.3 means that two would be too few and the third is busy for a third of its time.
	workers float64
	// ahead is how many messages must have been begun latest seconds from now.
	ahead, latest float64
	// whom says who they are.
	whom whom
	// sooner is true where some of those that wait are late whatever is done, and the more so the later workers are launched.
	sooner bool
}

// whom tells for which messages workers are needed.
type whom uint8

const (
	waitingOnes whom = iota
	lateOnes         // that no launch can save any more
	comingOnes       // that will come while a worker boots
)

// need returns how many workers must be launched after the given delay, so that every message that waits now begins in time.
// A message that no launch can save any more keeps its place ahead of the others, and is to begin within another objective:
// it is late, and not forgotten. One that only a launch before the delay can save makes the need infinite.
func (p *plan) need(delay float64) need {
	var greatest need
	ahead, ready, unused := 0.0, delay+p.boot, p.unused()
	// More workers than messages help nobody, however much durations vary.
	most := func(ahead float64) float64 { return math.Max(0, math.Ceil((ahead-unused)/p.slots)) }
	ask := func(who whom, ahead, latest, begun float64) {
		left := ahead + p.chance(ahead) - begun
		if left <= 0 {
			return
		}
		if workers := math.Min(p.toBegin(left, latest, delay), most(ahead)); workers > greatest.workers && (who != comingOnes || workers > p.inTime()) {
			greatest = need{workers, ahead, latest, who, false}
		}
	}
	late, sooner := 0.0, false
	for i, g := range p.waiting {
		ahead += g.Messages
		switch latest := p.lastMoment(g); {
		case latest < p.soonest():
			late = ahead
		case latest >= ready || p.pool.begins(p, ahead-p.begunBy[i], latest-delay):
			ask(waitingOnes, ahead, latest, p.begunBy[i])
		case p.begunBy[i] >= ahead:
		case latest >= p.boot || p.pool.begins(p, ahead-p.begunBy[i], latest):
			return need{math.Inf(1), ahead, latest, waitingOnes, false}
		default: // the pool saves some of them, and the sooner the more
			late, sooner = ahead, true
			ask(waitingOnes, ahead, latest, p.begunBy[i])
		}
	}
	if late > 0 {
		ask(lateOnes, late, ready+p.latency, p.begun(ready+p.latency))
	}
	if spare := p.latency - p.tail; p.slack() <= 0 {
		// Those that come while a worker boots are the first it can be in time for.
		for _, in := range []float64{p.boot - 0.85*spare, p.boot - spare/2, p.boot} {
			if spare > 0 && in > 0 {
				ask(comingOnes, ahead+p.toCome(in), in+spare, p.begun(in+spare))
			}
		}
	}
	greatest.sooner = sooner
	return greatest
}

// chance is how many messages more are reckoned with than are ahead, because all of them may by chance take longer than the
// mean: their sum has a deviation that grows with the square root. That the last of them takes long itself is planned for already,
// and both at once is rarer than either, so the squares are added and not the times.
func (p *plan) chance(ahead float64) float64 {
	own := math.Max(0, p.tail-p.mean)
	return (math.Sqrt(own*own+p.deviation*p.deviation*ahead) - own) / p.mean
}

// toCome is how many messages will come within so many seconds: as many as at the rate of the last ten, unless that has been a
// spike. The busiest times of the past hours say how many a spike has, and what has come of it is over.
func (p *plan) toCome(seconds float64) float64 {
	const now = 10
	a := p.arrivals
	rate := math.Max(a.Minute, a.FiveMinutes)
	if a.Minute == a.Hour { // counted for a minute at most, so nothing says what is usual
		rate = math.Max(a.Minute, a.TenSeconds)
		return (rate + 2*math.Sqrt(rate/now)) * seconds
	}
	if a.TenSeconds <= rate {
		return rate * seconds
	}
	rest := mostWithin(a.Busiest, seconds+now) - a.TenSeconds*now
	return math.Max(rate*seconds, math.Min(a.TenSeconds*seconds, rest))
}

// mostWithin is how many came within so many seconds at the busiest times: between two windows in proportion.
func mostWithin(all []muster.Busiest, seconds float64) float64 {
	var before muster.Busiest
	for _, b := range all {
		if b.OverSeconds >= seconds {
			return before.Messages + (b.Messages-before.Messages)*(seconds-before.OverSeconds)/(b.OverSeconds-before.OverSeconds)
		}
		before = b
	}
	return before.Messages
}

// unused is how many slots are free or on their way.
func (p *plan) unused() float64 {
	n := p.free
	for _, a := range p.coming {
		n += a.slots
	}
	return n
}

// begun returns how many messages the workers that are there and on their way begin until the given time.
func (p *plan) begun(until float64) float64 {
	n := p.free * p.starts(until, p.varied)
	if until >= p.residual {
		n += (p.up - p.free) * p.starts(until-p.residual, p.mixed)
	} else if p.residual > 0 {
		n += (p.up - p.free) * p.starts(0, p.mixed) * p.mixed * until / p.residual
	}
	for _, a := range p.coming {
		if until >= a.at {
			n += a.slots * p.starts(until-a.at, p.varied)
		}
	}
	return n
}

// starts returns how many messages a slot begins within so many seconds from when it is free, the first at once. Where all
// durations are the same they are whole numbers; the more they are mixed, the more the mean number counts, which for a
// variation v grows to t/m + (1+v^2)/2 (the renewal theorem).
func (p *plan) starts(seconds, mixed float64) float64 {
	whole := math.Floor(seconds/p.mean+1e-9) + 1
	mean := math.Max(1, seconds/p.mean+(1+p.variation*p.variation)/2)
	return (1-mixed)*whole + mixed*mean
}
