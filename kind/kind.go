package kind

import (
	"context"
	"fmt"
	"io"
	"reflect"
	"time"

	"github.com/muster-scale/muster"
	"github.com/muster-scale/muster/awsrules/tracking"
	"github.com/muster-scale/muster/config"
	"github.com/muster-scale/muster/metrics"
)

// Members is what a fleet consists of.
type Members interface {
	config.Members
	Told
	// Open opens what the fleet f is sized by. Nothing is changed. With left, which is nil otherwise, it takes over
	// what an earlier Open of the same kind gave for the same fleet, whose workers go on. When it fails, what it
	// returns can be closed.
	Open(ctx context.Context, h *Host, f config.Fleet, left *Ports) (*Ports, error)
}

// Told is what can be told of members without looking at them.
type Told interface {
	// Describe names what there is, in words: "the Auto Scaling group web".
	Describe() string
	// World is what sizing it is like.
	World() World
	// Writes are the permissions without which the fleet cannot be sized, in the words of who grants them. Only a write
	// could prove them. With delegated another system sizes it.
	Writes(delegated bool) []string
}

// Ports are what a fleet is listed, sized and ended by. All but Fleet may be nil.
type Ports struct {
	Fleet     muster.Fleet
	Releaser  muster.Releaser
	Protector muster.Protector
	Trimmer   muster.Trimmer
	Expecter  muster.Expecter
	// Prepares tells that the fleet keeps members prepared, whether Prepare is asked to change how many or not.
	Prepares bool
	// Prepare brings what stands beside the members, such as a warm pool, to what is configured. It is called before
	// the fleet is sized. When it fails the fleet is sized all the same.
	Prepare func(ctx context.Context) error
	// Change makes members that are started from now on what f says, which differs in nothing that would need new
	// ports. It is nil where Muster starts no members.
	Change func(f config.Fleet) error
	// Close ends the members that Muster started, once they have finished what they hold.
	Close func()
}

// Adapter is a type that stands for a system outside, for the page that lists them.
type Adapter struct {
	Type reflect.Type
	// For says what it stands for, as in "queues of Amazon SQS".
	For string
}

// AdapterFor describes the adapter T.
func AdapterFor[T any](what string) Adapter { return Adapter{reflect.TypeFor[T](), what} }

// MembersRow is one row of the kinds of fleets.
type MembersRow struct {
	// Key is where a fleet states the kind, What says what the key is, in the reference; both are empty for the first
	// row.
	Key, What string
	New       func() Members
	Adapters  []Adapter
}

// World is what the simulator has to know of a kind, so that a simulated fleet has the delays of a real one.
type World struct {
	// Lag is how long ago a count was true that is shown now. CountsOnly is set where neither the ages of messages nor
	// how many were sent are known, Random where a message goes to any worker that waits and not to the one that waits
	// longest.
	Lag        time.Duration
	CountsOnly bool
	Random     bool
	// Wakes is set where a message wakes the controller at once.
	Wakes bool
	// Order is how long it takes until an order is carried out and answered.
	Order time.Duration
	// Warm is how many members are kept prepared, WarmBoot how long those boot.
	Warm     int
	WarmBoot time.Duration
	// Local is set for members that share the cores of this machine.
	Local bool
	// Silent is set for members whose workers do not report, and of which the fleet's own service chooses who ends.
	Silent bool
}

// Queue is how a queue is measured. All but Source may be nil.
type Queue struct {
	Source   muster.Source
	Wakes    muster.Notifier
	Expecter muster.Expecter
}

// QueueRow is one row of the kinds of queues.
type QueueRow struct {
	config.QueueKind
	// Open opens the i-th queue of a fleet. Nothing is called.
	Open func(ctx context.Context, h *Host, f config.Fleet, i int) (Queue, error)
	// Elsewhere tells whether there is anything to look at without a running Muster.
	Elsewhere bool
	// World is what looking at a queue of the kind is like.
	World    World
	Adapters []Adapter
}

// Signal is what a fleet is measured by beside its queue, or in its place.
type Signal interface {
	config.Signal
	// Open returns the source of a fleet's measures over base, which measures what this one does not; base is nil for a
	// fleet without a queue.
	Open(ctx context.Context, h *Host, f config.Fleet, base muster.Source) (muster.Source, error)
	// Place says where the measures come from, in a word or two: "CloudWatch".
	Place() string
}

