package policy_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/muster-scale/muster"
	"github.com/muster-scale/muster/metricmath"
	"github.com/muster-scale/muster/metrics"
	"github.com/muster-scale/muster/policy"
)

// published is the list for worker utilization as it was published, for the queue q. The entries do not say ReturnData,
// but for the last one.
func published(t testing.TB) []metricmath.Query { return list(t, utilization) }

const utilization = `[
		{"Id": "backlog", "MetricStat": {"Stat": "Maximum", "Metric": {"Namespace": "AWS/SQS", "MetricName": "ApproximateNumberOfMessagesVisible", "Dimensions": [{"Name": "QueueName", "Value": "q"}]}}},
		{"Id": "inFlight", "MetricStat": {"Stat": "Maximum", "Metric": {"Namespace": "AWS/SQS", "MetricName": "ApproximateNumberOfMessagesNotVisible", "Dimensions": [{"Name": "QueueName", "Value": "q"}]}}},
		{"Id": "workers", "MetricStat": {"Stat": "Sum", "Metric": {"Namespace": "YourApp", "MetricName": "TotalWorkers"}}},
		{"Id": "totalWork", "Expression": "FILL(backlog, REPEAT) + FILL(inFlight, REPEAT)"},
		{"Id": "utilizationRatio", "Expression": "totalWork / workers"},
		{"Id": "utilization", "Expression": "IF(FILL(workers, 0) > 0, utilizationRatio, IF(totalWork > 0, 1, 0))", "ReturnData": true}]`

// withoutBacklog is the published variant for work that never waits.
func withoutBacklog(t testing.TB) []metricmath.Query {
	return list(t, `[
		{"Id": "inFlight", "MetricStat": {"Stat": "Maximum", "Metric": {"Namespace": "AWS/SQS", "MetricName": "ApproximateNumberOfMessagesNotVisible", "Dimensions": [{"Name": "QueueName", "Value": "q"}]}}},
		{"Id": "workers", "MetricStat": {"Stat": "Sum", "Metric": {"Namespace": "YourApp", "MetricName": "TotalWorkers"}}},
		{"Id": "utilizationRatio", "Expression": "FILL(inFlight, REPEAT) / workers"},
		{"Id": "utilization", "Expression": "IF(FILL(workers, 0) > 0, utilizationRatio, IF(FILL(inFlight, 0) > 0, 1, 0))", "ReturnData": true}]`)
}

// elsewhere is the published list with all metrics in CloudWatch: those of another queue, and workers by application.
func elsewhere(t testing.TB) []metricmath.Query {
	queries := published(t)
	for i := range queries {
		if m := queries[i].MetricStat; m != nil && m.Metric.Namespace == "AWS/SQS" {
			m.Metric.Dimensions[0].Value = "another"
		} else if m != nil {
			m.Metric.Dimensions = []metricmath.Dimension{{Name: "Application", Value: "a"}}
		}
	}
	return queries
}

func list(t interface{ Fatal(...any) }, text string) (queries []metricmath.Query) {
	if err := json.Unmarshal([]byte(text), &queries); err != nil {
		t.Fatal(err)
	}
	return queries
}

func tracking(target float64, queries []metricmath.Query) policy.Spec {
	return policy.Spec{Name: "metric-math", Target: target, Queries: queries}
}

func decide(t testing.TB, s policy.Spec, o muster.Observation) muster.Decision {
	t.Helper()
	p, err := policy.New(s)
	if err != nil {
		t.Fatal(err)
	}
	return p.Decide(o, nil)
}

// past gives the observation what was seen of a metric before: the values of the minutes up to the present one, oldest
// first; a negative one is missing.
func past(o *muster.Observation, q metricmath.Query, until time.Time, values ...float64) {
	uses := tracking(1, []metricmath.Query{q, {ID: "e", Expression: q.ID, ReturnData: new(true)}}).Metrics("f",
		[]string{"q"})
	s := metrics.Series{Key: uses[0].Query.Key(), Known: true, PeriodSeconds: 60,
		Start: until.Add(-time.Duration(len(values)) * time.Minute)}
	for i, v := range values {
		if v >= 0 {
			s.Points = append(s.Points, metrics.Point{N: i, Value: v})
		}
	}
	o.Metrics = append(o.Metrics, s)
}

