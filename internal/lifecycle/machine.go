package lifecycle

import (
	"slices"
	"strings"
	"time"
)

// Rules compare two configurations of a fleet. All functions must be pure.
type Rules[C any] struct {
	// Equal says whether nothing would change.
	Equal func(a, b C) bool
	// InPlace says whether a running fleet can change from one configuration to the other without a
	// stop.
	InPlace func(from, to C) bool
	// Conflict says whether two fleets must not exist at the same time because they size the same
	// group; nil means never.
	Conflict func(a, b C) bool
}

// The delays before a failed fleet starts again: the first delay, doubled after every further failure,
// up to the longest. After a fleet ran for the longest delay, the first one applies again.
const (
	FirstDelay   = time.Second
	LongestDelay = time.Minute
)

// Phase is the state of a fleet.
type Phase string

// The phases. The caller holds something of a fleet in every phase but Waiting.
const (
	// Waiting: it starts once a fleet with the same group has ended.
	Waiting Phase = "waiting"
	// Starting: its start is being carried out.
	Starting Phase = "starting"
	// Running: it is being sized. A change may be carried out at the same time.
	Running Phase = "running"
	// Failed: it is not being sized. Its workers, if any, continue with their messages.
	Failed Phase = "failed"
	// Stopping: it is no longer sized, and its workers finish their messages.
	Stopping Phase = "stopping"
)

// Fleet is one fleet of a [Machine].
type Fleet[C any] struct {
	Name  string
	Phase Phase
	// Since is the time at which the phase began.
	Since time.Time
	// Wanted is the configuration that the fleet should have. It is valid while Unwanted is false.
	Wanted   C
	Unwanted bool
	// InForce is the configuration of the last start, with later changes. It is valid in every phase
	// but Waiting.
	InForce C
	// Failure says what failed last; empty if nothing did. A running fleet has one if its change
	// failed.
	Failure string
	// RetryAt is the time at which the failed start or change is retried; zero if it is not retried
	// automatically.
	RetryAt time.Time

	failures int
	idle     bool     // the failure is not retried automatically
	under    Order[C] // the order being carried out; its ID is zero if there is none
	run      int64    // the ID of the last Start
	ended    *Ended   // the fleet ended while an order was being carried out
	handed   bool     // it stops here because another controller goes on with it
}

// Stale says that the fleet runs with an earlier configuration than the wanted one, because the change
// failed.
func (f Fleet[C]) Stale() bool { return f.Phase == Running && f.Failure != "" }

// Verb is the kind of an [Order].
type Verb string

// The verbs.
const (
	// Start opens the fleet with the configuration. It takes over what an earlier start of the same
	// name left.
	Start Verb = "start"
	// Change brings a running fleet to the configuration without a stop.
	Change Verb = "change"
	// Stop ends the sizing of the fleet and lets its workers finish their messages. It is carried out
	// when they have ended.
	Stop Verb = "stop"
)

// Order tells the caller to do something with one fleet. The caller reports the result with [Done].
type Order[C any] struct {
	ID     int64
	Verb   Verb
	Name   string
	Config C // not for Stop
}

// Event is an input of a [Machine]: [Want], [Done], [Ended], [Tick] or [Quit].
type Event interface{ event() }

// Want replaces the set of wanted fleets. The configurations must be valid.
type Want[C any] struct {
	Fleets map[string]C
	// Retry asks to retry everything that failed at once, because the user asked for it.
	Retry bool
	// Handover says that the configuration is the same, and fleets change their controller. Then no note says that one
	// is new or ends: its workers go on.
	Handover bool
}

// Done reports that an order was carried out, or failed.
type Done struct {
	ID      int64
	Failure string // empty for success; a Stop does not fail
	// Final says that a retry cannot succeed.
	Final bool
}

// Ended reports that a started fleet is no longer sized, without an order.
type Ended struct {
	Run     int64 // the ID of the Start
	Failure string
	Final   bool
}

// Tick reports that time has passed.
type Tick struct{}

// Quit stops every fleet for good.
type Quit struct{}

func (Want[C]) event() {}
func (Done) event()    {}
func (Ended) event()   {}
func (Tick) event()    {}
func (Quit) event()    {}

// Machine is the state of all fleets. It is a value: Step does not change the machine it is called on.
type Machine[C any] struct {
	rules    Rules[C]
	fleets   []Fleet[C] // sorted by name
	last     int64      // the ID of the last order
	quitting bool
}

// New returns a machine without fleets.
func New[C any](rules Rules[C]) Machine[C] { return Machine[C]{rules: rules} }

// Fleets returns all fleets that are wanted or have not ended yet, sorted by name.
func (m Machine[C]) Fleets() []Fleet[C] { return slices.Clone(m.fleets) }

// Over says that every fleet has ended after [Quit].
func (m Machine[C]) Over() bool { return m.quitting && len(m.fleets) == 0 }

