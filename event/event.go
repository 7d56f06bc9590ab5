package event

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"
)

// The bounds of what an event keeps. A longer name is cut, and then names nothing that exists.
const (
	// MaxID is the longest id in bytes. A longer one is replaced by its hash.
	MaxID = 256
	// MaxName is the longest name in bytes.
	MaxName = 1024
)

// Kind says what happened. It is for people, logs and metrics: every kind has the same effect.
type Kind string

// The kinds. The first five are what a program says about its own work.
const (
	ScaleUp         Kind = "scale-up"
	ScaleDown       Kind = "scale-down"
	WorkerIdle      Kind = "worker-idle"
	CapacityRequest Kind = "capacity-request"
	Deployment      Kind = "deployment"
	// ObjectCreated: a file was uploaded to S3.
	ObjectCreated Kind = "object-created"
	// APICall: an API of AWS was called, as CloudTrail saw it.
	APICall Kind = "api-call"
	// Alarm: an alarm of CloudWatch changed its state.
	Alarm Kind = "alarm"
	// TaskState, HostState and ServiceAction: a task, a container instance or a service of ECS changed.
	TaskState     Kind = "task-state"
	HostState     Kind = "host-state"
	ServiceAction Kind = "service-action"
	// InstanceState, InstanceLaunch and InstanceTerminate: an instance of EC2 changed, was launched or was ended.
	// InstanceLifecycle: an instance waits at a lifecycle hook of its group.
	InstanceState     Kind = "instance-state"
	InstanceLaunch    Kind = "instance-launch"
	InstanceTerminate Kind = "instance-terminate"
	InstanceLifecycle Kind = "instance-lifecycle"
	// SpotInterruption: AWS takes a Spot instance back in two minutes. Rebalance: that has become more likely.
	SpotInterruption Kind = "spot-interruption"
	Rebalance        Kind = "rebalance"
	// Custom: an event of a program's own, of a kind that this package does not know.
	Custom Kind = "custom"
	// Unknown: a message that cannot be read.
	Unknown Kind = "unknown"
	// Test: AWS says that a notification was set up. It wakes nothing.
	Test Kind = "test"
)

// Kinds returns all kinds, in the order of the documentation.
func Kinds() []Kind {
	return []Kind{ScaleUp, ScaleDown, WorkerIdle, CapacityRequest, Deployment, ObjectCreated, APICall, Alarm, TaskState,
		HostState, ServiceAction, InstanceState, InstanceLaunch, InstanceTerminate, InstanceLifecycle, SpotInterruption,
		Rebalance, Custom, Unknown, Test}
}

// KindOf returns the kind with a name, as a program wrote it: "_scale_up" and "Scale Up" are [ScaleUp]. Any other name
// is [Custom].
func KindOf(name string) Kind {
	name = strings.Trim(strings.NewReplacer("_", "-", " ", "-").Replace(strings.ToLower(name)), "-")
	if k := Kind(name); k != Unknown && k != Test && slices.Contains(Kinds(), k) {
		return k
	}
	return Custom
}

// Event is one event. It has no number, and must not get one: see the package's documentation.
type Event struct {
	Kind Kind
	// ID makes a repeated event harmless. It has at most [MaxID] bytes, and is empty for an event without one.
	ID string
	Subject
}

// Subject names what an event is about. An empty subject concerns all fleets.
type Subject struct {
	// Fleet is the name of a fleet. It decides alone: the other names then do not count.
	Fleet string
	// Queue is the name, URL or ARN of a queue.
	Queue string
	// Group is an Auto Scaling group.
	Group string
	// Cluster is a cluster of ECS, Service one of its services, Family a task definition's family of tasks without a
	// service. Without Service and Family, the event concerns the whole cluster.
	Cluster, Service, Family string
	// Member is a task or an instance by its id.
	Member string
}

// Key identifies an event for [Seen]: two events are the same if they have the same id and subject. It is empty for an
// event without an id, which never counts as repeated.
func (e Event) Key() string {
	if e.ID == "" {
		return ""
	}
	return strings.Join([]string{e.Fleet, e.Queue, e.Group, e.Cluster, e.Service, e.Family, e.Member, e.ID}, "\x00")
}

// Fleet is a fleet by the names that events use. A name that a fleet does not have is empty.
type Fleet struct {
	Name string
	// Queues are the names, URLs or ARNs of its queues.
	Queues []string
	// Group is its Auto Scaling group; Hosts is the group of the instances under its tasks.
	Group, Hosts string
	// Cluster is the name or ARN of its cluster; one of Service and Family is set with it.
	Cluster, Service, Family string
	// Has tells whether a task or instance is a member. It is nil while the members are not known.
	Has func(id string) bool
}

// Concerns tells whether an event may change what is right for a fleet. In doubt it does: an instance may belong to a
// fleet whose members are not known yet, or may be under the tasks of a fleet.
func (e Event) Concerns(f Fleet) bool {
	switch {
	case e.Kind == Test:
		return false
	case e.Subject == Subject{}:
		return true
	case e.Fleet != "":
		return e.Fleet == f.Name
	}
	return e.Queue != "" && slices.ContainsFunc(f.Queues, func(q string) bool { return last(q) == last(e.Queue) }) ||
		e.Group != "" && (e.Group == f.Group || e.Group == f.Hosts) ||
		e.ofTasks(f) || e.Member != "" && e.mayBeOf(f)
}

// ofTasks tells whether an event about a cluster or a service concerns the tasks of a fleet.
func (e Event) ofTasks(f Fleet) bool {
	switch {
	case e.Cluster != "" && last(e.Cluster) != last(f.Cluster):
		return false
	case e.Service != "":
		return last(e.Service) == last(f.Service)
	case e.Family != "":
		return e.Family == f.Family
	}
	return e.Cluster != ""
}

// mayBeOf tells whether a task or instance may belong to a fleet.
func (e Event) mayBeOf(f Fleet) bool {
	if f.Has != nil && f.Has(e.Member) {
		return true
	}
	// A cluster or group that the event names has told already.
	alone := e.Cluster == "" && e.Group == ""
	return alone && (f.Has == nil || f.Hosts != "" && strings.HasPrefix(e.Member, "i-"))
}

// Wakes returns the names of the fleets that any of the events concerns, in the order of the fleets.
func Wakes(fleets []Fleet, events ...Event) (names []string) {
	for _, f := range fleets {
		if slices.ContainsFunc(events, func(e Event) bool { return e.Concerns(f) }) {
			names = append(names, f.Name)
		}
	}
	return names
}

// last returns the last part of a URL, an ARN or a path, which is the name itself for a name.
func last(name string) string { return name[strings.LastIndexAny(name, "/:")+1:] }

// bounded returns the event with bounded texts.
func (e Event) bounded() Event {
	for _, name := range []*string{&e.Fleet, &e.Queue, &e.Group, &e.Cluster, &e.Service, &e.Family, &e.Member} {
		// The end is kept: it holds the name in a URL or an ARN.
		*name = (*name)[max(0, len(*name)-MaxName):]
	}
	if len(e.ID) > MaxID {
		sum := sha256.Sum256([]byte(e.ID))
		e.ID = hex.EncodeToString(sum[:])
	}
	return e
}
