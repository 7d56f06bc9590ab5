package foreign

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/muster-scale/muster/config/foreign/draft"
	"github.com/muster-scale/muster/internal/render"
	"github.com/muster-scale/muster/metricmath"
	"github.com/muster-scale/muster/policy"
)

// This file writes the configuration as text instead of encoding it, because comments are half of what it has to say.
// Tests read every written configuration back.

// width is the longest line of a comment, in characters. Indentation and "#" come on top.
const width = 110

// YAML returns the configuration, with comments for what was chosen and for what could not be carried over. It is
// valid: muster check accepts it once the marked names are replaced.
func (r Result) YAML() []byte {
	b := writer{from: r.argument}
	b.comment(
		0, "Written by muster import from %s. Comments tell what was chosen, and what could not be carried over.",
		r.name,
	)
	for _, n := range r.Notes {
		// Notes of a fleet are written there; only the others come first.
		if !slices.ContainsFunc(r.Fleets, func(f draft.Fleet) bool { return slices.Contains(f.Notes, n) }) {
			b.comment(0, "%s", n.String())
		}
	}
	// The version comes first, as in every configuration.
	b.line(0, "version: 1")
	b.line(0, "fleets:")
	for i, f := range r.Fleets {
		if i > 0 {
			b.WriteByte('\n')
		}
		b.fleet(f)
	}
	return []byte(b.String())
}

// distinct gives each fleet a name of its own, and leaves each queue with the first fleet that serves it: a
// configuration allows a queue in one fleet only.
func distinct(fleets []draft.Fleet) {
	names := map[string]bool{}
	queues := map[string]string{}
	for i := range fleets {
		f := &fleets[i]
		// The name stays within 63 bytes with a number behind it.
		for base, n := f.Name, 2; names[f.Name]; n++ {
			f.Name = fmt.Sprintf("%.57s-%d", base, n)
		}
		names[f.Name] = true
		f.Queues = slices.DeleteFunc(slices.Clone(f.Queues), func(q string) bool {
			first, taken := queues[q]
			if taken {
				f.Remarks = append(
					f.Remarks,
					fmt.Sprintf(
						"It serves the queue %s, as the fleet %s does. A queue is served by one fleet: decide "+
							"which of the two sizes by it, and name the queue there.",
						q, first,
					),
				)
			} else {
				queues[q] = f.Name
			}
			return taken
		})
	}
}

// writer writes lines of YAML.
type writer struct {
	strings.Builder
	// from is the argument that the configuration was read from.
	from string
}

// line writes one line.
func (b *writer) line(indent int, format string, args ...any) {
	b.WriteString(strings.Repeat(" ", indent))
	fmt.Fprintf(b, format, args...)
	b.WriteByte('\n')
}

// comment writes a comment, wrapped at width. Line breaks and control characters become spaces, so that no text of a
// file can end the comment.
func (b *writer) comment(indent int, format string, args ...any) {
	line := ""
	flush := func() {
		if line != "" {
			b.line(indent, "#%s", line)
		}
		line = ""
	}
	for _, word := range strings.Fields(draft.Printable(fmt.Sprintf(format, args...))) {
		if line != "" && indent+len([]rune(line))+len([]rune(word)) > width {
			flush()
		}
		line += " " + word
	}
	flush()
}

// command writes the command that compares the rule with deadline on a trace, unwrapped so that it can be copied.
func (b *writer) command(indent int) {
	b.line(indent, "#   muster import %s --compare TRACE", draft.Printable(b.from))
}

