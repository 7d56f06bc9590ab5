package cloud

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/muster-scale/muster/awsrules/alarm"
	"github.com/muster-scale/muster/metricmath"
)

// MetricAlarm is an alarm as PutMetricAlarm takes and DescribeAlarms shows it.
type MetricAlarm struct {
	AlarmName          string
	AlarmArn           string
	AlarmDescription   string
	ActionsEnabled     *bool
	AlarmActions       []string
	ComparisonOperator alarm.Comparison
	Threshold          *float64
	EvaluationPeriods  *int
	DatapointsToAlarm  *int
	TreatMissingData   alarm.Treatment
	Metrics            []MetricQuery

	Namespace         string
	MetricName        string
	Dimensions        []Dimension
	Period            *int
	Statistic         string
	ExtendedStatistic string
	Unit              string

	StateValue            alarm.State
	StateReason           string
	StateUpdatedTimestamp time.Time
}

// AlarmNames is the input of DescribeAlarms and DeleteAlarms.
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

// metricAlarm is an alarm at work.
type metricAlarm struct {
	MetricAlarm
	program metricmath.Program
	since   time.Time // points of earlier periods count for nothing
	act     func()    // what it does while in ALARM
	acted   time.Time // when it last did, in its present state
	last    metricmath.Point
	gone    bool
}

// rule is what the alarm goes by.
func (a *metricAlarm) rule() alarm.Rule {
	return alarm.Rule{Comparison: a.ComparisonOperator, Threshold: or(a.Threshold, 0), Periods: *a.EvaluationPeriods,
		Datapoints: *a.DatapointsToAlarm, Missing: a.TreatMissingData}
}

// PutMetricAlarm makes an alarm or changes one; its state then begins as INSUFFICIENT_DATA.
func (w *CloudWatch) PutMetricAlarm(in MetricAlarm) (Nothing, error) {
	a, err := w.newAlarm(in)
	if err != nil {
		return Nothing{}, err
	}
	w.putAlarm(a)
	return Nothing{}, nil
}

// newAlarm checks an alarm.
func (w *CloudWatch) newAlarm(in MetricAlarm) (*metricAlarm, error) {
	in.TreatMissingData = cmp.Or(in.TreatMissingData, alarm.Missing)
	a := &metricAlarm{MetricAlarm: in}
	n, m := or(in.EvaluationPeriods, 0), or(in.DatapointsToAlarm, or(in.EvaluationPeriods, 0))
	a.EvaluationPeriods, a.DatapointsToAlarm, a.ActionsEnabled = &n, &m, ptr(or(in.ActionsEnabled, true))
	switch {
	case in.AlarmName == "" || len(in.AlarmName) > 255:
		return nil, fault("ValidationError", "AlarmName must have 1 to 255 characters.")
	case w.alarms[in.AlarmName] == nil && len(w.alarms) >= MaxAlarms:
		return nil, fault("LimitExceeded", "The model keeps at most %d alarms.", MaxAlarms)
	case in.Threshold == nil:
		return nil, fault("ValidationError", "An alarm needs a Threshold.")
	case len(in.AlarmActions) > 5:
		return nil, fault("ValidationError", "At most 5 alarm actions are allowed.")
	}
	if err := a.rule().Check(); err != nil {
		return nil, fault("ValidationError", "The alarm is none of the model's: %s.", err)
	}
	list := in.Metrics
	if len(list) == 0 {
		stat := cmp.Or(in.Statistic, in.ExtendedStatistic)
		list = []MetricQuery{{Id: "m1", MetricStat: &MetricStat{MetricName{in.Namespace, in.MetricName, in.Dimensions},
			ptr(or(in.Period, 60)), stat, in.Unit}, ReturnData: ptr(true)}}
	}
	for _, q := range list {
		if err := w.checkQuery(q, w.acc.Now()); err != nil {
			return nil, err
		}
		if m := q.MetricStat; m != nil && or(m.Period, 60) < 10 {
			return nil, fault("ValidationError", "The period of an alarm must be 10, 20, 30 or a multiple of 60 "+
				"seconds, got %d.", *m.Period)
		}
	}
	var err error
	if a.program, err = metricmath.Compile(queries(list),
		metricmath.Options{Use: metricmath.ForAlarm, StrictReturnData: true}); err != nil {
		return nil, fault("ValidationError", "Invalid metrics list: %s", firstLine(err))
	}
	if a.program.Period()*time.Duration(n) > 24*time.Hour {
		return nil, fault("ValidationError", "The period times EvaluationPeriods must not be above a day.")
	}
	return a, nil
}

