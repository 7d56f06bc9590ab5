package main

import (
	"encoding/json"
	"fmt"
	"io"
	"math"
	"regexp"
	"strconv"
	"strings"
	"text/tabwriter"

	"github.com/muster-scale/muster"
	"github.com/muster-scale/muster/sim"
	"github.com/muster-scale/muster/sim/contest"
)

// printRun shows one run in full; told says what its policy knew beforehand.
func printRun(w io.Writer, r sim.Result, p contest.Prepared, told string) {
	o := p.Event.Objective
	fmt.Fprintf(w, "%s on %s, seed %d\n\n", r.Policy, r.Trace, r.Seed)
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	line := func(name, format string, args ...any) {
		fmt.Fprintf(t, "  %s\t%s\n", name, fmt.Sprintf(format, args...))
	}
	line("told", "%s", told)
	line("messages", "%d", r.Messages)
	line("in time", "%d of %d (%s) within %s; the objective is %s", r.InTime, r.Messages, percent(r.InTimeRatio),
		muster.Seconds(o.Latency.Seconds()), percent(o.Quantile))
	line("time from sent to finished", "p50 %s, p95 %s, p99 %s", muster.Seconds(r.P50), muster.Seconds(r.P95), muster.Seconds(r.P99))
	line("worker-seconds", "%.0f, of which %.0f with a message in progress", r.WorkerSeconds,
		r.BusySeconds/float64(max(1, p.Event.World.Slots)))
	if r.Clairvoyant > 0 {
		line("lower bound", "%.0f (proved by %s); this is %.2f times as much", r.Clairvoyant, r.Method, r.Ratio)
	}
	if c := r.BoundCausal; c > 0 {
		line("causal lower bound", "%.0f (proved by %s) with no launch before the first message; this is %.2f times as much",
			c, p.Limits.Causal.Method, r.WorkerSeconds/c)
	}
	line("loss", "%s", lossWords(r, o.Quantile))
	line("workers", "%d at the peak, %d launched (%.1f an hour), size changed %s, direction reversed %s",
		r.PeakWorkers, r.Launches, r.LaunchesPerHour, muster.Plural(r.ScaleEvents, "time"),
		muster.Plural(r.Reversals, "time"))
	line("cost", "%.2f", r.Cost)
	if r.Dead+r.Unfinished > 0 {
		line("never finished", "%d dead letters, %d given up on", r.Dead, r.Unfinished)
	}
	if s := p.Statistics.Slack; s.Ratio.Known {
		line("slack ratio", "%.2f%s", s.Ratio.Value, slackWords(s.Ratio.Value))
	}
	t.Flush()
}

// lossWords says what the run cost with a price on its late messages.
func lossWords(r sim.Result, quantile float64) string {
	allowed := "late beyond the " + percent(1-quantile) + " that may be"
	if r.Loss <= r.WorkerSeconds {
		return fmt.Sprintf("%.0f worker-seconds; no message is %s", r.Loss, allowed)
	}
	beyond := math.Round(100*(r.Loss-r.WorkerSeconds)/r.LatePrice) / 100
	return fmt.Sprintf("%.0f worker-seconds, with %s for each of %s messages %s", r.Loss, muster.Number(r.LatePrice),
		muster.Number(beyond), allowed)
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
				fmt.Fprintf(w, ", lower bound %.0f worker-seconds, %.0f with no launch before the first message",
					r.Clairvoyant, r.BoundCausal)
			}
			fmt.Fprintf(w, " (mean of %s)\n", muster.Plural(r.Runs, "seed"))
			t = tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
			fmt.Fprintln(t, "  POLICY\tIN TIME (MIN)\t(MEAN)\tCOST / BOUND\t(MAX)\tWORKER-SECONDS\tLOSS"+
				"\tP50\tP95\tP99\tPEAK\tLAUNCHES/H\tCHANGES\tREVERSALS")
		}
		ratio, most := "-", "-"
		if r.RatioMean > 0 {
			ratio, most = fmt.Sprintf("%.2f", r.RatioMean), fmt.Sprintf("%.2f", r.RatioMost)
		}
		fmt.Fprintf(t, "  %s\t%s\t%s\t%s\t%s\t%.0f\t%.0f\t%s\t%s\t%s\t%.0f\t%.1f\t%.0f\t%.0f\n", r.Policy,
			percent(r.InTimeLeast), percent(r.InTimeMean), ratio, most, r.WorkerSeconds, r.Loss, muster.Seconds(r.P50),
			muster.Seconds(r.P95), muster.Seconds(r.P99), r.PeakWorkers, r.LaunchesPerHour, r.ScaleEvents, r.Reversals)
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

// parseThresholds reads thresholds of the fields of a result.
func parseThresholds(texts []string) ([]threshold, error) {
	return parseThresholdsOf(texts, numbers(sim.Result{}), "in_time_ratio>=0.99",
		"those of -o json with numbers, as in_time_ratio, p99_s, worker_seconds, ratio and cost")
}

// parseThresholdsOf reads thresholds of the given fields. An error shows the example, or names the fields.
func parseThresholdsOf(texts []string, fields map[string]float64, example, names string) ([]threshold, error) {
	var all []threshold
	for _, text := range texts {
		m := thresholdForm.FindStringSubmatch(text)
		if m == nil {
			return nil, fmt.Errorf("--threshold: found %q, write FIELD>=NUMBER or FIELD<=NUMBER, as in %s", text, example)
		}
		value, err := strconv.ParseFloat(m[3], 64)
		if _, known := fields[m[1]]; !known || err != nil {
			return nil, fmt.Errorf("--threshold: found %q, the fields are %s", text, names)
		}
		all = append(all, threshold{m[1], m[2], value, strings.TrimSpace(text)})
	}
	return all, nil
}

// met tells whether v reaches the threshold.
func (t threshold) met(v float64) bool {
	switch t.op {
	case ">=":
		return v >= t.value
	case "<=":
		return v <= t.value
	case ">":
		return v > t.value
	}
	return v < t.value
}

// numbers returns the numeric fields of a value that is written as a JSON object, by their names there.
func numbers(r any) map[string]float64 {
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
			if v := found[x.field]; !x.met(v) {
				return &exitError{exitThreshold, fmt.Errorf("%s on %s, seed %d: %s is missed, found %g", r.Policy, r.Trace, r.Seed, x.text, v)}
			}
		}
	}
	return nil
}
