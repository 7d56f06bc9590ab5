package tables

import (
	"cmp"
	"fmt"
	"io"
	"math"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/muster-scale/muster/internal/render"
	"github.com/muster-scale/muster/sim/contest"
	"github.com/muster-scale/muster/sim/scoring"
)

// Run prints one run of the policy c with all its figures.
func Run(w io.Writer, r scoring.Result, p contest.Prepared, c contest.Contender) {
	// Each line has the name of a figure and its value; the tabwriter aligns the values.
	o := p.Event.Objective
	fmt.Fprintf(w, "%s on %s, seed %d\n\n", r.Policy, r.Trace, r.Seed)
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	line := func(name, format string, args ...any) {
		fmt.Fprintf(t, "  %s\t%s\n", name, fmt.Sprintf(format, args...))
	}
	// What the policy knew comes first: two runs that differ in it cannot be compared.
	line("told", "%s", told(c, p))
	line("messages", "%d", r.Messages)
	line("in time", "%d of %d (%s) within %s; the objective is %s", r.InTime, r.Messages, Percent(r.InTimeRatio),
		render.Seconds(o.Latency.Seconds()), Percent(o.Quantile))
	line("time from sent to finished", "p50 %s, p95 %s, p99 %s", render.Seconds(r.P50), render.Seconds(r.P95),
		render.Seconds(r.P99))
	line("worker-seconds", "%.0f, of which %.0f with a message in progress", r.WorkerSeconds,
		r.BusySeconds/float64(max(1, p.Event.World.Slots)))
	if r.Bound > 0 && r.Unreachable {
		line("lower bound", "%.0f for the work alone: no schedule keeps the objective%s (proved by %s); this is %.2f "+
			"times as much", r.Bound, atMost(p.Event.Limits.Max), r.Method, r.Ratio)
	} else if r.Bound > 0 {
		line("lower bound", "%.0f (proved by %s); this is %.2f times as much", r.Bound, r.Method, r.Ratio)
	}
	// The causal bound is the fairer one for a policy without a forecast, which cannot launch before the first message.
	if c := r.BoundCausal; c > 0 && !r.Unreachable {
		line("causal lower bound", "%.0f (proved by %s) with no launch before the first message; this is %.2f times "+
			"as much",
			c, p.Limits.Causal.Method, r.WorkerSeconds/c)
	}
	line("loss", "%s", lossWords(r, o.Quantile))
	line("workers", "%d at the peak, %d launched (%.1f an hour), size changed %s, direction reversed %s",
		r.PeakWorkers, r.Launches, r.LaunchesPerHour, render.Plural(r.ScaleEvents, "time"),
		render.Plural(r.Reversals, "time"))
	// The cost is in the unit of World.PricePerHour; with a price of 1 it is in worker-hours.
	line("cost", "%.2f", r.Cost)
	// These messages count as late above, so their number explains a low share.
	if r.Dead+r.Unfinished > 0 {
		line("never finished", "%d dead letters, %d given up on", r.Dead, r.Unfinished)
	}
	if s := p.Statistics.Slack; s.Ratio.Known {
		line("slack ratio", "%.2f%s", s.Ratio.Value, slackWords(s.Ratio.Value))
	}
	t.Flush()
}

// atMost says how many workers a fleet may have, 0 being any number.
func atMost(most int) string {
	if most == 0 {
		return ""
	}
	return " with at most " + render.Plural(most, "worker")
}

// lossWords says what the run cost when its late messages have a price.
func lossWords(r scoring.Result, quantile float64) string {
	allowed := "late beyond the " + Percent(1-quantile) + " that may be"
	if r.Loss <= r.WorkerSeconds {
		return fmt.Sprintf("%.0f worker-seconds; no message is %s", r.Loss, allowed)
	}
	// The number of messages that are late beyond the allowed share, from the price that was paid for them.
	beyond := math.Round(100*(r.Loss-r.WorkerSeconds)/r.LatePrice) / 100
	return fmt.Sprintf("%.0f worker-seconds, with %s for each of %s messages %s", r.Loss, render.Number(r.LatePrice),
		render.Number(beyond), allowed)
}