// putAlarm sets an alarm to work, in place of one of the same name.
func (w *CloudWatch) putAlarm(a *metricAlarm) {
	if old := w.alarms[a.AlarmName]; old != nil {
		old.gone = true
	}
	a.AlarmArn = w.acc.arn("cloudwatch", "alarm:"+a.AlarmName)
	a.StateValue, a.StateReason = alarm.InsufficientData, "Unchecked: Initial alarm creation"
	a.StateUpdatedTimestamp = w.acc.Now()
	w.alarms[a.AlarmName] = a
	w.schedule(a)
}

// schedule plans the next evaluation.
func (w *CloudWatch) schedule(a *metricAlarm) {
	every := alarm.Every(a.program.Period())
	lag := cmp.Or(w.delays.Evaluate, time.Second)
	next := w.acc.Now().Add(-lag).Truncate(every).Add(every + lag)
	w.acc.at(next, func() {
		if !a.gone {
			w.evaluate(a)
			w.schedule(a)
		}
	})
}

// evaluate looks at the newest periods that are over.
func (w *CloudWatch) evaluate(a *metricAlarm) {
	period := a.program.Period()
	to := w.acc.Now().Truncate(period)
	from := to.Add(-time.Duration(a.rule().Range()) * period)
	if from.Before(a.since) {
		from = a.since.Add(period - 1).Truncate(period)
	}
	var points []metricmath.Point
	if from.Before(to) {
		value, _ := a.program.Evaluate(w.inputs(a.program, from, to), to)
		if len(value.Series) == 1 {
			points = value.Series[0].Points
		}
		if p, _ := value.Newest(); p.Known {
			a.last = p
		}
	}
	status := alarm.Status{State: a.StateValue, Acted: a.acted}
	if status.Evaluate(a.rule(), datapoints(a.rule(), points)) {
		a.StateReason = fmt.Sprintf("Threshold Crossed: from %s to %s; the newest point is %s, the threshold %v.",
			a.StateValue, status.State, a.last, *a.Threshold)
		a.StateValue, a.StateUpdatedTimestamp = status.State, w.acc.Now()
		w.acc.tell("aws.cloudwatch", "CloudWatch Alarm State Change", a.AlarmName, string(status.State))
	}
	acts := a.act != nil && *a.ActionsEnabled && status.Act(w.acc.Now())
	if a.acted = status.Acted; acts {
		a.act()
	}
}

// datapoints are points as they compare with the threshold.
func datapoints(r alarm.Rule, points []metricmath.Point) []alarm.Datapoint {
	out := make([]alarm.Datapoint, len(points))
	for k, p := range points {
		if p.Known {
			out[k] = r.Datapoint(p.Value)
		}
	}
	return out
}

// DescribeAlarms shows alarms in the order of their names.
func (w *CloudWatch) DescribeAlarms(in AlarmNames) (AlarmList, error) {
	n := or(in.MaxRecords, 50)
	if n < 1 || n > 100 {
		return AlarmList{}, fault("ValidationError", "MaxRecords %d must be from 1 to 100.", n)
	}
	var all []MetricAlarm
	for _, name := range sorted(w.alarms) {
		a := w.alarms[name]
		if (len(in.AlarmNames) == 0 || slices.Contains(in.AlarmNames, name)) &&
			strings.HasPrefix(name, in.AlarmNamePrefix) &&
			(in.StateValue == "" || in.StateValue == a.StateValue) {
			all = append(all, a.MetricAlarm)
		}
	}
	alarms, next, err := page(all, in.NextToken, n)
	return AlarmList{alarms, next}, err
}

// DeleteAlarms removes alarms: all or, if one is not there, none.
func (w *CloudWatch) DeleteAlarms(in AlarmNames) (Nothing, error) {
	for _, name := range in.AlarmNames {
		if w.alarms[name] == nil {
			return Nothing{}, &Fault{Code: "ResourceNotFound", Message: "The alarm " + name + " does not exist.",
				Status: 404}
		}
	}
	for _, name := range in.AlarmNames {
		w.dropAlarm(name)
	}
	return Nothing{}, nil
}

func (w *CloudWatch) dropAlarm(name string) {
	if a := w.alarms[name]; a != nil {
		a.gone = true
		delete(w.alarms, name)
	}
}
