package policy

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/muster-scale/muster"
	"github.com/muster-scale/muster/internal/render"
	"github.com/muster-scale/muster/metricmath"
	"github.com/muster-scale/muster/metricmath/language"
	"github.com/muster-scale/muster/metrics"
	"github.com/muster-scale/muster/policy/internal/rules"
)

// metricMath is the name of [MetricMath].
const metricMath = "metric-math"

// Bounds of a list of metric-math.
const (
	// MaxQueries bounds the entries of a list. MaxRead bounds those of them that are metrics: an alarm of AWS accepts
	// as many.
	MaxQueries = 30
	MaxRead    = 10
)

// maxLatePeriods is how many periods a metric of another system may be late. After that, missing points count as
// missing.
const maxLatePeriods = 3

// MetricMath keeps the value of an expression at a target: target tracking on any expression of CloudWatch's metric
// math.
//
//	desired = ceil(in service value / target)
//
// so many workers share what the members in service have now. The size rises at once. It falls only while every metric
// behind the value is known: FILL may turn a metric without any point into a value, and such a value may launch workers
// but stops none.
//
// Sources: EC2 Auto Scaling user guide, "Target tracking scaling policies" and "Create a target tracking scaling policy
// using metric math"; AWS Compute Blog, "Enhancing auto scaling resilience by tracking worker utilization metrics".
type MetricMath struct {
	// Target is above zero.
	Target float64
	// program computes every entry of the list. id is the entry to keep at the target, index its place in the list, and
	// text its expression.
	program  metricmath.Program
	id, text string
	index    int
}

// newMetricMath builds the policy from a checked list. All entries are returned by the program, so that the decision
// can show each value.
func newMetricMath(target float64, queries []metricmath.Query) (MetricMath, error) {
	p := MetricMath{Target: target}
	program, err := metricmath.Compile(queries, metricmath.Options{})
	if err != nil {
		return p, err
	}
	p.id = program.Returned()[0]
	shown := slices.Clone(queries)
	for i := range shown {
		shown[i].ReturnData = new(true)
		if shown[i].ID == p.id {
			p.index, p.text = i, shown[i].Expression
		}
	}
	p.program, err = metricmath.Compile(shown, metricmath.Options{Use: metricmath.ForGraph})
	return p, err
}

// buildMetricMath builds the policy from a checked Spec. From an unchecked one it may build a policy that always holds.
func buildMetricMath(s Spec) muster.Policy {
	p, err := newMetricMath(s.Target, s.Queries)
	if err != nil {
		return MetricMath{}
	}
	return p
}

// Decide implements [muster.Policy].
func (p MetricMath) Decide(o muster.Observation, _ muster.Recent) muster.Decision {
	d := rules.Begin(o, metricMath+"/2")
	if !o.Capacity.Known {
		return d.Held(muster.UnknownCapacity, muster.Term{Rule: metricMath, Why: "the fleet could not be listed: " +
			o.Capacity.Reason})
	}
	r := p.read(o)
	answers := p.program.EvaluateAll(r.in, r.at)
	if len(answers) <= p.index {
		return d.Held(muster.UnknownMetric, muster.Term{Rule: metricMath, Why: "the list of metrics is empty"})
	}
	in := p.values(answers)
	metric, why := p.value(answers[p.index], r)
	if why != "" {
		return d.Held(muster.UnknownMetric, muster.Term{Rule: metricMath, In: in, Why: why + r.unknownText()})
	}
	serving := o.Capacity.InService()
	n := max(0, rules.Ceil(float64(serving)*(metric.Value/p.Target)))
	why = fmt.Sprintf("%s is %s, the target %s: %d in service x %s / %s, so %s", p.id, render.Number(metric.Value),
		render.Number(p.Target),
		serving, render.Number(metric.Value), render.Number(p.Target), render.Plural(n, "worker"))
	if serving == 0 {
		n, why = 0, fmt.Sprintf("%s is %s and no member is in service, so no worker", p.id, render.Number(metric.Value))
		if metric.Value > 0 {
			// A multiple of zero is zero, so the rule cannot leave it. More members follow once one is in service.
			n = max(1, d.Previous)
			why = fmt.Sprintf("%s is %s and no member is in service, so at least 1 worker", p.id,
				render.Number(metric.Value))
		}
	}
	if p.text != "" {
		why += "; " + p.id + " = " + shortened(p.text)
	}
	why += rules.Retries(o)
	in = append(in, rules.Value("target", p.Target), rules.Value("in_service", float64(serving)))
	doubt := p.doubt(answers[p.index], metric, r)
	if doubt != "" && n < d.Previous {
		return d.With(muster.Term{Rule: metricMath, In: in, Out: n, Why: why}).Held(muster.UnknownMetric,
			muster.Term{Rule: "caution", Why: "no decrease: " + doubt})
	}
	if d.Floor = n; doubt != "" {
		d.Floor = max(n, d.Previous)
	}
	return d.With(muster.Term{Rule: metricMath, In: in, Out: n, Why: why})
}

