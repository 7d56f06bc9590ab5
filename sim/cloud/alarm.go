package cloud

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/muster-scale/muster/metricmath"
)

// The states of an alarm.
const (
	AlarmOK           = "OK"
	AlarmAlarm        = "ALARM"
	AlarmInsufficient = "INSUFFICIENT_DATA"
)

// MetricAlarm is an alarm as PutMetricAlarm takes and DescribeAlarms shows it.
type MetricAlarm struct {
	AlarmName          string
	AlarmArn           string
	AlarmDescription   string
	ActionsEnabled     *bool
	AlarmActions       []string
	ComparisonOperator string
	Threshold          *float64
	EvaluationPeriods  *int
	DatapointsToAlarm  *int
	TreatMissingData   string
	Metrics            []MetricQuery

	Namespace         string
	MetricName        string
	Dimensions        []Dimension
	Period            *int
	Statistic         string
	ExtendedStatistic string
	Unit              string

	StateValue            string
	StateReason           string
	StateUpdatedTimestamp time.Time
}

// AlarmNames is the input of DescribeAlarms and DeleteAlarms.
type AlarmNames struct {
	AlarmNames      []string
	AlarmNamePrefix string
	StateValue      string
	MaxRecords      *int
	NextToken       string
}

// AlarmList is the answer of DescribeAlarms.
type AlarmList struct {
	MetricAlarms []MetricAlarm
	NextToken    string
}

// alarm is an alarm at work.
type alarm struct {
	MetricAlarm
	program metricmath.Program
	since   time.Time // points of earlier periods count for nothing
	act     func()    // what it does while in ALARM
	acted   time.Time
	last    metricmath.Point
	gone    bool
}

// reserve is how many periods more than it needs an alarm fetches, to use older points before it fills anything in.
const reserve = 2

// PutMetricAlarm makes an alarm or changes one; its state then begins as INSUFFICIENT_DATA.
func (c CloudWatch) PutMetricAlarm(in MetricAlarm) (Nothing, error) {
	a, err := c.w.newAlarm(in)
	if err != nil {
		return Nothing{}, err
	}
	c.w.putAlarm(a)
	return Nothing{}, nil
}

