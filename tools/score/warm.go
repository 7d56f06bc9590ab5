package main

import (
	"container/heap"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/muster-scale/muster/sim/contest"
	"github.com/muster-scale/muster/sim/trace"
	"github.com/muster-scale/muster/sim/world"
	"github.com/muster-scale/muster/tools/score/arena"
	"github.com/muster-scale/muster/tools/score/report"
)

// The warm pool of part d. Where no launch saves a message, a pool of prepared workers may: it boots in a sixth of the
// time. The policy with a pool is compared with the limit, with the best peer that has the same pool, and with the
// largest share in time that any schedule could reach.

// warmPool adds to part d its events with a pool of prepared workers.
func (s *score) warmPool(kind []circumstances, found *report.Section) error {
	t := report.Table{Head: []string{"event", "pool", "boot from it", "in time, mean", "least", "cost over limit, mean",
		"most", "in time if max workers are launched at the first message",
		"best peer", "its share in time", "its cost over limit, mean"}}
	var warm []circumstances
	for _, c := range kind {
		// The size of the pool follows from the trace, so that each event has a pool of the same relative size.
		peak, err := s.peak(c.event)
		if err != nil {
			return err
		}
		// The limit of this event knows the pool.
		c.event = warmed(c.event, peak)
		warm = append(warm, c)
	}
	figures, _, err := s.Figures(pairs(warm), s.seeds, true)
	if err != nil {
		return err
	}
	var attempts []attempt
	for i, c := range warm {
		f, pool := figures[i], c.event.World.Warm
		x := c.attempt(f)
		x.event = kind[i].event.Name
		if x.ceiling, err = s.mostInTime(c.event); err != nil {
			return err
		}
		best, err := s.bestWarm(kind[i].event, c.event)
		if err != nil {
			return err
		}
		// The peer's cost over the same limit, from the ratio of the worker-seconds.
		dearer := f.RatioMean * best.WorkerSeconds / f.WorkerSeconds
		x.beside = fmt.Sprintf(" (of the peers, %s with %s in time costs %s)", best.contender.Name,
			report.Percent(best.InTimeMean), report.Multiple(dearer))
		attempts = append(attempts, x)
		t.Add(x.event, report.Number(float64(pool.Size)), pool.Boot.Mean.String(), report.Percent(f.InTimeMean),
			report.Percent(f.InTimeLeast), report.Multiple(f.RatioMean), report.Multiple(f.RatioMost),
			report.Percent(x.ceiling), arena.Described(best.contender), report.Percent(best.InTimeMean),
			report.Multiple(dearer))
	}
	found.Goals = append(found.Goals, judgeWarm(attempts)...)
	found.Tables = append(found.Tables, t)
	found.Notes = append(found.Notes, "The warm pool holds a tenth of the peak, rounded up. The peak is "+
		"the most workers that would be busy at once if no message ever waited (mean of the seeds). Members from "+
		"the pool boot in a sixth of the time, and the pool replaces a member after one boot time. The pool "+
		"itself is not billed. The limit knows when messages come and has every worker from the pool. If max "+
		"workers are launched at the first message and none is stopped, each message begins as early as any "+
		"schedule without a worker before it allows, in the order of arrival. The best peer is the cheapest that "+
		"keeps "+report.Percent(report.ObjectiveShare)+
		", or the one with the most in time if none does. Peers have their defaults, and the setting that is "+
		"best in hindsight without a pool.")
	return nil
}

// peerFigure is a peer with the figures of its runs.
type peerFigure struct {
	arena.Figure
	contender contest.Contender
}

// bestWarm returns the best peer on an event with a pool, among the peers at their defaults and at the settings that
// are best on the event without one.
func (s *score) bestWarm(without, with contest.Event) (peerFigure, error) {
	// Tuned without the pool, because that is how a peer would be configured before one is added.
	choices, err := s.Tune(without, s.peers, s.design, []float64{report.ObjectiveShare})
	if err != nil {
		return peerFigure{}, err
	}
	field := slices.Clone(s.peers)
	for _, t := range choices {
		field = append(field, t.Peer)
	}
	winners, err := s.Race(with, field, s.seeds, []float64{report.ObjectiveShare})
	if err != nil {
		return peerFigure{}, err
	}
	return peerFigure{arena.Sum(winners[0].Runs), winners[0].Contender}, nil
}

