package main

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"time"

	"github.com/muster-scale/muster"
	"github.com/muster-scale/muster/sim/contest"
	"github.com/muster-scale/muster/sim/trace"
	"github.com/muster-scale/muster/sim/world"
	"github.com/muster-scale/muster/tools/score/report"
)

// Part h, traces that are in no scenario, and with seeds that change with every commit. A policy that was fitted to the
// scenarios, or to their seeds, loses here.

// shapes are traces that are in no scenario, so no constant of the policy was chosen by them. A change that only fits
// the scenarios shows here.
func shapes() []contest.Event {
	const s, m = time.Second, time.Minute
	generated := func(spec string) func(uint64) (trace.Trace, error) {
		return func(seed uint64) (trace.Trace, error) { return trace.Generate(spec, seed) }
	}
	return []contest.Event{
		shape("two sizes of spikes", func(seed uint64) (trace.Trace, error) {
			small, err := trace.Generate("spike:rate=0.3,size=80,every=50m,at=12m,duration=4h,service=10s,cv=0.5", seed)
			if err != nil {
				return small, err
			}
			large, err := trace.Generate("spike:rate=0,size=400,every=50m,at=37m,duration=4h,service=10s,cv=0.5",
				seed+1)
			return merged(small, large), err
		}, 5*m, m, 1),
		shape("ramp", func(seed uint64) (trace.Trace, error) { return ramp(seed, 0.2, 5, 2*time.Hour, 12*s), nil }, 4*m,
			m, 1),
		shape("eight slots", generated("poisson:rate=14,duration=1h,service=6s,cv=0.7"), 2*m, m, 8),
		shape("on and off, long quiet",
			generated("mmpp:rate=0,to=3,quiet=100m,busy=20m,duration=20h,service=10s,cv=0.5"), 5*m, 90*s, 1),
		shape("1 s and 60 s", generated("bimodal:rate=0.8,duration=3h,service=1s,to=60s,share=0.2"), 5*m, m, 1),
		shape("seldom and short", generated("sparse:load=0.05,service=4s,duration=8h,cv=1"), 3*m, 45*s, 1),
	}
}

// shape is an event with the objective for 99 % of the messages.
func shape(name string, t func(uint64) (trace.Trace, error), latency, boot time.Duration, slots int) contest.Event {
	return contest.Event{
		TellMean: true, TellBoot: true,
		Name: name, Trace: t, Objective: muster.Objective{Latency: latency, Quantile: report.ObjectiveShare},
		Limits: muster.Limits{Max: 500, LaunchesPerHour: contest.LaunchesPerHour},
		World:  world.World{Boot: world.Draw{Mean: boot}, Slots: slots},
	}
}

// heldAside is part h: the shapes, with seeds made from the commit.
func (s *score) heldAside() (report.Section, error) {
	var all []circumstances
	for _, e := range s.shapes {
		c, err := s.measure(e, s.fresh)
		if err != nil {
			return report.Section{}, err
		}
		// A shape in which no launch helps would be judged by goals that it cannot meet.
		if c.slack <= 0 {
			return report.Section{}, fmt.Errorf("the shape %q has a slack ratio of %.2f, and is to have one above 0",
				e.Name,
				c.slack)
		}
		all = append(all, c)
	}
	found, err := s.attempts(all, s.fresh)
	found.About = fmt.Sprintf("Traces that are in no scenario, with seeds made from "+
		"the commit, so that each commit meets others: %s. They are judged as in part a; `tools/score/shapes.go` "+
		"defines them.",
		seedWords(s.fresh))
	return found, err
}

// freshSeeds makes three seeds from a commit. They are hashed, so that neighbouring commits get unrelated seeds.
func freshSeeds(commit string) []uint64 {
	var seeds []uint64
	// Three seeds, because each costs a limit that is not in the cache.
	for i := range 3 {
		sum := sha256.Sum256(fmt.Appendf(nil, "%s %d", commit, i))
		seeds = append(seeds, uint64(binary.LittleEndian.Uint32(sum[:])))
	}
	return seeds
}

// ramp is a Poisson process whose rate, messages a second, rises evenly, with lognormal work.
func ramp(seed uint64, from, to float64, length, mean time.Duration) trace.Trace {
	const cv = 0.5
	random := rand.New(rand.NewPCG(seed, 1))
	variance := math.Log1p(cv * cv)
	var all []trace.Message
	// The expected number until t is from t + slope t^2 / 2: its inverse puts the events of a process of rate 1 in
	// place.
	slope := (to - from) / length.Seconds()
	for expected := random.ExpFloat64(); ; expected += random.ExpFloat64() {
		t := (math.Sqrt(from*from+2*slope*expected) - from) / slope
		// Microseconds are the resolution of traces.
		at := time.Duration(t * float64(time.Second)).Round(time.Microsecond)
		if at > length {
			return trace.Of("ramp", all...)
		}
		work := mean.Seconds() * math.Exp(random.NormFloat64()*math.Sqrt(variance)-variance/2)
		all = append(all, trace.Message{Arrival: at,
			Service: time.Duration(work * float64(time.Second)).Round(time.Microsecond)})
	}
}

// merged is a trace of the messages of both, ordered by arrival. It is read into memory.
func merged(a, b trace.Trace) trace.Trace {
	return trace.Trace{Name: a.Name + " and " + b.Name, Open: func() (trace.Reader, error) {
		first, err := messages(a)
		if err != nil {
			return nil, err
		}
		second, err := messages(b)
		if err != nil {
			return nil, err
		}
		var all []trace.Message
		for len(first) > 0 && len(second) > 0 {
			if first[0].Arrival <= second[0].Arrival {
				all, first = append(all, first[0]), first[1:]
			} else {
				all, second = append(all, second[0]), second[1:]
			}
		}
		return trace.Of("", append(append(all, first...), second...)...).Open()
	}}
}

// messages reads a trace into memory.
func messages(t trace.Trace) (all []trace.Message, err error) {
	err = t.Each(func(m trace.Message) bool {
		all = append(all, m)
		return true
	})
	return all, err
}
