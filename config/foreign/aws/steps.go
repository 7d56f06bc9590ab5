package aws

import (
	"cmp"
	"math"
	"slices"
	"strings"
	"time"

	"go.yaml.in/yaml/v4"

	"github.com/muster-scale/muster/config/foreign/draft"
	"github.com/muster-scale/muster/config/foreign/nodes"
	"github.com/muster-scale/muster/config/foreign/template"
	"github.com/muster-scale/muster/policy"
)

// This file reads step and simple scaling, and decides which of several policies of a fleet are carried over.

// mostSteps is how many steps the policy step may have.
const mostSteps = 20

// stepping reads a step or simple scaling policy, with the alarm that calls it.
func (t *stack) stepping(s *scaled, p scalingPolicy, c *yaml.Node) {
	// Without the alarm, adjustments have no metric and no threshold to count from.
	callers := t.alarms(p)
	if len(callers) == 0 {
		s.Note(
			p.at, "no alarm here calls %s, so nothing says what it goes by; it is not carried over%s", p.name,
			t.missingAlarms(p),
		)
		return
	}
	a, ok := t.firstAlarm(s, p, callers)
	if !ok {
		return
	}
	steps := t.steps(s, p, c, a)
	if len(steps) == 0 {
		s.Note(p.at, "%s has no step that could be carried over", p.name)
		return
	}
	// The warm-up is read before the cooldown, which may be taken from it.
	if w := nodes.Get(c, "EstimatedInstanceWarmup"); w != nil {
		s.warmup(w, t.Resolve(w))
	}
	// One worker is the least change in Muster too, so a stated 1 needs no note.
	if m := nodes.Get(c, "MinAdjustmentMagnitude"); m != nil && t.Resolve(m).Text != "1" {
		s.Note(m, "MinAdjustmentMagnitude is not carried over: a percentage changes at least one worker")
	}
	if !s.merge(p, policy.Spec{Name: "step", Metric: a.metric, Steps: steps, Cooldown: t.cooldown(s, p, c)}) {
		return
	}
	if a.above {
		s.Out.Stabilization = max(s.Out.Stabilization, a.lasts)
	} else {
		s.Falling(a.lasts, "")
		s.Steady = true
	}
}

// firstAlarm returns the first alarm of a policy that can be carried over. Further ones that equal it, for other
// queues, are covered by it.
func (t *stack) firstAlarm(s *scaled, p scalingPolicy, callers []*yaml.Node) (first alarm, found bool) {
	for _, n := range callers {
		a, ok := t.alarm(s, p, n)
		switch {
		case !ok:
		case !found:
			// A policy of AWS may have several alarms; a policy of Muster has one metric.
			first, found = a, true
		// Equal alarms differ in their queue only, which the policy step sums up anyway.
		case a == first:
			s.Remark(
				"Several alarms that are alike but for the queue call %s; here one rule goes by the backlog of "+
					"all queues together.",
				p.name,
			)
		default:
			s.Note(n, "a second alarm calls %s; the first counts", p.name)
		}
	}
	return first, found
}

// missingAlarms says how to get the alarms of a policy that was printed without them.
func (t *stack) missingAlarms(p scalingPolicy) string {
	var names []string
	for _, a := range nodes.Elements(nodes.Get(p.properties, "Alarms")) {
		if name := nodes.Plain(nodes.Get(a, "AlarmName")); name != "" {
			names = append(names, name)
		}
	}
	if len(names) == 0 {
		return ""
	}
	return ". Give beside it what aws cloudwatch describe-alarms --alarm-names " + strings.Join(names, " ") + " prints"
}

// defaultCooldown is AWS's default for simple policies and for step policies of services, and for the warm-up of an
// instance.
const defaultCooldown = 5 * time.Minute

// cooldown returns how long a step waits after the one before. A step policy of a group has no cooldown: AWS counts
// instances that warm up as present and adds only what a higher step adds. The warm-up stands in for that.
func (t *stack) cooldown(s *scaled, p scalingPolicy, c *yaml.Node) time.Duration {
	if n := nodes.Get(c, "Cooldown"); n != nil {
		v := t.Resolve(n)
		// A stated cooldown counts for both services.
		if v.Why == "" {
			return s.Seconds(n, v.Text, "Cooldown", 24*time.Hour)
		}
		s.Note(
			n, "the Cooldown of %s cannot be determined (%s); %s, the default, stands for it", p.name, v.Why,
			draft.Span(defaultCooldown),
		)
		return defaultCooldown
	}
	// Simple scaling is recognized by its adjustment too: an output of the CLI may lack the type.
	simple := nodes.Plain(nodes.Get(c, "PolicyType")) == "SimpleScaling" || nodes.Get(c, "ScalingAdjustment") != nil
	if p.ecs || simple {
		s.Remark("No cooldown is stated for its steps; AWS's default of %s is written out.",
			draft.Span(defaultCooldown))
		return defaultCooldown
	}
	if s.Boot > 0 {
		s.Remark(
			"While instances warm up, AWS adds only what a higher step adds. The cooldown of %s, the warm-up, "+
				"stands for that.",
			draft.Span(s.Boot),
		)
		return s.Boot
	}
	s.Remark(
		"While instances warm up, AWS adds only what a higher step adds. The cooldown of %s, the default "+
			"warm-up, stands for that.",
		draft.Span(defaultCooldown),
	)
	return defaultCooldown
}

