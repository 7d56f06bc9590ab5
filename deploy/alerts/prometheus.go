package alerts

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

const (
	// fastFactor and slowFactor are the multiples of the error budget that alert.
	fastFactor, slowFactor = 14.4, 6
	// mostLate is the largest share of late messages that is no alert yet, for small quantiles.
	mostLate = 0.9
)

// Rule is one alert rule of Prometheus.
type Rule struct {
	// Name is the name of the alert.
	Name string
	// Expr is the condition in PromQL; For is how long it must hold, such as "5m".
	Expr, For string
	// Severity is page, for what a person must look at now, or ticket.
	Severity string
	// Summary says what happened, Todo what to do. Both may have the labels of the alert as Prometheus' templates.
	Summary, Todo string
}

// Names returns the names of all alerts, in the order of the rules.
func Names() []string {
	var names []string
	for _, r := range Rules(nil) {
		names = append(names, r.Name)
	}
	return names
}

// record is a recording rule. The alerts for the objective use it, and so can a dashboard.
type record struct{ name, expr string }

// windows are the windows of the burn rates.
func windows() []string { return []string{"5m", "30m", "1h", "6h"} }

// records returns the recording rules: the share of late messages in each window, and the error budget.
func records(fleets []string) []record {
	all := []record{{"muster:objective_budget", selected(
		"1 - max by (fleet) (muster_objective_quantile{})", fleets)}}
	for _, w := range windows() {
		sum := func(metric string) string { return "sum by (fleet) (rate(" + metric + "{}[" + w + "]))" }
		late := sum("muster_messages_late_total")
		all = append(all, record{"muster:messages_late:ratio_rate" + w, selected(
			late+"\n  / ("+late+"\n    + "+sum("muster_messages_in_time_total")+")", fleets)})
	}
	return all
}

// burns returns the condition that the budget burns faster than factor allows, over both windows.
func burns(factor float64, short, long string) string {
	over := func(w string) string {
		return fmt.Sprintf("muster:messages_late:ratio_rate%s > clamp_max(%g * muster:objective_budget, %g)", w, factor,
			mostLate)
	}
	return over(short) + "\nand\n" + over(long)
}

// Rules returns the alert rules for the named fleets; none means all that are measured.
func Rules(fleets []string) []Rule {
	all := append(objectiveRules(), workRules()...)
	all = append(all, sourceRules()...)
	for i := range all {
		all[i].Expr = selected(all[i].Expr, fleets)
	}
	return append(all, Rule{Name: "MusterNoController", Expr: absent(fleets), For: "3m", Severity: "page",
		Summary: "No controller exports metrics{{ with $labels.fleet }} of the fleet {{ . }}{{ end }}",
		Todo:    "Start muster up, or check why Prometheus cannot scrape it. Nothing launches or stops workers."})
}

// objectiveRules are those of the latency objective.
func objectiveRules() []Rule {
	return []Rule{
		{Name: "MusterObjectiveBurnsFast", Expr: burns(fastFactor, "5m", "1h"), For: "2m", Severity: "page",
			Summary: "{{ $labels.fleet }}: {{ $value | humanizePercentage }} of the messages are late",
			Todo:    "Run muster explain {{ $labels.fleet }}. At this rate the month's error budget lasts two days."},
		{Name: "MusterObjectiveBurnsSlowly", Expr: burns(slowFactor, "30m", "6h"), For: "15m", Severity: "ticket",
			Summary: "{{ $labels.fleet }}: {{ $value | humanizePercentage }} of the messages are late for hours",
			Todo:    "Run muster explain {{ $labels.fleet }}. At this rate the month's error budget lasts five days."},
		{Name: "MusterOldestMessageLate", For: "2m", Severity: "page",
			Expr: "max by (fleet, queue) (muster_queue_oldest_age_seconds{})\n" +
				"> on (fleet) group_left max by (fleet) (muster_objective_latency_seconds{})",
			Summary: "{{ $labels.fleet }}: a message waits in {{ $labels.queue }} for {{ $value | humanizeDuration }}",
			Todo:    "It is late before its work begins. Run muster explain {{ $labels.fleet }} to see why."},
	}
}

