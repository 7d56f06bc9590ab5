package aws

import (
	"math"
	"slices"
	"strings"
	"time"

	"go.yaml.in/yaml/v4"

	"github.com/muster-scale/muster/config/foreign/nodes"
	"github.com/muster-scale/muster/internal/render"
	"github.com/muster-scale/muster/metricmath"
	"github.com/muster-scale/muster/policy"
)

// This file reads alarms. A step policy of AWS does not name its metric: the alarm that calls it does, so the alarm's
// metric and threshold become those of the policy step. An expression is recognized by what it computes, not by its
// text: it is evaluated at random points and compared with each metric that steps can go by.

// alarm is an alarm that calls a step policy.
type alarm struct {
	// metric is that of a step policy; the alarm's own is scale times as large.
	metric string
	scale  float64
	// threshold is in units of metric, that is already divided by scale.
	threshold float64
	// above is true when values above the threshold raise it, equal when the threshold itself does too.
	above, equal bool
	// lasts is how long values must be beyond the threshold.
	lasts time.Duration
}

// alarm reads an alarm that calls a policy. It is not ok when the alarm cannot be carried over, which a note then
// says.
func (t *stack) alarm(s *scaled, p scalingPolicy, n *yaml.Node) (a alarm, ok bool) {
	a.scale = 1
	// An alarm has either a list of queries or one metric in members of its own.
	if list := nodes.Get(n, "Metrics"); list != nil {
		a.metric, a.scale, ok = t.computed(s, p, list)
	} else {
		a.metric, ok = t.plainly(s, p, n)
	}
	if !ok {
		return a, false
	}
	of := nodes.Get(n, "Threshold")
	v := t.Resolve(of)
	if a.threshold, ok = nodes.Number(v.Text); v.Why != "" || !ok {
		s.Note(
			nodes.Or(of, n), "the threshold of the alarm of %s cannot be determined%s; the policy is not carried over",
			p.name, reason(v, ok),
		)
		return a, false
	}
	// The policy step goes by the plain metric, so its threshold is that much smaller.
	a.threshold /= a.scale
	// Comparisons for anomaly detection have no threshold and cannot be carried over.
	switch operator := t.Resolve(nodes.Get(n, "ComparisonOperator")).Text; operator {
	case "GreaterThanThreshold":
		a.above = true
	case "GreaterThanOrEqualToThreshold":
		a.above, a.equal = true, true
	case "LessThanThreshold":
	case "LessThanOrEqualToThreshold":
		a.equal = true
	default:
		s.Note(n, "the alarm of %s compares by %s, which is not carried over", p.name, nodes.Brief(operator))
		return a, false
	}
	a.lasts = t.lasts(s, p, n)
	return a, true
}

// lasts returns how long values must be beyond the threshold: the period times the number of data points. M of N
// points become M in a row, at most a day.
func (t *stack) lasts(s *scaled, p scalingPolicy, n *yaml.Node) time.Duration {
	positive := func(key string, otherwise float64) float64 {
		if x, ok := nodes.Number(t.Resolve(nodes.Get(n, key)).Text); ok && x > 0 {
			return x
		}
		return otherwise
	}
	// The period of an expression is that of its metrics.
	period := positive("Period", 60)
	for _, m := range nodes.Elements(nodes.Get(n, "Metrics")) {
		if x := t.period(nodes.Get(m, "MetricStat")); x > 0 {
			period = float64(x)
		}
	}
	of := positive("EvaluationPeriods", 1)
	// DatapointsToAlarm is all periods where it is absent, and never more than there are.
	enough := min(of, positive("DatapointsToAlarm", of))
	if enough < of {
		s.Remark(
			"%s is called when %s of %s periods are beyond its threshold; here it is called when as many in a row are.",
			p.name, render.Number(enough), render.Number(of),
		)
	}
	return time.Duration(min(period*enough, 86400)) * time.Second
}

