package lifecycle

import (
	"slices"
	"strings"
	"time"
)

// Rules compare the configurations of one fleet. All functions are pure.
type Rules[C any] struct {
	// Equal tells whether nothing would change.
	Equal func(a, b C) bool
	// InPlace tells whether a running fleet can go from one configuration to the other without a stop.
	InPlace func(from, to C) bool
	// Conflict tells whether two fleets may not exist at the same time, because they size the same group; nil for
	// never.
	Conflict func(a, b C) bool
}

// The delays before a fleet that failed starts again: the first, twice as long after every further failure, and the
// longest. A fleet that ran for the longest delay begins with the first again.
const (
	FirstDelay   = time.Second
	LongestDelay = time.Minute
)

// Phase is where a fleet stands.
type Phase string

// The phases. The caller holds something of a fleet in every phase but Waiting.
const (
	// Waiting: it starts once a fleet with the same group has ended.
	Waiting Phase = "waiting"
	// Starting: its start is under way.
	Starting Phase = "starting"
	// Running: it is sized. A change may be under way.
	Running Phase = "running"
	// Failed: it is not sized. Its workers, if there are any, go on with what they hold.
	Failed Phase = "failed"
	// Stopping: it is not sized any more, and its workers finish what they hold.
	Stopping Phase = "stopping"
)

// Fleet is one fleet of a [Machine].
type Fleet[C any] struct {
	Name  string
	Phase Phase
	// Since is when the phase began.
	Since time.Time
	// Wanted is the configuration that the fleet is to have; it counts while Unwanted is false.
	Wanted   C
	Unwanted bool
	// InForce is the configuration of the last start, with the changes since. It counts in every phase but Waiting.
	InForce C
	// Failure says what went wrong last; empty when nothing is wrong. A running fleet may have one: its change failed.
	Failure string
	// RetryAt is when the start or the change that failed is tried again; zero when it is not tried again by itself.
	RetryAt time.Time

	failures int
	idle     bool     // what failed is not tried again by itself
	under    Order[C] // the order under way; its ID is zero for none
	run      int64    // the ID of the last Start
	ended    *Ended   // the fleet ended while an order was under way
}

// Stale tells whether the fleet runs with another configuration than the one that is wanted, because the change failed.
func (f Fleet[C]) Stale() bool { return f.Phase == Running && f.Failure != "" }

// Verb says what an [Order] asks for.
type Verb string

// The verbs.
const (
	// Start opens the fleet with the configuration, taking over what an earlier start of the same name has left.
	Start Verb = "start"
	// Change brings a running fleet to the configuration, in place.
	Change Verb = "change"
	// Stop ends the sizing of the fleet and lets its workers finish what they hold. It is carried out when they have
	// ended.
	Stop Verb = "stop"
)

// Order asks the caller to do something with one fleet. The caller tells the result with [Done].
type Order[C any] struct {
	ID     int64
	Verb   Verb
	Name   string
	Config C // not for Stop
}

// Event is what a [Machine] is told: [Want], [Done], [Ended], [Tick] or [Quit].
type Event interface{ event() }

// Want says that these fleets are wanted, and no others. The configurations were found valid.
type Want[C any] struct {
	Fleets map[string]C
	// Retry asks for an immediate new try of everything that failed, because a person asked for it.
	Retry bool
}

// Done says that an order was carried out, or that it failed.
type Done struct {
	ID      int64
	Failure string // empty for success; a Stop does not fail
	// Final is true for a failure that trying again does not mend.
	Final bool
}

// Ended says that a fleet that was started has stopped being sized, without an order.
type Ended struct {
	Run     int64 // the ID of the Start
	Failure string
	Final   bool
}

// Tick says that time has passed.
type Tick struct{}

// Quit says that every fleet is to stop, for good.
type Quit struct{}

func (Want[C]) event() {}
func (Done) event()    {}
func (Ended) event()   {}
func (Tick) event()    {}
func (Quit) event()    {}

// Machine is the state of all fleets. It is a value: Step never changes the machine it is called on.
type Machine[C any] struct {
	rules    Rules[C]
	fleets   []Fleet[C] // sorted by name
	last     int64      // the ID of the last order
	quitting bool
}

// New returns a machine without fleets.
func New[C any](rules Rules[C]) Machine[C] { return Machine[C]{rules: rules} }

// Fleets returns all fleets that are wanted or not yet ended, sorted by name.
func (m Machine[C]) Fleets() []Fleet[C] { return slices.Clone(m.fleets) }

