package cloud_test

import (
	"testing"
	"time"

	"github.com/muster-scale/muster/sim/cloud"
	"github.com/muster-scale/muster/sim/cloud/containers"
	"github.com/muster-scale/muster/sim/cloud/scaling"
)

const target = "service/jobs/workers"

// register registers the service with Application Auto Scaling.
func (j jobs) register(least, most int, suspended *scaling.SuspendedState) {
	j.Helper()
	must(j.ApplicationScaling().RegisterScalableTarget(scaling.RegisterTarget{ServiceNamespace: "ecs",
		ResourceId:        target,
		ScalableDimension: "ecs:service:DesiredCount",
		MinCapacity:       &least, MaxCapacity: &most, SuspendedState: suspended}))(j)
}

func (j jobs) track(name string, at float64, change ...func(*scaling.ServiceTracking)) error {
	j.Helper()
	c := &scaling.ServiceTracking{ScaleInCooldown: ptr(0), ScaleOutCooldown: ptr(0)}
	c.TargetValue, c.CustomizedMetricSpecification = &at, &scaling.CustomizedMetric{Namespace: "Muster",
		MetricName: name,
		Statistic:  "Average", Period: ptr(10)}
	for _, x := range change {
		x(c)
	}
	_, err := j.ApplicationScaling().PutScalingPolicy(scaling.PutTargetPolicy{ServiceNamespace: "ecs",
		ResourceId:        target,
		ScalableDimension: "ecs:service:DesiredCount",
		PolicyName:        name, PolicyType: "TargetTrackingScaling", TargetTrackingScalingPolicyConfiguration: c})
	return err
}

// until publishes a value every ten seconds until the desired count changes, and returns how long that took.
func (j jobs) until(name string, v float64, most time.Duration) (took time.Duration) {
	j.Helper()
	was := j.service().DesiredCount
	for ; j.service().DesiredCount == was && took < most; took += 10 * time.Second {
		watch{TB: j, World: j.World, cw: j.CloudWatch()}.put(name, v, fine)
		j.pass(10 * time.Second)
	}
	return took
}

func TestRegisteringMovesTheCountIntoTheBounds(t *testing.T) {
	j := newJobs(t, cloud.Settings{}, 2)
	j.register(4, 9, nil)
	expect(t, "raised to min", j.service().DesiredCount, 4)
	j.register(1, 3, nil)
	expect(t, "lowered to max", j.service().DesiredCount, 3)
	_, err := j.ApplicationScaling().RegisterScalableTarget(scaling.RegisterTarget{ServiceNamespace: "ecs",
		ResourceId: target, ScalableDimension: "ecs:service:DesiredCount", MinCapacity: ptr(5)})
	expect(t, "min above max", code(err), "ValidationException")
	_, err = j.ApplicationScaling().RegisterScalableTarget(scaling.RegisterTarget{ServiceNamespace: "ecs",
		ResourceId: "service/jobs/none", ScalableDimension: "ecs:service:DesiredCount", MinCapacity: ptr(1),
		MaxCapacity: ptr(2)})
	expect(t, "no such service", code(err), "ValidationException")
	must(j.ApplicationScaling().DeregisterScalableTarget(scaling.TargetName{ServiceNamespace: "ecs", ResourceId: target,
		ScalableDimension: "ecs:service:DesiredCount"}))(t)
	expect(t, "without a target no policy", code(j.track("m", 10)), "ObjectNotFoundException")
}

func TestAPeriodBelowAMinuteHasNoEffectOnServices(t *testing.T) {
	j := newJobs(t, cloud.Settings{}, 2)
	j.register(1, 20, nil)
	must(0, j.track("m", 10))(t)
	if took := j.until("m", 30, time.Hour); took < 3*time.Minute {
		t.Errorf("scaled out after %v, want three points of a minute", took)
	}
	expect(t, "2 x 30/10", j.service().DesiredCount, 6)
}

func TestServicesDoNotScaleInDuringADeployment(t *testing.T) {
	j := newJobs(t, cloud.Settings{}, 4)
	j.register(1, 20, nil)
	must(0, j.track("m", 10))(t)
	j.pass(time.Minute)
	ids := j.tasks()
	j.protect(true, 2880, ids[0]) // holds the deployment up
	j.update(func(in *containers.UpdateServiceInput) { in.ForceNewDeployment = true })
	expect(t, "while it goes on", j.until("m", 1, time.Hour), time.Hour)
	took := j.until("m", 20, time.Hour)
	expect(t, "scale-out goes on", j.service().DesiredCount, 8)
	expect(t, "at once", took < 5*time.Minute, true)
	j.protect(false, 1, ids[0])
	expect(t, "and scale-in after it", j.until("m", 2, time.Hour) < time.Hour, true)
}

func TestSuspendedScalingDoesNothing(t *testing.T) {
	j := newJobs(t, cloud.Settings{}, 4)
	j.register(1, 20, &scaling.SuspendedState{DynamicScalingInSuspended: ptr(true),
		DynamicScalingOutSuspended: ptr(true)})
	must(0, j.track("m", 10))(t)
	expect(t, "out", j.until("m", 50, 30*time.Minute), 30*time.Minute)
	expect(t, "in", j.until("m", 1, 30*time.Minute), 30*time.Minute)
	j.register(1, 20, &scaling.SuspendedState{DynamicScalingInSuspended: ptr(false)})
	expect(t, "in again", j.until("m", 1, 30*time.Minute) < time.Hour, true)
	expect(t, "scaled in", j.service().DesiredCount, 1)
	expect(t, "and out not", j.until("m", 50, 30*time.Minute), 30*time.Minute)
}

func TestWithinACooldownOnlyALargerScaleOutCounts(t *testing.T) {
	j := newJobs(t, cloud.Settings{}, 2)
	j.register(1, 50, nil)
	must(0, j.track("m", 10, func(c *scaling.ServiceTracking) { c.ScaleOutCooldown = ptr(1800) }))(t)
	j.until("m", 30, time.Hour)
	expect(t, "2 x 30/10", j.service().DesiredCount, 6)
	expect(t, "the same value again", j.until("m", 30, 10*time.Minute), 10*time.Minute)
	j.until("m", 45, 10*time.Minute)
	expect(t, "2 x 45/10, a larger one", j.service().DesiredCount, 9)
	took := j.until("m", 30, time.Hour)
	expect(t, "9 x 30/10 once the cooldown is over", j.service().DesiredCount, 27)
	expect(t, "and not before", took > 5*time.Minute, true)
}