func TestTheFormulaForWorkerUtilization(t *testing.T) {
	for _, row := range []struct {
		name    string
		queries []metricmath.Query
		see     see
		want    int
		why     string
	}{
		{"three messages for each worker", published(t), see{backlog: 20, inFlight: 10, busy: 10}, 43,
			"utilization is 3, the target 0.7: 10 in service x 3 / 0.7"},
		{"at the target", published(t), see{inFlight: 7, busy: 7, idle: 3}, 10, "utilization is 0.7"},
		{"zero workers with work", published(t), see{backlog: 5}, 1,
			"utilization is 1 and no member is in service, so at least 1 worker"},
		{"zero workers with work, and two on their way", published(t), see{backlog: 5, pending: 2}, 2,
			"at least 1 worker"},
		{"nothing at all", published(t), see{}, 0, "utilization is 0 and no member is in service, so no worker"},
		{"workers and no work", published(t), see{idle: 4}, 0, "utilization is 0"},
		{"slots count, not members", published(t), see{backlog: 21, inFlight: 7, busy: 1, slots: 10}, 4,
			"utilization is 2.8"},
		{"instances that boot do not order themselves again", published(t),
			see{backlog: 28, busy: 1, inFlight: 0, pending: 39}, 40, ""},
		{"the variant without a backlog", withoutBacklog(t), see{backlog: 500, inFlight: 7, busy: 5}, 10,
			"utilization is 1.4"},
		{"the variant without a backlog, zero workers with work", withoutBacklog(t), see{inFlight: 1}, 1,
			"at least 1 worker"},
		{"the variant without a backlog, nothing at all", withoutBacklog(t), see{backlog: 500}, 0, "no worker"},
		{"the variant without a backlog, of which the backlog is unknown", withoutBacklog(t),
			see{noBacklog: true, inFlight: 14, busy: 10}, 20, ""},
	} {
		t.Run(row.name, func(t *testing.T) {
			d := decide(t, tracking(0.7, row.queries), row.see.observation())
			if d.Desired != row.want || !strings.Contains(d.Sentence(), row.why) {
				t.Errorf("found %d, expected %d because %s\n%s", d.Desired, row.want, row.why, d.Sentence())
			}
		})
	}
}

func TestLateMetricsOfTheQueueAreRepeatedAndLetNobodyGo(t *testing.T) {
	queries := published(t)
	o := see{noBacklog: true, inFlight: 10, busy: 10}.observation()
	past(&o, queries[0], t0, 20, 20)
	if d := decide(t, tracking(0.7, queries), o); d.Desired != 43 {
		t.Errorf("found %d, expected the last known backlog to count: 43\n%s", d.Desired, d.Sentence())
	}
	o = see{noBacklog: true, inFlight: 1, busy: 10}.observation()
	past(&o, queries[0], t0, 2, 2)
	if d := decide(t, tracking(0.7, queries), o); d.Desired != 10 || d.Reason != muster.UnknownMetric || d.Floor != 10 {
		t.Errorf("found %d (%s, floor %d), expected a hold at 10\n%s", d.Desired, d.Reason, d.Floor, d.Sentence())
	}
}

// With the backlog and the messages in flight without any point the formula gives 0, which is not known to be so.
func TestAFormulaWithoutAnyPointLetsNobodyGo(t *testing.T) {
	queries := elsewhere(t)
	o := see{idle: 10}.observation()
	past(&o, queries[0], t0)
	past(&o, queries[1], t0)
	past(&o, queries[2], t0, 10, 10, 10)
	d := decide(t, tracking(0.7, queries), o)
	if d.Desired != 10 || d.Reason != muster.UnknownMetric ||
		!strings.Contains(d.Sentence(), "nothing was published for backlog, inFlight within 30m0s, and unknown is "+
			"not zero") {
		t.Errorf("found %d (%s), expected a hold at 10\n%s", d.Desired, d.Reason, d.Sentence())
	}
	if v, ok := find(d, "utilization"); !ok || v != 0 {
		t.Errorf("found the utilization %v, %t; expected the formula's 0 in the trail", v, ok)
	}
}

