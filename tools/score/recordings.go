package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/muster-scale/muster"
	"github.com/muster-scale/muster/sim/contest"
	"github.com/muster-scale/muster/sim/trace"
	"github.com/muster-scale/muster/sim/world"
	"github.com/muster-scale/muster/tools/score/arena"
	"github.com/muster-scale/muster/tools/score/report"
)

// Part g, recorded traces. They test what generated ones cannot: real arrivals, which follow no formula. They are not
// part of the project, so they are read from a directory.

// recorded is a recorded trace with the objective and fleet it is played with, and its source.
type recorded struct {
	event contest.Event
	from  string
}

// known lists the recorded traces by their file, DIR/NAME.csv.gz. The files are not part of the project:
// docs/quality.md cites where they come from.
func known() []recorded {
	// Each trace gets an objective and a boot that suit the system it comes from.
	const s, m, h = time.Second, time.Minute, time.Hour
	list := []struct {
		name, from    string
		latency, boot time.Duration
		slots, most   int
	}{
		{"azllm_conv", "AzurePublicDataset, LLM inference trace (conversation) @ b469a11", m, m, 1, 500},
		{"azllm_code", "AzurePublicDataset, LLM inference trace (code) @ b469a11", m, m, 1, 500},
		{"aapl", "Numenta Anomaly Benchmark, tweets on AAPL @ ea702d7, seven days x 0.5", 5 * m, m, 1, 500},
		{"lora", "Alibaba cluster trace v2026 GenAI, LoRA requests @ 7a6c496, three days", 5 * m, 90 * s, 1, 500},
		{"nasaweb", "NASA HTTP 1995 by reconfigurable-ml-pipeline @ 7404ad6, one day", 30 * s, m, 4, 500},
		{"ipsc", "NASA iPSC/860 1993, Parallel Workloads Archive, 14 days", h, 2 * m, 1, 500},
		{"lcg", "LCG grid 2005, Parallel Workloads Archive, one day", 2 * h, 2 * m, 1, 5000},
	}
	var all []recorded
	for _, x := range list {
		all = append(all, recorded{from: x.from, event: contest.Event{
			TellMean: true, TellBoot: true,
			Name: x.name, Objective: muster.Objective{Latency: x.latency, Quantile: report.ObjectiveShare},
			Limits: muster.Limits{Max: x.most, LaunchesPerHour: contest.LaunchesPerHour},
			World:  world.World{Boot: world.Draw{Mean: x.boot}, Slots: x.slots},
		}})
	}
	return all
}

// recordings returns the recorded traces in a directory; only names some of them. Without a directory there are none.
func recordings(dir, only string) ([]recorded, error) {
	if dir == "" {
		if only != "" {
			return nil, fmt.Errorf("-recordings: found %q without -traces, which says where they are", only)
		}
		return nil, nil
	}
	var all []recorded
	var names []string
	for _, r := range known() {
		names = append(names, r.event.Name)
		if only != "" && !slices.Contains(strings.Split(only, ","), r.event.Name) {
			continue
		}
		path := filepath.Join(dir, r.event.Name+".csv.gz")
		if _, err := os.Stat(path); err != nil {
			return nil, fmt.Errorf("-traces: %w; -recordings picks those that are there", err)
		}
		// The seed only draws what the source does not say, such as service times.
		r.event.Trace = func(seed uint64) (trace.Trace, error) { return trace.Open(path, trace.Options{Seed: seed}) }
		all = append(all, r)
	}
	for _, n := range strings.Split(only, ",") {
		if only != "" && !slices.Contains(names, n) {
			return nil, fmt.Errorf("-recordings: there is no trace %q; there are %s", n, strings.Join(names, ", "))
		}
	}
	return all, nil
}

