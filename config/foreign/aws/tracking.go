package aws

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"go.yaml.in/yaml/v4"

	"github.com/muster-scale/muster/config/foreign/draft"
	"github.com/muster-scale/muster/config/foreign/nodes"
	"github.com/muster-scale/muster/config/foreign/template"
	"github.com/muster-scale/muster/internal/render"
	"github.com/muster-scale/muster/metricmath"
	"github.com/muster-scale/muster/policy"
)

// This file reads target tracking: the metric or expression becomes a metric-math policy with the same target.

// tracking reads a target tracking policy.
func (t *stack) tracking(s *scaled, p scalingPolicy, c *yaml.Node) {
	of := nodes.Get(c, "TargetValue")
	v := t.Resolve(of)
	target, ok := nodes.Number(v.Text)
	custom, predefined := nodes.Get(c, "CustomizedMetricSpecification"), nodes.Get(c, "PredefinedMetricSpecification")
	if v.Why != "" || !ok || target <= 0 {
		// A target that is not known is usual where a function sets it: then it starts without one.
		if v.Why == "" || len(t.setters) == 0 ||
			!isBacklogPerWorker(t.Resolve(nodes.Get(custom, "MetricName")).Text) {
			s.Note(
				nodes.Or(of, p.at), "the TargetValue of %s cannot be determined%s; the policy is not carried over",
				p.name,
				reason(v, ok && target > 0),
			)
			return
		}
		target = 0 // its first value is stated when the stack is made, and another one soon after
	}
	if w := nodes.Get(p.properties, "EstimatedInstanceWarmup"); w != nil {
		s.warmup(w, t.Resolve(w))
	}
	// One policy that keeps its workers does not keep those that another policy lets go: see draft.Draft.Done.
	if in := nodes.Get(c, "DisableScaleIn"); in != nil && nodes.True(t.Resolve(in).Text) {
		s.Kept = true
	} else {
		s.Steady = true
	}
	switch {
	// The three forms of a metric exclude each other.
	case nodes.Get(custom, "Metrics") != nil:
		t.metrics(s, p, target, nodes.Get(custom, "Metrics"))
	case custom != nil:
		t.custom(s, p, target, custom)
	case predefined != nil:
		t.predefined(s, p, target, predefined)
	default:
		s.Note(nodes.Or(c, p.at), "%s names no metric; the policy is not carried over", p.name)
		return
	}
	s.Falling(
		15*time.Minute,
		"AWS lets members go once the metric was low for 15 minutes, so a fall waits as long here. It waits 3 "+
			"minutes before a rise as well, for fear of noise; here a rise is at once.",
	)
	// The longer of the 15 minutes and a stated cooldown becomes the window for falls.
	t.cooldowns(s, c)
	s.Rest(
		c, p.name, "TargetValue", "DisableScaleIn", "CustomizedMetricSpecification", "PredefinedMetricSpecification",
		"ScaleInCooldown", "ScaleOutCooldown",
	)
}

// cooldowns reads the cooldowns of Application Auto Scaling. That of rises needs no equivalent: ordered members
// count.
func (t *stack) cooldowns(s *scaled, c *yaml.Node) {
	if in := nodes.Get(c, "ScaleInCooldown"); in != nil {
		// A cooldown that is not known is dropped with a note, and the 15 minutes of the low alarm remain.
		if v := t.Resolve(in); v.Why != "" {
			s.Note(in, "ScaleInCooldown cannot be determined: %s", v.Why)
		} else {
			wait := s.Seconds(in, v.Text, "ScaleInCooldown", 24*time.Hour)
			s.Falling(wait, "A fall waits for the ScaleInCooldown of %s, which is longer than the 15 minutes for "+
				"which AWS wants the metric low.", draft.Span(wait))
		}
	}
	if out := nodes.Get(c, "ScaleOutCooldown"); out != nil {
		s.Remark("ScaleOutCooldown is not needed: what is on its way counts, so a rise does not repeat itself.")
	}
}

// reason says why a number is not known, as the end of a note; empty when it is.
func reason(v template.Value, fine bool) string {
	switch {
	case v.Why != "":
		return ": " + v.Why
	case !fine:
		return fmt.Sprintf(": found %s, allowed is a number above 0", nodes.Brief(v.Text))
	}
	return ""
}

