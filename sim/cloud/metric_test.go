package cloud_test

import (
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/muster-scale/muster/awsrules/alarm"
	"github.com/muster-scale/muster/sim/cloud"
	"github.com/muster-scale/muster/sim/cloud/monitoring"
	"github.com/muster-scale/muster/sim/cloud/queues"
)

// watch is a world with nothing in it, and its CloudWatch.
type watch struct {
	testing.TB
	*cloud.World
	cw *monitoring.CloudWatch
}

func newWatch(t testing.TB, s cloud.Settings) watch {
	s.Start = start
	w := cloud.New(s)
	return watch{TB: t, World: w, cw: w.CloudWatch()}
}

func (w watch) pass(d time.Duration) { w.Advance(w.Now().Add(d)) }

// put publishes one value now.
func (w watch) put(name string, v float64, change ...func(*monitoring.MetricDatum)) {
	w.Helper()
	d := monitoring.MetricDatum{MetricName: name, Value: &v}
	for _, c := range change {
		c(&d)
	}
	must(w.cw.PutMetricData(monitoring.PutMetrics{Namespace: "Muster", MetricData: []monitoring.MetricDatum{d}}))(w)
}

func fine(d *monitoring.MetricDatum) { d.StorageResolution = ptr(1) }

func metricNamed(name string) monitoring.MetricName {
	return monitoring.MetricName{Namespace: "Muster", MetricName: name}
}

// get reads a statistic of a metric since the start, oldest first.
func (w watch) get(m monitoring.MetricName, stat string, period int) (values []float64, at []time.Duration) {
	w.Helper()
	out := must(w.cw.GetMetricData(monitoring.GetMetrics{StartTime: max2(start, w.Now().Add(-3*time.Hour)),
		EndTime: w.Now(),
		ScanBy:  "TimestampAscending",
		MetricDataQueries: []monitoring.MetricQuery{{Id: "m", MetricStat: &monitoring.MetricStat{Metric: m,
			Period: &period,
			Stat:   stat}}}}))(w)
	for _, t := range out.MetricDataResults[0].Timestamps {
		at = append(at, t.Sub(start))
	}
	return out.MetricDataResults[0].Values, at
}

