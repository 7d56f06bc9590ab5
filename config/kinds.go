package config

import (
	"reflect"
	"time"

	"go.yaml.in/yaml/v4"

	"github.com/muster-scale/muster/config/channels"
	"github.com/muster-scale/muster/config/keys"
	"github.com/muster-scale/muster/policy"
)

// This file is the border between package config and the kinds of fleets, queues and signals. A kind implements these
// interfaces in its own folder; the rest of Muster depends on [Facts] and never on the type of a kind.

// Kinds are the kinds of fleets, queues, signals and sizers that a configuration may state. Package kinds has the table
// of all kinds of this program.
type Kinds struct {
	// Members are the kinds of fleets. The first one has no key: a fleet that states no kind is of the first one.
	Members []MembersKind
	// Queues are the kinds of queues. A queue is of the first kind whose Takes accepts its name.
	Queues []QueueKind
	// Signals are the kinds of measurements in addition to a fleet's queue, or instead of it.
	Signals []SignalKind
	// Sizers are the kinds of systems that can size a fleet instead of Muster.
	Sizers []SizerKind
	// Channels are the kinds of channels that are told of incidents.
	Channels []channels.Kind
}

// MembersKind is one kind of fleet.
type MembersKind struct {
	// Key is the key of a fleet that states the kind. What describes it in the reference. Both are empty for the first
	// kind.
	Key, What string
	// New returns an empty statement to decode into.
	New func() Members
}

// Members is the kind of a fleet with its parameters, as its configuration states them. It is a pointer to plain data,
// so that two configurations can be compared deeply.
type Members interface {
	Statement
	// Facts returns the properties that the rest of Muster depends on.
	Facts() Facts
}

// Statement is the mapping below the key of a kind.
type Statement interface {
	// Keys returns the declarations of its keys, bound to the fields of the statement.
	Keys() []keys.Key
	// Check adds the faults that the declarations of the keys cannot find, because they depend on several keys or on
	// the fleet f. The statement stands at path; for the first kind of fleet, which has no key, path is the fleet's.
	Check(s *keys.Source, path string, f *Fleet)
}

// Facts are the properties of a kind of fleet that the rest of Muster depends on. A property that no fact expresses
// must not make a difference outside of the kind's folder.
type Facts struct {
	// Key is the key of a fleet that states the kind; empty for the first one.
	Key string
	// Local tells whether Muster starts the members itself, as processes of this machine that share its cores. The
	// fleet configures their workers, and an idle worker costs nothing unless a price is stated.
	Local bool
	// Reported tells whether the workers report to the controller, Answered whether they need a stop permit from it
	// before they stop.
	Reported, Answered bool
	// Protected tells whether Muster protects busy members from scale-in by the members' own service.
	Protected bool
	// Region is the stated AWS region of the members; empty means that of the fleet's queue.
	Region string
	// Sized names the number that Muster sets. Its Name is empty when no other fleet could set the same number.
	Sized Sized
	// Tracked is the group or service that the target tracking of AWS can size instead of Muster; zero for none.
	Tracked Tracked
	// Around names what events may be about beside the group or service.
	Around Around
	// Remote tells whether a poll of the members calls a service on the network: it has a price, and its result is
	// late.
	Remote bool
	// Boot is the default of workers.boot; zero means 1 s.
	Boot time.Duration
}

// Sized is a number that has exactly one writer: the size of a group or of a service.
type Sized struct {
	// Key is the path of the stated name below the fleet. What is one word for it, as in "group". Name
	// identifies it within its region.
	Key, What, Name string
}

// Tracked names an Auto Scaling group, or a service of a cluster; the other fields are empty.
type Tracked struct{ Group, Cluster, Service string }

// Around names what a fleet is part of, or stands on; empty for none.
type Around struct {
	// Cluster is the name or ARN of the cluster of ECS that its tasks run in, Family the family of the task definition
	// of tasks without a service, Hosts the Auto Scaling group of the instances under its tasks.
	Cluster, Family, Hosts string
}

// QueueKind is one kind of queue.
type QueueKind struct {
	// Name is one word. Plural is the name of several in messages, as in "queues on SQS".
	Name, Plural string
	// Takes tells whether a text names a queue of this kind. It decides by the form alone, so that a wrong URL of SQS
	// is still one of SQS.
	Takes func(text string) bool
	// Refer returns the reference that a text means. For a wrong text, found and allowed are the two halves of the
	// fault; otherwise both are empty.
	Refer func(text string) (q QueueRef, found, allowed string)
}

// SignalKind is one kind of measurement in addition to a fleet's queue, or instead of it.
type SignalKind struct {
	// Key is the key of a fleet that states it. What describes it in the reference.
	Key, What string
	New       func() Signal
}

// Signal is a measurement of a fleet with its parameters, as the configuration states them. Like [Members] it is a
// pointer to plain data.
type Signal interface {
	Statement
	// Measures returns the names of the measured quantities: backlog, in_flight, delayed, oldest_age, processing.
	Measures() []string
}

// SizerKind is one kind of system that can size a fleet instead of Muster.
type SizerKind struct {
	Key, What string
	New       func() Sizer
}

// Sizer is a system that sizes a fleet instead of Muster, with its parameters as the configuration states them. Like
// [Members] it is a pointer to plain data.
type Sizer interface {
	Statement
	// Delegation returns the delegation for the policy, which then provides a metric and a target and sets no size.
	Delegation() policy.Delegation
	// Every returns the interval at which the metric is published.
	Every() time.Duration
}

// declared is the common part of all statements: a pointer that can be compared with nil, and its keys.
type declared interface {
	comparable
	Keys() []keys.Key
}

// checked is a statement that checks itself within a fleet.
type checked interface {
	Check(s *keys.Source, path string, f *Fleet)
}

// section declares the key of a kind. Decoding makes a statement with begin and stores it in the fleet with put. The
// steps fill and check find it again among all, which may also hold statements of other kinds, by its type. With f, the
// statement checks itself as well; without, the caller does.
func section[T declared](name, what string, begin func() T, put func(T), all func() []T, f *Fleet) *keys.Row {
	var none T
	each := func(do func(T)) {
		for _, one := range all() {
			if one != none && reflect.TypeOf(one) == reflect.TypeOf(begin()) {
				do(one)
			}
		}
	}
	r := keys.Custom(name, keys.MappingForm, what, func(d *keys.Decoder, n *yaml.Node, path string) {
		one := begin()
		put(one)
		d.Mapping(n, path, one.Keys())
	})
	r.Of(func() []keys.Key { return begin().Keys() })
	r.Fill(func(s *keys.Source, path string) { each(func(one T) { keys.Fill(s, path, one.Keys()) }) })
	return r.Check(func(s *keys.Source, path string) {
		each(func(one T) {
			keys.Check(s, path, one.Keys())
			if c, ok := any(one).(checked); ok && f != nil {
				c.Check(s, path, f)
			}
		})
	})
}
