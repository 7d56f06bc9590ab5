package monitoring

import (
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/muster-scale/muster/metricmath"
	"github.com/muster-scale/muster/sim/cloud/account"
)

// MetricDelays say how CloudWatch takes in metrics and looks at alarms.
type MetricDelays struct {
	// Custom is how long a published value takes to appear, Service how long the metrics of AWS take.
	Custom, Service time.Duration
	// Evaluate is how long after the end of a period alarms look at it (1s).
	Evaluate time.Duration
}

// The bounds of CloudWatch.
const (
	// MaxMetrics is how many metrics there may be.
	MaxMetrics = 10_000
	// MaxAlarms is how many alarms there may be.
	MaxAlarms = 5_000
)

// CloudWatch is the API of CloudWatch metrics and alarms. Its methods bear the names of the actions; errors are a
// *Fault.
type CloudWatch struct {
	acc     *account.Account
	delays  MetricDelays
	metrics map[string]*metric
	alarms  map[string]*Alarm
}

// New is CloudWatch without metrics and alarms.
func New(a *account.Account, d MetricDelays) *CloudWatch {
	return &CloudWatch{acc: a, delays: d, metrics: map[string]*metric{}, alarms: map[string]*Alarm{}}
}

// Publish puts out a metric of another service.
func (w *CloudWatch) Publish(namespace, name string, v float64, dimensions ...string) {
	m := MetricName{Namespace: namespace, MetricName: name}
	for k := 0; k+1 < len(dimensions); k += 2 {
		m.Dimensions = append(m.Dimensions, Dimension{dimensions[k], dimensions[k+1]})
	}
	w.publish(m, v)
}

// The bounds of one call, and how long values are kept: those of high resolution by the second for three hours, all
// others by the minute for 15 days. What AWS keeps longer, by five minutes and by the hour, the model forgets.
const (
	maxDatums       = 1_000
	maxDatumValues  = 150
	maxQueries      = 500
	maxDimensions   = 30
	maxDatapoints   = 100_800
	keptFine        = 3 * time.Hour
	keptMinutes     = 15 * 24 * time.Hour
	maxCellValues   = 1_000
	oldestTimestamp = 14 * 24 * time.Hour
	newestTimestamp = 2 * time.Hour
)

// PutMetrics is the input of PutMetricData.
type PutMetrics struct {
	Namespace  string
	MetricData []MetricDatum
}

// MetricDatum is one value, a set of values, or the statistics of one.
type MetricDatum struct {
	MetricName        string
	Dimensions        []Dimension
	Timestamp         time.Time
	Value             *float64
	StatisticValues   *StatisticSet
	Values            []float64
	Counts            []float64
	Unit              string
	StorageResolution *int
}

// StatisticSet are the statistics of several values.
type StatisticSet struct {
	SampleCount, Sum, Minimum, Maximum float64
}

// MetricQuery is one query of GetMetricData, of an alarm or of a target tracking policy.
type MetricQuery struct {
	Id         string
	Expression string
	Label      string
	MetricStat *MetricStat
	Period     *int
	ReturnData *bool
	AccountId  string
}

// MetricStat is a metric and what is read of it in each period.
type MetricStat struct {
	Metric MetricName
	Period *int
	Stat   string
	Unit   string
}

// GetMetrics is the input of GetMetricData.
type GetMetrics struct {
	MetricDataQueries []MetricQuery
	StartTime         time.Time
	EndTime           time.Time
	ScanBy            string
	MaxDatapoints     *int
	NextToken         string
}

// MetricResults is its answer.
type MetricResults struct {
	MetricDataResults []MetricResult
	Messages          []MetricMessage
	NextToken         string
}

// MetricResult is what one query gives.
type MetricResult struct {
	Id         string
	Label      string
	Timestamps []time.Time
	Values     []float64
	StatusCode string
	Messages   []MetricMessage
}

// MetricMessage is a remark on a result.
type MetricMessage struct {
	Code, Value string
}

// ListMetricsInput is the input of ListMetrics.
type ListMetricsInput struct {
	Namespace  string
	MetricName string
	Dimensions []Dimension
	NextToken  string
}

// MetricList is its answer.
type MetricList struct {
	Metrics   []MetricName
	NextToken string
}

// MetricStatisticsInput is the input of GetMetricStatistics, which older clients use.
type MetricStatisticsInput struct {
	Namespace          string
	MetricName         string
	Dimensions         []Dimension
	StartTime, EndTime time.Time
	Period             *int
	Statistics         []string
	ExtendedStatistics []string
	Unit               string
}

// MetricStatistics is its answer.
type MetricStatistics struct {
	Label      string
	Datapoints []Datapoint
}

// Datapoint has the statistics of a period that were asked for.
type Datapoint struct {
	Timestamp                                   time.Time
	Average, Sum, Minimum, Maximum, SampleCount *float64
	ExtendedStatistics                          map[string]float64
	Unit                                        string
}