// plainly returns the metric of the policy step for an alarm over one metric. An alarm for a queue that the fleet
// does not serve is not carried over, because the steps would go by the wrong backlog.
func (t *stack) plainly(s *scaled, p scalingPolicy, n *yaml.Node) (metric string, ok bool) {
	name, namespace := t.text(s, n, "MetricName"), t.text(s, n, "Namespace")
	if namespace == "AWS/SQS" {
		// Without any queue of the fleet there is nothing to compare with: the alarm's queue becomes the fleet's.
		if queue := t.queueOf(n); queue != "" && len(s.Queues) > 0 && !slices.Contains(s.QueueNames(), queue) {
			s.Note(
				n, "the alarm of %s goes by the queue %s, which the fleet does not serve; it is not carried over",
				p.name, nodes.Brief(queue),
			)
			return "", false
		}
	}
	switch {
	// Muster reads these two of the queue itself, without CloudWatch.
	case namespace == "AWS/SQS" && name == "ApproximateNumberOfMessagesVisible":
		return policy.MetricBacklog, true
	case namespace == "AWS/SQS" && name == "ApproximateAgeOfOldestMessage":
		return policy.MetricOldestAge, true
	// Such a metric is published by the users' own code, in a namespace of their own.
	case isBacklogPerWorker(name):
		s.Remark("The metric %s is taken to be the backlog over the instances in service.", name)
		return policy.MetricBacklogPerWorker, true
	}
	// The name may be a reference that is not known here.
	if name == "" {
		s.Note(n, "the alarm of %s names no metric that can be told; it is not carried over", p.name)
		return "", false
	}
	s.Note(
		n, "the alarm of %s goes by %s %s, which steps do not follow; it is not carried over", p.name, namespace,
		nodes.Brief(name),
	)
	return "", false
}

// queueOf returns the queue of an alarm's metric; empty when it is not a queue's, or the name is not known at all.
func (t *stack) queueOf(n *yaml.Node) string {
	for _, d := range nodes.Elements(nodes.Get(n, "Dimensions")) {
		if nodes.Plain(nodes.Get(d, "Name")) == "QueueName" {
			return t.Resolve(nodes.Get(d, "Value")).Best()
		}
	}
	return ""
}

// figures are the numbers that an expression of an alarm can depend on, at one point. Queues have a number each.
type figures struct {
	// backlog and inFlight are messages, age is in seconds, each by queue.
	backlog, inFlight, age []float64
	// members are workers in service, slots what they can handle at once.
	members, slots float64
}

// totalWork returns backlog and messages in flight of all queues.
func totalWork(f figures) float64 { return sum(f.backlog) + sum(f.inFlight) }

// sum returns the sum of all numbers.
func sum(all []float64) (s float64) {
	for _, v := range all {
		s += v
	}
	return s
}

// figureOf returns the number that a metric stands for; nil for a metric without one, or of a queue that the fleet
// does not serve.
func figureOf(m metricmath.Metric, queues []string) func(figures) float64 {
	// A metric without a queue as dimension counts for the first queue; figures of members use none.
	queue := 0
	for _, d := range m.Dimensions {
		if d.Name == "QueueName" {
			queue = slices.Index(queues, d.Value)
		}
	}
	if queue < 0 {
		return nil
	}
	aws := map[string]func(figures) float64{
		"AWS/SQS ApproximateNumberOfMessagesVisible":    func(f figures) float64 { return f.backlog[queue] },
		"AWS/SQS ApproximateNumberOfMessagesNotVisible": func(f figures) float64 { return f.inFlight[queue] },
		"AWS/SQS ApproximateAgeOfOldestMessage":         func(f figures) float64 { return f.age[queue] },
		"AWS/AutoScaling GroupInServiceInstances":       func(f figures) float64 { return f.members },
		"ECS/ContainerInsights RunningTaskCount":        func(f figures) float64 { return f.members },
	}
	// Namespaces of AWS have their exact metrics above; in a namespace of the users the name decides.
	switch own := !strings.HasPrefix(m.Namespace, "AWS/") && !strings.HasPrefix(m.Namespace, "ECS/"); {
	case own && m.MetricName == "TotalWorkers":
		// TotalWorkers counts slots: the messages that all workers can handle at once.
		return func(f figures) float64 { return f.slots }
	case own && isBacklogPerWorker(m.MetricName):
		return func(f figures) float64 { return sum(f.backlog) / f.members }
	}
	return aws[m.Namespace+" "+m.MetricName]
}

