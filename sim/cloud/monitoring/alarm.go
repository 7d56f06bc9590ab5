package monitoring

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/muster-scale/muster/awsrules/alarm"
	"github.com/muster-scale/muster/metricmath"
	"github.com/muster-scale/muster/sim/cloud/account"
)

// This file has alarms: their definition as the API takes it, their checks, and their evaluation after each period.

// MetricAlarm is an alarm as PutMetricAlarm takes and DescribeAlarms shows it. It is over one metric, or over the
// queries in Metrics, of which one returns data.
type MetricAlarm struct {
	AlarmName        string
	AlarmArn         string
	AlarmDescription string
	ActionsEnabled   *bool
	// AlarmActions are kept and shown; only what OnAlarm sets is run.
	AlarmActions       []string
	ComparisonOperator alarm.Comparison
	Threshold          *float64
	// DatapointsToAlarm of the last EvaluationPeriods periods must cross the threshold; absent, all of them must.
	EvaluationPeriods *int
	DatapointsToAlarm *int
	TreatMissingData  alarm.Treatment
	Metrics           []MetricQuery

	Namespace  string
	MetricName string
	Dimensions []Dimension
	// Period is in seconds, 60 when absent. A metric has either a Statistic or an ExtendedStatistic such as p99.
	Period            *int
	Statistic         string
	ExtendedStatistic string
	Unit              string

	StateValue            alarm.State
	StateReason           string
	StateUpdatedTimestamp time.Time
}

// AlarmNames is the input of DescribeAlarms and DeleteAlarms. DeleteAlarms reads the names alone.
type AlarmNames struct {
	AlarmNames      []string
	AlarmNamePrefix string
	StateValue      alarm.State
	MaxRecords      *int
	NextToken       string
}

// AlarmList is the answer of DescribeAlarms.
type AlarmList struct {
	MetricAlarms []MetricAlarm
	NextToken    string
}

// Alarm is an alarm that is evaluated. NewAlarm makes it, PutAlarm starts it.
type Alarm struct {
	MetricAlarm
	program metricmath.Program
	since   time.Time        // points of earlier periods are ignored
	act     func()           // runs while the state is ALARM; nil for nothing
	acted   time.Time        // when act last ran in this state
	last    metricmath.Point // the newest known point that was evaluated
	gone    bool             // deleted or replaced; its schedule ends
}

// rule returns the alarm in the form of package awsrules/alarm.
func (a *Alarm) rule() alarm.Rule {
	return alarm.Rule{Comparison: a.ComparisonOperator, Threshold: account.Or(a.Threshold, 0),
		Periods:    *a.EvaluationPeriods,
		Datapoints: *a.DatapointsToAlarm, Missing: a.TreatMissingData}
}

// OnAlarm sets what runs when the alarm enters ALARM, and again every minute while it stays there, as scaling actions
// do.
func (a *Alarm) OnAlarm(act func()) { a.act = act }

// Begin makes the alarm ignore points from before an instant.
func (a *Alarm) Begin(at time.Time) { a.since = at }

// Newest returns the newest value that the alarm has evaluated; nil for none.
func (a *Alarm) Newest() *float64 {
	if !a.last.Known {
		return nil
	}
	return &a.last.Value
}

// PutMetricAlarm creates or replaces an alarm. Its state is INSUFFICIENT_DATA until the first evaluation.
func (w *CloudWatch) PutMetricAlarm(in MetricAlarm) (account.Nothing, error) {
	a, err := w.NewAlarm(in)
	if err != nil {
		return account.Nothing{}, err
	}
	w.PutAlarm(a)
	return account.Nothing{}, nil
}

