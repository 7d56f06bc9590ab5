package cloud_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/muster-scale/muster/awsrules/alarm"
	"github.com/muster-scale/muster/sim/cloud"
	"github.com/muster-scale/muster/sim/cloud/groupapi"
	"github.com/muster-scale/muster/sim/cloud/monitoring"
	"github.com/muster-scale/muster/sim/cloud/scaling"
)

// track gives the group a policy that keeps the metric m at a target.
func (f fleet) track(target float64, change ...func(*scaling.PutPolicy)) scaling.PutPolicyResult {
	f.Helper()
	in := scaling.PutPolicy{AutoScalingGroupName: "g", PolicyName: "p", PolicyType: "TargetTrackingScaling",
		EstimatedInstanceWarmup: ptr(60),
		TargetTrackingConfiguration: &scaling.TargetTracking{TargetValue: &target,
			CustomizedMetricSpecification: &scaling.CustomizedMetric{Namespace: "Muster", MetricName: "m",
				Statistic: "Average"}}}
	for _, c := range change {
		c(&in)
	}
	return must(f.GroupPolicies().PutScalingPolicy(in))(f)
}

// until publishes v every period until desired is no longer what it was, and returns how long that took.
func (f fleet) until(v float64, every, most time.Duration) (took time.Duration) {
	f.Helper()
	was := f.group().DesiredCapacity
	for ; f.group().DesiredCapacity == was && took < most; took += every {
		d := monitoring.MetricDatum{MetricName: "m", Value: &v, StorageResolution: ptr(1)}
		must(f.CloudWatch().PutMetricData(monitoring.PutMetrics{Namespace: "Muster",
			MetricData: []monitoring.MetricDatum{d}}))(f)
		f.pass(every)
	}
	return took
}

func TestTheFixedPairOfAlarmsNeedsThreeAndFifteenPoints(t *testing.T) {
	f := newFleet(t, cloud.Settings{}, 1, 20, 4)
	f.pass(5 * time.Minute)
	put := f.track(10)
	expect(t, "alarms", len(put.Alarms), 2)
	expect(t, "name", strings.HasPrefix(put.Alarms[0].AlarmName, "TargetTracking-g-AlarmHigh-"), true)
	took := f.until(26, time.Minute, time.Hour)
	expect(t, "4 x 26/10, rounded up", f.group().DesiredCapacity, 11)
	expect(t, "after three points", took >= 3*time.Minute && took <= 4*time.Minute, true)
	f.until(9.5, time.Minute, 10*time.Minute)
	took = f.until(8.5, time.Minute, time.Hour)
	expect(t, "11 x 8.5/10, rounded up", f.group().DesiredCapacity, 10)
	expect(t, "after fifteen points", took >= 15*time.Minute && took <= 16*time.Minute, true)
}

func TestNothingHappensBetweenTheThresholds(t *testing.T) {
	f := newFleet(t, cloud.Settings{}, 1, 20, 4)
	f.pass(5 * time.Minute)
	f.track(10)
	expect(t, "9.5 of 10 for two hours", f.until(9.5, time.Minute, 2*time.Hour), 2*time.Hour)
}

func TestShortPeriodsAndTunedAlarmsAreFaster(t *testing.T) {
	for _, c := range []struct {
		name     string
		alarms   scaling.AlarmTuning
		period   int
		publish  time.Duration
		from, to time.Duration
	}{
		{"fixed, 60 s", scaling.FixedAlarms, 60, time.Minute, 3 * time.Minute, 4 * time.Minute},
		{"tuned, 60 s", scaling.TunedAlarms, 60, time.Minute, 2 * time.Minute, 3 * time.Minute},
		{"fixed, 10 s", scaling.FixedAlarms, 10, 10 * time.Second, 30 * time.Second, 40 * time.Second},
		{"tuned, 10 s", scaling.TunedAlarms, 10, 10 * time.Second, 20 * time.Second, 30 * time.Second},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := newFleet(t, cloud.Settings{Tracking: scaling.Tracking{Alarms: c.alarms}}, 1, 20, 4)
			f.pass(5 * time.Minute)
			f.track(10, func(p *scaling.PutPolicy) {
				p.TargetTrackingConfiguration.CustomizedMetricSpecification.Period = &c.period
			})
			if took := f.until(20, c.publish, time.Hour); took < c.from || took > c.to {
				t.Errorf("scaled out after %v, want %v to %v", took, c.from, c.to)
			}
		})
	}
}

