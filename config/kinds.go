package config

import (
	"reflect"
	"time"

	"go.yaml.in/yaml/v4"

	"github.com/muster-scale/muster/config/keys"
	"github.com/muster-scale/muster/policy"
)

// Kinds are the kinds of fleets, queues and signals that a configuration may state. Package kinds has the table of
// those that there are.
type Kinds struct {
	// Members are the kinds of fleets. The first one needs no key: it is what a fleet consists of that states no other.
	Members []MembersKind
	// Queues are told apart by how a queue is named: the first one that takes a name has it.
	Queues []QueueKind
	// Signals are what a fleet may be measured by beside its queue, or in its place.
	Signals []SignalKind
	// Sizers are those to whom the size of a fleet can be left.
	Sizers []SizerKind
}

// MembersKind is one kind of fleet.
type MembersKind struct {
	// Key is where a fleet states it, and What what the reference says of the key; both are empty for the first kind.
	Key, What string
	New       func() Members
}

// Members is what a fleet consists of, as its configuration states it. It is a pointer to plain data: two
// configurations are the same where what they point to is.
type Members interface {
	Statement
	// Facts are what others go by.
	Facts() Facts
}

// Statement is what stands below the key of a kind.
type Statement interface {
	// Keys declare the keys, bound to the fields of the statement.
	Keys() []keys.Key
	// Check adds the faults that the declarations of the keys cannot find. The statement stands at path, within the
	// fleet f; that of the first kind of fleet has no key, and path is the fleet's.
	Check(s *keys.Source, path string, f *Fleet)
}

// Facts are what the rest of Muster goes by, whatever the kind of a fleet is.
type Facts struct {
	// Key is where a fleet states the kind; empty for the first one.
	Key string
	// Local tells whether Muster starts the members itself, as processes of this machine that share its cores. A local
	// fleet has no price for time that passes, and its workers are configured by the fleet.
	Local bool
	// Reported tells whether the workers report to the controller, Answered whether they need its answer to leave.
	Reported, Answered bool
	// Protected tells whether Muster protects busy members from those who could end them.
	Protected bool
	// Region is where the members are, as stated; empty means where the fleet's queue is.
	Region string
	// Sized names the number that Muster sets, where another fleet could set it too; its Name is empty where none can.
	Sized Sized
	// Tracked is what the target tracking of AWS can size in Muster's place; zero for nothing.
	Tracked Tracked
	// Remote tells whether a look at the members is a call to a service that others run: it has a price, and is late.
	Remote bool
	// Boot is the default of the workers' boot; zero means a second.
	Boot time.Duration
}

// Sized is a number that somebody sets: the size of a group, or of a service.
type Sized struct {
	// Key is where it is stated, below the fleet, and empty where AWS has no such number; What says what it is, and
	// Name names it within its region.
	Key, What, Name string
}

// Tracked names an Auto Scaling group, or a service of a cluster.
type Tracked struct{ Group, Cluster, Service string }

// QueueKind is one kind of queue.
type QueueKind struct {
	// Name is one word, Plural what messages call several of them, as in "queues on SQS".
	Name, Plural string
	// Takes tells whether a text names such a queue.
	Takes func(text string) bool
	// Refer makes a reference of the text. Wrong says what was found and what is allowed; both are empty where the text
	// is right.
	Refer func(text string) (q QueueRef, found, allowed string)
}

// SignalKind is one kind of measurement beside a fleet's queue, or in its place.
type SignalKind struct {
	// Key is where a fleet states it, and What what the reference says of the key.
	Key, What string
	New       func() Signal
}

// Signal is what a fleet is measured by, as its configuration states it. Like [Members] it is a pointer to plain data.
type Signal interface {
	Statement
	// Measures are the names of what it tells: backlog, in_flight, delayed, oldest_age, processing.
	Measures() []string
}

// SizerKind is one kind of those to whom a size can be left.
type SizerKind struct {
	Key, What string
	New       func() Sizer
}

// Sizer is who sizes a fleet in Muster's place, as its configuration states it. Like [Members] it is a pointer to plain
// data.
type Sizer interface {
	Statement
	// Delegation is what the policy makes of it.
	Delegation() policy.Delegation
	// Every is how often what it goes by is handed over.
	Every() time.Duration
}

// declared is what every kind's statement has.
type declared interface {
	comparable
	Keys() []keys.Key
}

// checked is a statement that checks itself, within a fleet.
type checked interface {
	Check(s *keys.Source, path string, f *Fleet)
}

// section declares the key of a kind. A statement is made by begin and put into the fleet by put; all are those that
// were put there, of this kind and of others. With f it checks itself at its own path.
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
