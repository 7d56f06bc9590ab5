package main

import (
	"encoding/json"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"strings"
	"text/tabwriter"

	"github.com/muster-scale/muster"
	"github.com/muster-scale/muster/sim"
	"github.com/muster-scale/muster/sim/contest"
)

// printRun shows one run in full.
func printRun(w io.Writer, r sim.Result, p contest.Prepared) {
	o := p.Event.Objective
	fmt.Fprintf(w, "%s on %s, seed %d\n\n", r.Policy, r.Trace, r.Seed)
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	line := func(name, format string, args ...any) {
		fmt.Fprintf(t, "  %s\t%s\n", name, fmt.Sprintf(format, args...))
	}
	line("messages", "%d", r.Messages)
	line("in time", "%d of %d (%s) within %s; the objective is %s", r.InTime, r.Messages, percent(r.InTimeRatio), muster.Seconds(o.Latency.Seconds()), percent(o.Quantile))
	line("time from sent to finished", "p50 %s, p95 %s, p99 %s", muster.Seconds(r.P50), muster.Seconds(r.P95), muster.Seconds(r.P99))
	line("worker-seconds", "%.0f, of which %.0f with a message in hand", r.WorkerSeconds, r.BusySeconds/float64(max(1, p.Event.World.Slots)))
	if r.Clairvoyant > 0 {
		line("least possible", "%.0f (proved by %s); this is %.2f times as much", r.Clairvoyant, r.Method, r.Ratio)
		if c := p.Limits.Causal.WorkerSeconds; c > r.Clairvoyant*1.0005 {
			line("least without a forecast", "%.0f (proved by %s); this is %.2f times as much", c, p.Limits.Causal.Method, r.WorkerSeconds/c)
		}
	}
	line("workers", "%d at most, %d launched, size changed %d times, direction %d times", r.PeakWorkers, r.Launches, r.ScaleEvents, r.Reversals)
	line("cost", "%.2f", r.Cost)
	if r.Dead+r.Unfinished > 0 {
		line("never finished", "%d dead letters, %d given up on", r.Dead, r.Unfinished)
	}
	if s := p.Statistics.Slack; s.Ratio.Known {
		line("slack ratio", "%.2f%s", s.Ratio.Value, slackWords(s.Ratio.Value))
	}
	t.Flush()
}

func slackWords(k float64) string {
	if k > 0 {
		return ": a worker launched when a message comes is in time for it"
	}
	return ": a worker launched when a message comes is too late for it; only headroom helps"
}

func percent(share float64) string { return fmt.Sprintf("%.4g %%", share*100) }

// printRows shows what several policies came to, a table for each trace.
func printRows(w io.Writer, rows []contest.Row, limits bool) {
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
				fmt.Fprintf(w, ", least possible %.0f worker-seconds", r.Clairvoyant)
			}
			fmt.Fprintf(w, " (mean of %s)\n", muster.Plural(r.Runs, "seed"))
			t = tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
			fmt.Fprintln(t, "  POLICY\tIN TIME (MIN)\tIN TIME (MEAN)\tCOST x LEAST (MEAN)\t(MAX)\tWORKER-SECONDS\tP50\tP95\tP99\tPEAK\tCHANGES")
		}
		ratio, most := "-", "-"
		if r.RatioMean > 0 {
			ratio, most = fmt.Sprintf("%.2f", r.RatioMean), fmt.Sprintf("%.2f", r.RatioMost)
		}
		fmt.Fprintf(t, "  %s\t%s\t%s\t%s\t%s\t%.0f\t%s\t%s\t%s\t%.0f\t%.0f\n", r.Policy, percent(r.InTimeLeast), percent(r.InTimeMean), ratio, most,
			r.WorkerSeconds, muster.Seconds(r.P50), muster.Seconds(r.P95), muster.Seconds(r.P99), r.PeakWorkers, r.ScaleEvents)
	}
	if t != nil {
		t.Flush()
	}
}

// threshold is what a result must reach.
type threshold struct {
	field, op string
	value     float64
	text      string
}

var thresholdForm = regexp.MustCompile(`^\s*([a-z0-9_]+)\s*(>=|<=|>|<)\s*([0-9.eE+-]+)\s*$`)

func parseThresholds(texts []string) ([]threshold, error) {
	fields := numbers(sim.Result{})
	var all []threshold
	for _, text := range texts {
		m := thresholdForm.FindStringSubmatch(text)
		if m == nil {
			return nil, fmt.Errorf("--threshold: found %q, write FIELD>=NUMBER or FIELD<=NUMBER, as in in_time_ratio>=0.99", text)
		}
		value, err := strconv.ParseFloat(m[3], 64)
		if _, known := fields[m[1]]; !known || err != nil {
			return nil, fmt.Errorf("--threshold: found %q, the fields are those of -o json with numbers, as in_time_ratio, p99_s, worker_seconds, ratio and cost", text)
		}
		all = append(all, threshold{m[1], m[2], value, strings.TrimSpace(text)})
	}
	return all, nil
}

// numbers returns the numeric fields of a result by their JSON names.
func numbers(r sim.Result) map[string]float64 {
	text, err := json.Marshal(r)
	if err != nil {
		return nil
	}
	var all map[string]any
	if json.Unmarshal(text, &all) != nil {
		return nil
	}
	found := map[string]float64{}
	for name, v := range all {
		if n, ok := v.(float64); ok {
			found[name] = n
		}
	}
	return found
}

// missed is an error with its own exit code when a result misses a threshold.
func missed(results []sim.Result, thresholds []threshold) error {
	for _, r := range results {
		found := numbers(r)
		for _, x := range thresholds {
			v, ok := found[x.field], false
			switch x.op {
			case ">=":
				ok = v >= x.value
			case "<=":
				ok = v <= x.value
			case ">":
				ok = v > x.value
			case "<":
				ok = v < x.value
			}
			if !ok {
				return &exitError{exitThreshold, fmt.Errorf("%s on %s, seed %d: %s is missed, found %g", r.Policy, r.Trace, r.Seed, x.text, v)}
			}
		}
	}
	return nil
}
