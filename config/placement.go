package config

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"go.yaml.in/yaml/v4"

	"github.com/muster-scale/muster/config/keys"
)

const (
	// maxReport bounds Workers.Report.
	maxReport = 4
	// maxName bounds the names of groups and hooks.
	maxName = 255
	// maxNamespace bounds a namespace of CloudWatch, as the service does.
	maxNamespace = 255

	minBillingPeriod = time.Minute
	maxBillingPeriod = 31 * day

	tablePrefix = "dynamodb:"
)

// reportPeriods are the periods that metrics of workers may have.
func reportPeriods() []time.Duration {
	return []time.Duration{5 * time.Second, 10 * time.Second, 30 * time.Second, time.Minute}
}

// This file has the keys of a worker that concern its machine: where it reports to besides the controller, the billing
// periods of the machine, and the lifecycle hook of its Auto Scaling group. It also has reports_from, by which a fleet
// reads reports from a table.

// placementRows declare the keys of a worker that concern its machine and its reports.
func (w *Workers) placementRows() []keys.Key {
	const aGroup = "the name of an Auto Scaling group, 1 to 255 characters"
	named := func(name string) bool { return name != "" && len(name) <= maxName }
	return []keys.Key{
		keys.Texts("report", &w.Report, maxReport, "where workers report to besides the controller: cloudwatch, "+
			"cloudwatch:NAMESPACE or dynamodb:TABLE"),
		keys.Duration("report_every", &w.ReportEvery, "the period of the metrics of cloudwatch: 5s, 10s, 30s or 1m, "+
			"the default").
			DefaultOf(w.reportEveryByDefault),
		keys.Duration("billing_period", &w.BillingPeriod, "the period that the machine is billed by, as in 1h: an "+
			"idle worker becomes ready to stop shortly before the end of a period; 0s, the default, is by the second"),
		keys.Duration("billing_margin", &w.BillingMargin, "with billing_period, how long before its end: 1s to half "+
			"of it, by default 2m at most"),
		keys.Instant("billing_start", &w.BillingStart, "with billing_period, when the first one began, as in "+
			"2026-01-02T03:04:05Z; by default when the worker started"),
		keys.Text("lifecycle_hook", &w.LifecycleHook, "the lifecycle hook that keeps this machine, an instance of an "+
			"Auto Scaling group, until its workers have finished: its name, or auto for the only one").
			May("the name of a lifecycle hook, 1 to 255 characters, or auto", named),
		keys.Text("auto_scaling_group", &w.Group,
			"with lifecycle_hook, the name of the group; read from AWS by default").May(aGroup, named),
	}
}

// reportEveryByDefault returns 1 min for workers that report to something besides the controller, and the present value
// otherwise. A part of a fleet starts with the fleet's value, which it keeps.
func (w *Workers) reportEveryByDefault() time.Duration {
	if len(w.Report) > 0 && w.ReportEvery == 0 {
		return time.Minute
	}
	return w.ReportEvery
}

// decodeReportsTable decodes reports_from, which is dynamodb:TABLE, into the name of the table. After a fault it marks
// the path as bad, so that checkReportsTable adds no second one.
func (f *Fleet) decodeReportsTable(d *keys.Decoder, n *yaml.Node, path string) {
	text := d.Text(n, path)
	if d.Bad(path) {
		return
	}
	name, ok := strings.CutPrefix(text, tablePrefix)
	if !ok || !isTable(name) {
		const allowed = "dynamodb:TABLE, with a table's name of 3 to 255 letters, digits, hyphens, underscores and dots"
		d.Fault(path, "found "+keys.Quote(text)+", allowed is "+allowed, "")
		d.MarkBad(path)
		return
	}
	f.ReportsTable = name
}

// isTable tells whether name can be the name of a DynamoDB table, by the rules of the service.
func isTable(name string) bool {
	return len(name) >= 3 && len(name) <= 255 && keys.Consists(name, "-_.")
}

