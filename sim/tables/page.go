package tables

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"github.com/muster-scale/muster/internal/render"
	"github.com/muster-scale/muster/sim/contest"
)

// pageTerms is the text that explains the words of the tables.
const pageTerms = `A policy knows what its configuration states and what was measured. The configuration of a policy of
ours states no duration, unless the command above says so; that of NAME (told) states the true mean processing duration
and the true boot time. Other autoscalers whose rule has a place for the mean processing duration are always told the
true one. NAME* is another autoscaler at the setting that would have been best in hindsight, on seeds 1 to 5.

*Bound* is a proven lower bound of what any schedule pays that keeps the objective, also one that knows the future
([limit.md](limit.md)); the second is for schedules that may not launch before the first message. *Loss* is the
worker-seconds, and the price of a late message for each beyond the share that may be late: by default the boot time of
one worker, a minute at least, and a hundred times the work of a message at most.

`

// Page prints the rows as a page of Markdown: first each policy over all traces, then each trace. command is the
// command that writes the page, which the page shows.
func Page(w io.Writer, command string, events []contest.Event, rows []contest.Row) {
	fmt.Fprintf(w, "# Comparison\n\nWritten by `%s`; do not edit. Every policy had the same traces, draws, limits "+
		"and bill. "+
		"[simulation.md](simulation.md) says what the model holds and leaves out, [peers.md](peers.md) what the other "+
		"autoscalers are.\n\n", command)
	// The terms stand before the first table that uses them.
	fmt.Fprint(w, pageTerms)
	fmt.Fprint(w, "| policy | traces on which it kept the objective | on those: cost / bound, geometric mean | most "+
		"| on all: in time, least |\n|---|---:|---:|---:|---:|\n")
	// The table over all traces comes first: most readers need no other.
	for _, s := range summaries(events, rows) {
		fmt.Fprintf(w, "| %s | %d of %d | %s | %s | %s |\n", escape(s.policy), s.kept, s.of, multiple(s.mean()),
			multiple(s.most), Percent(s.least))
	}
	last := ""
	for _, r := range rows {
		if r.Event != last {
			last = r.Event
			e := events[slices.IndexFunc(events, func(e contest.Event) bool { return e.Name == r.Event })]
			fmt.Fprintf(w, "\n## %s\n\n%.0f messages; %s of them within %s; a worker boots in %s and has %s; "+
				"%s; mean of %s.\n\n",
				r.Event, r.Messages, Percent(e.Objective.Quantile), render.Seconds(e.Objective.Latency.Seconds()),
				render.Seconds(e.World.Boot.Mean.Seconds()), render.Plural(e.World.Slots, "slot"),
				bounds(r), render.Plural(r.Runs, "seed"))
			fmt.Fprint(w, "| policy | in time, least | mean | cost / bound, mean | most | loss | p50 | p95 | p99 "+
				"| peak workers | launches an hour | changes | reversals |\n"+
				"|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|\n")
		}
		fmt.Fprintf(w, "| %s | %s | %s | %s | %s | %.0f | %s | %s | %s | %.0f | %.1f | %.0f | %.0f |\n",
			escape(r.Policy), Percent(r.InTimeLeast), Percent(r.InTimeMean), multiple(r.RatioMean),
			multiple(r.RatioMost),
			r.Loss, render.Seconds(r.P50), render.Seconds(r.P95), render.Seconds(r.P99), r.PeakWorkers,
			r.LaunchesPerHour,
			r.ScaleEvents, r.Reversals)
	}
}

// escape protects the star of tuned contenders from Markdown.
func escape(name string) string { return strings.ReplaceAll(name, "*", `\*`) }

// multiple returns a multiple of the lower bound; a dash when it is not known.
func multiple(v float64) string {
	if v == 0 {
		return "-"
	}
	return fmt.Sprintf("%.2f", v)
}

// summary is how one policy did over all traces.
type summary struct {
	policy   string
	kept, of int     // traces on which it met the objective, and all traces
	logs     float64 // sum of the logarithms of the ratios where the objective was met
	most     float64 // the largest of these ratios
	least    float64 // the smallest share in time on any trace and seed
}

// mean returns the geometric mean of these ratios.
func (s summary) mean() float64 {
	if s.kept == 0 {
		return 0
	}
	return math.Exp(s.logs / float64(s.kept))
}

// summaries sums up the rows by policy. An objective counts as met when the mean over the seeds meets it.
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
		// Ratios count only where the objective is met: a policy that does nothing would be the cheapest.
		if r.InTimeMean >= e.Objective.Quantile && r.RatioMean > 0 {
			s.kept++
			s.logs += math.Log(r.RatioMean)
			s.most = max(s.most, r.RatioMean)
		}
	}
	return all
}