// computed returns the metric of the policy step for an alarm over an expression, and how many times as large the
// expression is. The two are taken for the same if they agree at all points that are tried.
func (t *stack) computed(s *scaled, p scalingPolicy, list *yaml.Node) (metric string, scale float64, ok bool) {
	not := func(n *yaml.Node, why string) (string, float64, bool) {
		s.Note(
			nodes.Or(n, list),
			"the alarm of %s goes by an expression that steps do not follow (%s); it is not carried over. Target "+
				"tracking on the expression is: policy metric-math",
			p.name, why,
		)
		return "", 0, false
	}
	// The same compiler as for the policy metric-math reads the expression, so both understand the same language.
	queries := t.queries(s, p, list)
	program, err := metricmath.Compile(queries, metricmath.Options{Use: metricmath.ForAlarm})
	if err != nil {
		return not(list, strings.ReplaceAll(err.Error(), "\n", "; "))
	}
	read := map[string]func(figures) float64{}
	for _, q := range program.Metrics() {
		m := q.MetricStat.Metric
		if read[q.ID] = figureOf(m, s.QueueNames()); read[q.ID] == nil {
			// One metric that is not among the figures is enough: the expression depends on something else.
			return not(list, "it reads "+m.Namespace+" "+nodes.Brief(m.MetricName))
		}
	}
	for _, c := range []struct {
		metric string
		of     func(figures) float64
		words  string
	}{
		{policy.MetricBacklog, func(f figures) float64 { return sum(f.backlog) }, "the backlog"},
		{policy.MetricTotalWork, totalWork, "the messages that wait and those in flight"},
		{
			policy.MetricBacklogPerWorker, func(f figures) float64 { return sum(f.backlog) / f.members },
			"the backlog over the workers in service; while there are none the backlog itself counts here",
		},
		{policy.MetricOldestAge, func(f figures) float64 { return slices.Max(f.age) }, "the age of the oldest message"},
		{
			policy.MetricUtilization, func(f figures) float64 { return totalWork(f) / f.slots },
			"the total work over the slots; while there are none it is 1 here, or 0 without work",
		},
	} {
		// The candidates are tried from the simplest on, so that an expression that equals several gets the plainest.
		scale, ok := sameAs(program, read, max(1, len(s.Queues)), c.of)
		if !ok {
			continue
		}
		by := ""
		// A factor usually comes from units, minutes instead of seconds for instance.
		if scale != 1 {
			by = render.Number(scale) + " times "
		}
		s.Remark("The expression of the alarm of %s is %s%s.", p.name, by, c.words)
		return c.metric, scale, true
	}
	return not(list, "it is none of backlog, total work, backlog per worker, oldest age and utilization")
}

// sameAs tells whether a program computes scale times what a function does. It tries points with large and unrelated
// numbers: twelve that agree leave no room for chance. The numbers come from a fixed linear congruential generator,
// so that the same file always gives the same result.
func sameAs(
	program metricmath.Program, read map[string]func(figures) float64, queues int, of func(figures) float64,
) (scale float64, same bool) {
	const tries, periods = 12, 5
	start, state := time.Unix(0, 0).UTC(), uint64(1)
	draw := func(least, most uint64) float64 {
		// The constants are those of Knuth's MMIX generator.
		state = state*6364136223846793005 + 1442695040888963407
		return float64(least + (state>>33)%(most-least+1))
	}
	for try := range tries {
		rows, last := map[string][]float64{}, figures{}
		for range periods {
			last = figures{members: draw(1, 20), slots: draw(1, 70)}
			for range queues {
				last.backlog, last.inFlight, last.age = append(last.backlog, draw(1, 900)), append(
					last.inFlight, draw(1, 90),
				), append(last.age, draw(1, 4000))
			}
			// Each metric that the program reads gets the number that it stands for at this point.
			for id, f := range read {
				rows[id] = append(rows[id], f(last))
			}
		}
		in := metricmath.Inputs{Series: map[string]metricmath.Series{}}
		for id, row := range rows {
			in.Series[id] = metricmath.Row(start, program.Period(), row...)
		}
		v, _ := program.Evaluate(in, start.Add(periods*program.Period()))
		// Only the newest of five periods is compared: an expression over earlier periods, such as DIFF, then
		// differs.
		got, want := v.Last(), of(last)
		// A program that gives nothing, or nothing above 0, at ordinary points is none of the candidates.
		if !got.Known || got.Value <= 0 {
			return 0, false
		}
		if try == 0 {
			scale = got.Value / want
			// The first point gives the scale. A whole one is made exact, so that 60 does not become 59.999999.
			if whole := math.Round(scale); math.Abs(scale-whole) < 1e-9 && whole > 0 {
				scale = whole
			}
		}
		if math.Abs(got.Value-scale*want) > 1e-9*got.Value {
			return 0, false
		}
	}
	return scale, true
}