// NextTick returns the latest time for the next [Tick]; ok is false if nothing waits for a time.
func (m Machine[C]) NextTick() (at time.Time, ok bool) {
	for _, f := range m.fleets {
		if f.under.ID == 0 && !f.idle && !f.RetryAt.IsZero() && (!ok || f.RetryAt.Before(at)) {
			at, ok = f.RetryAt, true
		}
	}
	return at, ok
}

// Step applies an event, and returns the next machine, the orders to carry out and notes for the user.
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
		s.notes = nil // the caller has announced that everything ends
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

// note adds a note without details.
func (s *step[C]) note(name string, what Happening) {
	s.notes = append(s.notes, Note{Fleet: name, What: what})
}

// want applies a configuration.
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
				Failure: f.ended.Failure} // no longer Final; handled with the result of the order
		}
		switch {
		case !wanted && !f.Unwanted && w.Handover:
			f.handed = true
		case !wanted && !f.Unwanted:
			s.note(f.Name, Ends)
		case wanted && f.Unwanted && f.Phase == Stopping && f.handed: // it comes back before it has stopped here
		case wanted && f.Unwanted && f.Phase == Stopping:
			s.note(f.Name, WantedAgain)
		case wanted && (f.Unwanted || !s.rules.Equal(f.Wanted, c)):
			s.note(f.Name, s.way(f, c))
			f.RetryAt, f.idle = time.Time{}, false // the failure was of another configuration
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
		if !w.Handover {
			s.note(name, IsNew)
		}
		s.fleets = append(s.fleets, Fleet[C]{Name: name, Phase: Waiting, Since: s.now, Wanted: w.Fleets[name]})
	}
	slices.SortFunc(s.fleets, func(a, b Fleet[C]) int { return strings.Compare(a.Name, b.Name) })
}

// way says how a fleet gets to another configuration: by a restart or in place.
func (s *step[C]) way(f *Fleet[C], c C) Happening {
	if f.Phase == Stopping || f.Phase != Waiting && !s.rules.InPlace(f.InForce, c) {
		return BeginsAnew
	}
	return HasChanged
}

// named returns the fleet of that name, or nil.
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

// done applies the result of an order. The result of an order that is not being carried out is ignored.
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

// endedAlone applies the end of a fleet without an order. While an order is being carried out, it is
// remembered.
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

// failed puts a fleet into phase Failed.
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

// failure records what failed, and when it is retried.
func (s *step[C]) failure(f *Fleet[C], what Happening, failure string, final bool) {
	f.Failure, f.RetryAt, f.idle = failure, time.Time{}, final
	if !final {
		f.RetryAt = s.now.Add(delay(f.failures))
	}
	f.failures++
	s.notes = append(s.notes, Note{Fleet: f.Name, What: what, Failure: failure, RetryAt: f.RetryAt,
		Again: f.failures > 1})
}

// delay returns the delay before a retry after that many earlier failures.
func delay(failures int) time.Duration {
	const doublings = 6 // 2^6 seconds are longer than a minute
	return min(LongestDelay, FirstDelay<<min(failures, doublings))
}

// stopped prepares the next start of a stopped fleet, or removes the fleet.
func (s *step[C]) stopped(f *Fleet[C]) {
	if f.Unwanted {
		name := f.Name
		if !f.handed {
			s.note(name, HasEnded)
		}
		s.fleets = slices.DeleteFunc(s.fleets, func(f Fleet[C]) bool { return f.Name == name })
		return
	}
	if !f.handed {
		s.note(f.Name, StartsAnew)
	}
	*f = Fleet[C]{Name: f.Name, Phase: Waiting, Since: s.now, Wanted: f.Wanted}
}

// settle issues the next orders: at most one for each fleet.
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
			// A failed change may have been carried out in part, so even going back needs a Change.
			s.order(f, Change)
		}
	}
}

// start issues a Start.
func (s *step[C]) start(f *Fleet[C]) {
	if f.Phase != Failed {
		f.Since = s.now // a failed fleet counts as failed since its failure until it runs
	}
	f.Phase, f.InForce = Starting, f.Wanted
	s.order(f, Start)
	f.run = f.under.ID
}

// order issues an order for a fleet.
func (s *step[C]) order(f *Fleet[C], verb Verb) {
	s.last++
	f.under = Order[C]{ID: s.last, Verb: verb, Name: f.Name}
	if verb != Stop {
		f.under.Config = f.Wanted
	}
	s.orders = append(s.orders, f.under)
}

// blocked says whether the fleet would share a group with one that has not ended yet.
func (s *step[C]) blocked(f *Fleet[C]) bool {
	return s.rules.Conflict != nil && slices.ContainsFunc(s.fleets, func(other Fleet[C]) bool {
		return other.Name != f.Name && other.Phase != Waiting && s.rules.Conflict(other.InForce, f.Wanted)
	})
}