// reading is the input of one computation.
type reading struct {
	in metricmath.Inputs
	// at is the end of the last period that counts.
	at time.Time
	// unknown says which metrics are unknown now, and why, in the order of the list.
	unknown []string
}

// unknownText returns the unknown metrics as a text in parentheses; "" if all are known.
func (r reading) unknownText() string {
	if len(r.unknown) == 0 {
		return ""
	}
	return " (" + strings.Join(r.unknown, "; ") + ")"
}

// read returns the series of the list's metrics.
//
// If all of them are own metrics, the period that has just begun counts. Otherwise the last period counts of which
// every metric of another system has its point. A metric that is more than maxLatePeriods late does not delay the
// others.
func (p MetricMath) read(o muster.Observation) reading {
	period := int(p.program.Period() / time.Second)
	open := metrics.PeriodAt(o.At, period)
	r := reading{in: metricmath.Inputs{Series: map[string]metricmath.Series{}}, at: open.Add(p.program.Period())}
	queues := make([]string, len(o.Queues))
	for i, q := range o.Queues {
		queues[i] = q.Queue
	}
	late, external := time.Duration(0), false
	now := map[string]muster.Sample{}
	for _, entry := range p.program.Metrics() {
		q := queryOf(*entry.MetricStat)
		s, _ := o.Metric(q.Key())
		own, is := ownMetric(q, o.Fleet, queues)
		if is {
			seen := own.read(o)
			if !seen.Known {
				r.unknown = append(r.unknown, entry.ID+": "+own.description+" is "+seen.String())
			}
			if q.Stat == "SampleCount" {
				seen.Value = 1
			}
			now[entry.ID] = seen
			r.in.Series[entry.ID] = fullSeries(s, open, period, q.Stat == "SampleCount")
			continue
		}
		external = true
		if !s.Known {
			r.unknown = append(r.unknown, entry.ID+" was not read"+rules.Because(s.Reason))
			continue
		}
		r.in.Series[entry.ID] = fullSeries(s, open, period, false)
		if k := len(s.Points); k > 0 {
			end := s.Start.Add(time.Duration(s.Points[k-1].N+1) * p.program.Period())
			if lag := open.Sub(end); lag <= maxLatePeriods*p.program.Period() {
				late = max(late, lag)
			}
		}
	}
	if external {
		r.at = open.Add(-late)
	}
	for id, seen := range now {
		// The formula multiplies by the present size, so present own values belong in the newest period that counts.
		if s := r.in.Series[id]; seen.Known {
			s.Points[int(r.at.Sub(s.Start)/s.Period)-1] = metricmath.Known(seen.Value)
		}
	}
	r.in.Since = r.at.Add(-metrics.MaxPoints * p.program.Period())
	return r
}

// fullSeries returns a remembered series with a place for each period up to the one that has just begun. With ones set
// each point counts as 1: an own metric counts as one sample a period.
func fullSeries(s metrics.Series, open time.Time, seconds int, ones bool) metricmath.Series {
	period := time.Duration(seconds) * time.Second
	out := metricmath.Series{Start: open.Add(-(metrics.MaxPoints - 1) * period), Period: period,
		Points: make([]metricmath.Point, metrics.MaxPoints)}
	put := func(at time.Time, v float64) {
		if i := int64(at.Sub(out.Start) / period); !at.Before(out.Start) && i < int64(len(out.Points)) {
			if ones {
				v = 1
			}
			out.Points[i] = metricmath.Known(v)
		}
	}
	if s.PeriodSeconds == seconds {
		for _, x := range s.Points {
			put(s.Start.Add(time.Duration(x.N)*period), x.Value)
		}
	}
	return out
}

// value returns the newest value, or a text that says why there is none that is new enough.
func (p MetricMath) value(a metricmath.Answer, r reading) (metricmath.Point, string) {
	if a.Reason != "" {
		return metricmath.Point{}, a.Reason
	}
	point, start := a.Value.Newest()
	if age := r.at.Sub(start) - p.program.Period(); age > maxLatePeriods*p.program.Period() {
		return metricmath.Point{}, fmt.Sprintf("%s has had no value for %s", p.id, render.Seconds(age.Seconds()))
	}
	return point, ""
}

// doubt says why the value justifies no fall; "" if it does.
func (p MetricMath) doubt(a metricmath.Answer, point metricmath.Point, r reading) string {
	switch {
	case len(r.unknown) > 0:
		return strings.Join(r.unknown, "; ")
	case len(a.Value.Silent) > 0:
		return "nothing was published for " + strings.Join(a.Value.Silent, ", ") + " within " +
			render.Seconds((metrics.MaxPoints * p.program.Period()).Seconds()) + ", and unknown is not zero"
	case a.Value.Last() != point:
		return p.id + " has no value for the newest period"
	}
	return ""
}

