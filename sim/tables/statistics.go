package tables

import (
	"fmt"
	"io"
	"strings"

	"github.com/muster-scale/muster/internal/render"
	"github.com/muster-scale/muster/sim/trace/statistics"
)

// Statistics prints what a trace is like, one line for each property. goal is what its slack is computed for.
func Statistics(w io.Writer, s statistics.Statistics, goal statistics.Goal) {
	row := func(name, format string, values ...any) {
		fmt.Fprintf(w, "  %-10s  %s\n", name, fmt.Sprintf(format, values...))
	}
	fmt.Fprintf(w, "%s: %s in %s\n\n", s.Name, render.Plural(int(s.Messages), "message"),
		render.Seconds(s.DurationSeconds))
	// Only a trace with children has trees.
	if s.Roots < s.Messages {
		row("trees", "%s, the deepest message %s below it", render.Plural(int(s.Roots), "root"),
			render.Plural(s.Depth, "level"))
	}
	if s.RatePerSecond.Known {
		row("rate", "%s a second, at most %d in a minute", digits(s.RatePerSecond.Value), s.PeakPerMinute)
	} else {
		row("rate", "all at once")
	}
	if s.Dispersion.Known {
		// Messages of a Poisson process have a dispersion of 1, bursts a larger one.
		row("burstiness", "index of dispersion %s by the minute; 1 is a Poisson process", digits(s.Dispersion.Value))
	}
	// The sparkline needs its scale in words: the width of a character and the messages of the highest one.
	line, width, most := sparkline(s.Arrivals)
	row("arrivals", "%s", line)
	row("", "each %s, at most %s", render.Seconds(float64(width)), render.Plural(int(most), "message"))
	row("service", "mean %s, p50 %s, p95 %s, p99 %s, longest %s", span(s.Service.MeanSeconds),
		span(s.Service.P50Seconds),
		span(s.Service.P95Seconds), span(s.Service.P99Seconds), span(s.Service.MaxSeconds))
	if s.Service.CV.Known {
		row("", "coefficient of variation %s; %s slot-seconds in all", digits(s.Service.CV.Value),
			digits(s.Service.WorkSeconds))
	}
	if s.Load.Known {
		workers := digits(s.Workers.Value) + " workers"
		// render.Plural takes whole numbers, and the number of workers has a fraction.
		if workers == "1 workers" {
			workers = "1 worker"
		}
		row("load", "%s slots busy in the mean: %s of %s", digits(s.Load.Value), workers,
			render.Plural(max(1, goal.Slots), "slot"))
	}
	printKinds(row, s)
	if s.Slack != nil {
		printSlack(row, *s.Slack)
	}
}

// printKinds prints the classes of the messages, if there are several.
func printKinds(row func(string, string, ...any), s statistics.Statistics) {
	// Only the first line has a name; the others belong to it.
	name := "classes"
	for _, c := range s.Classes {
		row(name, "%s: %s, mean %s", orNoName(c.Name), render.Plural(int(c.Messages), "message"), span(c.MeanSeconds))
		name = ""
	}
	if s.MoreClasses {
		row(name, "and others")
	}
	switch {
	case s.MoreGroups:
		row("groups", "more than %d", s.Groups)
	case s.Groups > 0:
		row("groups", "%d", s.Groups)
	}
	if s.Skipped > 0 {
		row("skipped", "%s of the file: incomplete, cancelled before they ran, or part of another",
			render.Plural(int(s.Skipped), "job"))
	}
}

// orNoName returns a name to print for messages without a class.
func orNoName(name string) string {
	if name == "" {
		return "(none)"
	}
	return name
}

// printSlack prints the slack ratio and what it means.
func printSlack(row func(string, string, ...any), s statistics.Slack) {
	row("objective", "%s for %s%% of the messages", span(s.ObjectiveSeconds), digits(100*s.Quantile))
	// This bounds every policy, so it is said before the slack.
	if s.Longer > 0 {
		row("", "%s%% take longer by themselves: no policy has more than %s%% in time", digits(100*s.Longer),
			digits(100*(1-s.Longer)))
	}
	switch {
	case s.Ratio.Known && s.Ratio.Value > 0:
		row("slack", "%s boot times of %s: a worker launched for a message that waits comes in time",
			digits(s.Ratio.Value), span(s.BootSeconds))
	case s.Ratio.Known:
		row("slack", "%s boot times of %s: a worker launched for a message that waits comes too late for it",
			digits(s.Ratio.Value), span(s.BootSeconds))
	default:
		row("slack", "unknown without --boot")
	}
}

// sparkline draws the arrivals over time with at most 64 characters. Each stands for width seconds, and the highest for
// most messages; a blank is no message.
func sparkline(h statistics.Histogram) (line string, width, most int64) {
	counts, width := h.Counts, h.WidthSeconds
	for len(counts) > 64 {
		half := make([]int64, (len(counts)+1)/2)
		for i, n := range counts {
			half[i/2] += n
		}
		counts, width = half, 2*width
	}
	for _, n := range counts {
		most = max(most, n)
	}
	levels := []rune("▁▂▃▄▅▆▇█")
	var b strings.Builder
	for _, n := range counts {
		if n == 0 {
			b.WriteByte(' ')
			continue
		}
		b.WriteRune(levels[min(len(levels)-1, int(float64(n)/float64(most)*float64(len(levels))))])
	}
	return b.String(), width, most
}

// digits returns a number with about three digits.
func digits(v float64) string {
	switch {
	case v >= 1000:
		return fmt.Sprintf("%.0f", v)
	case v >= 100:
		return trimZeros(fmt.Sprintf("%.1f", v))
	case v >= 1 || v <= -1:
		return trimZeros(fmt.Sprintf("%.2f", v))
	}
	return fmt.Sprintf("%.3g", v)
}

// trimZeros removes zeros at the end of a decimal fraction.
func trimZeros(text string) string { return strings.TrimRight(strings.TrimRight(text, "0"), ".") }

// span returns seconds; a very short time keeps its digits.
func span(s float64) string {
	if s > 0 && s < 0.001 {
		return fmt.Sprintf("%.3gms", s*1000)
	}
	return render.Seconds(s)
}
