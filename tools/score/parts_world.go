package main

import (
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/muster-scale/muster/sim/contest"
	"github.com/muster-scale/muster/sim/trace"
	"github.com/muster-scale/muster/sim/world"
	"github.com/muster-scale/muster/tools/score/arena"
	"github.com/muster-scale/muster/tools/score/report"
)

// Parts c, e and f, in which something about the world is special: a single burst, work that changes, signals and
// workers that fail.

// burstNames are the scenarios of part c, driftName is that of part e; driftTo is how long the work takes there in the
// end, and driftFrom how long it takes before.
const (
	burstNames         = "burst-25s,burst-50s"
	driftName          = "mpd-drift-5to40"
	driftTo, driftFrom = "to=40s", "to=5s"
)

// bursts is part c: one burst, next to the causal optimum, with a true and two wrong statements of the mean duration.
func (s *score) bursts() (report.Section, error) {
	found := report.Section{About: fmt.Sprintf("50 messages at once; %s. The "+
		"causal optimum knows the durations and launches at the first message. The stated mean duration is "+
		"right, half as long, or twice as long.", seedWords(s.seeds))}
	t := report.Table{Head: []string{"event", "stated duration", "told nothing: in time",
		"cost over the causal optimum",
		"told: in time", "worker-seconds", "causal optimum", "cost over it", "lower bound", "most workers",
		"workers of the optimum", "p99"}}
	var all []burst
	for _, name := range strings.Split(burstNames, ",") {
		x, ok := trace.FindScenario(name)
		if !ok {
			return found, fmt.Errorf("the scenario %s is gone", name)
		}
		// Right, half and double.
		for _, factor := range []float64{1, 0.5, 2} {
			e := contest.Told(contest.Scenario(x))
			p, err := s.Prepared(e, s.seeds[0])
			if err != nil {
				return found, err
			}
			// The true mean is told by the event; a wrong one is stated as a number.
			if factor != 1 {
				e.TellMean, e.Prior = false, time.Duration(factor*float64(p.Event.Prior))
				e.Name = fmt.Sprintf("%s, stated x %g", name, factor)
			}
			figures, runs, err := s.Figures([]arena.Request{{Event: e, Contender: arena.Ours()}}, s.seeds, true)
			if err != nil {
				return found, err
			}
			f, least := figures[0], runs[0][0].BoundCausal
			inTime, cost := "-", "-"
			if factor == 1 { // the policy that is told nothing does not depend on what is stated
				untold, err := s.toldNothing([]circumstances{{event: e}}, s.seeds, runs)
				if err != nil {
					return found, err
				}
				inTime, cost = report.Percent(untold[0].InTimeLeast), report.Multiple3(untold[0].WorkerSeconds/least)
			}
			// The causal optimum may not launch before the first message, as the policy may not.
			b := burst{event: name, prior: factor, least: f.InTimeLeast, ratio: f.WorkerSeconds / least, bound: "-"}
			each := p.Statistics.Service.MeanSeconds
			g := guess{messages: int(p.Statistics.Messages), slots: x.Slots, latency: x.Objective.Latency.Seconds(),
				boot: x.Boot.Seconds()}
			if bound, ok := g.least(factor*each, each); ok {
				b.bound = report.Multiple3(bound)
			}
			all = append(all, b)
			// The optimum pays work and boots; what is left beyond the work is its boots.
			workers := math.Round((least - p.Statistics.Service.WorkSeconds/float64(x.Slots)) / x.Boot.Seconds())
			t.Add(name, fmt.Sprintf("x %g", factor), inTime, cost, report.Percent(f.InTimeLeast),
				report.Number(f.WorkerSeconds),
				report.Number(least), report.Multiple3(b.ratio), b.bound, report.Number(f.PeakWorkers),
				report.Number(workers), report.Span(f.P99))
		}
	}
	found.Goals, found.Tables = judgeBursts(all), []report.Table{t}
	found.Notes = append(found.Notes, toldNote, "With a wrong statement no policy can meet both "+
		"goals before anything is measured. No message is finished until the first workers have booted and "+
		"worked on one, and until then the stated duration decides how many are launched. With twice the true "+
		"duration too many are launched, and their boots are paid. With half of it too few are launched; the "+
		"others come later, and perhaps too late. Once messages are finished, the measured durations count.",
		fmt.Sprintf("The lower bound of a row is the least cost of a plan that keeps all messages in "+
			"time in both cases and costs at most %s if the statement is right. The plan knows that the duration is "+
			"one of two, and learns which when the first message could have ended.", report.Multiple(mostBurst)))
	return found, nil
}