// SignalRow is one row of the kinds of signals.
type SignalRow struct {
	Key, What string
	New       func() Signal
	Adapters  []Adapter
}

// Sizer is who sizes a fleet in Muster's place.
type Sizer interface {
	config.Sizer
	Examined
	// Owner is how it is called where somebody lists who sizes the fleet.
	Owner(f config.Fleet) string
	// Open returns what hands the fleet over. With lines what it publishes goes there instead.
	Open(ctx context.Context, h *Host, f config.Fleet, lines io.Writer) (muster.Delegator, error)
	// World is the scaling policy by which a simulated fleet is sized.
	World(f config.Fleet) tracking.Policy
}

// Examined tells by looking alone what sizing in Muster's place needs.
type Examined interface {
	// Writes are the permissions that it needs, as in [Members].
	Writes(tracked config.Tracked) []string
	// Notes say what may go wrong with the fleet as it was opened.
	Notes(ctx context.Context, f config.Fleet, ports *Ports) []string
}

// SizerRow is one row of those to whom a size can be left.
type SizerRow struct {
	Key, What string
	New       func() Sizer
	Adapters  []Adapter
}

// Table has the kinds that there are, one row each.
type Table struct {
	Members []MembersRow
	Queues  []QueueRow
	Signals []SignalRow
	Sizers  []SizerRow
	// Meter returns what reads the metrics that a fleet's policy names. Nothing is called before it reads.
	Meter func(h *Host, f config.Fleet) metrics.Meter
	// Publisher returns what publishes a fleet's figures for those who track it. With lines they go there instead.
	Publisher func(ctx context.Context, h *Host, f config.Fleet, lines io.Writer) (Publisher, error)
}

// Adapters are those of all kinds, sources first.
func (t Table) Adapters() []Adapter {
	var all []Adapter
	for _, r := range t.Queues {
		all = append(all, r.Adapters...)
	}
	for _, r := range t.Signals {
		all = append(all, r.Adapters...)
	}
	for _, r := range t.Members {
		all = append(all, r.Adapters...)
	}
	for _, r := range t.Sizers {
		all = append(all, r.Adapters...)
	}
	return all
}

// Publisher publishes what is known of a fleet. It is safe for use by several goroutines.
type Publisher interface {
	Publish(ctx context.Context, h muster.Handover) error
}

// Config is the table as package config knows it.
func (t Table) Config() config.Kinds {
	var k config.Kinds
	for _, r := range t.Members {
		k.Members = append(k.Members,
			config.MembersKind{Key: r.Key, What: r.What, New: func() config.Members { return r.New() }})
	}
	for _, r := range t.Queues {
		k.Queues = append(k.Queues, r.QueueKind)
	}
	for _, r := range t.Signals {
		k.Signals = append(k.Signals,
			config.SignalKind{Key: r.Key, What: r.What, New: func() config.Signal { return r.New() }})
	}
	for _, r := range t.Sizers {
		k.Sizers = append(k.Sizers,
			config.SizerKind{Key: r.Key, What: r.What, New: func() config.Sizer { return r.New() }})
	}
	return k
}

// Queue returns the row of a queue's kind.
func (t Table) Queue(q config.QueueRef) (QueueRow, error) {
	for _, r := range t.Queues {
		if r.Takes(q.Text()) {
			return r, nil
		}
	}
	return QueueRow{}, fmt.Errorf("open the queue %s: found %q, which no kind of queue of this program takes", q.Name,
		q.Text())
}

// MembersOf returns what a fleet consists of.
func (t Table) MembersOf(f config.Fleet) (Members, error) {
	if f.Members == nil {
		return t.Members[0].New(), nil
	}
	m, ok := f.Members.(Members)
	if !ok {
		return nil, fmt.Errorf("open the fleet %s: found %T, which cannot be run; configure it with the table of kinds",
			f.Name, f.Members)
	}
	return m, nil
}

// SignalsOf returns the signals of a fleet, in the order of the table.
func SignalsOf(f config.Fleet) []Signal {
	var all []Signal
	for _, s := range f.Signals {
		if s, ok := s.(Signal); ok {
			all = append(all, s)
		}
	}
	return all
}

// SizerOf returns who sizes a fleet in Muster's place; nil where Muster does.
func SizerOf(f config.Fleet) Sizer {
	s, _ := f.Sizer.(Sizer)
	return s
}
