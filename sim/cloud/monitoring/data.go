package monitoring

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/muster-scale/muster/metricmath"
	"github.com/muster-scale/muster/sim/cloud/account"
)

// This file has GetMetricData: plain queries are read, lists with expressions are compiled and evaluated.

// GetMetricData reads metrics and computes expressions over them. The model answers with one page and refuses a
// request that would need more, so that no test relies on a page that AWS would cut elsewhere.
func (w *CloudWatch) GetMetricData(in GetMetrics) (MetricResults, error) {
	switch n := account.Or(in.MaxDatapoints, maxDatapoints); {
	case len(in.MetricDataQueries) == 0 || len(in.MetricDataQueries) > maxQueries:
		return MetricResults{}, account.Refuse("ValidationError", "MetricDataQueries must have 1 to %d elements.",
			maxQueries)
	case !in.StartTime.Before(in.EndTime):
		return MetricResults{}, account.Refuse("ValidationError",
			"The parameter StartTime must be less than the parameter "+
				"EndTime.")
	case n < 1 || n > maxDatapoints:
		return MetricResults{}, account.Refuse("ValidationError", "MaxDatapoints must be from 1 to %d.", maxDatapoints)
	case in.NextToken != "":
		return MetricResults{}, account.Refuse("InvalidNextToken", "The model answers every request with one page.")
	}
	for _, q := range in.MetricDataQueries {
		if err := w.checkQuery(q, in.StartTime); err != nil {
			return MetricResults{}, err
		}
	}
	// The bound is checked before anything is read.
	if n := points(in); n > maxDatapoints {
		return MetricResults{}, account.Refuse("ValidationError",
			"The request is for up to %d points, more than the %d of "+
				"one page; the model has no other pages.", n, maxDatapoints)
	}
	var out MetricResults
	if !slices.ContainsFunc(in.MetricDataQueries, func(q MetricQuery) bool { return q.Expression != "" }) {
		for _, q := range in.MetricDataQueries {
			// Without expressions each query stands for itself, at its own period.
			if account.Or(q.ReturnData, true) {
				out.MetricDataResults = append(out.MetricDataResults, w.plain(q, in))
			}
		}
		return out, cut(out, in.MaxDatapoints)
	}
	// One expression is enough to compile the whole list, because it may refer to every query.
	answers, err := w.computed(in)
	if err != nil {
		return MetricResults{}, err
	}
	out.MetricDataResults = answers
	return out, cut(out, in.MaxDatapoints)
}

// points returns the largest number of points that a request can return for its metrics.
func points(in GetMetrics) int64 {
	n := int64(0)
	for _, q := range in.MetricDataQueries {
		if q.MetricStat != nil {
			// Two more, because both ends of the range are rounded outwards.
			n += int64(in.EndTime.Sub(in.StartTime)/(time.Duration(account.Or(q.MetricStat.Period,
				60))*time.Second)) + 2
		}
	}
	return n
}

// cut refuses an answer that has more points than the caller allows: the model has no second page.
func cut(out MetricResults, most *int) error {
	n := 0
	for _, r := range out.MetricDataResults {
		n += len(r.Values)
	}
	if n > account.Or(most, maxDatapoints) {
		return account.Refuse("ValidationError",
			"The answer has %d points, more than MaxDatapoints; the model has no pages "+
				"here.", n)
	}
	return nil
}

// checkQuery says what is wrong with a query that reads from start on; nil when nothing is. Expressions are checked
// when the list is compiled.
func (w *CloudWatch) checkQuery(q MetricQuery, start time.Time) error {
	switch {
	case (q.MetricStat == nil) == (q.Expression == ""):
		return account.Refuse("ValidationError", "The query %s must have either MetricStat or Expression.", q.Id)
	case q.MetricStat == nil:
		return nil
	case !goodStat(q.MetricStat.Stat):
		return badValue("The statistic '%s' of query %s is none of the model's: Average, Sum, Minimum, Maximum, "+
			"SampleCount and percentiles.", q.MetricStat.Stat, q.Id)
	}
	return w.checkPeriod(account.Or(q.MetricStat.Period, 60), start)
}

// plain answers a query of a metric without expressions.
func (w *CloudWatch) plain(q MetricQuery, in GetMetrics) MetricResult {
	period := time.Duration(account.Or(q.MetricStat.Period, 60)) * time.Second
	from, to := bounds(in, period)
	return result(q.Id, cmp.Or(q.Label, q.MetricStat.Metric.MetricName), w.read(*q.MetricStat, period, from, to),
		in.ScanBy)
}

