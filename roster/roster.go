package roster

import (
	"cmp"
	"math"
	"slices"
	"time"

	"github.com/muster-scale/muster"
)

// Rules are the times by which a roster judges silence.
type Rules struct {
	// Silence is how long after its last report a worker is lost. It is above zero.
	Silence time.Duration
	// StoredSilence is the same for a worker whose reports are read from where it keeps them, which is seldom; it counts where
	// it is longer.
	StoredSilence time.Duration
	// BootWithin is how long after its launch a member that never took messages is lost. It is above zero.
	BootWithin time.Duration
	// Grace is how long after it joined a member that has not finished a message yet is not asked to go: it was launched for
	// work that is on its way to it.
	Grace time.Duration
	// Unreported has members work as soon as the fleet says that they are in service, because their workers do not report.
	Unreported bool
	// Remember is how long an ended member is remembered, so that its late reports do not bring it back.
	Remember time.Duration
	// Watched is set for a fleet that another system sizes: a member whose workers never report is in service WatchedAfter its
	// launch.
	Watched      bool
	WatchedAfter time.Duration
}

// Roster is a fleet's members, in the order of their launch. The zero Roster is empty.
type Roster struct {
	// members are those that exist, ended those that have ended lately, in the order of their end. What is in ended and in
	// launches is never changed, so that clones share it.
	members []Member
	byID    index
	ended   []ended
	// launches are the launch attempts of the past hour, oldest first; attempts adds them up.
	launches []launch
	attempts int
	failed   int
	failedAt time.Time
	lastErr  string
}

// Member is one member and its workers.
type Member struct {
	// ID is the fleet's name for it.
	ID string
	// LaunchedAt is when it was ordered, or first seen if nobody here ordered it.
	LaunchedAt time.Time
	// SeenAt is when this controller first saw it; zero for one that it ordered itself, or only remembers so far. Silence
	// counts from then: a member from before a restart gets time to report.
	SeenAt time.Time
	// DrainAt is when it was asked to drain; zero while it is not.
	DrainAt time.Time
	// ReleasedAt is when its release was granted; zero before.
	ReleasedAt time.Time
	// EndedAt is when it was found to exist no more; zero before.
	EndedAt time.Time
	// JoinedAt is when a worker of it first took messages; zero before.
	JoinedAt time.Time
	// Listed is true once the fleet listed it.
	Listed bool
	// Serving is true while the fleet's own service says that it is in service.
	Serving bool
	// Exposed is true while the fleet's own service may end it, as far as it was listed.
	Exposed bool
	// Warm is true when it comes from a warm pool, as far as is known or was expected when it was ordered.
	Warm bool
	// Proved is true once it finished a message or stayed in service for a while: its launch was good.
	Proved bool
	// used is true once it said that it had finished a message.
	used bool
	// failed is true once its launch was counted as failed.
	failed bool
	// named is true once the fleet's own service gave it its name.
	named bool
	// departed is true once it was told that it leaves, or has left, by itself.
	departed bool
	// recalled is true while it is known from the history alone.
	recalled bool
	// timed is true when its boot was seen from here: it was ordered, or it was listed and said that it is starting. A
	// member that was found at work booted at a time nobody knows.
	timed bool
	// doubtAt is when its order failed, for the reason doubt; zero when it did not.
	doubtAt time.Time
	doubt   string
	// told are the incidents that were told. What is in it is never changed, so that clones share it.
	told []told
	// Workers are its workers, by name; empty until the first report.
	Workers []Worker
}

// Worker is a worker as it last reported itself.
type Worker struct {
	ID         string
	Epoch, Seq int64
	State      muster.WorkerState
	Cause      muster.Cause
	Slots      int
	Busy       int
	// Token is its release token while it is idle and has stopped receiving.
	Token string
	// Refused is the token whose release was refused: the worker is told to go on.
	Refused string
	// Challenge is what it is asked to repeat, Repeated what it repeated last. Its token counts while they are equal.
	Challenge, Repeated int64

	ReportedAt time.Time
	// Stored is true while its reports are read from where it keeps them: nobody answers it.
	Stored bool
	// HeldSeconds adds up how long it had held its messages when it reported.
	HeldSeconds float64
	// IdleSince is when it last said that it holds nothing, after holding something.
	IdleSince time.Time
}

// State is what a member is doing, as far as that is known.
type State string

// The states of a member.
const (
	Ordered  State = "ordered"
	Booting  State = "booting"
	Idle     State = "idle"
	Busy     State = "busy"
	Draining State = "draining"
	Released State = "released"
	Lost     State = "lost"
	Ended    State = "ended"
)

// Clone returns a copy that may be changed without changing r.
func (r Roster) Clone() Roster {
	r.members = slices.Clone(r.members)
	workers := 0
	for i := range r.members {
		workers += len(r.members[i].Workers)
	}
	all := make([]Worker, 0, workers) // one piece of memory for all, since every step clones
	for i := range r.members {
		if own := r.members[i].Workers; len(own) > 0 {
			all = append(all, own...)
			r.members[i].Workers = all[len(all)-len(own) : len(all) : len(all)]
		}
	}
	r.byID = slices.Clone(r.byID)
	r.ended, r.launches = slices.Clip(r.ended), slices.Clip(r.launches) // whoever appends makes a copy
	return r
}