func TestScaleInWaitsForWarmUpAndForEveryPolicy(t *testing.T) {
	f := newFleet(t, cloud.Settings{}, 1, 20, 4)
	f.pass(time.Minute)
	f.track(10, func(p *scaling.PutPolicy) { p.EstimatedInstanceWarmup = ptr(3600) })
	took := f.until(1, time.Minute, 2*time.Hour)
	expect(t, "after an hour of warm-up", took >= 59*time.Minute && took <= 63*time.Minute, true)

	f = newFleet(t, cloud.Settings{}, 1, 20, 4)
	f.pass(5 * time.Minute)
	f.track(10)
	f.track(1e-9, func(p *scaling.PutPolicy) { // wants many, for ever
		p.PolicyName = "other"
		p.TargetTrackingConfiguration.CustomizedMetricSpecification.MetricName = "never published"
	})
	expect(t, "a policy without data does not agree", f.until(1, time.Minute, time.Hour), time.Hour)
	f.track(1e-9, func(p *scaling.PutPolicy) {
		p.PolicyName = "other"
		p.TargetTrackingConfiguration.DisableScaleIn = ptr(true)
		p.TargetTrackingConfiguration.CustomizedMetricSpecification.MetricName = "never published"
	})
	expect(t, "one that may not scale in is not asked", f.until(1, time.Minute, time.Hour) < time.Hour, true)
	must(f.GroupPolicies().DeletePolicy(scaling.PolicyName{AutoScalingGroupName: "g", PolicyName: "p"}))(t)
	expect(t, "policies",
		len(must(f.GroupPolicies().DescribePolicies(scaling.PolicyNames{AutoScalingGroupName: "g"}))(
			t).ScalingPolicies),
		1)
	expect(t, "alarms", len(must(f.CloudWatch().DescribeAlarms(monitoring.AlarmNames{}))(t).MetricAlarms), 2)
}

func TestAChangedPolicyBeginsItsAlarmsAnew(t *testing.T) {
	for _, forget := range []bool{false, true} {
		f := newFleet(t, cloud.Settings{Tracking: scaling.Tracking{ForgetPoints: forget}}, 1, 20, 4)
		f.pass(5 * time.Minute)
		first := f.track(100)
		expect(t, "below the target", f.until(50, time.Minute, 10*time.Minute), 10*time.Minute)
		second := f.track(20)
		expect(t, "the same alarms", second.Alarms[0] == first.Alarms[0] && second.PolicyARN == first.PolicyARN, true)
		expect(t, "their state",
			must(f.CloudWatch().DescribeAlarms(monitoring.AlarmNames{}))(t).MetricAlarms[0].StateValue,
			alarm.InsufficientData)
		took := f.until(50, time.Minute, 10*time.Minute)
		expect(t, "4 x 50/20", f.group().DesiredCapacity, 10)
		expect(t, "at the next look, unless points are forgotten", took <= 2*time.Minute, !forget)
	}
}

// utilization is the published formula for workers' utilization.
func utilization(returns *bool) func(*scaling.PutPolicy) {
	metric := func(id, name, stat string) monitoring.MetricQuery {
		return monitoring.MetricQuery{Id: id, MetricStat: &monitoring.MetricStat{Metric: metricNamed(name), Stat: stat},
			ReturnData: returns}
	}
	return func(p *scaling.PutPolicy) {
		p.TargetTrackingConfiguration.CustomizedMetricSpecification = &scaling.CustomizedMetric{
			Metrics: []monitoring.MetricQuery{
				metric("backlog", "Visible", "Maximum"), metric("inFlight", "NotVisible", "Maximum"),
				metric("workers", "TotalWorkers", "Sum"),
				{Id: "totalWork", Expression: "FILL(backlog, REPEAT) + FILL(inFlight, REPEAT)", ReturnData: returns},
				{Id: "utilizationRatio", Expression: "totalWork / workers", ReturnData: returns},
				{Id: "utilization", Expression: "IF(FILL(workers, 0) > 0, utilizationRatio, IF(totalWork > 0, 1, 0))",
					ReturnData: ptr(true)},
			}}
	}
}

func TestTheUtilizationFormulaScalesFromZeroByOne(t *testing.T) {
	f := newFleet(t, cloud.Settings{}, 0, 20, 0)
	f.track(0.7, utilization(ptr(false)))
	w := watch{TB: t, World: f.World, cw: f.CloudWatch()}
	untilChanged := func(values map[string]float64) {
		was := f.group().DesiredCapacity
		for n := 0; f.group().DesiredCapacity == was && n < 20; n++ {
			for _, name := range []string{"Visible", "NotVisible", "TotalWorkers"} {
				if v, ok := values[name]; ok {
					w.put(name, v)
				}
			}
			f.pass(time.Minute)
		}
	}
	untilChanged(map[string]float64{"Visible": 40, "NotVisible": 0})
	expect(t, "from zero", f.group().DesiredCapacity, 1)
	untilChanged(map[string]float64{"Visible": 0, "NotVisible": 13, "TotalWorkers": 20}) // 0.65: nothing changes
	untilChanged(map[string]float64{"Visible": 30, "NotVisible": 5, "TotalWorkers": 5})
	expect(t, "1 x 7/0.7", f.group().DesiredCapacity, 10)
	_, err := f.GroupPolicies().PutScalingPolicy(policyWith(utilization(nil)))
	expect(t, "as published, with ReturnData unset on five of six", code(err), "ValidationError")
}