// metric is what was published under one name.
type metric struct {
	name    MetricName
	fine    []cell // by the second; only what was published with high resolution
	minutes []cell
}

// cell is what was published in one second or minute.
type cell struct {
	at               int64 // Unix seconds of its begin
	n, sum, low, top float64
	values           []counted // for percentiles; nil when it is not known what they are
	unit             string
}

type counted struct{ value, count float64 }

func (c *cell) add(d cell) {
	if c.n == 0 {
		at := c.at
		*c = d
		c.at, c.values = at, slices.Clone(d.values)
		return
	}
	c.n, c.sum, c.low, c.top = c.n+d.n, c.sum+d.sum, min(c.low, d.low), max(c.top, d.top)
	if c.values = append(c.values, d.values...); d.values == nil || len(c.values) > maxCellValues {
		c.values = nil
	}
	if c.unit != d.unit {
		c.unit = ""
	}
}

// stat is one statistic of a cell.
func (c *cell) stat(name string) (float64, bool) {
	switch name {
	case "Sum":
		return c.sum, true
	case "Average":
		return c.sum / c.n, c.n > 0
	case "Minimum":
		return c.low, true
	case "Maximum":
		return c.top, true
	case "SampleCount":
		return c.n, true
	}
	p, _ := strconv.ParseFloat(strings.TrimPrefix(name, "p"), 64)
	return c.percentile(p)
}

// percentile is the least value that p percent of all are not above.
func (c *cell) percentile(p float64) (float64, bool) {
	if len(c.values) == 0 {
		return c.low, c.low == c.top // a statistic set whose values are all equal
	}
	all := slices.Clone(c.values)
	slices.SortFunc(all, func(a, b counted) int {
		switch {
		case a.value < b.value:
			return -1
		case a.value > b.value:
			return 1
		}
		return 0
	})
	rank := c.n * p / 100
	for _, v := range all {
		if rank -= v.count; rank <= 1e-9 {
			return v.value, true
		}
	}
	return all[len(all)-1].value, true
}

// goodStat tells whether the model has a statistic: the five plain ones and percentiles such as p99 and p99.9.
func goodStat(name string) bool {
	if slices.Contains([]string{"Sum", "Average", "Minimum", "Maximum", "SampleCount"}, name) {
		return true
	}
	digits, isPercentile := strings.CutPrefix(name, "p")
	p, err := strconv.ParseFloat(digits, 64)
	return isPercentile && err == nil && p >= 0 && p <= 100
}

func badValue(format string, args ...any) *account.Fault {
	return account.Refuse("InvalidParameterValue", format, args...)
}

// PutMetricData publishes values. They appear after the delay.
func (w *CloudWatch) PutMetricData(in PutMetrics) (account.Nothing, error) {
	switch {
	case in.Namespace == "" || len(in.Namespace) > 255:
		return account.Nothing{}, account.Refuse("MissingParameter",
			"The parameter Namespace is required and has at most 255 "+
				"characters.")
	case strings.HasPrefix(in.Namespace, "AWS/"):
		return account.Nothing{}, badValue("The value AWS/ for parameter Namespace is invalid.")
	case len(in.MetricData) > maxDatums:
		return account.Nothing{}, badValue("The collection MetricData must not have a size greater than %d.", maxDatums)
	}
	cells := make([]cell, len(in.MetricData))
	for k, d := range in.MetricData {
		var err error
		if cells[k], err = w.check(d); err != nil {
			return account.Nothing{}, err
		}
		name := MetricName{in.Namespace, d.MetricName, d.Dimensions}
		if w.metrics[name.key()] == nil && len(w.metrics)+k >= MaxMetrics {
			return account.Nothing{}, account.Refuse("LimitExceeded", "The model keeps at most %d metrics.", MaxMetrics)
		}
	}
	for k, d := range in.MetricData {
		name := MetricName{in.Namespace, d.MetricName, slices.Clone(d.Dimensions)}
		w.arrive(name, cells[k], account.Or(d.StorageResolution, 60) == 1, w.delays.Custom)
	}
	return account.Nothing{}, nil
}