// newAlarm checks an alarm.
func (w *World) newAlarm(in MetricAlarm) (*alarm, error) {
	in.TreatMissingData = cmp.Or(in.TreatMissingData, "missing")
	a := &alarm{MetricAlarm: in}
	n, m := or(in.EvaluationPeriods, 0), or(in.DatapointsToAlarm, or(in.EvaluationPeriods, 0))
	a.EvaluationPeriods, a.DatapointsToAlarm, a.ActionsEnabled = &n, &m, ptr(or(in.ActionsEnabled, true))
	switch {
	case in.AlarmName == "" || len(in.AlarmName) > 255:
		return nil, fault("ValidationError", "AlarmName must have 1 to 255 characters.")
	case w.alarms[in.AlarmName] == nil && len(w.alarms) >= MaxAlarms:
		return nil, fault("LimitExceeded", "The model keeps at most %d alarms.", MaxAlarms)
	case in.Threshold == nil || n < 1 || m < 1 || m > n:
		return nil, fault("ValidationError", "An alarm needs Threshold, EvaluationPeriods of 1 at least, and no more "+
			"DatapointsToAlarm.")
	case len(in.AlarmActions) > 5:
		return nil, fault("ValidationError", "At most 5 alarm actions are allowed.")
	case !slices.Contains([]string{"GreaterThanThreshold", "GreaterThanOrEqualToThreshold", "LessThanThreshold",
		"LessThanOrEqualToThreshold"}, in.ComparisonOperator):
		return nil, fault("ValidationError", "The comparison operator '%s' is none of the model's.",
			in.ComparisonOperator)
	case !slices.Contains([]string{"missing", "ignore", "breaching", "notBreaching"}, in.TreatMissingData):
		return nil, fault("ValidationError",
			"TreatMissingData '%s' must be missing, ignore, breaching or notBreaching.", in.TreatMissingData)
	}
	list := in.Metrics
	if len(list) == 0 {
		stat := cmp.Or(in.Statistic, in.ExtendedStatistic)
		list = []MetricQuery{{Id: "m1", MetricStat: &MetricStat{MetricName{in.Namespace, in.MetricName, in.Dimensions},
			ptr(or(in.Period, 60)), stat, in.Unit}, ReturnData: ptr(true)}}
	}
	for _, q := range list {
		if err := w.checkQuery(q, w.now); err != nil {
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
func (w *World) putAlarm(a *alarm) {
	if old := w.alarms[a.AlarmName]; old != nil {
		old.gone = true
	}
	a.AlarmArn = w.arn("cloudwatch", "alarm:"+a.AlarmName)
	a.StateValue, a.StateReason, a.StateUpdatedTimestamp = AlarmInsufficient, "Unchecked: Initial alarm creation", w.now
	w.alarms[a.AlarmName] = a
	w.schedule(a)
}

// schedule plans the next evaluation: every minute, every ten seconds for short periods.
func (w *World) schedule(a *alarm) {
	every := time.Minute
	if a.program.Period() < time.Minute {
		every = 10 * time.Second
	}
	lag := cmp.Or(w.settings.Metrics.Evaluate, time.Second)
	next := w.now.Add(-lag).Truncate(every).Add(every + lag)
	w.at(next, func() {
		if !a.gone {
			w.evaluate(a)
			w.schedule(a)
		}
	})
}

// evaluate looks at the newest periods that are over.
func (w *World) evaluate(a *alarm) {
	period := a.program.Period()
	to := w.now.Truncate(period)
	from := to.Add(-time.Duration(*a.EvaluationPeriods+reserve) * period)
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
	if state := a.judge(points); state != a.StateValue {
		a.StateReason = fmt.Sprintf("Threshold Crossed: from %s to %s; the newest point is %s, the threshold %v.",
			a.StateValue, state, a.last, *a.Threshold)
		a.StateValue, a.StateUpdatedTimestamp = state, w.now
		a.acted = time.Time{}
		w.tell("aws.cloudwatch", "CloudWatch Alarm State Change", a.AlarmName, state)
	}
	// Actions of autoscalers repeat once a minute while the alarm lasts.
	if a.StateValue == AlarmAlarm && a.act != nil && *a.ActionsEnabled &&
		(a.acted.IsZero() || !w.now.Before(a.acted.Add(time.Minute))) {
		a.acted = w.now
		a.act()
	}
}

func (a *alarm) breaches(v float64) bool {
	switch a.ComparisonOperator {
	case "GreaterThanThreshold":
		return v > *a.Threshold
	case "GreaterThanOrEqualToThreshold":
		return v >= *a.Threshold
	case "LessThanThreshold":
		return v < *a.Threshold
	}
	return v <= *a.Threshold
}

// judge is the state that follows from the points of the evaluation range, oldest first. Where enough points exist the
// newest of them decide. Otherwise missing ones are filled in as the alarm says; with "missing" a breach counts only
// when the oldest breach is as old as the alarm wants, so that no alarm is premature.
func (a *alarm) judge(points []metricmath.Point) string {
	need, enough := *a.EvaluationPeriods, *a.DatapointsToAlarm
	var existing []int // places of known points, oldest first
	for k, p := range points {
		if p.Known {
			existing = append(existing, k)
		}
	}
	if len(existing) == 0 {
		return map[string]string{"missing": AlarmInsufficient, "ignore": a.StateValue, "breaching": AlarmAlarm,
			"notBreaching": AlarmOK}[a.TreatMissingData]
	}
	if len(existing) > need {
		existing = existing[len(existing)-need:]
	}
	breaching := 0
	for _, k := range existing {
		if a.breaches(points[k].Value) {
			breaching++
		}
	}
	filled := need - len(existing)
	fine := len(existing) - breaching
	switch {
	case breaching >= enough || a.TreatMissingData == "breaching" && breaching+filled >= enough:
		return AlarmAlarm
	case filled == 0 || fine > need-enough || a.TreatMissingData == "notBreaching" || a.TreatMissingData == "breaching":
		return AlarmOK
	case a.TreatMissingData == "ignore":
		return a.StateValue
	case fine > 0:
		return AlarmOK
	case len(points)-existing[0] >= enough:
		return AlarmAlarm
	}
	return a.StateValue
}

// DescribeAlarms shows alarms in the order of their names.
func (c CloudWatch) DescribeAlarms(in AlarmNames) (AlarmList, error) {
	n := or(in.MaxRecords, 50)
	if n < 1 || n > 100 {
		return AlarmList{}, fault("ValidationError", "MaxRecords %d must be from 1 to 100.", n)
	}
	var all []MetricAlarm
	for _, name := range sorted(c.w.alarms) {
		a := c.w.alarms[name]
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
func (c CloudWatch) DeleteAlarms(in AlarmNames) (Nothing, error) {
	for _, name := range in.AlarmNames {
		if c.w.alarms[name] == nil {
			return Nothing{}, &Fault{Code: "ResourceNotFound", Message: "The alarm " + name + " does not exist.",
				Status: 404}
		}
	}
	for _, name := range in.AlarmNames {
		c.w.dropAlarm(name)
	}
	return Nothing{}, nil
}

func (w *World) dropAlarm(name string) {
	if a := w.alarms[name]; a != nil {
		a.gone = true
		delete(w.alarms, name)
	}
}