// workRules are those of work and size.
func workRules() []Rule {
	return []Rule{
		{Name: "MusterFleetAtMaximum", For: "15m", Severity: "ticket",
			Expr: "max by (fleet) (muster_desired{}) >= max by (fleet) (muster_limit_max{})\n" +
				"and sum by (fleet) (muster_queue_backlog{}) > 0",
			Summary: "{{ $labels.fleet }}: the fleet has its largest size of {{ $value }}, and messages wait",
			Todo:    "Raise max if the objective is missed, or accept the delay."},
		{Name: "MusterAllWorkFails", For: "5m", Severity: "page",
			Expr: "sum by (fleet) (increase(muster_messages_total{result=\"failed\"}[10m])) > 0\n" +
				"unless sum by (fleet) (increase(muster_messages_total{result=\"finished\"}[10m])) > 0",
			Summary: "{{ $labels.fleet }}: every attempt of the last ten minutes failed",
			Todo:    "Run muster status for the last error, and muster logs {{ $labels.fleet }} for the output."},
		{Name: "MusterDeadLettersGrow", For: "0m", Severity: "ticket",
			Expr:    "sum by (fleet, queue) (delta(muster_queue_dead_letters{}[15m])) > 0",
			Summary: "{{ $labels.fleet }}: messages of {{ $labels.queue }} became dead letters",
			Todo:    "See them with muster queue peek, repair the cause, and return them with muster queue redrive."},
	}
}

// sourceRules are those of what Muster reads and writes.
func sourceRules() []Rule {
	return []Rule{
		{Name: "MusterSourceBlind", For: "5m", Severity: "ticket",
			Expr:    "min by (fleet, queue, signal) (muster_signal_known{signal=~\"backlog|in_flight|capacity\"}) == 0",
			Summary: "{{ $labels.fleet }}: {{ $labels.signal }} {{ $labels.queue }} is unknown",
			Todo:    "Run muster doctor. Until it is known, no worker is stopped, and rises may be late."},
		{Name: "MusterFleetNotSized", For: "5m", Severity: "page",
			Expr:    "max by (fleet) (muster_fleet_sized{}) == 0",
			Summary: "{{ $labels.fleet }}: the controller runs and does not size the fleet",
			Todo:    "Run muster status, which says why."},
	}
}

// absent returns the condition that no controller exports metrics of the fleets: of any, if none is named.
func absent(fleets []string) string {
	if len(fleets) == 0 {
		return "absent(muster_fleet_sized)"
	}
	var all []string
	for _, f := range fleets {
		all = append(all, "absent(muster_fleet_sized{fleet="+strconv.Quote(f)+"})")
	}
	return strings.Join(all, "\nor ")
}

// metricSelector matches the selector of a metric: empty, or with labels.
var metricSelector = regexp.MustCompile(`\{([^{}]*)\}`)

// selected restricts the selectors of an expression to the fleets.
func selected(expr string, fleets []string) string {
	var names []string
	for _, f := range fleets {
		names = append(names, regexp.QuoteMeta(f))
	}
	only := ""
	if len(names) > 0 {
		only = "fleet=~" + strconv.Quote(strings.Join(names, "|"))
	}
	return metricSelector.ReplaceAllStringFunc(expr, func(selector string) string {
		labels := strings.Trim(selector, "{}")
		switch {
		case labels == "" && only == "":
			return ""
		case labels == "" || only == "":
			return "{" + labels + only + "}"
		}
		return "{" + only + "," + labels + "}"
	})
}

// Prometheus returns the rule file for the named fleets, in YAML; none means all fleets.
func Prometheus(fleets []string) string {
	var b strings.Builder
	b.WriteString("# Alert rules for Muster, by muster template alerts --prometheus. See docs/monitoring.md.\n" +
		"groups:\n  - name: muster-objective\n    rules:\n")
	for _, r := range records(fleets) {
		fmt.Fprintf(&b, "      - record: %s\n        expr: |\n%s", r.name, indented(r.expr))
	}
	b.WriteString("  - name: muster-alerts\n    rules:\n")
	for _, r := range Rules(fleets) {
		fmt.Fprintf(&b, "      - alert: %s\n        expr: |\n%s        for: %s\n        labels:\n"+
			"          severity: %s\n        annotations:\n          summary: %q\n          description: %q\n",
			r.Name, indented(r.Expr), r.For, r.Severity, r.Summary, r.Todo)
	}
	return b.String()
}

// indented returns the lines of an expression as a block of the rule file.
func indented(expr string) string {
	var b strings.Builder
	for line := range strings.Lines(expr) {
		b.WriteString("          " + strings.TrimRight(line, "\n") + "\n")
	}
	return b.String()
}
