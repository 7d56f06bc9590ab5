package draft

import (
	"time"

	"github.com/muster-scale/muster/config"
	"github.com/muster-scale/muster/policy"
)

// Fleet is what one group, service or workload was told, in Muster's words. Another system sizes it today, so its
// configuration begins in shadow mode.
type Fleet struct {
	// Name is the fleet's name. From says in words what it was, with its place.
	Name, From string
	// Queues are the URLs of its queues; none when no queue is known. REGION and ACCOUNT stand in for unknown parts.
	Queues []string
	// Group is the name of the Auto Scaling group, Cluster and Service are those of an ECS service; empty for another
	// kind. Region says where they are; empty when that is not known.
	Group, Cluster, Service, Region string
	// Kubernetes is the system that sizes a workload of Kubernetes; empty for any other fleet.
	Kubernetes string
	// Prometheus is the query for its backlog; empty when its queues say it.
	Prometheus Prometheus
	// Min and Max are the bounds of its size.
	Min, Max int
	// Slots is how many messages a member handles at once; 0 when that is not known.
	Slots int
	// Poll is the interval of polls, Boot the boot time, Latency the objective; 0 when not stated.
	Poll, Boot, Latency time.Duration
	// Policies size it; of several the maximum counts. None means deadline.
	Policies []policy.Spec
	// Out and In bound its rises and falls.
	Out, In policy.Shape
	// Peer names the other system's rule among the baselines of a comparison, such as "keda[5]"; empty for none.
	Peer string
	// Notes are the notes of the result about this fleet. Remarks say in words what was chosen and why.
	Notes   []config.Fault
	Remarks []string

	// Unsure says which of the names in Group, Cluster and Service only stand in for the real one, and why.
	Unsure map[string]string
}

// Prometheus is a query and the URL of the server that answers it.
type Prometheus struct{ URL, Query string }

// Spec returns the fleet's policies as one.
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

// QueueNames returns the names of its queues.
func (f Fleet) QueueNames() (names []string) {
	for _, q := range f.Queues {
		names = append(names, BaseOf(q))
	}
	return names
}

// Kind returns the kind of the fleet as a configuration names it: asg or ecs. A workload of Kubernetes, which Muster
// does not size yet, is kubernetes, and a fleet of unknown kind is unknown.
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