// bounds returns the periods of a request: from the one in which it starts to the last one that starts before its
// end.
func bounds(in GetMetrics, period time.Duration) (from, to time.Time) {
	return in.StartTime.Truncate(period), in.EndTime.Add(period - 1).Truncate(period)
}

// computed answers a list with expressions. A query that gives several series, as SEARCH may, has a result for each.
func (w *CloudWatch) computed(in GetMetrics) ([]MetricResult, error) {
	program, err := metricmath.Compile(queries(in.MetricDataQueries),
		metricmath.Options{Use: metricmath.ForGraph, MixedPeriods: metricmath.OwnTimestamps})
	if err != nil {
		return nil, account.Refuse("ValidationError", "Error in expression: %s", firstLine(err))
	}
	from, to := bounds(in, program.Period())
	inputs := w.inputs(program, from, to)
	var out []MetricResult
	for _, a := range program.EvaluateAll(inputs, to) {
		label := a.ID
		if k := slices.IndexFunc(in.MetricDataQueries, func(q MetricQuery) bool { return q.Id == a.ID }); k >= 0 {
			// A series is labelled by its query; several series of one query by their own labels.
			label = cmp.Or(in.MetricDataQueries[k].Label, a.ID)
		}
		if len(a.Value.Series) == 0 {
			out = append(out, result(a.ID, label, metricmath.Series{}, in.ScanBy))
		}
		for _, s := range a.Value.Series {
			l := label
			if len(a.Value.Series) > 1 {
				l = cmp.Or(s.Label, label)
			}
			out = append(out, result(a.ID, l, s, in.ScanBy))
		}
	}
	return out, nil
}

// firstLine returns the first line of an error: the API answers in one line.
func firstLine(err error) string {
	line, _, _ := strings.Cut(err.Error(), "\n")
	return line
}

// inputs reads the metrics that a program needs, each at its own period or that of the program.
func (w *CloudWatch) inputs(p metricmath.Program, from, to time.Time) metricmath.Inputs {
	in := metricmath.Inputs{Series: map[string]metricmath.Series{}, Since: from}
	for _, q := range p.Metrics() {
		period := p.Period()
		if q.MetricStat.PeriodSeconds > 0 {
			period = time.Duration(q.MetricStat.PeriodSeconds) * time.Second
		}
		// Each metric is read at its own period, from the first of its periods that the program's range touches.
		s := w.read(fromMath(*q.MetricStat), period, from.Truncate(period), to.Truncate(period))
		s.Label = cmp.Or(q.Label, q.MetricStat.Metric.MetricName)
		in.Series[q.ID] = s
	}
	return in
}

// result returns a series as the API shows it: known points alone, newest first unless the caller wants otherwise.
func result(id, label string, s metricmath.Series, scan string) MetricResult {
	r := MetricResult{Id: id, Label: label, StatusCode: "Complete"}
	for k, p := range s.Points {
		if p.Known {
			r.Timestamps = append(r.Timestamps, s.Start.Add(time.Duration(k)*s.Period).UTC())
			r.Values = append(r.Values, p.Value)
		}
	}
	if scan != "TimestampAscending" {
		slices.Reverse(r.Timestamps)
		slices.Reverse(r.Values)
	}
	return r
}

// queries translates queries into the form of package metricmath.
func queries(all []MetricQuery) []metricmath.Query {
	out := make([]metricmath.Query, len(all))
	for k, q := range all {
		out[k] = metricmath.Query{ID: q.Id, Expression: q.Expression, Label: q.Label, ReturnData: q.ReturnData,
			PeriodSeconds: account.Or(q.Period, 0)}
		if m := q.MetricStat; m != nil {
			s := &metricmath.MetricStat{PeriodSeconds: account.Or(m.Period, 0), Stat: m.Stat, Unit: m.Unit}
			s.Metric = metricmath.Metric{Namespace: m.Metric.Namespace, MetricName: m.Metric.MetricName}
			for _, d := range m.Metric.Dimensions {
				s.Metric.Dimensions = append(s.Metric.Dimensions, metricmath.Dimension(d))
			}
			out[k].MetricStat = s
			out[k].PeriodSeconds = 0
		}
	}
	return out
}

// fromMath translates a metric back from the form of package metricmath.
func fromMath(m metricmath.MetricStat) MetricStat {
	out := MetricStat{Metric: MetricName{Namespace: m.Metric.Namespace, MetricName: m.Metric.MetricName}, Stat: m.Stat,
		Unit: m.Unit}
	for _, d := range m.Metric.Dimensions {
		out.Metric.Dimensions = append(out.Metric.Dimensions, Dimension(d))
	}
	return out
}