// values returns the newest values of all entries that have one, for the decision's term.
func (p MetricMath) values(answers []metricmath.Answer) (in []muster.Value) {
	for _, a := range answers {
		if point, _ := a.Value.Newest(); a.Reason == "" && point.Known {
			in = append(in, rules.Value(a.ID, point.Value))
		}
	}
	return in
}

// shortened returns an expression in one line, of at most 160 characters.
func shortened(text string) string {
	text = strings.Join(strings.Fields(text), " ")
	if r := []rune(text); len(r) > 160 {
		return string(r[:160]) + "..."
	}
	return text
}

// checkMetricMath returns the faults of a list, each with its position.
func checkMetricMath(s Spec) []error {
	var faults []error
	if !(s.Target > 0) || math.IsInf(s.Target, 0) {
		found := render.Number(s.Target)
		if s.Target == 0 {
			found = "nothing"
		}
		faults = append(faults, &Fault{"policy.target", found, "a number above 0: the value that the expression " +
			"shall have"})
	}
	read := 0
	for _, q := range s.Queries {
		if q.MetricStat != nil {
			read++
		}
	}
	switch n := len(s.Queries); {
	case n == 0:
		return append(faults, &Fault{"policy.Metrics", "nothing", "a list of metrics and expressions, as AWS takes " +
			"it in CustomizedMetricSpecification"})
	case n > MaxQueries || read > MaxRead:
		return append(faults, &Fault{"policy.Metrics", fmt.Sprintf("%d entries, %d of them metrics", n, read),
			fmt.Sprintf("at most %d, and %d metrics", MaxQueries, MaxRead)})
	}
	_, err := metricmath.Compile(s.Queries, metricmath.Options{})
	return append(faults, listFaults(s.Queries, err)...)
}

// listFaults converts the errors of compiling a list to faults with positions.
func listFaults(queries []metricmath.Query, err error) (faults []error) {
	if err == nil {
		return nil
	}
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		for _, one := range joined.Unwrap() {
			faults = append(faults, listFaults(queries, one)...)
		}
		return faults
	}
	f := &Fault{"policy.Metrics", err.Error(), "a list that can be computed"}
	e, ok := errors.AsType[*language.Error](err)
	if !ok {
		return []error{f}
	}
	f.Found, f.Allowed = e.Found, cmp.Or(e.Expected, "a list that can be computed")
	if e.Fix != "" {
		f.Allowed += "; " + e.Fix
	}
	for i, q := range queries {
		if q.ID == e.Query || e.Query == fmt.Sprintf("query %d", i+1) {
			f.Field = fmt.Sprintf("policy.Metrics[%d]", i)
			if e.Line > 0 {
				f.Field += ".Expression"
				f.Found = fmt.Sprintf("at character %d %s", e.Column, e.Found)
				if e.Line > 1 {
					f.Found = fmt.Sprintf("in line %d at character %d %s", e.Line, e.Column, e.Found)
				}
			}
			break
		}
	}
	return []error{f}
}

// Remark is a note about a valid policy that may not do what its author expects.
type Remark struct {
	// Field is the parameter as in [Fault]. Text has one or two sentences.
	Field, Text string
}

// Remarks returns the remarks about a policy for a fleet that serves the queues of the given names.
func (s Spec) Remarks(fleet string, queues []string) (remarks []Remark) {
	if s.Name != metricMath {
		return nil
	}
	program, err := metricmath.Compile(s.Queries, metricmath.Options{})
	if err != nil {
		return nil // those are faults
	}
	places := map[string]int{}
	for i, q := range s.Queries {
		places[q.ID] = i
	}
	for _, n := range program.Notes() {
		r := Remark{"policy.Metrics", n.Text}
		if at, ok := places[n.Query]; ok {
			r.Field = fmt.Sprintf("policy.Metrics[%d]", at)
			if strings.HasPrefix(n.Text, "Sum ") {
				r.Field += ".MetricStat.Stat"
				if _, own := ownMetric(queryOf(*s.Queries[at].MetricStat), fleet, queues); own {
					r.Text += " That goes for CloudWatch: here " + n.Query + " counts as published once a period."
				}
			}
		}
		remarks = append(remarks, r)
	}
	for _, q := range program.Metrics() {
		r := Remark{fmt.Sprintf("policy.Metrics[%d].MetricStat", places[q.ID]), q.ID + " is read from CloudWatch; " +
			"where it cannot be read the size is held."}
		if o, own := ownMetric(queryOf(*q.MetricStat), fleet, queues); own {
			r.Text = q.ID + " is " + o.description + ", as seen here; nothing is read from CloudWatch."
		}
		remarks = append(remarks, r)
	}
	return remarks
}