// queries reads a list of metrics and expressions.
func (t *stack) queries(s *scaled, p scalingPolicy, list *yaml.Node) (queries []metricmath.Query) {
	for _, n := range nodes.Elements(list) {
		q := metricmath.Query{
			ID:         t.text(s, n, "Id"),
			Expression: t.text(s, n, "Expression"),
			Label:      t.text(s, n, "Label"),
		}
		if r := nodes.Get(n, "ReturnData"); r != nil {
			q.ReturnData = new(nodes.True(t.Resolve(r).Text))
		}
		if m := nodes.Get(n, "MetricStat"); m != nil {
			of := nodes.Get(m, "Metric")
			q.MetricStat = &metricmath.MetricStat{
				Stat:          t.text(s, m, "Stat"),
				Unit:          t.text(s, m, "Unit"),
				PeriodSeconds: t.period(m),
				Metric: metricmath.Metric{
					Namespace:  t.text(s, of, "Namespace"),
					MetricName: t.text(s, of, "MetricName"),
					Dimensions: t.dimensions(s, of),
				},
			}
			s.Rest(m, q.ID, "Metric", "Stat", "Unit", "Period")
		}
		s.Rest(n, p.name, "Id", "Expression", "Label", "ReturnData", "MetricStat", "Period")
		queries = append(queries, q)
	}
	return queries
}

// metrics reads a target for a list of metrics and expressions. Which of them is returned is written out, because AWS
// and Muster have different defaults for ReturnData in a list.
func (t *stack) metrics(s *scaled, p scalingPolicy, target float64, list *yaml.Node) {
	queries := t.queries(s, p, list)
	program, err := metricmath.Compile(queries, metricmath.Options{})
	if err != nil {
		s.Note(
			list, "the metrics of %s cannot be computed, so the policy is not carried over: %s", p.name,
			strings.ReplaceAll(err.Error(), "\n", "; "),
		)
		return
	}
	// A target is for one result; the other queries only feed it.
	returned := program.Returned()[0]
	var silent []string
	for i := range queries {
		// A query without the member returns data by default; one result is allowed.
		if queries[i].ReturnData == nil && queries[i].ID != returned {
			silent = append(silent, queries[i].ID)
		}
		queries[i].ReturnData = new(queries[i].ID == returned)
	}
	if len(silent) > 0 {
		s.Note(
			list,
			"ReturnData is not written on %s: its default is true, and AWS allows one true alone. It is written "+
				"out here.",
			strings.Join(silent, ", "),
		)
	}
	t.track(s, p, list, target, queries)
}

// track adds the metric-math policy that keeps a list at a target, and says what of it has to be read from
// CloudWatch.
func (t *stack) track(s *scaled, p scalingPolicy, at *yaml.Node, target float64, queries []metricmath.Query) {
	spec := policy.Spec{Name: "metric-math", Target: target, Queries: queries}
	// The policy's own check decides what a configuration accepts.
	if err := spec.Check(); err != nil {
		s.Note(at, "%s is not carried over: %s", p.name, strings.ReplaceAll(err.Error(), "\n", "; "))
		return
	}
	s.Add(at, spec)
	// Metrics of the fleet's own queues and members are read directly; others need CloudWatch.
	uses := spec.Metrics(s.Name, s.QueueNames())
	var read []string
	slots := false
	for _, u := range uses {
		if !u.Own {
			read = append(read, u.Query.Namespace+" "+u.Query.Name)
		}
		slots = slots || u.Own && u.Query.Name == "TotalWorkers"
	}
	if len(read) > 0 {
		s.Note(
			at, "%s is read from CloudWatch; while it cannot be read the size is held",
			strings.Join(slices.Compact(read), ", "),
		)
	}
	// A target up to 1 for work over slots is a utilization, which has a baseline and a policy of its own.
	if slots && len(read) == 0 && target <= 1 {
		s.Peer = fmt.Sprintf("aws-utilization[%g]", target)
		s.Remark(
			"TotalWorkers is what workers report themselves; nothing needs to publish it. The policy "+
				"worker-utilization with the target %s says the same in a line.",
			render.Number(target),
		)
	}
}

// text returns the text of a key; one that is not known has a note and a text that stands in for it.
func (t *stack) text(s *scaled, n *yaml.Node, key string) string {
	of := nodes.Get(n, key)
	if of == nil {
		return ""
	}
	v := t.Resolve(of)
	if v.Why != "" {
		// Names of the fleet itself have a comment where they are written, so no note repeats it.
		standIn := cmp.Or(v.StandIn, draft.Unresolved)
		if !slices.Contains(
			append(s.QueueNames(), s.Group, s.Cluster, s.Service), standIn,
		) { // of those it is said where they stand
			s.Note(of, "%s cannot be determined: %s; %q stands for it", key, v.Why, standIn)
		}
		return standIn
	}
	return v.Text
}

// period returns a period in seconds, 0 when none is stated.
func (t *stack) period(n *yaml.Node) int {
	v, ok := nodes.Number(t.Resolve(nodes.Get(n, "Period")).Text)
	if nodes.Get(n, "Period") == nil || !ok || v < 1 || v > 86400 {
		return 0
	}
	return int(v)
}