// check makes a cell of a datum, or says what is wrong with it.
func (w *CloudWatch) check(d MetricDatum) (cell, error) {
	at := d.Timestamp
	if at.IsZero() {
		at = w.acc.Now()
	}
	switch {
	case d.MetricName == "" || len(d.MetricName) > 255:
		return cell{}, account.Refuse("MissingParameter",
			"The parameter MetricData.member.MetricName is required and has at "+
				"most 255 characters.")
	case len(d.Dimensions) > maxDimensions:
		return cell{}, badValue("At most %d dimensions are allowed, got %d.", maxDimensions, len(d.Dimensions))
	case at.Before(w.acc.Now().Add(-oldestTimestamp)) || at.After(w.acc.Now().Add(newestTimestamp)):
		return cell{}, badValue("The parameter MetricData.member.Timestamp must specify a time within the past two " +
			"weeks and at most two hours ahead.")
	case d.StorageResolution != nil && *d.StorageResolution != 1 && *d.StorageResolution != 60:
		return cell{}, badValue("The parameter StorageResolution must be 1 or 60, got %d.", *d.StorageResolution)
	case len(d.Values) > maxDatumValues || len(d.Counts) > 0 && len(d.Counts) != len(d.Values):
		return cell{}, badValue("Values has at most %d elements, and Counts as many as Values.", maxDatumValues)
	}
	out := cell{at: at.Unix(), unit: d.Unit}
	switch {
	case d.StatisticValues != nil && d.Value == nil && len(d.Values) == 0:
		s := d.StatisticValues
		if s.SampleCount <= 0 || s.Minimum > s.Maximum || !finite(s.Sum) || !finite(s.Minimum) || !finite(s.Maximum) ||
			!finite(s.SampleCount) {
			return cell{}, badValue("StatisticValues must be finite, with a SampleCount above 0 and Minimum not " +
				"above Maximum.")
		}
		out.n, out.sum, out.low, out.top = s.SampleCount, s.Sum, s.Minimum, s.Maximum
	case d.Value != nil && len(d.Values) == 0 && d.StatisticValues == nil:
		return out, out.take(*d.Value, 1)
	case len(d.Values) > 0 && d.Value == nil && d.StatisticValues == nil:
		for k, v := range d.Values {
			n := 1.0
			if len(d.Counts) > 0 {
				n = d.Counts[k]
			}
			if err := out.take(v, n); err != nil {
				return cell{}, err
			}
		}
	default:
		return cell{}, account.Refuse("InvalidParameterCombination",
			"Exactly one of Value, Values and StatisticValues must "+
				"be given.")
	}
	return out, nil
}

// finite holds the range of values, which excludes what is no number: -2^360 to 2^360.
func finite(v float64) bool { return math.Abs(v) <= math.Ldexp(1, 360) }

func (c *cell) take(v, n float64) error {
	if !finite(v) || !finite(n) || n <= 0 {
		return badValue("The value %v for parameter MetricData.member.Value is invalid.", v)
	}
	c.add(cell{at: c.at, n: n, sum: v * n, low: v, top: v, values: []counted{{v, n}}, unit: c.unit})
	return nil
}

// publish puts out a metric of AWS: the value of the minute that is just over.
func (w *CloudWatch) publish(name MetricName, v float64) {
	if w.metrics[name.key()] == nil && len(w.metrics) >= MaxMetrics {
		return
	}
	c := cell{at: w.acc.Now().Add(-time.Minute).Unix()}
	if c.take(v, 1) == nil {
		w.arrive(name, c, false, w.delays.Service)
	}
}

// arrive lets a cell appear after a delay.
func (w *CloudWatch) arrive(name MetricName, c cell, fine bool, delay time.Duration) {
	key := name.key()
	m := w.metrics[key]
	if m == nil {
		m = &metric{name: name}
		w.metrics[key] = m
	}
	keep := func() {
		if fine {
			m.fine = enter(m.fine, c, 1)
		}
		m.minutes = enter(m.minutes, c, 60)
	}
	if delay <= 0 {
		keep()
		return
	}
	w.acc.After(delay, keep)
}

// enter adds a cell to those of its second or minute.
func enter(cells []cell, c cell, seconds int64) []cell {
	at := c.at - c.at%seconds
	k, found := slices.BinarySearchFunc(cells, at, func(x cell, at int64) int { return int(x.at - at) })
	if !found {
		cells = slices.Insert(cells, k, cell{at: at})
	}
	cells[k].add(c)
	return cells
}

// Forget drops what is too old.
func (w *CloudWatch) Forget() {
	drop := func(cells []cell, kept time.Duration) []cell {
		k, _ := slices.BinarySearchFunc(cells, w.acc.Now().Add(-kept).Unix(),
			func(x cell, at int64) int { return int(x.at - at) })
		return cells[k:]
	}
	for _, m := range w.metrics { // each for itself: the order does not matter
		m.fine, m.minutes = drop(m.fine, keptFine), drop(m.minutes, keptMinutes)
	}
}