// fleet writes one fleet: where it comes from, remarks, notes, then its keys in the order of the reference.
func (b *writer) fleet(f draft.Fleet) {
	b.comment(2, "From %s.", f.From)
	for _, remark := range f.Remarks {
		b.comment(2, "%s", remark)
	}
	for _, note := range f.Notes {
		b.comment(2, "%s", note.String())
	}
	b.line(2, "- name: %s", text(f.Name))
	switch len(f.Queues) {
	case 0:
	case 1:
		b.line(4, "queue: %s", text(f.Queues[0]))
	default:
		b.line(4, "queues:")
		for _, q := range f.Queues {
			b.line(6, "- %s", text(q))
		}
	}
	// No other system states a latency objective, so a placeholder is written with a comment.
	latency := "30s"
	if f.Latency > 0 {
		latency = draft.Span(f.Latency)
	} else {
		b.comment(4, "State the latency that your messages shall have. Only deadline and dynamic-backlog go by it.")
	}
	b.line(4, "objective: {latency: %s}", latency)
	b.line(4, "min: %d", f.Min)
	b.line(4, "max: %d", f.Max)
	if p := f.Prometheus; p.Query != "" {
		b.line(4, "prometheus:")
		b.line(6, "url: %s", text(p.URL))
		b.line(6, "backlog: %s", text(p.Query))
	}
	if f.Poll > 0 {
		b.line(4, "poll: %s", draft.Span(f.Poll))
	}
	b.sizing(f)
	b.shape("scale_out", f.Out, false)
	b.shape(
		"scale_in", f.In,
		len(f.Policies) > 0 && !f.Spec().FallsByItself(),
	)
	b.target(f)
	b.workers(f)
}

// counted tells whether a queue or a query says how many messages wait.
func counted(f draft.Fleet) bool { return len(f.Queues) > 0 || f.Prometheus.Query != "" }

// sizing writes the policy. While no queue is named, it writes a policy that needs none, and the real one as a
// comment, because a configuration without a backlog would not be valid.
func (b *writer) sizing(f draft.Fleet) {
	switch {
	case !counted(f) && len(f.Policies) == 0:
		b.comment(
			4,
			"Nothing that sizes it could be carried over, and without a queue there is nothing that deadline "+
				"could go by. Name the queue and put policy: deadline in place of this one.",
		)
		b.line(4, "policy: {name: worker-utilization, signal: reports}")
	case !counted(f) && needsQueue(f.Policies):
		b.comment(
			4, "Its policy needs a queue: name it with the key queue, and put the policy below in place of this one.",
		)
		b.line(4, "policy: {name: worker-utilization, signal: reports}")
		// The policy is written once more, as a comment that becomes valid without its marks.
		var aside writer
		aside.policy(f.Spec())
		for line := range strings.Lines(aside.String()) {
			b.line(4, "# %s", strings.TrimSuffix(strings.TrimPrefix(line, "    "), "\n"))
		}
	case len(f.Policies) == 0:
		b.comment(
			4,
			"Nothing that sizes it could be carried over. deadline, the default policy, needs the objective "+
				"above alone.",
		)
		b.line(4, "policy: deadline")
	default:
		b.policy(f.Spec())
		if len(f.Queues) > 0 {
			b.comment(
				4,
				"policy: deadline in place of this keeps the objective by itself: it measures how long messages "+
					"take and how long workers boot. This plays both:",
			)
			b.command(4)
		}
	}
}

// target writes what the members are. Every fleet begins in shadow mode: two systems that size one fleet undo what
// the other does, and local processes would take messages that are meant for the workers there.
func (b *writer) target(f draft.Fleet) {
	switch {
	case f.Kubernetes != "":
		b.comment(
			4,
			"In shadow mode: %s sizes it, and must go on. Muster cannot set the replicas or Jobs of Kubernetes "+
				"yet. It sizes processes on this machine, "+
				"an Auto Scaling group (asg), and a service or tasks on Amazon ECS (ecs). To have it size this "+
				"work, run the workers in one of them, state that here, and end what sizes them now. "+
				"Pods are not counted either: what muster up says of this fleet is for a fleet without members. "+
				"muster import with --compare plays it with its members.",
			f.Kubernetes,
		)
		b.line(4, "shadow: true")
	// Groups and services of AWS can be sized by Muster: the names are written, ready to take over.
	case f.Group != "":
		b.watched()
		b.line(4, "asg:")
		b.name(f, "group", f.Group)
		b.reports(f, "instances")
	case f.Service != "":
		b.watched()
		b.line(4, "ecs:")
		b.name(f, "cluster", f.Cluster)
		b.name(f, "service", f.Service)
		b.reports(f, "tasks")
	default:
		b.comment(
			4,
			"In shadow mode: another system sizes it. What it consists of is not stated; name it, as in asg: "+
				"{group: NAME, reports: none} or ecs: {cluster: NAME, service: NAME, reports: none}.",
		)
		b.line(4, "shadow: true")
	}
}