func max2(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

func TestPeriodsAreAlignedAndHaveTheirStatistics(t *testing.T) {
	w := newWatch(t, cloud.Settings{})
	for _, v := range []float64{4, 1, 7} {
		w.pass(25 * time.Second)
		w.put("m", v) // at 25, 50 and 75 seconds
	}
	w.pass(time.Minute)
	for _, c := range []struct {
		stat string
		want []float64
	}{{"Sum", []float64{5, 7}}, {"Average", []float64{2.5, 7}}, {"Minimum", []float64{1, 7}}, {"Maximum",
		[]float64{4, 7}}, {"SampleCount", []float64{2, 1}}, {"p50", []float64{1, 7}}, {"p99", []float64{4, 7}}} {
		got, at := w.get(metricNamed("m"), c.stat, 60)
		if !slices.Equal(got, c.want) || at[0] != 0 || at[1] != time.Minute {
			t.Errorf("%s: %v at %v, want %v at the begins of the minutes", c.stat, got, at, c.want)
		}
	}
	got, _ := w.get(metricNamed("m"), "Sum", 300)
	expect(t, "over five minutes", got[0], 12)
}

func TestShortPeriodsNeedHighResolution(t *testing.T) {
	w := newWatch(t, cloud.Settings{})
	w.pass(5 * time.Second)
	w.put("coarse", 1)
	w.put("fine", 1, fine)
	w.pass(10 * time.Second)
	w.put("fine", 2, fine)
	w.pass(10 * time.Second)
	got, at := w.get(metricNamed("fine"), "Average", 10)
	if !slices.Equal(got, []float64{1, 2}) || at[1] != 10*time.Second {
		t.Errorf("periods of 10 s: %v at %v", got, at)
	}
	got, _ = w.get(metricNamed("coarse"), "Average", 10)
	expect(t, "points of a standard metric", len(got), 0)
	w.pass(4 * time.Hour)
	_, err := w.cw.GetMetricData(monitoring.GetMetrics{StartTime: start, EndTime: w.Now(),
		MetricDataQueries: []monitoring.MetricQuery{{Id: "m",
			MetricStat: &monitoring.MetricStat{Metric: metricNamed("fine"),
				Period: ptr(10), Stat: "Sum"}}}})
	expect(t, "short periods of four hours ago", code(err), "InvalidParameterValue")
}

func TestValuesThatCloudWatchDoesNotTake(t *testing.T) {
	w := newWatch(t, cloud.Settings{})
	for _, c := range []struct {
		name, code, namespace string
		datum                 monitoring.MetricDatum
	}{
		{"the namespace of AWS", "InvalidParameterValue", "AWS/SQS",
			monitoring.MetricDatum{MetricName: "m", Value: ptr(1.0)}},
		{"no value", "InvalidParameterCombination", "M", monitoring.MetricDatum{MetricName: "m"}},
		{"two kinds of value", "InvalidParameterCombination", "M",
			monitoring.MetricDatum{MetricName: "m", Value: ptr(1.0), Values: []float64{1}}},
		{"too large", "InvalidParameterValue", "M", monitoring.MetricDatum{MetricName: "m", Value: ptr(1e200)}},
		{"older than two weeks", "InvalidParameterValue", "M",
			monitoring.MetricDatum{MetricName: "m", Value: ptr(1.0), Timestamp: start.Add(-15 * 24 * time.Hour)}},
		{"three hours ahead", "InvalidParameterValue", "M",
			monitoring.MetricDatum{MetricName: "m", Value: ptr(1.0), Timestamp: start.Add(3 * time.Hour)}},
		{"another resolution", "InvalidParameterValue", "M",
			monitoring.MetricDatum{MetricName: "m", Value: ptr(1.0), StorageResolution: ptr(30)}},
		{"fewer counts than values", "InvalidParameterValue", "M",
			monitoring.MetricDatum{MetricName: "m", Values: []float64{1, 2}, Counts: []float64{1}}},
	} {
		_, err := w.cw.PutMetricData(monitoring.PutMetrics{Namespace: c.namespace,
			MetricData: []monitoring.MetricDatum{c.datum}})
		expect(t, c.name, code(err), c.code)
	}
	expect(t, "metrics", len(must(w.cw.ListMetrics(monitoring.ListMetricsInput{}))(t).Metrics), 0)
}

func TestValuesArriveLate(t *testing.T) {
	w := newWatch(t, cloud.Settings{Metrics: monitoring.MetricDelays{Custom: 90 * time.Second}})
	w.put("m", 5)
	w.pass(89 * time.Second)
	got, _ := w.get(metricNamed("m"), "Sum", 60)
	expect(t, "too early", len(got), 0)
	w.pass(time.Second)
	got, at := w.get(metricNamed("m"), "Sum", 60)
	expect(t, "at the period it belongs to", at[0], 0)
	expect(t, "value", got[0], 5)
}

func TestExpressionsAreThoseOfMetricMath(t *testing.T) {
	w := newWatch(t, cloud.Settings{})
	w.put("backlog", 20)
	w.pass(time.Minute)
	w.put("backlog", 30)
	w.put("workers", 10)
	w.pass(time.Minute)
	query := func(name string) monitoring.MetricQuery {
		return monitoring.MetricQuery{Id: name, MetricStat: &monitoring.MetricStat{Metric: metricNamed(name),
			Period: ptr(60),
			Stat:   "Maximum"}, ReturnData: ptr(false)}
	}
	out := must(w.cw.GetMetricData(monitoring.GetMetrics{StartTime: start, EndTime: w.Now(),
		ScanBy: "TimestampAscending",
		MetricDataQueries: []monitoring.MetricQuery{
			query("backlog"), query("workers"),
			{Id: "ratio", Expression: "backlog / workers", ReturnData: ptr(false)},
			{Id: "utilization", Expression: "IF(FILL(workers, 0) > 0, ratio, IF(backlog > 0, 1, 0))"},
		}}))(t)
	if r := out.MetricDataResults; len(r) != 1 || !slices.Equal(r[0].Values, []float64{1, 3}) {
		t.Errorf("got %+v, want 1 while there are no workers, then 3", r)
	}
	_, err := w.cw.GetMetricData(monitoring.GetMetrics{StartTime: start, EndTime: w.Now(),
		MetricDataQueries: []monitoring.MetricQuery{{Id: "x", Expression: "nobody + 1"}}})
	expect(t, "an unknown id", code(err), "ValidationError")
}

// TestAnAlarmGoesByThePointsOfItsMetric: what follows from which row of points is held by package awsrules/alarm.
func TestAnAlarmGoesByThePointsOfItsMetric(t *testing.T) {
	w := newWatch(t, cloud.Settings{})
	must(w.cw.PutMetricAlarm(monitoring.MetricAlarm{AlarmName: "a", Namespace: "Muster", MetricName: "m",
		Statistic: "Maximum", Period: ptr(60), EvaluationPeriods: ptr(3), DatapointsToAlarm: ptr(2),
		Threshold: ptr(5.0), ComparisonOperator: alarm.Above}))(t)
	w.pass(2 * time.Second) // alarms look a second after the end of a period
	for k, c := range []struct {
		value float64 // -1 is none
		want  alarm.State
	}{{-1, alarm.InsufficientData}, {0, alarm.OK}, {0, alarm.OK}, {9, alarm.OK}, {9, alarm.Alarm},
		{0, alarm.Alarm}, {0, alarm.OK}, {-1, alarm.OK}, {-1, alarm.OK}, {-1, alarm.OK}, {-1, alarm.OK},
		{-1, alarm.InsufficientData}} {
		if c.value >= 0 {
			w.put("m", c.value)
		}
		w.pass(time.Minute)
		expect(t, "state after minute "+strconv.Itoa(k),
			must(w.cw.DescribeAlarms(monitoring.AlarmNames{}))(t).MetricAlarms[0].StateValue, c.want)
	}
}

func TestAQueueSleepsAfterSixHoursAndWakesLate(t *testing.T) {
	w := newWatch(t, cloud.Settings{Seed: 3})
	sqs := w.SQS()
	must(sqs.CreateQueue(queues.CreateQueueInput{QueueName: "q"}))(t)
	visible := monitoring.MetricName{Namespace: "AWS/SQS", MetricName: "ApproximateNumberOfMessagesVisible",
		Dimensions: []monitoring.Dimension{{Name: "QueueName", Value: "q"}}}
	newest := func() time.Duration {
		_, at := w.get(visible, "Maximum", 60)
		if len(at) == 0 {
			return -1
		}
		return at[len(at)-1]
	}
	w.pass(2 * time.Hour)
	expect(t, "published every minute", newest(), 2*time.Hour-time.Minute)
	w.pass(5 * time.Hour)
	expect(t, "until six hours without use", newest(), 6*time.Hour-2*time.Minute)
	must(w.SQS().GetQueueAttributes(queues.QueueAttributesInput{QueueUrl: "https://anywhere/000000000000/q"}))(t)
	if err := w.SQS().SetQueue("q", queues.QueueCounts{Visible: 100}, queues.Traffic{Sent: 100}); err != nil {
		t.Fatal(err)
	}
	blind := 0
	for newest() < 7*time.Hour && blind < 30 {
		w.pass(time.Minute)
		blind++
	}
	if blind < 2 || blind > 16 {
		t.Errorf("the metrics came back after %d minutes, want up to 15", blind)
	}
}

func TestCountsOfFIFOQueuesAreFresherAndExact(t *testing.T) {
	w := newWatch(t, cloud.Settings{Seed: 1, Counts: queues.Counts{Stale: time.Minute, StaleFIFO: time.Second,
		Approximate: 0.2}})
	sqs := w.SQS()
	must(sqs.CreateQueue(queues.CreateQueueInput{QueueName: "q"}))(t)
	must(sqs.CreateQueue(queues.CreateQueueInput{QueueName: "q.fifo",
		Attributes: map[string]string{"FifoQueue": "true"}}))(t)
	w.pass(2 * time.Minute)
	for _, name := range []string{"q", "q.fifo"} {
		if err := w.SQS().SetQueue(name, queues.QueueCounts{Visible: 1000}, queues.Traffic{Sent: 1000}); err != nil {
			t.Fatal(err)
		}
	}
	look := func(name string) string {
		return must(sqs.GetQueueAttributes(queues.QueueAttributesInput{QueueUrl: "https://x/0/" + name,
			AttributeNames: []string{"ApproximateNumberOfMessages"}}))(t).Attributes["ApproximateNumberOfMessages"]
	}
	w.pass(time.Second)
	expect(t, "FIFO after a second", look("q.fifo"), "1000")
	expect(t, "standard after a second", look("q"), "0")
	w.pass(time.Minute)
	different := map[string]bool{}
	for range 50 {
		n, err := strconv.Atoi(look("q"))
		if err != nil || n < 800 || n > 1200 {
			t.Fatalf("standard: %d (%v), want within 20 %% of 1000", n, err)
		}
		different[strconv.Itoa(n)] = true
	}
	if len(different) < 5 {
		t.Errorf("50 looks gave %d values: each is drawn anew", len(different))
	}
	expect(t, "FIFO is exact", look("q.fifo"), "1000")
}
