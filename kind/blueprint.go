package kind

import (
	"time"

	"github.com/muster-scale/muster/config"
)

// This file has what a kind states about the resources of AWS below a fleet, so that package deploy/stack can write
// templates without naming any kind.

// Blueprint has the resources below a fleet that a configuration states. What it leaves empty is not part of the fleet.
type Blueprint struct {
	// Group is the name of an Auto Scaling group. Its instances are the members, or host them if Cluster is set too.
	Group string
	// Pool is the warm pool of the group; nil for none.
	Pool *Pool
	// Cluster is the name of a cluster of ECS. Service is the name of a service in it; Family is the family of a task
	// definition for tasks without a service. With a cluster, one of the two is set.
	Cluster, Service, Family string
	// TasksPerInstance is how many tasks the instances of Group hold each; zero without a group under a service.
	TasksPerInstance int
	// Fargate tells that no instance is below the tasks. Providers are the capacity providers that the configuration
	// names for them; none with a launch type or a service.
	Fargate   bool
	Providers []string
}

// Pool is a warm pool as the templates of AWS state it.
type Pool struct {
	// Size is how many instances wait. State is Stopped, Running or Hibernated.
	Size  int
	State string
	// Reuse returns instances that scale-in ends to the pool.
	Reuse bool
}

// Templated is implemented by members that templates can make.
type Templated interface {
	// Blueprint returns the resources of the fleet f. It makes no call.
	Blueprint(f config.Fleet) Blueprint
}

// Tracking is a policy of target tracking as a template states it.
type Tracking struct {
	// Name is the name under which Muster maintains the policy.
	Name string
	// Metrics are the tracked metric, or several with expressions over them. The last one is tracked.
	Metrics []TrackedMetric
	// Published tells that Muster publishes the only metric; otherwise CloudWatch computes it.
	Published bool
	// Period is the period of a published metric.
	Period time.Duration
	// ScaleOutCooldown is the least time between two scale-outs of a service; zero leaves it to AWS.
	ScaleOutCooldown time.Duration
	// DisableScaleIn lets AWS only scale out.
	DisableScaleIn bool
}

// TrackedMetric is a metric with its statistic, or an expression over those before it.
type TrackedMetric struct {
	ID, Expression        string
	Namespace, Name, Stat string
	// Dimensions are alternating names and values.
	Dimensions []string
}

// Tracker is implemented by sizers that templates can make.
type Tracker interface {
	// Tracking returns the policy for the fleet f with a target. It makes no call.
	Tracking(f config.Fleet, target float64) Tracking
}