// watched puts a fleet of AWS into shadow mode.
func (b *writer) watched() {
	b.comment(4, "In shadow mode while the policies of AWS size it. Remove them and this line to take over.")
	b.line(4, "shadow: true")
}

// name writes a name, and a comment where another name may be meant.
func (b *writer) name(f draft.Fleet, key, name string) {
	if why := f.Unsure[key]; why != "" {
		b.comment(6, "Write the name of the %s: %s.", key, why)
	}
	b.line(6, "%s: %s", key, text(name))
}

// reports writes that members do not report: workers that another system starts do not run muster work yet.
func (b *writer) reports(f draft.Fleet, members string) {
	// The URL of a queue says the region already.
	if f.Region != "" && len(f.Queues) == 0 {
		b.line(6, "region: %s", text(f.Region))
	}
	b.comment(6, "Its %s run your own workers, which do not report. Say required where they run muster work.", members)
	b.line(6, "reports: none")
}

// workers writes the slots and the boot time of a member, if they are known.
func (b *writer) workers(f draft.Fleet) {
	var keys []string
	if f.Slots > 1 {
		keys = append(keys, fmt.Sprintf("slots: %d", f.Slots))
	}
	if f.Boot > 0 {
		keys = append(keys, "boot: "+draft.Span(f.Boot))
	}
	if len(keys) > 0 {
		b.line(4, "workers: {%s}", strings.Join(keys, ", "))
	}
}

// needsQueue tells whether one of the policies needs the backlog of a queue.
func needsQueue(all []policy.Spec) bool {
	return slices.ContainsFunc(all, func(s policy.Spec) bool { return !s.NeedsNoQueue() })
}

// policy writes the policy, or the maximum of several.
func (b *writer) policy(s policy.Spec) {
	// Several policies are one policy named largest.
	if s.Name != "largest" {
		b.line(4, "policy:")
		b.parameters(6, "", s)
		return
	}
	b.line(4, "policy:")
	b.line(6, "name: largest")
	b.line(6, "largest:")
	for _, of := range s.Largest {
		b.parameters(8, "- ", of)
	}
}

// parameters writes the keys of a policy. first precedes the first key: it begins an element of a list.
func (b *writer) parameters(indent int, first string, s policy.Spec) {
	b.line(indent, "%sname: %s", first, s.Name)
	indent += len(first)
	if s.Acceptable > 0 {
		b.line(indent, "acceptable: %s", number64(s.Acceptable))
	}
	if s.Target > 0 {
		b.line(indent, "target: %s", number64(s.Target))
	}
	if s.Metric != "" {
		b.line(indent, "metric: %s", s.Metric)
	}
	if s.Cooldown > 0 {
		b.line(indent, "cooldown: %s", draft.Span(s.Cooldown))
	}
	if len(s.Steps) > 0 {
		b.line(indent, "steps:")
	}
	for _, step := range s.Steps {
		b.line(indent+2, "- {%s}", stepKeys(step))
	}
	if len(s.Intervals) > 0 {
		b.line(indent, "intervals:")
	}
	for _, i := range s.Intervals {
		b.interval(indent+2, i)
	}
	if len(s.Queries) > 0 {
		b.line(indent, "Metrics:")
	}
	for _, q := range s.Queries {
		b.query(indent+2, q)
	}
}

// interval writes an interval of the policy schedule.
func (b *writer) interval(indent int, i policy.Interval) {
	keys := []string{fmt.Sprintf("from: %q, to: %q", i.From, i.To), "workers: " + strconv.Itoa(i.Workers)}
	if len(i.Days) > 0 {
		keys = append([]string{"days: [" + strings.Join(i.Days, ", ") + "]"}, keys...)
	}
	if i.Zone != "" {
		keys = append(keys, "zone: "+text(i.Zone))
	}
	b.line(indent, "- {%s}", strings.Join(keys, ", "))
}

