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

// This file has the metrics: their storage in cells, PutMetricData with its checks, and plain reading.

// MetricDelays says how late CloudWatch shows values and evaluates alarms.
type MetricDelays struct {
	// Custom is the time until a value of PutMetricData appears, Service that of a metric of AWS.
	Custom, Service time.Duration
	// Evaluate is the time from the end of a period until alarms evaluate it (1s).
	Evaluate time.Duration
}

// The bounds of CloudWatch.
const (
	// MaxMetrics is the number of metrics that an account may have.
	MaxMetrics = 10_000
	// MaxAlarms is the number of alarms that an account may have.
	MaxAlarms = 5_000
)

// CloudWatch is the API of CloudWatch metrics and alarms. Methods bear the names of the actions. An error is a
// *account.Fault. It is not safe for concurrent use.
type CloudWatch struct {
	acc     *account.Account
	delays  MetricDelays
	metrics map[string]*metric
	alarms  map[string]*Alarm
}

// New returns CloudWatch without metrics and alarms.
func New(a *account.Account, d MetricDelays) *CloudWatch {
	return &CloudWatch{acc: a, delays: d, metrics: map[string]*metric{}, alarms: map[string]*Alarm{}}
}

// Publish publishes a metric of another service: the value of the minute that has just ended. Dimensions are names
// and values in turn. It implements account.Publish.
func (w *CloudWatch) Publish(namespace, name string, v float64, dimensions ...string) {
	m := MetricName{Namespace: namespace, MetricName: name}
	for k := 0; k+1 < len(dimensions); k += 2 {
		m.Dimensions = append(m.Dimensions, Dimension{dimensions[k], dimensions[k+1]})
	}
	w.publish(m, v)
}

// The bounds of one call, and how long values are kept:
// others by the minute for 15 days. What AWS keeps longer, by five minutes and by the hour, the model forgets.
const (
	maxDatums       = 1_000
	maxDatumValues  = 150
	maxQueries      = 500
	maxDimensions   = 30
	maxDatapoints   = 100_800
	keptFine        = 3 * time.Hour
	keptMinutes     = 15 * 24 * time.Hour
	maxCellValues   = 1_000 // single values of a cell; with more it has no percentiles
	oldestTimestamp = 14 * 24 * time.Hour
	newestTimestamp = 2 * time.Hour
)

// PutMetrics is the input of PutMetricData.
type PutMetrics struct {
	Namespace  string
	MetricData []MetricDatum
}

// MetricDatum is one value, several values with counts, or the statistics of several; exactly one of the three.
type MetricDatum struct {
	MetricName      string
	Dimensions      []Dimension
	Timestamp       time.Time
	Value           *float64
	StatisticValues *StatisticSet
	Values          []float64
	// Counts says how often each value occurred; without it, once each.
	Counts []float64
	Unit   string
	// StorageResolution is 1 for high resolution or 60.
	StorageResolution *int
}

// StatisticSet holds the statistics of several values. Such a set has no percentiles, unless all its values are
// equal.
type StatisticSet struct {
	SampleCount, Sum, Minimum, Maximum float64
}

// MetricQuery is one query of GetMetricData, of an alarm or of a target tracking policy: a metric or an expression.
type MetricQuery struct {
	Id         string
	Expression string
	Label      string
	MetricStat *MetricStat
	Period     *int
	ReturnData *bool
	AccountId  string
}

// MetricStat is a metric and the statistic that is read of it in each period. Period is in seconds, 60 when absent.
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

// MetricResult is the answer to one query: times and values in turn.
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

// Datapoint holds the statistics of one period that the call named.
type Datapoint struct {
	Timestamp                                   time.Time
	Average, Sum, Minimum, Maximum, SampleCount *float64
	ExtendedStatistics                          map[string]float64
	Unit                                        string
}

// metric is everything that was published under one name and its dimensions.
type metric struct {
	name    MetricName
	fine    []cell // by second, only values of high resolution; in order of time
	minutes []cell // by minute, all values; in order of time
}

// cell sums up what was published in one second or minute. An empty cell has n 0.
type cell struct {
	at               int64     // Unix seconds of its begin
	n, sum, low, top float64   // sample count, sum, minimum, maximum
	values           []counted // for percentiles; nil when they are not all known
	unit             string    // empty when units differ
}

// counted is a value and how often it occurred.
type counted struct{ value, count float64 }

// add adds a cell to this one. Single values are dropped when either side lacks them or there are too many: a
// percentile of a part would be wrong without saying so.
func (c *cell) add(d cell) {
	// The first cell is copied, its values too: the caller may reuse them.
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
	// Values of different units mix without an error, as on AWS; reading by unit then finds none of them.
	if c.unit != d.unit {
		c.unit = ""
	}
}

// stat returns a statistic of the cell, and whether the cell has it.
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