// dimensions returns the dimensions of a metric.
func (t *stack) dimensions(s *scaled, n *yaml.Node) (all []metricmath.Dimension) {
	for _, d := range nodes.Elements(nodes.Get(n, "Dimensions")) {
		all = append(all, metricmath.Dimension{Name: t.text(s, d, "Name"), Value: t.text(s, d, "Value")})
	}
	return all
}

// custom reads a target for a single metric.
func (t *stack) custom(s *scaled, p scalingPolicy, target float64, c *yaml.Node) {
	name := t.text(s, c, "MetricName")
	s.Rest(c, p.name, "MetricName", "Namespace", "Statistic", "Dimensions", "Unit", "Period")
	if isBacklogPerWorker(name) {
		// Muster computes this metric itself, so the users' function that publishes it is no longer needed.
		t.backlogPerWorker(s, p, target, c, name)
		return
	}
	m := &metricmath.MetricStat{Stat: t.text(s, c, "Statistic"), Unit: t.text(s, c, "Unit"), PeriodSeconds: t.period(c),
		Metric: metricmath.Metric{
			Namespace:  t.text(s, c, "Namespace"),
			MetricName: name,
			Dimensions: t.dimensions(s, c),
		}}
	// A plain queue metric is a number of the queue, not of a worker: adding workers does not bring it down in
	// proportion.
	if m.Metric.Namespace == "AWS/SQS" {
		s.Note(
			c,
			"%s does not fall when workers are added, so a target for it alone cannot be kept; AWS advises against it",
			name,
		)
	}
	t.track(s, p, c, target, []metricmath.Query{{ID: "m1", MetricStat: m, ReturnData: new(true)}})
}

// isBacklogPerWorker tells whether a metric's name says that it is the backlog per worker. Such metrics are published
// by the users themselves, under many names.
func isBacklogPerWorker(name string) bool {
	// Users write the name with any case and separators.
	bare := strings.NewReplacer("-", "", "_", "", " ", "", ".", "").Replace(strings.ToLower(name))
	for _, of := range []string{"instance", "worker", "task", "container", "host"} {
		if strings.Contains(bare, "backlogper"+of) || strings.Contains(bare, "messagesper"+of) {
			return true
		}
	}
	return bare == "bpi" || bare == "backlogperecstask"
}

// predefined reads a target for a metric that AWS names itself.
func (t *stack) predefined(s *scaled, p scalingPolicy, target float64, c *yaml.Node) {
	kind := t.text(s, c, "PredefinedMetricType")
	// The metric belongs to what is scaled, and without a name it cannot be read.
	if s.Group == "" && s.Service == "" {
		s.Note(c, "the metric %s is one of the group or service that %s scales, which is not said here; the policy is "+
			"not carried over", nodes.Brief(kind), p.name)
		return
	}
	// Predefined metrics have the group's or the service's own dimensions.
	group := metricmath.Dimension{Name: "AutoScalingGroupName", Value: s.Name}
	stat := func(namespace, name, stat string, dimensions ...metricmath.Dimension) *metricmath.MetricStat {
		return &metricmath.MetricStat{
			Stat:   stat,
			Metric: metricmath.Metric{Namespace: namespace, MetricName: name, Dimensions: dimensions},
		}
	}
	service := []metricmath.Dimension{{Name: "ClusterName", Value: s.Cluster}, {Name: "ServiceName", Value: s.Service}}
	m := map[string]*metricmath.MetricStat{
		"ASGAverageCPUUtilization":           stat("AWS/EC2", "CPUUtilization", "Average", group),
		"ASGAverageNetworkIn":                stat("AWS/EC2", "NetworkIn", "Average", group),
		"ASGAverageNetworkOut":               stat("AWS/EC2", "NetworkOut", "Average", group),
		"ECSServiceAverageCPUUtilization":    stat("AWS/ECS", "CPUUtilization", "Average", service...),
		"ECSServiceAverageMemoryUtilization": stat("AWS/ECS", "MemoryUtilization", "Average", service...),
	}[strings.TrimSuffix(kind, "HighResolution")]
	s.Rest(c, p.name, "PredefinedMetricType")
	if m == nil {
		s.Note(c, "the metric %s is not carried over, and with it the policy %s", nodes.Brief(kind), p.name)
		return
	}
	s.Remark("%s says nothing of a queue: a worker that waits for others has little of it while messages wait.", kind)
	t.track(s, p, c, target, []metricmath.Query{{ID: "m1", MetricStat: m, ReturnData: new(true)}})
}
