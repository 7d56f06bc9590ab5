package cloudwatch_test

import (
	"strings"
	"testing"
	"time"

	"github.com/muster-scale/muster"
	"github.com/muster-scale/muster/internal/awsmetrics"
	"github.com/muster-scale/muster/metricmath"
	"github.com/muster-scale/muster/metrics"
	"github.com/muster-scale/muster/mustertest"
	"github.com/muster-scale/muster/policy"
	"github.com/muster-scale/muster/source/cloudwatch"
)

// The time is that of a bubble of testing/synctest, see inTime.
func TestAMeterReadsTheMetricsOfAPolicy(t *testing.T) {
	inTime(t, func(t *testing.T, r *awsmetrics.Reader, m *mustertest.Metrics) {
		spec := policy.Spec{Name: "metric-math", Target: 2,
			Queries: []metricmath.Query{metric("a", "Waiting"), metric("b", "Silent"),
				shown(expression("e", "a + FILL(b, 0)"))}}
		var queries []metrics.Query
		for _, u := range spec.Metrics("f", nil) {
			if u.Own {
				t.Fatalf("%s is our own", u.Query.Key())
			}
			queries = append(queries, u.Query)
		}
		minute := time.Now().Truncate(time.Minute)
		for i := range 3 {
			m.Tell("App/Waiting Sum", minute.Add(time.Duration(i)*time.Minute), float64(10+i))
		}
		time.Sleep(200 * time.Second)
		series, err := cloudwatch.Meter{Reader: r}.Metrics(t.Context(), queries)
		if err != nil || len(series) != 2 {
			t.Fatal(series, err)
		}
		for i, s := range series {
			if s.Key != queries[i].Key() || !s.Known || len(s.Points) > metrics.MaxPoints {
				t.Errorf("found %+v for %s", s, queries[i].Key())
			}
		}
		silent, waiting := series[0], series[1]
		if strings.Contains(queries[0].Key(), "Waiting") {
			silent, waiting = waiting, silent
		}
		if len(silent.Points) != 0 {
			t.Errorf("of a metric without a point found %v", silent.Points)
		}
		if k := len(waiting.Points); k != 3 || waiting.Points[k-1].Value != 12 ||
			!waiting.Start.Add(time.Duration(waiting.Points[k-1].N)*time.Minute).Equal(minute.Add(2*time.Minute)) {
			t.Errorf("found %+v, want 10, 11 and 12 of the last three minutes", waiting)
		}
		p, err := policy.New(spec)
		if err != nil {
			t.Fatal(err)
		}
		now := time.Now().UTC()
		o := muster.Observation{Fleet: "f", At: now, Limits: muster.Limits{Max: 100, LaunchesPerHour: 1000},
			Metrics:  series,
			Capacity: muster.Capacity{Known: true, Desired: 3, Busy: 3, Slots: 3, BusySlots: 3, SlotsPerWorker: 1}}
		if d := p.Decide(o, nil); d.Desired != 18 {
			t.Errorf("found %s", d.Sentence())
		}
	})
}