// Members returns the members that still exist, in the order of their launch. The caller must not change them.
func (r Roster) Members() []Member { return slices.Clip(r.members) }

// State returns what m is doing at now.
func (m *Member) State(now time.Time, rules Rules) State {
	switch {
	case !m.EndedAt.IsZero():
		return Ended
	case !m.ReleasedAt.IsZero():
		return Released
	case rules.Unreported && m.Serving && m.mute(now, rules):
		return Busy // nobody says that it is idle
	case m.silent(rules):
		return m.workless(now, rules)
	case len(m.Workers) == 0 || rules.Unreported && m.mute(now, rules):
		return m.unreported(now, rules)
	}
	busy, starting, leaving := 0, 0, 0
	for i := range m.Workers {
		w := &m.Workers[i]
		busy += w.Busy
		switch {
		case w.State == muster.Starting:
			starting++
		case w.State == muster.Leaving || w.State != muster.Receiving && w.Cause == muster.Signalled:
			leaving++ // whoever was asked, and is not any more, comes back when it hears of it
		}
	}
	switch {
	case m.quiet(now, rules):
		return Lost
	case !m.DrainAt.IsZero() || leaving == len(m.Workers):
		return Draining
	case starting == len(m.Workers):
		return m.unreported(now, rules)
	case busy > 0:
		return Busy
	}
	return Idle
}

func (m *Member) unreported(now time.Time, rules Rules) State {
	switch {
	case m.failed || now.Sub(later(m.LaunchedAt, m.SeenAt)) > rules.BootWithin: // given up before a restart, or late now
		return Lost
	case !m.DrainAt.IsZero():
		return Draining
	case !m.Listed && len(m.Workers) == 0:
		return Ordered
	}
	return Booting
}

// Capacity counts the members by state at now. Desired, Known and Reason are left to the caller; slots is the configured
// number of slots of a worker.
func (r Roster) Capacity(now time.Time, rules Rules, slots int) muster.Capacity {
	var c muster.Capacity
	var held spread
	workers, reported := 0, 0
	for i := range r.members {
		m := &r.members[i]
		for k := range m.Workers {
			if n := m.Workers[k].Slots; n > 0 {
				workers++
				reported += n
			}
		}
		switch m.State(now, rules) {
		case Ordered:
			c.Ordered++
		case Booting:
			c.Booting++
		case Idle, Busy:
			if len(m.Workers) == 0 || rules.Unreported && m.mute(now, rules) {
				c.Busy++
				c.Slots += max(1, slots)
				c.BusySlots += max(1, slots)
				continue
			}
			c.Slots += m.slots()
			c.BusySlots += m.busy()
			if m.busy() > 0 {
				c.Busy++
				m.hold(now, &held)
			} else {
				c.Idle++
			}
		case Draining:
			c.Draining++
		case Released:
			c.Released++
		case Lost:
			c.Lost++
		}
	}
	c.HeldMeanSeconds, c.HeldDeviationSeconds = held.summary()
	c.SlotsPerWorker = float64(max(1, slots))
	if workers > 0 {
		c.SlotsPerWorker = float64(reported) / float64(workers)
	}
	return c
}

// spread adds up numbers and their squares.
type spread struct{ n, sum, squares float64 }

// summary returns the mean and the standard deviation, to the millisecond.
func (x spread) summary() (mean, deviation float64) {
	if x.n == 0 {
		return 0, 0
	}
	mean = x.sum / x.n
	round := func(v float64) float64 { return math.Round(v*1000) / 1000 }
	return round(mean), round(math.Sqrt(max(0, x.squares/x.n-mean*mean)))
}

// hold adds how long each busy worker of m has had its messages, on average and until now.
func (m *Member) hold(now time.Time, held *spread) {
	for i := range m.Workers {
		if w := &m.Workers[i]; w.Busy > 0 {
			seconds := w.HeldSeconds/float64(w.Busy) + max(0, now.Sub(w.ReportedAt).Seconds())
			held.n, held.sum, held.squares = held.n+1, held.sum+seconds, held.squares+seconds*seconds
		}
	}
}

func (m *Member) slots() (n int) {
	for i := range m.Workers {
		n += m.Workers[i].Slots
	}
	return n
}

func (m *Member) busy() (n int) {
	for i := range m.Workers {
		n += m.Workers[i].Busy
	}
	return n
}

func (m *Member) reportedAt() (at time.Time) {
	for i := range m.Workers {
		at = later(at, m.Workers[i].ReportedAt)
	}
	return at
}

func (m *Member) idleSince() (at time.Time) {
	for i := range m.Workers {
		at = later(at, m.Workers[i].IdleSince)
	}
	return at
}

// add keeps the members sorted by launch and id, whatever the order in which they are learned of.
func (r *Roster) add(m Member) int {
	i, _ := slices.BinarySearchFunc(r.members, m, func(a, b Member) int {
		return cmp.Or(a.LaunchedAt.Compare(b.LaunchedAt), cmp.Compare(a.ID, b.ID))
	})
	r.members = slices.Insert(r.members, i, m)
	if i == len(r.members)-1 {
		r.reindex(i)
	} else {
		r.reindex(0)
	}
	return i
}

func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

// inService tells whether the member takes messages and nothing is being asked of it.
func (m *Member) inService() bool {
	return !m.JoinedAt.IsZero() && m.DrainAt.IsZero() && m.ReleasedAt.IsZero()
}