// drift is part e: work that takes eight times as long from one moment on, next to the same arrivals without that jump.
func (s *score) drift() (report.Section, error) {
	x := s.jump
	found := report.Section{About: fmt.Sprintf("`%s`, compared with the same arrivals whose "+
		"work does not begin to take longer; %s.", x.Name,
		seedWords(s.seeds))}
	steady := x
	steady.Name += " without the jump"
	steady.Spec = strings.Replace(x.Spec, driftTo, driftFrom, 1)
	// A changed scenario would compare the trace with itself.
	if steady.Spec == x.Spec {
		return found, fmt.Errorf("the scenario %q does not jump by %s any more: %q", x.Name, driftTo, x.Spec)
	}
	figures, runs, err := s.Figures([]arena.Request{{Event: contest.Told(contest.Scenario(steady)),
		Contender: arena.Ours()},
		{Event: contest.Told(contest.Scenario(x)), Contender: arena.Ours()}}, s.seeds, true)
	if err != nil {
		return found, err
	}
	found.Goals = []report.Goal{judgeDrops("work that takes eight times as long", drops(x.Name, runs[0], runs[1]))}
	found.Goals = append(found.Goals, arena.BrokenPromises(figures)...)
	t := report.Table{Head: []string{"event", "in time, least", "mean", "cost over limit, mean", "p50", "p99"}}
	for _, f := range figures {
		t.Add(f.Event, report.Percent(f.InTimeLeast), report.Percent(f.InTimeMean), report.Multiple(f.RatioMean),
			report.Span(f.P50), report.Span(f.P99))
	}
	found.Tables, found.Notes = []report.Table{t}, []string{driftNote}
	return found, nil
}

// driftNote says why the seeds differ where work begins to take longer.
const driftNote = "When work begins to take longer, the messages that wait at that moment are late. A " +
	"message may wait until the last moment at which a launch is in time, and no one can see the change " +
	"before a message of the new kind is in progress. So the number of late messages depends on the length " +
	"of the queue at that moment, and differs between seeds."

// drops pairs the runs without and with a fault, seed by seed.
func drops(event string, without, with []arena.Outcome) []drop {
	var all []drop
	for i := range without {
		all = append(all, drop{event: event, seed: without[i].Seed, without: without[i].InTimeRatio,
			with: with[i].InTimeRatio})
	}
	return all
}

// trouble is one fault of the world, by its name in --world.
type trouble struct {
	name string
	add  func(*world.World)
}

// troubles are the faults of part f, one at a time.
func troubles() []trouble {
	return []trouble{
		// A third of the polls fail; counts are a minute old; counts are off by a fifth; five workers in a hundred are
		// lost in an hour, with notice and without.
		{"lose-samples=0.3", func(w *world.World) { w.LoseSamples = 0.3 }},
		{"stale=60s", func(w *world.World) { w.Stale = time.Minute }},
		{"approximate=0.2", func(w *world.World) { w.Approximate = 0.2 }},
		{"spot=1, spot-rate=0.05, spot-notice=2m", func(w *world.World) {
			w.Spot = world.Spot{Share: 1, Interruptions: 0.05, Notice: 2 * time.Minute}
		}},
		{"crashes=0.05", func(w *world.World) { w.Crashes = 0.05 }},
	}
}

// badSignals is part f: the scenarios of part a, each with one fault, next to the same runs without. It also counts
// decreases that were decided while a required signal was unknown; there must be none.
func (s *score) badSignals() (report.Section, error) {
	kind, _, err := s.sorted("f")
	found := report.Section{About: fmt.Sprintf("The scenarios of part a with one fault each, as `--world` of "+
		"`muster simulate` names it, compared with the same run without the fault; %s. Of a hundred workers five "+
		"are lost in an hour: at once, or two minutes after a notice, as Spot capacity is.", seedWords(s.seeds))}
	if err != nil {
		return found, err
	}
	without, runsWithout, err := s.Figures(pairs(kind), s.seeds, false)
	if err != nil {
		return found, err
	}
	t := report.Table{Head: []string{"fault", "event", "in time without, mean", "with, mean",
		"points lost in the worst run",
		"worker-seconds with over without"}}
	blind := 0
	var figures []arena.Figure
	for _, x := range troubles() {
		var events []circumstances
		for _, c := range kind {
			x.add(&c.event.World)
			c.event.Name += " with " + x.name
			events = append(events, c)
		}
		with, runs, err := s.Figures(pairs(events), s.seeds, false)
		if err != nil {
			return found, err
		}
		var all []drop
		// Each run is paired with the run without the fault.
		for i, f := range with {
			mine := drops(kind[i].event.Name, runsWithout[i], runs[i])
			worst := 0.0
			for _, d := range mine {
				worst = max(worst, d.lost())
			}
			all = append(all, mine...)
			blind += f.BlindFalls
			t.Add(x.name, kind[i].event.Name, report.Percent(without[i].InTimeMean), report.Percent(f.InTimeMean),
				report.Points(worst), report.Multiple(f.WorkerSeconds/without[i].WorkerSeconds))
		}
		figures = append(figures, with...)
		// One goal per fault, over all events and seeds.
		found.Goals = append(found.Goals, judgeDrops(x.name, all))
	}
	var missed []string
	if blind > 0 {
		missed = []string{"a decision fell without knowing what it must know"}
	}
	found.Goals = append(found.Goals,
		report.Judged("decreases decided while the backlog, the messages in flight or the listing was unknown", "none",
			report.Number(float64(blind)), missed))
	found.Goals = append(found.Goals, arena.BrokenPromises(figures)...)
	found.Tables, found.Notes = []report.Table{t}, []string{driftNote}
	return found, nil
}
