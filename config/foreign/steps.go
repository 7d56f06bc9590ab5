package foreign

import (
	"math"
	"slices"
	"strings"
	"time"

	"go.yaml.in/yaml/v4"

	"github.com/muster-scale/muster/policy"
)

// stepping takes in a step or simple scaling policy, with the alarm that calls it.
func (t *template) stepping(s *scaled, p scalingPolicy, c *yaml.Node) {
	callers := t.alarms(p.name)
	if len(callers) == 0 {
		s.note(p.at, "no alarm of the template calls %s, so nobody knows what it goes by; it is not carried over", p.name)
		return
	}
	if len(callers) > 1 {
		s.note(callers[1], "a second alarm calls %s; the first counts", p.name)
	}
	a, ok := t.alarm(s, p, callers[0])
	if !ok {
		return
	}
	steps := t.steps(s, p, c, a)
	if len(steps) == 0 {
		s.note(p.at, "%s has no step that could be carried over", p.name)
		return
	}
	cooldown := time.Duration(0)
	if n := get(c, "Cooldown"); n != nil {
		cooldown = s.seconds(n, t.resolve(n, 0).text, "Cooldown", 24*time.Hour)
	} else if plain(get(c, "PolicyType")) == "SimpleScaling" || get(c, "ScalingAdjustment") != nil {
		cooldown = 5 * time.Minute // the default of simple scaling
	}
	if w := get(c, "EstimatedInstanceWarmup"); w != nil {
		s.warmup(w, t.resolve(w, 0))
	}
	if m := get(c, "MinAdjustmentMagnitude"); m != nil {
		s.note(m, "MinAdjustmentMagnitude is not carried over: a percentage changes at least one worker")
	}
	if !s.merge(p, policy.Spec{Name: "step", Metric: a.metric, Steps: steps, Cooldown: cooldown}) {
		return
	}
	if a.above {
		s.Out.Stabilization = max(s.Out.Stabilization, a.lasts)
	} else {
		s.In.Stabilization = max(s.In.Stabilization, a.lasts)
	}
}

// merge adds the steps to those of an earlier policy on the same metric.
func (s *scaled) merge(p scalingPolicy, spec policy.Spec) bool {
	i := slices.IndexFunc(s.Policies, func(x policy.Spec) bool { return x.Name == "step" })
	if i < 0 {
		if err := spec.Check(); err != nil {
			s.note(p.at, "%s is not carried over: %s", p.name, strings.ReplaceAll(err.Error(), "\n", "; "))
			return false
		}
		s.add(p.at, spec)
		return true
	}
	both := s.Policies[i]
	if both.Metric != spec.Metric {
		s.note(p.at, "%s goes by the %s and an earlier one by the %s; one metric can be followed in steps, so it is not carried over", p.name, spec.Metric, both.Metric)
		return false
	}
	if both.Cooldown != spec.Cooldown {
		s.remark("Its step policies have cooldowns of their own; the longest holds for all.")
	}
	both.Steps = slices.Concat(both.Steps, spec.Steps)
	both.Cooldown = max(both.Cooldown, spec.Cooldown)
	slices.SortFunc(both.Steps, func(a, b policy.StepChange) int {
		if a.From < b.From {
			return -1
		}
		return 1
	})
	if err := both.Check(); err != nil || len(both.Steps) > mostSteps {
		s.note(p.at, "the steps of %s overlap with those of an earlier policy; they are not carried over", p.name)
		return false
	}
	s.Policies[i] = both
	return true
}

// steps are the adjustments of a policy as ranges of the metric.
func (t *template) steps(s *scaled, p scalingPolicy, c *yaml.Node, a alarm) (all []policy.StepChange) {
	kind := t.resolve(get(c, "AdjustmentType"), 0).text
	adjustments := elements(get(c, "StepAdjustments"))
	if len(adjustments) == 0 && get(c, "ScalingAdjustment") != nil {
		adjustments = []*yaml.Node{c} // simple scaling has one, without bounds
	}
	for _, n := range adjustments {
		by := get(n, "ScalingAdjustment")
		v, ok := number(t.resolve(by, 0).text)
		if !ok || v != math.Trunc(v) || math.Abs(v) > mostWorkers {
			s.note(orNode(by, n), "the adjustment of %s cannot be told; the step is not carried over", p.name)
			continue
		}
		step := t.bounds(n, a)
		switch kind {
		case "ChangeInCapacity":
			step.Add = int(v)
		case "PercentChangeInCapacity":
			step.Percent = v
		case "ExactCapacity":
			step.Set = new(max(0, int(v)))
		default:
			s.note(orNode(get(c, "AdjustmentType"), p.at), "the adjustment type %s of %s is not known", brief(kind), p.name)
			return nil
		}
		if v == 0 && step.Set == nil || step.To < 0 {
			continue // no change, or at values that the metric never has
		}
		all = append(all, step)
	}
	return all
}

// bounds are the values of the metric at which a step counts, from included and to not. The bounds of AWS count from the
// threshold. Above it the lower one is included and the upper one not, below it is the other way round.
func (t *template) bounds(n *yaml.Node, a alarm) (s policy.StepChange) {
	least := 1.0 // the least difference between two values: counts and seconds are whole
	if a.metric == policy.MetricBacklogPerWorker || a.metric == policy.MetricUtilization {
		least = 0.001
	}
	lower, hasLower := number(t.resolve(get(n, "MetricIntervalLowerBound"), 0).text)
	upper, hasUpper := number(t.resolve(get(n, "MetricIntervalUpperBound"), 0).text)
	lower, upper = lower/a.scale, upper/a.scale
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
		if hasUpper && upper < 0 {
			s.To += upper
		} else if !a.equal {
			s.To = a.threshold
		}
		if hasLower {
			s.From = a.threshold + lower + least
		}
	}
	s.From = max(0, s.From)
	if (hasUpper || !a.above) && s.To <= 0 || s.To != 0 && s.To <= s.From {
		s.To = -1
	}
	return s
}

// oneKind drops steps beside a target: in no step a step policy wants the size as it is, and the largest would never fall.
func (d *draft) oneKind() {
	step := func(s policy.Spec) bool { return s.Name == "step" }
	other := func(s policy.Spec) bool { return s.Name != "step" && s.Name != "schedule" }
	if slices.ContainsFunc(d.Policies, step) && slices.ContainsFunc(d.Policies, other) {
		d.Policies = slices.DeleteFunc(d.Policies, step)
		d.note(d.at, "it has steps beside a target; the steps are not carried over, since the larger of the two would never fall")
	}
}