// NewAlarm checks an alarm and returns it without starting it. The caller may set its action and its name before
// PutAlarm.
func (w *CloudWatch) NewAlarm(in MetricAlarm) (*Alarm, error) {
	in.TreatMissingData = cmp.Or(in.TreatMissingData, alarm.Missing)
	a := &Alarm{MetricAlarm: in}
	// The defaults are filled in before the check, so that DescribeAlarms shows them.
	n, m := account.Or(in.EvaluationPeriods, 0), account.Or(in.DatapointsToAlarm, account.Or(in.EvaluationPeriods, 0))
	a.EvaluationPeriods, a.DatapointsToAlarm, a.ActionsEnabled = &n, &m, account.Ptr(account.Or(in.ActionsEnabled,
		true))
	switch {
	case in.AlarmName == "" || len(in.AlarmName) > 255:
		return nil, account.Refuse("ValidationError", "AlarmName must have 1 to 255 characters.")
	case w.alarms[in.AlarmName] == nil && len(w.alarms) >= MaxAlarms:
		return nil, account.Refuse("LimitExceeded", "The model keeps at most %d alarms.", MaxAlarms)
	case in.Threshold == nil:
		return nil, account.Refuse("ValidationError", "An alarm needs a Threshold.")
	case len(in.AlarmActions) > 5:
		return nil, account.Refuse("ValidationError", "At most 5 alarm actions are allowed.")
	}
	if err := a.rule().Check(); err != nil {
		return nil, account.Refuse("ValidationError", "The alarm is none of the model's: %s.", err)
	}
	// An alarm over one metric is the same as a list with one query.
	list := in.Metrics
	if len(list) == 0 {
		stat := cmp.Or(in.Statistic, in.ExtendedStatistic)
		list = []MetricQuery{{Id: "m1", MetricStat: &MetricStat{MetricName{in.Namespace, in.MetricName, in.Dimensions},
			account.Ptr(account.Or(in.Period, 60)), stat, in.Unit}, ReturnData: account.Ptr(true)}}
	}
	for _, q := range list {
		if err := w.checkQuery(q, w.acc.Now()); err != nil {
			return nil, err
		}
		if m := q.MetricStat; m != nil && account.Or(m.Period, 60) < 10 {
			return nil, account.Refuse("ValidationError",
				"The period of an alarm must be 10, 20, 30 or a multiple of 60 "+
					"seconds, got %d.", *m.Period)
		}
	}
	var err error
	if a.program, err = metricmath.Compile(queries(list),
		metricmath.Options{Use: metricmath.ForAlarm, StrictReturnData: true}); err != nil {
		return nil, account.Refuse("ValidationError", "Invalid metrics list: %s", firstLine(err))
	}
	// AWS bounds what an alarm looks back at to one day.
	if a.program.Period()*time.Duration(n) > 24*time.Hour {
		return nil, account.Refuse("ValidationError", "The period times EvaluationPeriods must not be above a day.")
	}
	return a, nil
}

// PutAlarm starts an alarm, in place of one with the same name.
func (w *CloudWatch) PutAlarm(a *Alarm) {
	// The schedule of the former alarm ends at its next turn.
	if old := w.alarms[a.AlarmName]; old != nil {
		old.gone = true
	}
	// A replaced alarm begins anew, whatever its state was.
	a.AlarmArn = w.acc.ARN("cloudwatch", "alarm:"+a.AlarmName)
	a.StateValue, a.StateReason = alarm.InsufficientData, "Unchecked: Initial alarm creation"
	a.StateUpdatedTimestamp = w.acc.Now()
	w.alarms[a.AlarmName] = a
	w.schedule(a)
}

// schedule schedules the next evaluation: every ten seconds for periods under a minute, otherwise every minute. It
// waits a little after the full interval, so that the points of the period have arrived.
func (w *CloudWatch) schedule(a *Alarm) {
	every := alarm.Every(a.program.Period())
	lag := cmp.Or(w.delays.Evaluate, time.Second)
	// The grid of evaluations is that of whole intervals plus the lag, whenever the alarm was made.
	next := w.acc.Now().Add(-lag).Truncate(every).Add(every + lag)
	w.acc.At(next, func() {
		if !a.gone {
			w.evaluate(a)
			w.schedule(a)
		}
	})
}

