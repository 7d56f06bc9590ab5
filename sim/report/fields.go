package report

import (
	"fmt"
	"strconv"

	"github.com/muster-scale/muster/internal/render"
	"github.com/muster-scale/muster/sim/scoring"
)

// field is one figure of a result: its name in JSON, its name and meaning on the page, and its text.
type field struct {
	key, label, meaning string
	show                func(r scoring.Result) string
}

// fields has all figures of a result, in the order of the page. The texts of the faults have a place of their own.
var fields = []field{
	{"policy", "Policy", "the policy that decided", func(r scoring.Result) string { return r.Policy }},
	{"trace", "Trace", "the arrivals with their work", func(r scoring.Result) string { return r.Trace }},
	{"seed", "Seed", "of all random draws in the run",
		func(r scoring.Result) string { return strconv.FormatUint(r.Seed, 10) }},
	{"messages", "Messages", "sent, children included", func(r scoring.Result) string { return count(r.Messages) }},
	{"in_time", "In time", "messages finished within the objective",
		func(r scoring.Result) string { return count(r.InTime) }},
	{"in_time_ratio", "In time, share", "of all messages",
		func(r scoring.Result) string { return percent(r.InTimeRatio) }},
	{"p50_s", "p50", "half of the messages took no longer from sent to finished",
		func(r scoring.Result) string { return duration(r.P50) }},
	{"p95_s", "p95", "95 of 100 messages took no longer", func(r scoring.Result) string { return duration(r.P95) }},
	{"p99_s", "p99", "99 of 100 messages took no longer", func(r scoring.Result) string { return duration(r.P99) }},
	{"mean_wait_s", "Mean wait", "from sent to the last receive",
		func(r scoring.Result) string { return duration(r.MeanWait) }},
	{"mean_time_s", "Mean time", "from sent to finished",
		func(r scoring.Result) string { return duration(r.MeanTime) }},
	{"dead", "Dead letters", "messages given up after too many attempts",
		func(r scoring.Result) string { return count(r.Dead) }},
	{"unfinished", "Unfinished", "messages still there when the run was given up",
		func(r scoring.Result) string { return count(r.Unfinished) }},
	{"worker_seconds", "Worker-seconds", "paid for, by the rules of the bill",
		func(r scoring.Result) string { return grouped(r.WorkerSeconds) }},
	{"busy_seconds", "Busy seconds", "in which slots handled a message",
		func(r scoring.Result) string { return grouped(r.BusySeconds) }},
	{"clairvoyant_worker_seconds", "Lower bound", "least worker-seconds of any schedule that meets the objective",
		func(r scoring.Result) string { return known(r.Bound, grouped) }},
	{"clairvoyant_method", "Proof", "the method that proves the lower bound",
		func(r scoring.Result) string { return orDash(r.Method) }},
	{"causal_worker_seconds", "Causal bound",
		"the lower bound for schedules that launch no worker before the first message",
		func(r scoring.Result) string { return known(r.BoundCausal, grouped) }},
	{"unreachable", "Unreachable", "no schedule meets the objective; the lower bound is that of the work alone",
		func(r scoring.Result) string { return orDash(map[bool]string{true: "yes"}[r.Unreachable]) }},
	{"ratio", "Ratio", "worker-seconds over the lower bound",
		func(r scoring.Result) string { return known(r.Ratio, times) }},
	{"cost", "Cost", "worker-hours times the price of one", func(r scoring.Result) string { return grouped(r.Cost) }},
	{"late_price_s", "Price of a late message", "in worker-seconds",
		func(r scoring.Result) string { return duration(r.LatePrice) }},
	{"loss_worker_seconds", "Loss", "worker-seconds, and the price of each message late beyond the allowed share",
		func(r scoring.Result) string { return grouped(r.Loss) }},
	{"peak_workers", "Peak workers", "members at a time",
		func(r scoring.Result) string { return count(int64(r.PeakWorkers)) }},
	{"launches", "Launches", "attempts, failed ones too",
		func(r scoring.Result) string { return count(int64(r.Launches)) }},
	{"launches_per_hour", "Launches an hour", "over the length of the run",
		func(r scoring.Result) string { return grouped(r.LaunchesPerHour) }},
	{"boot_seconds", "Boot seconds", "of boots, over all launches",
		func(r scoring.Result) string { return grouped(r.BootSeconds) }},
	{"scale_events", "Changes", "of the desired count",
		func(r scoring.Result) string { return count(int64(r.ScaleEvents)) }},
	{"reversals", "Reversals", "changes against the direction of the one before",
		func(r scoring.Result) string { return count(int64(r.Reversals)) }},
	{"seconds", "Length", "of the run, in virtual time", func(r scoring.Result) string { return span(r.Seconds) }},
	{"steps", "Steps", "of the controller", func(r scoring.Result) string { return count(r.Steps) }},
	{"records", "Records", "that the controller wrote", func(r scoring.Result) string { return count(r.Records) }},
	{"faults", "Violated invariants", "each is a bug in the simulator or in Muster",
		func(r scoring.Result) string { return count(int64(len(r.Faults))) }},
}

// summary has the figures in which runs are compared side by side, by their names in JSON.
var summary = []string{
	"in_time_ratio", "p50_s", "p95_s", "p99_s", "worker_seconds", "ratio", "cost", "peak_workers", "launches",
	"scale_events", "reversals", "faults",
}

// count returns a whole number as people write it.
func count(n int64) string { return grouped(float64(n)) }

// times returns a multiple, such as ×1.20.
func times(v float64) string { return "×" + strconv.FormatFloat(v, 'f', 2, 64) }

// duration returns seconds as people write them; a dash for a number that is not finite.
func duration(seconds float64) string {
	if !finite(seconds) {
		return "–"
	}
	return render.Seconds(seconds)
}

// known returns the text of a figure that is zero until it was computed.
func known(v float64, show func(float64) string) string {
	if v == 0 {
		return "–"
	}
	return show(v)
}

// orDash returns a text, or a dash for none.
func orDash(text string) string {
	if text == "" {
		return "–"
	}
	return text
}

// headline sums up a run in one line.
func headline(r scoring.Result) string {
	text := fmt.Sprintf("%s of %s messages in time, p95 %s, for %s worker-seconds", percent(r.InTimeRatio),
		count(r.Messages), duration(r.P95), grouped(r.WorkerSeconds))
	// Without a lower bound there is no ratio.
	if r.Ratio > 0 {
		text += ", " + times(r.Ratio) + " the lower bound"
	}
	return text
}
