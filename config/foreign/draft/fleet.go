package draft

import (
	"time"

	"github.com/muster-scale/muster/config"
	"github.com/muster-scale/muster/policy"
)

// Fleet is what one group, service or workload was told, in our words. Another system sizes it today, so what is
// written of it begins in shadow.
type Fleet struct {
	// Name is a fleet's name; From says in words what it was, with its place.
	Name, From string
	// Queues are the URLs of its queues; none where no queue is known. A URL has REGION and ACCOUNT where nothing tells
	// them.
	Queues []string
	// Group is the name of the Auto Scaling group that it is, Cluster and Service those of an ECS service; empty for
	// another fleet. Region is where they are; empty where nothing tells it.
	Group, Cluster, Service, Region string
	// Kubernetes is the system that sizes a workload of Kubernetes; empty for any other fleet.
	Kubernetes string
	// Prometheus is where its backlog is read; empty where it is known by its queues.
	Prometheus Prometheus
	// Min and Max are sizes.
	Min, Max int
	// Slots is how many messages a member takes at once; zero where nothing was said of it.
	Slots int
	// Poll, Boot and Latency, the objective, are zero where nothing was said of them.
	Poll, Boot, Latency time.Duration
	// Policies are what sizes it; the largest counts where there are several. None stands for deadline.
	Policies []policy.Spec
	// Out and In shape its rises and falls.
	Out, In policy.Shape
	// Peer names the rule of the other system for comparisons, as in "keda[5]"; empty when there is none.
	Peer string
	// Notes are those of the result that are about this fleet; Remarks say in words what was chosen and why.
	Notes   []config.Fault
	Remarks []string

	// Unsure says which names of Group, Cluster and Service stand in for others, and why.
	Unsure map[string]string
}

// Prometheus is a query, and the URL of the server that answers it.
type Prometheus struct{ URL, Query string }

// Spec is the policy of all.
func (f Fleet) Spec() policy.Spec {
	s := policy.Spec{Name: policy.Default}
	switch len(f.Policies) {
	case 0:
	case 1:
		s = f.Policies[0]
	default:
		s = policy.Spec{Name: "largest", Largest: f.Policies}
	}
	s.Out, s.In = f.Out, f.In
	return s
}

// QueueNames are the names of the queues.
func (f Fleet) QueueNames() (names []string) {
	for _, q := range f.Queues {
		names = append(names, BaseOf(q))
	}
	return names
}

// Kind is what the fleet consists of, as the configuration calls it: asg or ecs; kubernetes where that is a workload of
// Kubernetes, which Muster does not size yet, and unknown where nothing tells.
func (f Fleet) Kind() string {
	switch {
	case f.Group != "":
		return "asg"
	case f.Service != "":
		return "ecs"
	case f.Kubernetes != "":
		return "kubernetes"
	}
	return "unknown"
}