// evaluate reads the newest periods that have ended, lets the rule decide on the state, and runs the action.
func (w *CloudWatch) evaluate(a *Alarm) {
	period := a.program.Period()
	to := w.acc.Now().Truncate(period)
	from := to.Add(-time.Duration(a.rule().Range()) * period)
	// Begin cuts off the periods that started before it.
	if from.Before(a.since) {
		from = a.since.Add(period - 1).Truncate(period)
	}
	var points []metricmath.Point
	if from.Before(to) {
		value, _ := a.program.Evaluate(w.inputs(a.program, from, to), to)
		// An expression may give several series, which no alarm can compare: its points are then missing.
		if len(value.Series) == 1 {
			points = value.Series[0].Points
		}
		if p, _ := value.Newest(); p.Known {
			a.last = p
		}
	}
	// The rule's status is rebuilt from the alarm's members, which the API shows.
	status := alarm.Status{State: a.StateValue, Acted: a.acted}
	if status.Evaluate(a.rule(), datapoints(a.rule(), points)) {
		a.StateReason = fmt.Sprintf("Threshold Crossed: from %s to %s; the newest point is %s, the threshold %v.",
			a.StateValue, status.State, a.last, *a.Threshold)
		a.StateValue, a.StateUpdatedTimestamp = status.State, w.acc.Now()
		w.acc.Tell("aws.cloudwatch", "CloudWatch Alarm State Change", a.AlarmName, string(status.State))
	}
	// The action runs last: it may change what the alarm is about, or delete the alarm.
	acts := a.act != nil && *a.ActionsEnabled && status.Act(w.acc.Now())
	if a.acted = status.Acted; acts {
		a.act()
	}
}

// datapoints compares points with the threshold; unknown points are missing data.
func datapoints(r alarm.Rule, points []metricmath.Point) []alarm.Datapoint {
	out := make([]alarm.Datapoint, len(points))
	for k, p := range points {
		if p.Known {
			out[k] = r.Datapoint(p.Value)
		}
	}
	return out
}

// DescribeAlarms returns alarms in pages, in the order of their names.
func (w *CloudWatch) DescribeAlarms(in AlarmNames) (AlarmList, error) {
	n := account.Or(in.MaxRecords, 50)
	if n < 1 || n > 100 {
		return AlarmList{}, account.Refuse("ValidationError", "MaxRecords %d must be from 1 to 100.", n)
	}
	var all []MetricAlarm
	for _, name := range account.Sorted(w.alarms) {
		a := w.alarms[name]
		if (len(in.AlarmNames) == 0 || slices.Contains(in.AlarmNames, name)) &&
			strings.HasPrefix(name, in.AlarmNamePrefix) &&
			(in.StateValue == "" || in.StateValue == a.StateValue) {
			all = append(all, a.MetricAlarm)
		}
	}
	alarms, next, err := account.Page(all, in.NextToken, n)
	return AlarmList{alarms, next}, err
}

// DeleteAlarms deletes alarms. When one of them does not exist, none is deleted.
func (w *CloudWatch) DeleteAlarms(in AlarmNames) (account.Nothing, error) {
	for _, name := range in.AlarmNames {
		if w.alarms[name] == nil {
			return account.Nothing{}, &account.Fault{Code: "ResourceNotFound", Message: "The alarm " + name +
				" does not exist.",
				Status: 404}
		}
	}
	for _, name := range in.AlarmNames {
		w.DropAlarm(name)
	}
	return account.Nothing{}, nil
}

// DropAlarm deletes an alarm, if it exists.
func (w *CloudWatch) DropAlarm(name string) {
	if a := w.alarms[name]; a != nil {
		a.gone = true
		delete(w.alarms, name)
	}
}