// slackWords explains a slack ratio in words.
func slackWords(k float64) string {
	if k > 0 {
		return ": a worker launched when a message comes is in time for it"
	}
	return ": a worker launched when a message comes is too late for it; only headroom helps"
}

// Percent returns a share in per cent, with about four digits.
func Percent(share float64) string { return fmt.Sprintf("%.4g %%", share*100) }

// bounds says what the lower bounds of an event are.
func bounds(r contest.Row) string {
	said := fmt.Sprintf("lower bound %.0f worker-seconds, %.0f with no launch before the first message", r.Bound,
		r.BoundCausal)
	switch {
	case r.Unreachable == 0:
		return said
	case r.Unreachable == r.Runs:
		return fmt.Sprintf("lower bound %.0f worker-seconds for the work alone: no schedule keeps the objective",
			r.Bound)
	}
	return fmt.Sprintf("%s; with %d of %d seeds no schedule keeps the objective", said, r.Unreachable, r.Runs)
}

// Rows prints a table for each trace with one line for each policy; with limits, also the lower bounds of the cost.
func Rows(w io.Writer, rows []contest.Row, limits bool) {
	// Rows of one event follow each other; a new event begins a new table.
	last := ""
	var t *tabwriter.Writer
	for _, r := range rows {
		if r.Event != last {
			if t != nil {
				t.Flush()
				fmt.Fprintln(w)
			}
			last = r.Event
			fmt.Fprintf(w, "%s: %.0f messages", r.Event, r.Messages)
			if limits {
				fmt.Fprintf(w, ", %s", bounds(r))
			}
			fmt.Fprintf(w, " (mean of %s)\n", render.Plural(r.Runs, "seed"))
			t = tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
			fmt.Fprintln(t, "  POLICY\tIN TIME (MIN)\t(MEAN)\tCOST / BOUND\t(MAX)\tWORKER-SECONDS\tLOSS"+
				"\tP50\tP95\tP99\tPEAK\tLAUNCHES/H\tCHANGES\tREVERSALS")
		}
		// Without lower bounds there are no ratios.
		ratio, most := "-", "-"
		if r.RatioMean > 0 {
			ratio, most = fmt.Sprintf("%.2f", r.RatioMean), fmt.Sprintf("%.2f", r.RatioMost)
		}
		fmt.Fprintf(t, "  %s\t%s\t%s\t%s\t%s\t%.0f\t%.0f\t%s\t%s\t%s\t%.0f\t%.1f\t%.0f\t%.0f\n", r.Policy,
			Percent(r.InTimeLeast), Percent(r.InTimeMean), ratio, most, r.WorkerSeconds, r.Loss, render.Seconds(r.P50),
			render.Seconds(r.P95), render.Seconds(r.P99), r.PeakWorkers, r.LaunchesPerHour, r.ScaleEvents, r.Reversals)
	}
	if t != nil {
		t.Flush()
	}
}

// told says what the policy c knew before anything was measured.
func told(c contest.Contender, p contest.Prepared) string {
	var all []string
	if mean := p.Event.Prior; mean > 0 {
		all = append(all, "a mean of "+exact(mean))
	} else if c.Peer {
		mean := time.Duration(p.Statistics.Service.MeanSeconds * float64(time.Second))
		all = append(all, "a mean of "+exact(mean)+" where its rule has a place for it")
	}
	if boot := p.Event.BootPrior; boot > 0 {
		all = append(all, "a boot of "+exact(boot))
	}
	return cmp.Or(strings.Join(all, ", "), "nothing beforehand")
}

// exact returns a duration to the millisecond, and a shorter one in full.
func exact(d time.Duration) string { return d.Round(min(time.Millisecond, d)).String() }
