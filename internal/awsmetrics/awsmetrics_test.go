package awsmetrics_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/muster-scale/muster/internal/awsapi"
	"github.com/muster-scale/muster/internal/awsmetrics"
	"github.com/muster-scale/muster/metricmath"
	"github.com/muster-scale/muster/mustertest"
)

func inTime(t *testing.T, test func(t *testing.T, r *awsmetrics.Reader, m *mustertest.Metrics)) {
	t.Helper()
	mustertest.AWSEnvironment(t)
	synctest.Test(t, func(t *testing.T) {
		m := &mustertest.Metrics{}
		account, err := awsapi.Open(t.Context(), awsapi.Options{HTTP: mustertest.InProcess{Handler: m}})
		if err != nil {
			t.Fatal(err)
		}
		test(t, awsmetrics.NewReader(account), m)
	})
}

func sent(queue string) metricmath.MetricStat {
	return metricmath.MetricStat{
		Metric: metricmath.Metric{Namespace: "AWS/SQS", MetricName: "Sent",
			Dimensions: []metricmath.Dimension{{Name: "QueueName", Value: queue}}},
		Stat: "Sum", PeriodSeconds: 60,
	}
}

const sentSum = "AWS/SQS/Sent Sum"

func TestTheNewestCompletePeriodCounts(t *testing.T) {
	inTime(t, func(t *testing.T, r *awsmetrics.Reader, m *mustertest.Metrics) {
		start := time.Now().Truncate(time.Minute)
		m.Tell(sentSum, start.Add(-2*time.Minute), 7)
		m.Tell(sentSum, start.Add(-time.Minute), 9)
		m.Tell(sentSum, start, 2) // of this minute, which is not over
		time.Sleep(time.Second)   // the minute before has only just ended
		if s := r.Newest(t.Context(), "", sent("a"))[0]; s.Value != 7 || !s.At.Equal(start.Add(-time.Minute)) {
			t.Errorf("a second into the minute found %+v, want 7 as of a minute ago", s)
		}
		time.Sleep(time.Minute)
		if s := r.Newest(t.Context(), "", sent("a"))[0]; s.Value != 9 || !s.At.Equal(start) {
			t.Errorf("a minute later found %+v, want 9 as of the minute's start", s)
		}
	})
}

func TestNoDatapointIsUnknownAndNotZero(t *testing.T) {
	inTime(t, func(t *testing.T, r *awsmetrics.Reader, m *mustertest.Metrics) {
		if s := r.Newest(t.Context(), "", sent("a"))[0]; s.Known ||
			!strings.Contains(s.Reason, "no datapoint of AWS/SQS Sent") {
			t.Errorf("found %+v, want unknown with a reason", s)
		}
	})
}

func TestManyFleetsAreReadInFewCalls(t *testing.T) {
	inTime(t, func(t *testing.T, r *awsmetrics.Reader, m *mustertest.Metrics) {
		look := func() {
			var all sync.WaitGroup
			for i := range 400 { // fleets
				all.Go(func() {
					r.Newest(t.Context(), "", sent(fmt.Sprint("queue-", i)), sent(fmt.Sprint("other-", i)),
						sent(fmt.Sprint("third-", i)))
				})
			}
			all.Wait()
		}
		look()
		if calls := m.Calls(); len(calls) != 3 || calls[0] != awsmetrics.MaxQueries || calls[2] != 200 {
			t.Errorf("400 fleets with 3 metrics made calls of %v queries, want 500, 500 and 200", calls)
		}
		for range 60 {
			time.Sleep(5 * time.Second)
			look()
		}
		if n := len(m.Calls()); n > 18 {
			t.Errorf("%d calls in five minutes, want 3 a minute", n)
		}
	})
}

func TestAFailureIsToldToWhoNeedsIt(t *testing.T) {
	inTime(t, func(t *testing.T, r *awsmetrics.Reader, m *mustertest.Metrics) {
		m.Fail("AccessDenied")
		s := r.Newest(t.Context(), "", sent("a"))[0]
		if s.Known || !strings.Contains(s.Reason, "allow cloudwatch:GetMetricData") {
			t.Errorf("found %+v, want what to allow", s)
		}
		m.Fail("")
		m.Tell(sentSum, time.Now().Add(-time.Minute), 3)
		time.Sleep(61 * time.Second)
		if s := r.Newest(t.Context(), "", sent("a"))[0]; s.Value != 3 {
			t.Errorf("found %+v a minute later, want 3", s)
		}
	})
}

func TestAnEndedContextLeavesNothingBehind(t *testing.T) {
	inTime(t, func(t *testing.T, r *awsmetrics.Reader, m *mustertest.Metrics) {
		ctx, stop := context.WithCancel(t.Context())
		stop()
		if s := r.Newest(ctx, "", sent("a"))[0]; s.Known {
			t.Errorf("found %+v with an ended context", s)
		}
		m.Tell(sentSum, time.Now().Add(-time.Minute).Truncate(time.Minute), 3)
		time.Sleep(20 * time.Second)
		if s := r.Newest(t.Context(), "", sent("a"))[0]; s.Value != 3 {
			t.Errorf("found %+v, want 3 at once: what was given up is no answer", s)
		}
	})
}