// stepKeys returns the keys of a step of the policy step.
func stepKeys(s policy.StepChange) string {
	keys := []string{"from: " + number64(s.From)}
	if s.To > 0 {
		keys = append(keys, "to: "+number64(s.To))
	}
	switch {
	case s.Set != nil:
		keys = append(keys, "set: "+strconv.Itoa(*s.Set))
	case s.Percent != 0:
		keys = append(keys, "percent: "+number64(s.Percent))
	default:
		keys = append(keys, "add: "+strconv.Itoa(s.Add))
	}
	return strings.Join(keys, ", ")
}

// query writes a query of a metric-math policy, under the names of CloudWatch.
func (b *writer) query(indent int, q metricmath.Query) {
	b.line(indent, "- Id: %s", text(q.ID))
	indent += 2
	if q.Label != "" {
		b.line(indent, "Label: %s", text(q.Label))
	}
	if q.Expression != "" {
		b.line(indent, "Expression: %s", text(q.Expression))
	}
	if m := q.MetricStat; m != nil {
		b.line(indent, "MetricStat:")
		b.line(indent+2, "Metric:")
		b.line(indent+4, "Namespace: %s", text(m.Metric.Namespace))
		b.line(indent+4, "MetricName: %s", text(m.Metric.MetricName))
		if len(m.Metric.Dimensions) > 0 {
			b.line(indent+4, "Dimensions:")
		}
		for _, d := range m.Metric.Dimensions {
			b.line(indent+6, "- Name: %s", text(d.Name))
			b.line(indent+6, "  Value: %s", text(d.Value))
		}
		b.line(indent+2, "Stat: %s", text(m.Stat))
		if m.PeriodSeconds > 0 {
			b.line(indent+2, "Period: %d", m.PeriodSeconds)
		}
		if m.Unit != "" {
			b.line(indent+2, "Unit: %s", text(m.Unit))
		}
	}
	if q.ReturnData != nil {
		b.line(indent, "ReturnData: %t", *q.ReturnData)
	}
}

// shape writes how the size changes in one direction. With zero, a stabilization of 0 is written too, because leaving
// it out would mean another default.
func (b *writer) shape(key string, s policy.Shape, zero bool) {
	if s == (policy.Shape{}) && !zero {
		return
	}
	b.line(4, "%s:", key)
	// The default for falls is not 0, so 0 is written too.
	if s.Stabilization > 0 || key == "scale_in" {
		b.line(6, "stabilization: %s", draft.Span(s.Stabilization))
	}
	if s.MaxWorkers > 0 {
		b.line(6, "max_workers: %d", s.MaxWorkers)
	}
	if s.MaxPercent > 0 {
		b.line(6, "max_percent: %s", number64(s.MaxPercent))
	}
	if s.Period > 0 {
		b.line(6, "period: %s", draft.Span(s.Period))
	}
	if s.Disabled {
		b.line(6, "disabled: true")
	}
}

// text returns a text so that YAML reads exactly it: plain where it cannot be mistaken, otherwise in quotes. A dollar
// is doubled, as it would begin a variable.
func text(s string) string {
	safe := s != "" && len(s) <= 100
	for i, r := range s {
		letter := r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z'
		if !letter && (i == 0 || !strings.ContainsRune("0123456789_-./:", r)) || r == ':' && (i+1 == len(s)) {
			safe = false
		}
	}
	// Plain words that YAML or its older versions read as truth values or null.
	switch strings.ToLower(s) {
	case "true", "false", "yes", "no", "on", "off", "y", "n", "null":
		safe = false
	}
	if safe {
		return s
	}
	return strconv.Quote(strings.ReplaceAll(draft.Printable(s), "$", "$$"))
}

// number64 returns a number without an exponent.
func number64(v float64) string { return strconv.FormatFloat(v, 'f', -1, 64) }

// Summary returns the numbers of fleets and notes in one line.
func (r Result) Summary() string {
	return fmt.Sprintf("%s, %s", render.Plural(len(r.Fleets), "fleet"), render.Plural(len(r.Notes), "note"))
}
