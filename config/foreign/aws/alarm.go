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

// alarm is what calls a step policy.
type alarm struct {
	// metric is that of a step policy; the alarm's own is scale times as large.
	metric    string
	scale     float64
	threshold float64
	// above is true where it is raised by values above the threshold, equal where the threshold itself raises it.
	above, equal bool
	// lasts is how long the values must have been there.
	lasts time.Duration
}

// alarm reads what calls the policy.
func (t *stack) alarm(s *scaled, p scalingPolicy, n *yaml.Node) (a alarm, ok bool) {
	a.scale = 1
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
			nodes.Or(of, n), "the threshold of the alarm of %s cannot be told%s; the policy is not carried over",
			p.name, reason(v, ok),
		)
		return a, false
	}
	a.threshold /= a.scale
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

// lasts is how long values must be beyond the threshold.
func (t *stack) lasts(s *scaled, p scalingPolicy, n *yaml.Node) time.Duration {
	positive := func(key string, otherwise float64) float64 {
		if x, ok := nodes.Number(t.Resolve(nodes.Get(n, key)).Text); ok && x > 0 {
			return x
		}
		return otherwise
	}
	period := positive("Period", 60)
	for _, m := range nodes.Elements(nodes.Get(n, "Metrics")) {
		if x := t.period(nodes.Get(m, "MetricStat")); x > 0 {
			period = float64(x)
		}
	}
	of := positive("EvaluationPeriods", 1)
	enough := min(of, positive("DatapointsToAlarm", of))
	if enough < of {
		s.Remark(
			"%s is called when %s of %s periods are beyond its threshold; here it is called when as many in a row are.",
			p.name, render.Number(enough), render.Number(of),
		)
	}
	return time.Duration(min(period*enough, 86400)) * time.Second
}

// plainly is what a step policy goes by in place of a metric.
func (t *stack) plainly(s *scaled, p scalingPolicy, n *yaml.Node) (metric string, ok bool) {
	name, namespace := t.text(s, n, "MetricName"), t.text(s, n, "Namespace")
	if namespace == "AWS/SQS" {
		if queue := t.queueOf(n); queue != "" && len(s.Queues) > 0 && !slices.Contains(s.QueueNames(), queue) {
			s.Note(
				n, "the alarm of %s goes by the queue %s, which the fleet does not serve; it is not carried over",
				p.name, nodes.Brief(queue),
			)
			return "", false
		}
	}
	switch {
	case namespace == "AWS/SQS" && name == "ApproximateNumberOfMessagesVisible":
		return policy.MetricBacklog, true
	case namespace == "AWS/SQS" && name == "ApproximateAgeOfOldestMessage":
		return policy.MetricOldestAge, true
	case isBacklogPerWorker(name):
		s.Remark("The metric %s is taken to be the backlog over the instances in service.", name)
		return policy.MetricBacklogPerWorker, true
	}
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

// queueOf is the queue whose metric an alarm goes by; empty where it goes by no queue's, or its name cannot be told at
// all.
func (t *stack) queueOf(n *yaml.Node) string {
	for _, d := range nodes.Elements(nodes.Get(n, "Dimensions")) {
		if nodes.Plain(nodes.Get(d, "Name")) == "QueueName" {
			return t.Resolve(nodes.Get(d, "Value")).Best()
		}
	}
	return ""
}

// figures are what an expression of an alarm can go by. Each queue has a backlog, messages in flight and an oldest age
// of its own.
type figures struct {
	backlog, inFlight, age []float64
	members, slots         float64
}

// totalWork is what waits and what is in flight, in all queues.
func totalWork(f figures) float64 { return sum(f.backlog) + sum(f.inFlight) }

func sum(all []float64) (s float64) {
	for _, v := range all {
		s += v
	}
	return s
}

// figureOf finds which of them a metric is; nil for another.
func figureOf(m metricmath.Metric, queues []string) func(figures) float64 {
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
	switch own := !strings.HasPrefix(m.Namespace, "AWS/") && !strings.HasPrefix(m.Namespace, "ECS/"); {
	case own && m.MetricName == "TotalWorkers":
		return func(f figures) float64 { return f.slots }
	case own && isBacklogPerWorker(m.MetricName):
		return func(f figures) float64 { return sum(f.backlog) / f.members }
	}
	return aws[m.Namespace+" "+m.MetricName]
}

// computed is what a step policy goes by in place of an expression, which is scale times as large: the two give the
// same at all points that are tried.
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
	queries := t.queries(s, p, list)
	program, err := metricmath.Compile(queries, metricmath.Options{Use: metricmath.ForAlarm})
	if err != nil {
		return not(list, strings.ReplaceAll(err.Error(), "\n", "; "))
	}
	read := map[string]func(figures) float64{}
	for _, q := range program.Metrics() {
		m := q.MetricStat.Metric
		if read[q.ID] = figureOf(m, s.QueueNames()); read[q.ID] == nil {
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
		scale, ok := sameAs(program, read, max(1, len(s.Queues)), c.of)
		if !ok {
			continue
		}
		by := ""
		if scale != 1 {
			by = render.Number(scale) + " times "
		}
		s.Remark("The expression of the alarm of %s is %s%s.", p.name, by, c.words)
		return c.metric, scale, true
	}
	return not(list, "it is none of backlog, total work, backlog per worker, oldest age and utilization")
}

// sameAs tells whether a program gives scale times what a function does, at points that nobody would choose.
func sameAs(
	program metricmath.Program, read map[string]func(figures) float64, queues int, of func(figures) float64,
) (scale float64, same bool) {
	const tries, periods = 12, 5
	start, state := time.Unix(0, 0).UTC(), uint64(1)
	draw := func(least, most uint64) float64 {
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
			for id, f := range read {
				rows[id] = append(rows[id], f(last))
			}
		}
		in := metricmath.Inputs{Series: map[string]metricmath.Series{}}
		for id, row := range rows {
			in.Series[id] = metricmath.Row(start, program.Period(), row...)
		}
		v, _ := program.Evaluate(in, start.Add(periods*program.Period()))
		got, want := v.Last(), of(last)
		if !got.Known || got.Value <= 0 {
			return 0, false
		}
		if try == 0 {
			scale = got.Value / want
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