// Over tells whether every fleet has ended after [Quit].
func (m Machine[C]) Over() bool { return m.quitting && len(m.fleets) == 0 }

// NextTick returns when the machine is to be told of a [Tick] at the latest; false while nothing waits for a time.
func (m Machine[C]) NextTick() (at time.Time, ok bool) {
	for _, f := range m.fleets {
		if f.under.ID == 0 && !f.idle && !f.RetryAt.IsZero() && (!ok || f.RetryAt.Before(at)) {
			at, ok = f.RetryAt, true
		}
	}
	return at, ok
}

// Step takes an event into the machine, and returns the next one, the orders to carry out, and what a person is to be
// told.
func (m Machine[C]) Step(now time.Time, e Event) (next Machine[C], orders []Order[C], notes []Note) {
	m.fleets = slices.Clone(m.fleets)
	s := step[C]{Machine: &m, now: now}
	switch e := e.(type) {
	case Want[C]:
		s.want(e)
	case Done:
		s.done(e)
	case Ended:
		s.endedAlone(e)
	case Quit:
		m.quitting = true
		for i := range m.fleets {
			m.fleets[i].Unwanted = true
		}
	}
	s.settle()
	if m.quitting {
		s.notes = nil // everything ends, and that was said
	}
	return m, s.orders, s.notes
}

// step is one call of [Machine.Step].
type step[C any] struct {
	*Machine[C]
	now    time.Time
	orders []Order[C]
	notes  []Note
}

func (s *step[C]) note(name string, what Happening) {
	s.notes = append(s.notes, Note{Fleet: name, What: what})
}