// merge adds the steps of a policy to those of an earlier one on the same metric, or adds the policy. It tells
// whether the steps were carried over.
func (s *scaled) merge(p scalingPolicy, spec policy.Spec) bool {
	i := slices.IndexFunc(s.Policies, func(x policy.Spec) bool { return x.Name == "step" })
	if i < 0 {
		if err := spec.Check(); err != nil {
			s.Note(p.at, "%s is not carried over: %s", p.name, strings.ReplaceAll(err.Error(), "\n", "; "))
			return false
		}
		s.Add(p.at, spec)
		return true
	}
	both := s.Policies[i]
	// The usual pattern of one policy per queue, with the same steps in each.
	if both.Metric == spec.Metric && contains(both.Steps, spec.Steps) {
		s.Remark(
			"Several policies have the same steps for different queues. They count once, for the backlog of all " +
				"queues together.",
		)
		both.Cooldown = max(both.Cooldown, spec.Cooldown)
		s.Policies[i] = both
		return true
	}
	if both.Metric != spec.Metric {
		s.Note(
			p.at,
			"%s goes by the %s and an earlier one by the %s; one metric can be followed in steps, so it is not "+
				"carried over",
			p.name, spec.Metric, both.Metric,
		)
		return false
	}
	// A configuration has one cooldown for all steps of a policy.
	if both.Cooldown != spec.Cooldown {
		s.Remark("Its step policies have cooldowns of their own; the longest holds for all.")
	}
	both.Steps = slices.Concat(both.Steps, spec.Steps)
	both.Cooldown = max(both.Cooldown, spec.Cooldown)
	// Rises of one policy and falls of another interleave; the policy step wants them in order.
	slices.SortFunc(both.Steps, func(a, b policy.StepChange) int {
		if a.From < b.From {
			return -1
		}
		return 1
	})
	if err := both.Check(); err != nil || len(both.Steps) > mostSteps {
		s.Note(p.at, "the steps of %s overlap with those of an earlier policy; they are not carried over", p.name)
		return false
	}
	s.Policies[i] = both
	return true
}

// contains tells whether all of some steps are among others.
func contains(all, some []policy.StepChange) bool {
	return !slices.ContainsFunc(some, func(x policy.StepChange) bool {
		return !slices.ContainsFunc(all, func(y policy.StepChange) bool { return sameStep(x, y) })
	})
}

// sameStep tells whether two steps make the same change at the same values.
func sameStep(x, y policy.StepChange) bool {
	if x.Set != nil && y.Set != nil && *x.Set == *y.Set {
		x.Set, y.Set = nil, nil
	}
	return x == y
}

// steps returns the adjustments of a policy as ranges of the metric. An adjustment of 0 and a range that the metric
// never reaches are dropped.
func (t *stack) steps(s *scaled, p scalingPolicy, c *yaml.Node, a alarm) (all []policy.StepChange) {
	kind := t.Resolve(nodes.Get(c, "AdjustmentType")).Text
	adjustments := nodes.Elements(nodes.Get(c, "StepAdjustments"))
	if len(adjustments) == 0 && nodes.Get(c, "ScalingAdjustment") != nil {
		adjustments = []*yaml.Node{c} // simple scaling has one, without bounds
	}
	for _, n := range adjustments {
		by := nodes.Get(n, "ScalingAdjustment")
		v, ok := nodes.Number(t.Resolve(by).Text)
		// Adjustments are whole numbers in the API, also percentages.
		if !ok || v != math.Trunc(v) || math.Abs(v) > draft.MostWorkers {
			s.Note(nodes.Or(by, n), "the adjustment of %s cannot be determined; the step is not carried over", p.name)
			continue
		}
		// The adjustment is read with its range, so that a step without effect can be dropped.
		step := t.bounds(n, a)
		switch kind {
		case "ChangeInCapacity":
			step.Add = int(v)
		case "PercentChangeInCapacity":
			step.Percent = v
		case "ExactCapacity":
			step.Set = new(max(0, int(v)))
		default:
			s.Note(
				nodes.Or(nodes.Get(c, "AdjustmentType"), p.at), "the adjustment type %s of %s is not known",
				nodes.Brief(kind), p.name,
			)
			return nil
		}
		if v == 0 && step.Set == nil || step.To < 0 {
			continue // no change, or at values that the metric never has
		}
		// The range and the change are both known.
		all = append(all, step)
	}
	return all
}

