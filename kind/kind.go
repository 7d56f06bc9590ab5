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
	"github.com/muster-scale/muster/config/channels"
	"github.com/muster-scale/muster/metrics"
	"github.com/muster-scale/muster/notice"
)

// This file has the interfaces that a kind implements and the rows that describe it.

// Members is the kind of a fleet with its stated parameters, and opens the ports of the fleet.
type Members interface {
	config.Members
	Described
	// Open opens the ports of the fleet f and changes nothing. left is nil, or the ports that an earlier Open of the
	// same kind returned for the same fleet: then Open takes them over, and their workers keep running. After an error
	// the returned ports, if any, can still be closed.
	Open(ctx context.Context, h *Host, f config.Fleet, left *Ports) (*Ports, error)
}

// Described has what is known of members without polling them.
type Described interface {
	// Describe returns their name in messages: "the Auto Scaling group web".
	Describe() string
	// World returns the delays and rules of sizing them, for the simulator.
	World() World
	// Writes returns the permissions that sizing the fleet needs, in the words of the service that grants them. Doctor
	// lists them, because only a write could prove them. With delegated another system sets the size, so fewer are
	// needed.
	Writes(delegated bool) []string
}

// Ports list, size and stop the members of a fleet. All but Fleet may be nil: a kind lacks that ability.
type Ports struct {
	Fleet     muster.Fleet
	Releaser  muster.Releaser
	Protector muster.Protector
	Trimmer   muster.Trimmer
	Expecter  muster.Expecter
	// Prepares tells whether the fleet has a warm pool, even one whose size Muster does not set.
	Prepares bool
	// Prepare applies the configured settings of resources such as a warm pool. It is called before the fleet is sized,
	// and its error does not keep the fleet from being sized.
	Prepare func(ctx context.Context) error
	// Change makes members that start from now on follow f, which differs only in settings that need no new ports. It
	// is nil when Muster starts no members itself.
	Change func(f config.Fleet) error
	// Close stops the members that Muster started itself and waits until they have finished their messages.
	Close func()
}

// Adapter is a type that connects Muster to another system, for the page that lists them.
type Adapter struct {
	Type reflect.Type
	// For names the system, as in "queues of Amazon SQS".
	For string
}

// AdapterFor describes the adapter T.
func AdapterFor[T any](what string) Adapter { return Adapter{reflect.TypeFor[T](), what} }

// MembersRow is one row of the kinds of fleets.
type MembersRow struct {
	// Key is the key of a fleet that states the kind. What describes it in the reference. Both are empty for the first
	// row.
	Key, What string
	New       func() Members
	Adapters  []Adapter
}

// World has the delays and rules of a kind, so that a simulated fleet behaves like a real one. The zero value is an
// ideal fleet: current counts, immediate orders, and all ages known.
type World struct {
	// Lag is the age of the counts of a poll. CountsOnly means that neither the ages of messages nor the number of sent
	// ones are known. Random means that a message goes to any waiting worker, not to the one that has waited longest.
	Lag        time.Duration
	CountsOnly bool
	Random     bool
	// Wakes means that a new message wakes the controller at once.
	Wakes bool
	// Order is the time from a change of the size until it is carried out and confirmed.
	Order time.Duration
	// Warm is the number of members in the warm pool, WarmBoot their boot time.
	Warm     int
	WarmBoot time.Duration
	// Local means that members share the cores of this machine.
	Local bool
	// Silent means that workers do not report, and that the fleet's own service chooses the members to stop.
	Silent bool
}

// Queue has the ports of one queue. All but Source may be nil.
type Queue struct {
	Source   muster.Source
	Wakes    muster.Notifier
	Expecter muster.Expecter
}

// QueueRow is one row of the kinds of queues.
type QueueRow struct {
	config.QueueKind
	// Open opens the i-th queue of a fleet. It makes no call.
	Open func(ctx context.Context, h *Host, f config.Fleet, i int) (Queue, error)
	// Elsewhere tells whether the queue exists without a running Muster, so that doctor and plan can poll it.
	Elsewhere bool
	// World has the delays and rules of polling a queue of the kind; see [World].
	World    World
	Adapters []Adapter
	// Permissions returns what polling the i-th queue of a fleet needs, and its workers, by [Permitted]. Nil means
	// nothing.
	Permissions func(at Place, aws config.AWS, f config.Fleet, i int) []Permission
}

// Signal is a measurement of a fleet in addition to its queue, or instead of it.
type Signal interface {
	config.Signal
	// Open returns a source of the fleet's quantities. Those that the signal does not measure come from base, which is
	// nil for a fleet without a queue; see [ObserveBase].
	Open(ctx context.Context, h *Host, f config.Fleet, base muster.Source) (muster.Source, error)
	// Place names the system of the measurements in a word or two: "CloudWatch".
	Place() string
}