// read is a metric as a series: one point for each period in [from, to), both multiples of the period.
func (w *CloudWatch) read(s MetricStat, period time.Duration, from, to time.Time) metricmath.Series {
	out := metricmath.Series{Start: from, Period: period,
		Points: make([]metricmath.Point, max(int(to.Sub(from)/period), 0))}
	m := w.metrics[s.Metric.key()]
	if m == nil {
		return out
	}
	cells := m.minutes
	if period < time.Minute {
		cells = m.fine
	}
	k, _ := slices.BinarySearchFunc(cells, from.Unix(), func(x cell, at int64) int { return int(x.at - at) })
	for p := range out.Points {
		end := from.Add(time.Duration(p+1) * period).Unix()
		var all cell
		for ; k < len(cells) && cells[k].at < end; k++ {
			if s.Unit == "" || cells[k].unit == s.Unit {
				all.add(cells[k])
			}
		}
		if v, ok := all.stat(s.Stat); ok && all.n > 0 {
			out.Points[p] = metricmath.Known(v)
		}
	}
	return out
}

// ListMetrics lists metrics by namespace, name and dimensions.
func (w *CloudWatch) ListMetrics(in ListMetricsInput) (MetricList, error) {
	var all []MetricName
	for _, key := range account.Sorted(w.metrics) {
		n := w.metrics[key].name
		has := func(d Dimension) bool {
			return slices.ContainsFunc(n.Dimensions,
				func(x Dimension) bool { return x.Name == d.Name && (d.Value == "" || x.Value == d.Value) })
		}
		if (in.Namespace == "" || n.Namespace == in.Namespace) &&
			(in.MetricName == "" || n.MetricName == in.MetricName) &&
			!slices.ContainsFunc(in.Dimensions, func(d Dimension) bool { return !has(d) }) {
			all = append(all, n)
		}
	}
	metrics, next, err := account.Page(all, in.NextToken, 500)
	return MetricList{metrics, next}, err
}

// GetMetricStatistics reads one metric.
func (w *CloudWatch) GetMetricStatistics(in MetricStatisticsInput) (MetricStatistics, error) {
	period := time.Duration(account.Or(in.Period, 0)) * time.Second
	if err := w.checkPeriod(int(period/time.Second), in.StartTime); err != nil {
		return MetricStatistics{}, err
	}
	if len(in.Statistics)+len(in.ExtendedStatistics) == 0 || !in.StartTime.Before(in.EndTime) {
		return MetricStatistics{}, badValue("The parameter StartTime must be less than EndTime, and Statistics or " +
			"ExtendedStatistics given.")
	}
	from, to := in.StartTime.Truncate(period), in.EndTime.Add(period-1).Truncate(period)
	if to.Sub(from)/period > 1440 {
		return MetricStatistics{}, account.Refuse("InvalidParameterCombination",
			"You have requested up to %d datapoints, "+
				"which exceeds the limit of 1,440.", to.Sub(from)/period)
	}
	out := MetricStatistics{Label: in.MetricName}
	points := make([]Datapoint, to.Sub(from)/period)
	for k, stat := range slices.Concat(in.Statistics, in.ExtendedStatistics) {
		if !goodStat(stat) {
			return MetricStatistics{}, badValue("The statistic '%s' is none of the model's.", stat)
		}
		s := w.read(MetricStat{MetricName{in.Namespace, in.MetricName, in.Dimensions}, in.Period, stat, in.Unit},
			period, from, to)
		for p, point := range s.Points {
			if point.Known {
				points[p].Timestamp, points[p].Unit = from.Add(time.Duration(p)*period), in.Unit
				points[p].set(stat, point.Value, k >= len(in.Statistics))
			}
		}
	}
	for _, p := range points {
		if !p.Timestamp.IsZero() {
			out.Datapoints = append(out.Datapoints, p)
		}
	}
	return out, nil
}

func (d *Datapoint) set(stat string, v float64, extended bool) {
	switch {
	case extended:
		if d.ExtendedStatistics == nil {
			d.ExtendedStatistics = map[string]float64{}
		}
		d.ExtendedStatistics[stat] = v
	case stat == "Average":
		d.Average = &v
	case stat == "Sum":
		d.Sum = &v
	case stat == "Minimum":
		d.Minimum = &v
	case stat == "Maximum":
		d.Maximum = &v
	case stat == "SampleCount":
		d.SampleCount = &v
	}
}

// checkPeriod holds which periods may be read, by how old the start is.
func (w *CloudWatch) checkPeriod(seconds int, start time.Time) error {
	switch age := w.acc.Now().Sub(start); {
	case seconds < 1 || seconds%60 != 0 && !slices.Contains([]int{1, 5, 10, 20, 30}, seconds):
		return badValue("The parameter Period must be 1, 5, 10, 20, 30 or a multiple of 60, got %d.", seconds)
	case seconds > 86_400:
		return badValue("The model has periods of up to a day, got %d seconds.", seconds)
	case age > keptFine+time.Minute && seconds < 60:
		return badValue("A start more than 3 hours ago needs a period of 60 seconds at least.")
	case age > keptMinutes+time.Minute && seconds%300 != 0:
		return badValue("A start more than 15 days ago needs a period that is a multiple of 300 seconds.")
	}
	return nil
}
