package main

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"github.com/muster-scale/muster"
	"github.com/muster-scale/muster/sim/contest"
)

// printPage shows the rows as a page of Markdown: first how each policy did over all traces, then each trace.
func printPage(w io.Writer, command string, events []contest.Event, rows []contest.Row) {
	fmt.Fprintf(w, "# Comparison\n\nWritten by `%s`; do not edit. Every policy had the same traces, draws, limits and bill. "+
		"[simulation.md](simulation.md) says what the model holds and leaves out, [peers.md](peers.md) what the peers are.\n\n", command)
	fmt.Fprint(w, "The least is a proven lower bound of what any schedule pays that keeps the objective, also one that knows the future "+
		"([limit.md](limit.md)). NAME* is a peer at the setting that would have been best in hindsight, on seeds 1 to 5.\n\n")
	fmt.Fprint(w, "| policy | traces on which it kept the objective | on those: cost x least, geometric mean | most | on all: in time, least |\n|---|---:|---:|---:|---:|\n")
	for _, s := range summaries(events, rows) {
		fmt.Fprintf(w, "| %s | %d of %d | %s | %s | %s |\n", escape(s.policy), s.kept, s.of, multiple(s.mean()), multiple(s.most), percent(s.least))
	}
	last := ""
	for _, r := range rows {
		if r.Event != last {
			last = r.Event
			e := events[slices.IndexFunc(events, func(e contest.Event) bool { return e.Name == r.Event })]
			fmt.Fprintf(w, "\n## %s\n\n%.0f messages; %s of them within %s; a worker boots in %s and has %s; least possible %.0f worker-seconds; mean of %s.\n\n", r.Event, r.Messages,
				percent(e.Objective.Quantile), muster.Seconds(e.Objective.Latency.Seconds()), muster.Seconds(e.World.Boot.Mean.Seconds()),
				muster.Plural(e.World.Slots, "slot"), r.Clairvoyant, muster.Plural(r.Runs, "seed"))
			fmt.Fprint(w, "| policy | in time, least | mean | cost x least, mean | most | p50 | p95 | p99 | most workers | changes |\n|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|\n")
		}
		fmt.Fprintf(w, "| %s | %s | %s | %s | %s | %s | %s | %s | %.0f | %.0f |\n", escape(r.Policy), percent(r.InTimeLeast), percent(r.InTimeMean), multiple(r.RatioMean),
			multiple(r.RatioMost), muster.Seconds(r.P50), muster.Seconds(r.P95), muster.Seconds(r.P99), r.PeakWorkers, r.ScaleEvents)
	}
}

func escape(name string) string { return strings.ReplaceAll(name, "*", `\*`) }

func multiple(v float64) string {
	if v == 0 {
		return "-"
	}
	return fmt.Sprintf("%.2f", v)
}

// summary is how one policy did over all traces.
type summary struct {
	policy   string
	kept, of int
	logs     float64 // of the ratios where the objective was kept
	most     float64
	least    float64
}

func (s summary) mean() float64 {
	if s.kept == 0 {
		return 0
	}
	return math.Exp(s.logs / float64(s.kept))
}

// summaries sums up the rows by policy. An objective counts as kept when the mean over the seeds keeps it.
func summaries(events []contest.Event, rows []contest.Row) []summary {
	var all []summary
	for _, r := range rows {
		i := slices.IndexFunc(all, func(s summary) bool { return s.policy == r.Policy })
		if i < 0 {
			i = len(all)
			all = append(all, summary{policy: r.Policy, least: 1})
		}
		s := &all[i]
		s.of++
		s.least = min(s.least, r.InTimeLeast)
		e := events[slices.IndexFunc(events, func(e contest.Event) bool { return e.Name == r.Event })]
		if r.InTimeMean >= e.Objective.Quantile && r.RatioMean > 0 {
			s.kept++
			s.logs += math.Log(r.RatioMean)
			s.most = max(s.most, r.RatioMean)
		}
	}
	return all
}