// percentile returns the least value such that at least p percent of all values are not above it (nearest rank). The
// tolerance absorbs the rounding of p percent of a count.
func (c *cell) percentile(p float64) (float64, bool) {
	// Without single values only a set whose minimum is its maximum has percentiles.
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
	// Values may have fractional counts, so ranks are numbers and not indexes.
	rank := c.n * p / 100
	for _, v := range all {
		if rank -= v.count; rank <= 1e-9 {
			return v.value, true
		}
	}
	return all[len(all)-1].value, true
}

// goodStat tells whether the model has a statistic: the five plain ones, and percentiles such as p99 and p99.9.
func goodStat(name string) bool {
	if slices.Contains([]string{"Sum", "Average", "Minimum", "Maximum", "SampleCount"}, name) {
		return true
	}
	digits, isPercentile := strings.CutPrefix(name, "p")
	p, err := strconv.ParseFloat(digits, 64)
	return isPercentile && err == nil && p >= 0 && p <= 100
}

// badValue returns the fault with which CloudWatch refuses a value.
func badValue(format string, args ...any) *account.Fault {
	return account.Refuse("InvalidParameterValue", format, args...)
}

// PutMetricData publishes values, all of them or, if one is refused, none. They appear after the delay.
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
	// All values are checked before the first is kept: a refused call publishes nothing.
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

// check returns a datum as a cell, or says what is wrong with it.
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
	// The three forms of a datum exclude each other.
	out := cell{at: at.Unix(), unit: d.Unit}
	switch {
	// A set of statistics has no single values, and with them no percentiles.
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

// finite tells whether a value lies in the range that CloudWatch accepts, -2^360 to 2^360. NaN does not.
func finite(v float64) bool { return math.Abs(v) <= math.Ldexp(1, 360) }

// take adds a value that occurred n times, or says that it is out of range.
func (c *cell) take(v, n float64) error {
	if !finite(v) || !finite(n) || n <= 0 {
		return badValue("The value %v for parameter MetricData.member.Value is invalid.", v)
	}
	c.add(cell{at: c.at, n: n, sum: v * n, low: v, top: v, values: []counted{{v, n}}, unit: c.unit})
	return nil
}

// publish publishes the value of the minute that has just ended. Beyond the bound of metrics it drops the value: a
// service of AWS would not fail because of it.
func (w *CloudWatch) publish(name MetricName, v float64) {
	if w.metrics[name.key()] == nil && len(w.metrics) >= MaxMetrics {
		return
	}
	// The metric of AWS describes the minute before the one that begins now.
	c := cell{at: w.acc.Now().Add(-time.Minute).Unix()}
	if c.take(v, 1) == nil {
		w.arrive(name, c, false, w.delays.Service)
	}
}

// arrive adds a cell to its metric after a delay. The metric itself is listed at once.
func (w *CloudWatch) arrive(name MetricName, c cell, fine bool, delay time.Duration) {
	key := name.key()
	m := w.metrics[key]
	if m == nil {
		m = &metric{name: name}
		w.metrics[key] = m
	}
	// A value of high resolution counts twice: by second, and for three hours and longer by minute.
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

// enter adds a cell to the cell of its second or minute, which it makes where there is none.
func enter(cells []cell, c cell, seconds int64) []cell {
	// Unix time is a multiple of the resolution at every full second and minute.
	at := c.at - c.at%seconds
	k, found := slices.BinarySearchFunc(cells, at, func(x cell, at int64) int { return int(x.at - at) })
	if !found {
		cells = slices.Insert(cells, k, cell{at: at})
	}
	cells[k].add(c)
	return cells
}

// Forget drops cells that are older than CloudWatch keeps their resolution. The world calls it once a minute.
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

// read returns a metric as a series: one point for each period in [from, to), both multiples of the period. A period
// without values, or without values of the unit, is unknown.
func (w *CloudWatch) read(s MetricStat, period time.Duration, from, to time.Time) metricmath.Series {
	out := metricmath.Series{Start: from, Period: period,
		Points: make([]metricmath.Point, max(int(to.Sub(from)/period), 0))}
	m := w.metrics[s.Metric.key()]
	if m == nil {
		return out
	}
	// Only periods below a minute need the cells by second. Cells are in order of time, so one pass finds all
	// periods.
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

// ListMetrics lists metrics by namespace, name and dimensions in pages of 500. A dimension without a value matches
// any value.
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

// GetMetricStatistics reads statistics of one metric, up to 1,440 periods.
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
	// 1,440 is AWS's bound: a day of minutes.
	if to.Sub(from)/period > 1440 {
		return MetricStatistics{}, account.Refuse("InvalidParameterCombination",
			"You have requested up to %d datapoints, "+
				"which exceeds the limit of 1,440.", to.Sub(from)/period)
	}
	out := MetricStatistics{Label: in.MetricName}
	points := make([]Datapoint, to.Sub(from)/period)
	// Extended statistics come behind the plain ones; set tells them apart by their position.
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

// set sets one statistic of the data point.
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

// checkPeriod says whether a period may be read, by the age of the start: CloudWatch keeps seconds for 3 hours,
// minutes for 15 days.
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