// SignalRow is one row of the kinds of signals.
type SignalRow struct {
	Key, What string
	New       func() Signal
	Adapters  []Adapter
}

// Sizer is a system that sizes a fleet instead of Muster.
type Sizer interface {
	config.Sizer
	Examined
	// Owner returns the name under which the system lists what sizes the fleet, such as that of a scaling policy.
	Owner(f config.Fleet) string
	// Open returns the delegator that keeps metric and target up to date. Unless lines is nil, published metrics are
	// written there instead of being sent.
	Open(ctx context.Context, h *Host, f config.Fleet, lines io.Writer) (muster.Delegator, error)
	// World is the scaling policy by which a simulated fleet is sized.
	World(f config.Fleet) tracking.Policy
}

// Examined says what sizing instead of Muster needs, without changing anything.
type Examined interface {
	// Writes returns the permissions that it needs, as [Described] does.
	Writes(tracked config.Tracked) []string
	// Notes returns what may go wrong with the fleet and its ports, one sentence each.
	Notes(ctx context.Context, f config.Fleet, ports *Ports) []string
}

// SizerRow is one row of the systems that can size a fleet.
type SizerRow struct {
	Key, What string
	New       func() Sizer
	Adapters  []Adapter
}

// Channel is a destination of notices.
type Channel interface {
	channels.Destination
	// Open returns what sends to it. It makes no call. Relative paths start from dir.
	Open(h *Host, dir string) notice.Channel
}

// ChannelRow is one row of the destinations of notices.
type ChannelRow struct {
	Key, What string
	New       func() Channel
}

// ChannelsOf returns the channels of a configuration, ready to send.
func ChannelsOf(h *Host, c *config.Config) []notice.Destination {
	var all []notice.Destination
	for _, x := range c.Notify {
		if to, ok := x.To.(Channel); ok {
			all = append(all, notice.Destination{Name: x.Name, Retry: x.Retry, Tells: x.Tells,
				Channel: to.Open(h, c.Dir)})
		}
	}
	return all
}

// Table has all kinds of a program, one row each. Nothing changes it, so several goroutines may use it.
type Table struct {
	Members []MembersRow
	Queues  []QueueRow
	Signals []SignalRow
	Sizers  []SizerRow
	// Channels are the kinds of destinations of notices.
	Channels []ChannelRow
	// Meter returns a reader of the metrics that a fleet's policy names. It makes no call before it reads.
	Meter func(h *Host, f config.Fleet) metrics.Meter
	// Publisher returns a publisher of a fleet's metrics for systems that track them. Unless lines is nil, they are
	// written there instead of being sent.
	Publisher func(ctx context.Context, h *Host, f config.Fleet, lines io.Writer) (Publisher, error)
	// MeterPermissions and PublisherPermissions return what Meter and Publisher need for a fleet.
	MeterPermissions, PublisherPermissions func(f config.Fleet) []Permission
}

// Adapters returns the adapters of all kinds, sources first.
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

// Publisher publishes the metrics of a fleet. It is safe for use by several goroutines.
type Publisher interface {
	Publish(ctx context.Context, h muster.Handover) error
}

// DefaultNamespace is the CloudWatch namespace of a fleet's metrics, unless its sizer states another.
const DefaultNamespace = "Muster"

// NamespaceOf returns the CloudWatch namespace in which the metrics of a fleet are published.
func NamespaceOf(f config.Fleet) string {
	if s, ok := f.Sizer.(interface{ PublishedIn() string }); ok {
		return s.PublishedIn()
	}
	return DefaultNamespace
}

// Config returns the part of the table that package config needs: keys, facts and checks, without what opens a kind.
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
	for _, r := range t.Channels {
		k.Channels = append(k.Channels,
			channels.Kind{Key: r.Key, What: r.What, New: func() channels.Destination { return r.New() }})
	}
	return k
}

// Queue returns the row of a queue's kind: the first that takes its text.
func (t Table) Queue(q config.QueueRef) (QueueRow, error) {
	for _, r := range t.Queues {
		if r.Takes(q.Text()) {
			return r, nil
		}
	}
	return QueueRow{}, fmt.Errorf("open the queue %s: found %q, which no kind of queue of this program takes", q.Name,
		q.Text())
}

// MembersOf returns the members of a fleet; for a fleet that states no kind, new ones of the first row. It fails for a
// configuration that was read with another table.
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

// SizerOf returns the system that sizes a fleet instead of Muster; nil when Muster does.
func SizerOf(f config.Fleet) Sizer {
	s, _ := f.Sizer.(Sizer)
	return s
}