func policyWith(change func(*scaling.PutPolicy)) scaling.PutPolicy {
	in := scaling.PutPolicy{AutoScalingGroupName: "g", PolicyName: "q", PolicyType: "TargetTrackingScaling",
		TargetTrackingConfiguration: &scaling.TargetTracking{TargetValue: ptr(0.7)}}
	change(&in)
	return in
}

func TestPoliciesThatAreRefused(t *testing.T) {
	f := newFleet(t, cloud.Settings{}, 0, 20, 0)
	for name, change := range map[string]func(*scaling.PutPolicy){
		"a period of 20 s": func(p *scaling.PutPolicy) {
			p.TargetTrackingConfiguration.CustomizedMetricSpecification = &scaling.CustomizedMetric{Namespace: "M",
				MetricName: "m", Statistic: "Average", Period: ptr(20)}
		},
		"no metric":        func(*scaling.PutPolicy) {},
		"a target of zero": func(p *scaling.PutPolicy) { p.TargetTrackingConfiguration.TargetValue = ptr(0.0) },
		"another kind":     func(p *scaling.PutPolicy) { p.PolicyType = "StepScaling" },
		"two that return":  utilization(ptr(true)),
		"an unknown metric": func(p *scaling.PutPolicy) {
			p.TargetTrackingConfiguration.PredefinedMetricSpecification = &scaling.PredefinedMetric{
				PredefinedMetricType: "Mood"}
		},
	} {
		_, err := f.GroupPolicies().PutScalingPolicy(policyWith(change))
		expect(t, name, code(err), "ValidationError")
	}
}

// TestThePublishedTestOfTheDynamicTarget plays the two tests of a dynamic target: 50 messages that take 25 s, then 50
// s, to be finished within 300 s. Every minute the backlog per instance is published and the target set to 300 s /
// duration. It was seen to scale to 4 instances and to 8.
func TestThePublishedTestOfTheDynamicTarget(t *testing.T) {
	for _, c := range []struct {
		takes time.Duration
		peak  int
	}{{25 * time.Second, 4}, {50 * time.Second, 8}} {
		f := newFleet(t, cloud.Settings{}, 1, 100, 1)
		f.pass(10 * time.Minute)
		f.track(100)
		waiting, peak := 50, 0
		busy := map[string]time.Time{}
		for second := range 20 * 60 {
			serving := f.in(groupapi.InService)
			for _, id := range serving {
				if f.Now().Before(busy[id]) || waiting == 0 {
					continue
				}
				waiting--
				busy[id] = f.Now().Add(c.takes)
			}
			if second%60 == 30 {
				watch{TB: t, World: f.World, cw: f.CloudWatch()}.put("m", float64(waiting)/float64(len(serving)))
				f.track(300 / c.takes.Seconds())
			}
			peak = max(peak, f.group().DesiredCapacity)
			f.pass(time.Second)
		}
		expect(t, "most instances at "+c.takes.String(), peak, c.peak)
		expect(t, "left waiting", waiting, 0)
	}
}

func TestGroupMetricsArePublishedOnceEnabled(t *testing.T) {
	f := newFleet(t, cloud.Settings{}, 1, 20, 3)
	f.pass(10 * time.Minute)
	expect(t, "before", len(must(f.CloudWatch().ListMetrics(monitoring.ListMetricsInput{}))(t).Metrics), 0)
	must(f.asg.EnableMetricsCollection(groupapi.GroupMetrics{AutoScalingGroupName: "g", Granularity: "1Minute",
		Metrics: []string{"GroupInServiceInstances"}}))(t)
	f.pass(2 * time.Minute)
	name := monitoring.MetricName{Namespace: "AWS/AutoScaling", MetricName: "GroupInServiceInstances",
		Dimensions: []monitoring.Dimension{{Name: "AutoScalingGroupName", Value: "g"}}}
	got, _ := watch{TB: t, World: f.World, cw: f.CloudWatch()}.get(name, "Average", 60)
	if !slices.Equal(got, []float64{3, 3}) {
		t.Errorf("got %v, want 3 in each of two minutes", got)
	}
}