// bounds returns the values of the metric at which an adjustment counts, From included and To excluded. The bounds of
// AWS count from the threshold. Above the threshold AWS includes the lower bound; below it, the upper one, which the
// least difference between two values corrects. To is -1 for a range that the metric never reaches.
func (t *stack) bounds(n *yaml.Node, a alarm) (s policy.StepChange) {
	least := 1.0 // the least difference between two values: counts and seconds are whole
	if a.metric == policy.MetricBacklogPerWorker || a.metric == policy.MetricUtilization {
		least = 0.001
	}
	lower, hasLower := nodes.Number(t.Resolve(nodes.Get(n, "MetricIntervalLowerBound")).Text)
	upper, hasUpper := nodes.Number(t.Resolve(nodes.Get(n, "MetricIntervalUpperBound")).Text)
	// Bounds are in units of the alarm's metric, like its threshold.
	lower, upper = lower/a.scale, upper/a.scale
	// Above the threshold an open lower bound means the threshold itself.
	if a.above {
		s.From = a.threshold + lower
		if !a.equal && lower <= 0 {
			s.From = a.threshold + least
		}
		if hasUpper {
			s.To = a.threshold + upper
		}
	} else {
		s.To = a.threshold + least
		// Below the threshold bounds are negative. AWS excludes the lower bound and includes the upper one.
		if hasUpper && upper < 0 {
			s.To += upper
		} else if !a.equal {
			s.To = a.threshold
		}
		if hasLower {
			s.From = a.threshold + lower + least
		}
	}
	// No metric of the policy step is ever negative.
	s.From = max(0, s.From)
	if (hasUpper || !a.above) && s.To <= 0 || s.To != 0 && s.To <= s.From {
		s.To = -1
	}
	return s
}

// policies reads the policies of a fleet. Of steps and targets only one kind is carried over: outside its steps, a
// step policy wants the size as it is, so the maximum of both would never fall. The rule that goes by the queue wins.
func (t *stack) policies(s *scaled) {
	var byQueue, targets, steps, rest []scalingPolicy
	for _, p := range s.policies {
		switch kind := t.Resolve(nodes.Get(p.properties, "PolicyType")).Text; {
		case kind == "TargetTrackingScaling" && t.tracksQueue(p.properties):
			byQueue = append(byQueue, p)
		case kind == "TargetTrackingScaling":
			targets = append(targets, p)
		case kind == "PredictiveScaling":
			rest = append(rest, p)
		default:
			steps = append(steps, p)
		}
	}
	take := func(all []scalingPolicy) bool {
		// Only a policy that was carried over displaces others: one that was not leaves the fleet without a rule.
		before := len(s.Policies)
		for _, p := range all {
			t.policy(s, p)
		}
		return len(s.Policies) > before
	}
	if take(byQueue) {
		for _, p := range steps {
			s.Note(
				p.at,
				"%s has steps beside a target that goes by the queue; they are not carried over: the larger of "+
					"the two would never fall",
				p.name,
			)
		}
		take(targets)
	} else if take(steps) {
		for _, p := range targets {
			s.Note(p.at, "%s keeps a target for %s, which says nothing of the messages that wait. The steps by "+
				"the queue are carried over in its place: "+
				"of both together the larger would never fall", p.name, t.tracked(p.properties))
		}
	} else {
		take(targets)
	}
	take(rest)
}

// tracksQueue tells whether a policy tracks the messages of queues.
func (t *stack) tracksQueue(n *yaml.Node) bool {
	if n == nil {
		return false
	}
	if n.Kind == yaml.ScalarNode {
		return n.Value == "AWS/SQS" || n.Value == "TotalWorkers" || isBacklogPerWorker(n.Value)
	}
	if name, _ := template.Function(n); name != "" {
		v := t.Resolve(n)
		return v.Text == "AWS/SQS" || isBacklogPerWorker(v.Text)
	}
	configuration := nodes.Or(
		nodes.Get(n, "TargetTrackingConfiguration"), nodes.Get(n, "TargetTrackingScalingPolicyConfiguration"))
	// The whole configuration is searched, because a list may read the queue in one of its entries.
	if t.tracksQueue(configuration) || t.tracksQueue(nodes.Get(n, "CustomizedMetricSpecification")) {
		return true
	}
	if nodes.Get(n, "PolicyType") != nil {
		return false // of the policy itself only the target counts, not its name
	}
	return slices.ContainsFunc(n.Content, t.tracksQueue)
}

// tracked returns the name of the metric of a target tracking policy.
func (t *stack) tracked(p *yaml.Node) string {
	c := nodes.Or(nodes.Get(p, "TargetTrackingConfiguration"), nodes.Get(p, "TargetTrackingScalingPolicyConfiguration"))
	of := nodes.Or(nodes.At(c, "PredefinedMetricSpecification", "PredefinedMetricType"),
		nodes.At(c, "CustomizedMetricSpecification", "MetricName"))
	return cmp.Or(t.Resolve(of).Best(), "another metric")
}