func TestMetricsOfAnotherKeeper(t *testing.T) {
	queries := elsewhere(t)
	feed := func(change func(*muster.Observation), backlog, inFlight, workers []float64) muster.Decision {
		o := see{busy: 10, inFlight: 10}.observation()
		past(&o, queries[0], t0, backlog...)
		past(&o, queries[1], t0, inFlight...)
		past(&o, queries[2], t0, workers...)
		if change != nil {
			change(&o)
		}
		return decide(t, tracking(0.7, queries), o)
	}
	for _, row := range []struct {
		name   string
		d      muster.Decision
		want   int
		reason muster.Reason
		why    string
	}{
		{"all there", feed(nil, []float64{0, 20}, []float64{0, 10}, []float64{10, 10}), 43, "", "utilization is 3,"},
		{"one is a minute late: the minute before counts",
			feed(nil, []float64{10, 20}, []float64{4, 10}, []float64{10, -1}), 20, "", "utilization is 1.4,"},
		{"one is silent for four minutes: it counts as silent",
			feed(nil, []float64{1, 1, 1, 1, 20}, []float64{1, 1, 1, 1, 10}, []float64{10, -1, -1, -1, -1}), 15, "",
			"utilization is 1,"},
		{"one could not be read",
			feed(func(o *muster.Observation) { o.Metrics[2].Known, o.Metrics[2].Reason = false, "access denied" },
				[]float64{20}, []float64{10}, []float64{10}),
			10, muster.UnknownMetric, "the metric workers was not read (workers was not read: access denied)"},
		{"none was read", feed(func(o *muster.Observation) { o.Metrics = nil }, nil, nil, nil), 10,
			muster.UnknownMetric, "backlog was not read"},
		{"the listing is unknown", feed(func(o *muster.Observation) { o.Capacity.Known = false }, []float64{20},
			[]float64{10}, []float64{10}), 10, muster.UnknownCapacity, "could not be listed"},
	} {
		t.Run(row.name, func(t *testing.T) {
			if row.d.Desired != row.want || row.d.Verdict == muster.Hold && row.d.Reason != row.reason ||
				!strings.Contains(row.d.Sentence(), row.why) {
				t.Errorf("found %d (%s), expected %d (%s)\n%s", row.d.Desired, row.d.Reason, row.want, row.reason,
					row.d.Sentence())
			}
		})
	}
}

func TestAnOldValueCountsForNothing(t *testing.T) {
	queries := list(t, `[{"Id": "cpu", "MetricStat": {"Stat": "Average", "Metric": {"Namespace": "AWS/EC2", "MetricName": "CPUUtilization"}}}]`)
	for _, row := range []struct {
		minutes int
		want    int
	}{{0, 16}, {3, 16}, {4, 10}} {
		o := see{busy: 10, inFlight: 10}.observation()
		past(&o, queries[0], t0.Add(-time.Duration(row.minutes)*time.Minute), 80)
		if d := decide(t, tracking(50, queries), o); d.Desired != row.want {
			t.Errorf("%d minutes late: found %d, expected %d\n%s", row.minutes, d.Desired, row.want, d.Sentence())
		}
	}
}

func TestADisabledDirectionAllowsNoChange(t *testing.T) {
	for _, row := range []struct {
		name    string
		out, in bool
		backlog float64
		want    int
		floor   int
	}{
		{"a rise", true, false, 80, 5, 5}, {"a fall", false, true, 10, 5, 5},
		{"a rise while falls are", false, true, 80, 8, 8}, {"a fall while rises are", true, false, 10, 1, 1},
	} {
		t.Run(row.name, func(t *testing.T) {
			spec := policy.Spec{Name: "backlog-per-worker", Acceptable: 10, Out: policy.Shape{Disabled: row.out},
				In: policy.Shape{Disabled: row.in}}
			d := decide(t, spec, see{backlog: row.backlog, busy: 5}.observation())
			if d.Desired != row.want || d.Floor != row.floor || row.want == 5 && d.Reason != muster.RateLimited {
				t.Errorf("found %d with the floor %d (%s), expected %d and %d\n%s", d.Desired, d.Floor, d.Reason,
					row.want, row.floor, d.Sentence())
			}
		})
	}
}

// Whatever the numbers, the size keeps the value at the target or below with the fewest workers, once those in service
// share it.
func TestTheSizeKeepsTheTarget(t *testing.T) {
	p, err := policy.New(tracking(0.7, published(t)))
	if err != nil {
		t.Fatal(err)
	}
	rapid.Check(t, func(t *rapid.T) {
		s := see{backlog: float64(rapid.IntRange(0, 900).Draw(t, "backlog")),
			inFlight: float64(rapid.IntRange(0, 90).Draw(t, "in flight")),
			busy:     rapid.IntRange(1, 60).Draw(t, "busy"), slots: rapid.IntRange(1, 8).Draw(t, "slots")}
		d := p.Decide(s.observation(), nil)
		work := s.backlog + s.inFlight
		over := func(n int) bool { return work > 0.7*float64(n*s.slots)+1e-6 }
		if over(d.Desired) || d.Desired > 0 && !over(d.Desired-1) {
			t.Fatalf("%v of work, %d slots a worker: found %d", work, s.slots, d.Desired)
		}
	})
}

func find(d muster.Decision, name string) (float64, bool) {
	for _, t := range d.Trail {
		for _, v := range t.In {
			if v.Name == name {
				return v.Value, true
			}
		}
	}
	return 0, false
}
