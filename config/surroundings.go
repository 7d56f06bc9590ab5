package config

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"go.yaml.in/yaml/v4"
)

const (
	// maxReport bounds Workers.Report.
	maxReport = 4
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

// surroundings decodes what a worker is to its machine, and whom else it tells what it does.
func (m mapping) surroundings(w *Workers) {
	if m.states("report") {
		w.Report = nil
	}
	m.each("report", maxReport, func(n *yaml.Node, path string) { w.Report = append(w.Report, m.decoder.text(n, path)) })
	m.duration("report_every", &w.ReportEvery)
	m.duration("billing_period", &w.BillingPeriod)
	m.duration("billing_margin", &w.BillingMargin)
	m.instant("billing_start", &w.BillingStart)
	m.text("lifecycle_hook", &w.LifecycleHook)
	m.text("auto_scaling_group", &w.Group)
}

// instant decodes an instant with its zone. YAML knows instants of its own, so it may be quoted or not.
func (m mapping) instant(key string, into *time.Time) {
	n, path, text, ok := m.written(key)
	if !ok {
		return
	}
	at, err := time.Parse(time.RFC3339, text)
	if n.Kind != yaml.ScalarNode || err != nil || at.Year() < 2000 || at.Year() > 9999 {
		m.wrong(n, path, "an instant with its zone, as in 2026-01-02T03:04:05Z", "")
		return
	}
	*into = at.UTC()
}

// reportsFrom decodes the table of reports: what comes after dynamodb:.
func (m mapping) reportsFrom(table *string) {
	n, ok := m.values["reports_from"]
	if !ok {
		return
	}
	path := join(m.path, "reports_from")
	text := m.decoder.text(n, path)
	if m.bad[path] {
		return
	}
	name, ok := strings.CutPrefix(text, tablePrefix)
	if !ok || !isTable(name) {
		m.fault(path, "found "+quote(text)+", allowed is dynamodb:TABLE, with a table's name of 3 to 255 letters, digits, hyphens, underscores and dots", "")
		m.bad[path] = true
		return
	}
	*table = name
}

func isTable(name string) bool { return len(name) >= 3 && len(name) <= 255 && consists(name, "-_.") }

// validateReportsFrom checks that the workers can report in no other way, and that the fleet does not need their answers.
func (f *Fleet) validateReportsFrom(s *source, path string) {
	at := path + ".reports_from"
	if !s.has(at) || s.bad[at] {
		return
	}
	needed := func(key string) {
		s.fault(at, fmt.Sprintf("found reports_from with %s.reports: required, allowed is it with none: nobody answers an entry in a table, so no worker could be released", key),
			fmt.Sprintf("state %s: {reports: none}, and have the workers protect themselves while they are busy; or have them report to the controller", key))
	}
	switch {
	case !f.Away():
		s.fault(at, "found reports_from for processes of this machine, allowed is it with asg or ecs: those that muster up starts report to it",
			"workers.report has them keep their reports in a table, too")
	case f.ASG != nil && f.ASG.Reports == ReportsRequired:
		needed("asg")
	case f.ECS != nil && f.ECS.Service != "" && f.ECS.Reports == ReportsRequired:
		needed("ecs")
	}
}

// validateSurroundings checks what is stated below path, and refuses it where the command is no worker of Muster's.
func (f *Fleet) validateSurroundings(s *source, path string, w *Workers) {
	if len(f.Queues) == 0 {
		for _, k := range surroundingKeys() {
			if s.has(path + "." + k.name) {
				s.fault(path+"."+k.name, fmt.Sprintf("found %s in a fleet without a queue, allowed is it with one: the command is the worker itself there", k.name),
					"a worker of your own does that itself")
			}
		}
		return
	}
	w.validateReport(s, path)
	w.validateBilling(s, path)
	if s.has(path+".lifecycle_hook") && (w.LifecycleHook == "" || len(w.LifecycleHook) > maxGroupName) {
		s.fault(path+".lifecycle_hook", fmt.Sprintf("found %s, allowed is the name of a lifecycle hook, 1 to 255 characters, or auto", quote(w.LifecycleHook)), "")
	}
	if s.has(path+".auto_scaling_group") && (w.Group == "" || len(w.Group) > maxGroupName) {
		s.fault(path+".auto_scaling_group", fmt.Sprintf("found %s, allowed is the name of an Auto Scaling group, 1 to 255 characters", quote(w.Group)), "")
	}
	if w.Group != "" && w.LifecycleHook == "" {
		s.fault(path+".auto_scaling_group", "found auto_scaling_group without lifecycle_hook, allowed are both or lifecycle_hook alone", "a fleet that consists of the group has asg: {group: ...}")
	}
}

func (w Workers) validateReport(s *source, path string) {
	metrics := false
	for i, to := range w.Report {
		at := fmt.Sprintf("%s.report[%d]", path, i)
		kind, name, named := strings.Cut(to, ":")
		switch {
		case s.bad[at]:
		case slices.Contains(w.Report[:i], to):
			s.fault(at, "found "+quote(to)+" twice, allowed is once", "")
		case kind == "http":
			s.fault(at, "found http, allowed is what is told besides the controller: workers report to it anyway", "")
		case kind == "emf":
			s.fault(at, "found emf for processes of this machine, allowed is cloudwatch: what they print is in a log file of their own, which goes with them", "")
		case kind == "cloudwatch" && (!named || isNamespace(name)):
			metrics = true
		case kind == "dynamodb" && isTable(name):
		default:
			s.fault(at, "found "+quote(to)+", allowed is cloudwatch, cloudwatch:NAMESPACE or dynamodb:TABLE", "")
		}
	}
	every := path + ".report_every"
	if s.has(every) && !s.bad[every] && !slices.Contains(reportPeriods(), w.ReportEvery) {
		s.fault(every, "found "+span(w.ReportEvery)+", allowed is 5s, 10s, 30s or 1m", "")
	} else if s.has(every) && !metrics && !s.bad[path+".report"] {
		s.fault(every, "found report_every without cloudwatch in report, allowed are both or neither", "a table is told of every change, and every ten seconds")
	}
}

func isNamespace(name string) bool {
	visible := !strings.ContainsFunc(name, func(r rune) bool { return r <= ' ' || r > '~' })
	return visible && len(name) >= 1 && len(name) <= maxNamespace && !strings.HasPrefix(name, "AWS/")
}

func (w Workers) validateBilling(s *source, path string) {
	period, margin := path+".billing_period", path+".billing_margin"
	if w.BillingPeriod == 0 {
		for _, key := range []string{margin, path + ".billing_start"} {
			if s.has(key) {
				s.fault(key, "found "+key[strings.LastIndexByte(key, '.')+1:]+" without billing_period, allowed are both or neither", "")
			}
		}
		return
	}
	if within(s, period, w.BillingPeriod, minBillingPeriod, maxBillingPeriod, span) && s.has(margin) {
		within(s, margin, w.BillingMargin, time.Second, w.BillingPeriod/2, span)
	}
}