// checkReportsTable refuses reports_from where a table cannot serve. Local workers report to the controller directly.
// Workers that need a stop permit would never get one, because a table only stores reports.
func (f *Fleet) checkReportsTable(s *keys.Source, at string) {
	if !s.Has(at) || s.Bad(at) {
		return
	}
	switch facts := f.Facts(); {
	case facts.Local:
		s.Fault(at, "found reports_from for processes of this machine, allowed is it with asg or ecs: local workers "+
			"report to muster up itself", "workers.report has them keep their reports in a table, too")
	case facts.Answered:
		s.Fault(at, fmt.Sprintf("found reports_from with %s.reports: required, allowed is it with none: an "+
			"entry in a table gets no answer, so no worker could be released", facts.Key), fmt.Sprintf("state "+
			"%s: {reports: none}, and have the workers protect themselves while they are busy; or have them report "+
			"to the controller", facts.Key))
	}
}

// checkPlacement checks the keys of placementRows below path. A fleet without a queue runs its command as the worker
// itself, not below muster work, so these keys would have no effect and are refused.
func (f *Fleet) checkPlacement(s *keys.Source, path string, w *Workers) {
	if len(f.Queues) == 0 {
		for _, name := range keys.Names(w.placementRows()) {
			if at := path + "." + name; s.Has(at) {
				s.Fault(at, fmt.Sprintf("found %s in a fleet without a queue, allowed is it with one: the command is "+
					"the worker itself there", name), "a worker of your own does that itself")
			}
		}
		return
	}
	w.checkReport(s, path)
	w.checkBilling(s, path)
	if w.Group != "" && w.LifecycleHook == "" {
		s.Fault(path+".auto_scaling_group", "found auto_scaling_group without lifecycle_hook, allowed are both or "+
			"lifecycle_hook alone", "a fleet that consists of the group has asg: {group: ...}")
	}
}

// checkReport checks the destinations of reports besides the controller, and the period of their metrics.
func (w Workers) checkReport(s *keys.Source, path string) {
	metrics := false
	for i, to := range w.Report {
		at := fmt.Sprintf("%s.report[%d]", path, i)
		kind, name, named := strings.Cut(to, ":")
		switch {
		case s.Bad(at):
		case slices.Contains(w.Report[:i], to):
			s.Fault(at, "found "+keys.Quote(to)+" twice, allowed is once", "")
		case kind == "http":
			s.Fault(at, "found http, allowed is a destination besides the controller: workers report to it anyway", "")
		case kind == "emf":
			s.Fault(at, "found emf for processes of this machine, allowed is cloudwatch: their output is in a log "+
				"file of their own, which CloudWatch does not read", "")
		case kind == "cloudwatch" && (!named || isNamespace(name)):
			metrics = true
		case kind == "dynamodb" && isTable(name):
		default:
			s.Fault(at, "found "+keys.Quote(to)+", allowed is cloudwatch, cloudwatch:NAMESPACE or dynamodb:TABLE", "")
		}
	}
	every := path + ".report_every"
	if s.Has(every) && !s.Bad(every) && !slices.Contains(reportPeriods(), w.ReportEvery) {
		s.Fault(every, "found "+keys.Span(w.ReportEvery)+", allowed is 5s, 10s, 30s or 1m", "")
	} else if s.Has(every) && !metrics && !s.Bad(path+".report") {
		s.Fault(every, "found report_every without cloudwatch in report, allowed are both or neither",
			"report_every is for cloudwatch; reports go to a table at every change, and every ten seconds")
	}
}

// isNamespace tells whether name can be a namespace of CloudWatch. Those that begin with AWS/ belong to AWS.
func isNamespace(name string) bool {
	visible := !strings.ContainsFunc(name, func(r rune) bool { return r <= ' ' || r > '~' })
	return visible && len(name) >= 1 && len(name) <= maxNamespace && !strings.HasPrefix(name, "AWS/")
}

// checkBilling checks the billing period and its margin. The margin is at most half the period: a longer one would make
// every idle worker ready to stop for most of the time that was paid for.
func (w Workers) checkBilling(s *keys.Source, path string) {
	period, margin := path+".billing_period", path+".billing_margin"
	if w.BillingPeriod == 0 {
		for _, key := range []string{margin, path + ".billing_start"} {
			if s.Has(key) {
				s.Fault(key, "found "+key[strings.LastIndexByte(key, '.')+1:]+" without billing_period, allowed are "+
					"both or neither", "")
			}
		}
		return
	}
	if keys.Within(s, period, w.BillingPeriod, minBillingPeriod, maxBillingPeriod, keys.Span) && s.Has(margin) {
		keys.Within(s, margin, w.BillingMargin, time.Second, w.BillingPeriod/2, keys.Span)
	}
}