// mostInTime is the largest share in time of any schedule that has no worker before the first message; the mean of the
// seeds. If as many workers as allowed are launched at the first message and stay, no message can begin earlier, in the
// order of arrival.
func (s *score) mostInTime(e contest.Event) (float64, error) {
	// A mean, because shares of the seeds are judged by their mean, too.
	total := 0.0
	for _, seed := range s.seeds {
		p, err := s.Prepared(e, seed)
		if err != nil {
			return 0, err
		}
		share, err := earliest(p.Trace, e)
		if err != nil {
			return 0, err
		}
		total += share
	}
	return total / float64(len(s.seeds)), nil
}

// earliest is the share of a trace in time if max workers are launched at its first message. The trace must have no
// children. free is a heap of the times at which slots become free, the earliest first.
func earliest(t trace.Trace, e contest.Event) (float64, error) {
	var free instants
	inTime, all := 0, 0
	err := t.Each(func(m trace.Message) bool {
		if all++; free == nil {
			// At the first message every slot gets the time at which its worker has booted.
			for i := range e.Limits.Max * max(1, e.World.Slots) {
				// The least boot keeps this an upper bound where boots vary.
				boot := e.World.Boot.Least()
				if i < e.World.Warm.Size*max(1, e.World.Slots) {
					boot = min(boot, e.World.Warm.Boot.Least())
				}
				free = append(free, m.Arrival+boot)
			}
			heap.Init(&free)
		}
		end := max(m.Arrival, free[0]) + m.Service
		if free[0] = end; end-m.Arrival <= e.Objective.Latency {
			inTime++
		}
		heap.Fix(&free, 0)
		return true
	})
	return float64(inTime) / float64(max(1, all)), err
}

// peak is the largest number of busy workers if no message ever waited; the mean of the seeds.
func (s *score) peak(e contest.Event) (float64, error) {
	sum := 0.0
	for _, seed := range s.seeds {
		p, err := s.Prepared(e, seed)
		if err != nil {
			return 0, err
		}
		n, err := mostAtOnce(p.Trace)
		if err != nil {
			return 0, err
		}
		sum += math.Ceil(float64(n) / float64(max(1, e.World.Slots)))
	}
	return sum / float64(len(s.seeds)), nil
}

// warmed is an event with a warm pool of a tenth of the peak.
func warmed(e contest.Event, peak float64) contest.Event {
	e.World.Warm = world.WarmPool{Size: int(math.Ceil(peak / 10)), Boot: world.Draw{Mean: e.World.Boot.Mean / 6},
		Refill: e.World.Boot.Mean}
	e.Name = fmt.Sprintf("%s with a warm pool of %d", e.Name, e.World.Warm.Size)
	return e
}

// mostAtOnce is the largest number of messages in work at once if no message waits. Children are left out, because when
// they come depends on the policy.
func mostAtOnce(t trace.Trace) (most int, err error) {
	var ends instants
	err = t.Each(func(m trace.Message) bool {
		// Messages that have ended by then are no longer at work.
		for len(ends) > 0 && ends[0] <= m.Arrival {
			heap.Pop(&ends)
		}
		heap.Push(&ends, m.Arrival+m.Service)
		most = max(most, len(ends))
		return true
	})
	return most, err
}

// instants is a heap, the earliest first.
type instants []time.Duration

// Len implements [heap.Interface], as the methods below.
func (h instants) Len() int { return len(h) }

// Less tells which comes first.
func (h instants) Less(i, j int) bool { return h[i] < h[j] }

// Swap swaps two.
func (h instants) Swap(i, j int) { h[i], h[j] = h[j], h[i] }

// Push adds one.
func (h *instants) Push(x any) { *h = append(*h, x.(time.Duration)) }

// Pop takes the last.
func (h *instants) Pop() any {
	old := *h
	last := old[len(old)-1]
	*h = old[:len(old)-1]
	return last
}