// recordings is part g: recorded traces.
func (s *score) recordings() (report.Section, error) {
	found := report.Section{About: "Real arrivals, with service times that were measured, " +
		"or drawn as the source of the trace describes. Shares are of the attainable messages, whose own work " +
		"fits into the objective. The goals are those of part a where k is above 0. Elsewhere no launch saves a " +
		"message, and the figures have no goal."}
	var sources []string
	var all, kind []circumstances
	once := []uint64{1} // a recorded trace is the same for every seed
	for _, r := range s.real {
		c, err := s.measure(r.event, once)
		if err != nil {
			return found, err
		}
		sources = append(sources, r.event.Name+": "+r.from)
		// Only traces in which a launch helps are judged.
		if all = append(all, c); c.slack > 0 {
			kind = append(kind, c)
		}
	}
	t := report.Table{Head: []string{"trace", "objective", "boot", "slots", "k", "load in workers", "attainable",
		"told nothing: in time of those", "cost over limit", "told: in time of those", "cost over limit", "limit by",
		"a schedule that knows the future, over limit", "p50", "p99", "most workers", "took"}}
	attempts := map[string]attempt{}
	var broken []arena.Figure
	for _, c := range all { // one after the other: each may take minutes
		began := time.Now()
		s.Say("   %s: the limit, and two runs", c.event.Name)
		figures, runs, err := s.Figures([]arena.Request{{Event: c.event, Contender: arena.Ours()}}, once, true)
		if err != nil {
			return found, err
		}
		f := figures[0]
		x := c.attempt(f)
		// A message whose own work is longer than the objective cannot be in time, whatever a policy does.
		x.least, x.mean = f.InTimeLeast/c.attainable, f.InTimeMean/c.attainable
		untold, err := s.toldNothing([]circumstances{c}, once, runs)
		if err != nil {
			return found, err
		}
		attempts[c.event.Name], broken = x, append(broken, f, untold[0])
		foreseen, err := s.foreseen(c, f.WorkerSeconds/f.RatioMean)
		if err != nil {
			return found, err
		}
		took := time.Since(began).Round(time.Second)
		s.Say("   %s: %s of the attainable in time at %s, in %s", c.event.Name, report.Percent(x.mean),
			report.Multiple(x.ratio), took)
		t.Add(c.event.Name, c.event.Objective.Latency.String(), c.event.World.Boot.Mean.String(),
			report.Number(float64(c.event.World.Slots)), report.Number(c.slack), c.load(), report.Percent(c.attainable),
			report.Percent(untold[0].InTimeMean/c.attainable), report.Multiple(untold[0].RatioMean),
			report.Percent(x.mean),
			report.Multiple(x.ratio), runs[0][0].Method, foreseen, report.Span(f.P50), report.Span(f.P99),
			report.Number(f.PeakWorkers), took.String())
	}
	var judgedOnes []attempt
	for _, c := range kind {
		judgedOnes = append(judgedOnes, attempts[c.event.Name])
	}
	found.Goals = judgeRescuable(judgedOnes)
	if len(judgedOnes) > 0 {
		// The mean over scenarios and recordings together is a goal, too.
		scenarios, err := s.attempted()
		if err != nil {
			return found, err
		}
		found.Goals = append(found.Goals, judgeMean("the same of these and the scenarios of part a together",
			append(scenarios, judgedOnes...)))
	}
	found.Goals = append(found.Goals, arena.BrokenPromises(broken)...)
	found.Tables = []report.Table{t}
	found.Notes = append(found.Notes, toldNote, "The limit is a lower bound, and where it is "+
		"found by prices it has fractions of workers. The schedule that knows the future is the cheapest that "+
		"was found with whole workers, where k is above 0. The least possible cost is between the two.")
	found.Notes = append(found.Notes, "The traces are "+strings.Join(sources, "; ")+".")
	return found, nil
}

// foreseen is the cost over the limit of the cheapest schedule that was found with whole workers; "-" where no launch
// saves a message. It shows how much of the distance to the limit is the bound's own.
func (s *score) foreseen(c circumstances, least float64) (string, error) {
	if c.slack <= 0 {
		return "-", nil
	}
	p, err := s.Prepared(c.event, 1)
	if err != nil {
		return "", err
	}
	x, err := p.Schedule()
	if err != nil || !x.Kept {
		return "none found", err
	}
	return report.Multiple(x.WorkerSeconds / least), nil
}