// want takes over a configuration.
func (s *step[C]) want(w Want[C]) {
	if s.quitting {
		return
	}
	for i := range s.fleets {
		f := &s.fleets[i]
		c, wanted := w.Fleets[f.Name]
		if w.Retry && f.Failure != "" {
			f.failures, f.RetryAt, f.idle = 0, s.now, false
		}
		if w.Retry && f.ended != nil {
			f.ended = &Ended{Run: f.ended.Run,
				Failure: f.ended.Failure} // known once the order under way is carried out
		}
		switch {
		case !wanted && !f.Unwanted:
			s.note(f.Name, Ends)
		case wanted && f.Unwanted && f.Phase == Stopping:
			s.note(f.Name, WantedAgain)
		case wanted && (f.Unwanted || !s.rules.Equal(f.Wanted, c)):
			s.note(f.Name, s.way(f, c))
			f.RetryAt, f.idle = time.Time{}, false // what failed was another configuration
		}
		f.Unwanted = !wanted
		if wanted {
			f.Wanted = c
		}
	}
	var names []string
	for name := range w.Fleets {
		if s.named(name) == nil {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	for _, name := range names {
		s.note(name, IsNew)
		s.fleets = append(s.fleets, Fleet[C]{Name: name, Phase: Waiting, Since: s.now, Wanted: w.Fleets[name]})
	}
	slices.SortFunc(s.fleets, func(a, b Fleet[C]) int { return strings.Compare(a.Name, b.Name) })
}

// way says how a fleet gets to another configuration.
func (s *step[C]) way(f *Fleet[C], c C) Happening {
	if f.Phase == Stopping || f.Phase != Waiting && !s.rules.InPlace(f.InForce, c) {
		return BeginsAnew
	}
	return HasChanged
}

func (s *step[C]) named(name string) *Fleet[C] {
	i, found := slices.BinarySearchFunc(
		s.fleets,
		name,
		func(f Fleet[C], name string) int { return strings.Compare(f.Name, name) },
	)
	if !found {
		return nil
	}
	return &s.fleets[i]
}

// done takes in the result of an order. A result that belongs to no order under way is ignored.
func (s *step[C]) done(d Done) {
	i := slices.IndexFunc(s.fleets, func(f Fleet[C]) bool { return d.ID != 0 && f.under.ID == d.ID })
	if i < 0 {
		return
	}
	f := &s.fleets[i]
	order := f.under
	f.under = Order[C]{}
	switch {
	case order.Verb == Stop:
		s.stopped(f)
		return
	case d.Failure != "" && order.Verb == Start:
		s.failed(f, d.Failure, d.Final)
	case d.Failure != "":
		s.failure(f, ChangeFailed, d.Failure, d.Final)
	case order.Verb == Start:
		if f.Failure != "" {
			s.note(f.Name, RunsAgain)
		}
		f.Phase, f.Since, f.Failure, f.RetryAt = Running, s.now, "", time.Time{}
	default:
		f.InForce, f.Failure, f.RetryAt, f.failures = order.Config, "", time.Time{}, 0
	}
	if f.ended != nil && f.Phase == Running {
		s.failed(f, f.ended.Failure, f.ended.Final)
	}
	f.ended = nil
}

// endedAlone takes in that a fleet failed.
func (s *step[C]) endedAlone(e Ended) {
	i := slices.IndexFunc(s.fleets, func(f Fleet[C]) bool { return e.Run != 0 && f.run == e.Run })
	if i < 0 {
		return
	}
	switch f := &s.fleets[i]; {
	case f.under.Verb == Stop:
	case f.under.ID != 0:
		f.ended = &e
	case f.Phase == Running:
		s.failed(f, e.Failure, e.Final)
	}
}

// failed notes that a fleet is not sized, and when it starts again.
func (s *step[C]) failed(f *Fleet[C], failure string, final bool) {
	if f.Phase == Running && s.now.Sub(f.Since) >= LongestDelay {
		f.failures = 0
	}
	if f.Phase != Failed && f.Phase != Starting || f.Failure == "" {
		f.Since = s.now
	}
	f.Phase = Failed
	s.failure(f, DoesNotRun, failure, final)
}

// failure notes what failed, and when it is tried again.
func (s *step[C]) failure(f *Fleet[C], what Happening, failure string, final bool) {
	f.Failure, f.RetryAt, f.idle = failure, time.Time{}, final
	if !final {
		f.RetryAt = s.now.Add(delay(f.failures))
	}
	f.failures++
	s.notes = append(s.notes, Note{Fleet: f.Name, What: what, Failure: failure, RetryAt: f.RetryAt,
		Again: f.failures > 1})
}

// delay is how long something waits that has failed so many times before.
func delay(failures int) time.Duration {
	const doublings = 6 // 2^6 seconds are longer than a minute
	return min(LongestDelay, FirstDelay<<min(failures, doublings))
}

// stopped makes room for the next start of a fleet, or forgets it.
func (s *step[C]) stopped(f *Fleet[C]) {
	if f.Unwanted {
		name := f.Name
		s.note(name, HasEnded)
		s.fleets = slices.DeleteFunc(s.fleets, func(f Fleet[C]) bool { return f.Name == name })
		return
	}
	s.note(f.Name, StartsAnew)
	*f = Fleet[C]{Name: f.Name, Phase: Waiting, Since: s.now, Wanted: f.Wanted}
}

// settle orders what is to be done next: for each fleet one thing at a time.
func (s *step[C]) settle() {
	s.fleets = slices.DeleteFunc(s.fleets, func(f Fleet[C]) bool { return f.Unwanted && f.Phase == Waiting })
	for i := range s.fleets {
		f := &s.fleets[i]
		if f.under.ID != 0 {
			continue
		}
		due := !f.idle && !f.RetryAt.After(s.now)
		switch {
		case f.Phase == Waiting:
			if !s.blocked(f) {
				s.start(f)
			}
		case f.Unwanted || !s.rules.InPlace(f.InForce, f.Wanted):
			f.Phase, f.Since, f.Failure, f.RetryAt = Stopping, s.now, "", time.Time{}
			s.order(f, Stop)
		case f.Phase == Failed && (due || !s.rules.Equal(f.InForce, f.Wanted)):
			s.start(f)
		case f.Phase == Running && due && (f.Failure != "" || !s.rules.Equal(f.InForce, f.Wanted)):
			// What a change that failed has left is not known, so that even the way back is a change.
			s.order(f, Change)
		}
	}
}

func (s *step[C]) start(f *Fleet[C]) {
	if f.Phase != Failed {
		f.Since = s.now // a fleet that failed has failed since then, until it runs
	}
	f.Phase, f.InForce = Starting, f.Wanted
	s.order(f, Start)
	f.run = f.under.ID
}

func (s *step[C]) order(f *Fleet[C], verb Verb) {
	s.last++
	f.under = Order[C]{ID: s.last, Verb: verb, Name: f.Name}
	if verb != Stop {
		f.under.Config = f.Wanted
	}
	s.orders = append(s.orders, f.under)
}

// blocked tells whether the fleet would share a group with one that has not ended yet.
func (s *step[C]) blocked(f *Fleet[C]) bool {
	return s.rules.Conflict != nil && slices.ContainsFunc(s.fleets, func(other Fleet[C]) bool {
		return other.Name != f.Name && other.Phase != Waiting && s.rules.Conflict(other.InForce, f.Wanted)
	})
}
