package roster

import (
	"cmp"
	"math"
	"slices"
	"time"

	"github.com/muster-scale/muster"
	"github.com/muster-scale/muster/worker/protocol"
)

// Rules are the times by which a roster judges silence.
type Rules struct {
	// Silence is how long after its last report a worker is lost. It is above zero.
	Silence time.Duration
	// StoredSilence is the same for a worker whose reports are read from where it keeps them, which is seldom; it
	// counts where it is longer.
	StoredSilence time.Duration
	// BootWithin is how long after its launch a member that never took messages is lost. It is above zero.
	BootWithin time.Duration
	// Grace is how long after it joined a member that has not finished a message yet is not asked to go: it was
	// launched for work that is on its way to it.
	Grace time.Duration
	// Unreported has members work as soon as the fleet says that they are in service, because their workers do not
	// report.
	Unreported bool
	// Remember is how long an ended member is remembered, so that its late reports do not bring it back.
	Remember time.Duration
	// Watched is set for a fleet that another system sizes: a member whose workers never report is in service
	// WatchedAfter its launch.
	Watched      bool
	WatchedAfter time.Duration
}

// Roster is a fleet's members, in the order of their launch. The zero Roster is empty.
type Roster struct {
	// members are those that exist, ended those that have ended lately, in the order of their end. What is in ended and
	// in launches is never changed, so that clones share it.
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
		case w.State == protocol.Starting:
			starting++
		case w.State == protocol.Leaving || w.State != protocol.Receiving && w.Cause == protocol.Signalled:
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
	case m.failed || now.Sub(later(m.LaunchedAt,
		m.SeenAt)) > rules.BootWithin: // given up before a restart, or late now
		return Lost
	case !m.DrainAt.IsZero():
		return Draining
	case !m.Listed && len(m.Workers) == 0:
		return Ordered
	}
	return Booting
}

// Capacity counts the members by state at now. Desired, Known and Reason are left to the caller; slots is the
// configured number of slots of a worker.
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
				m.hold(&held)
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

// hold adds how long each busy worker of m had had its messages, on average, when it reported. The time since is left
// out: a worker of short messages has had many others by now, and each would look as long as its reports are rare.
func (m *Member) hold(held *spread) {
	for i := range m.Workers {
		if w := &m.Workers[i]; w.Busy > 0 {
			seconds := w.HeldSeconds / float64(w.Busy)
			held.n, held.sum, held.squares = held.n+1, held.sum+seconds, held.squares+seconds*seconds
		}
	}
}

// HeldBeyond returns how many messages workers had held for longer than limit when they reported last, and which member
// had the one that was held longest, for how many seconds. At least so many: a worker of several slots tells only the
// sum of its messages, and counts once when their mean is above the limit. Workers that went silent do not count.
func (r *Roster) HeldBeyond(
	now time.Time, rules Rules, limit time.Duration,
) (messages int, longest float64, member string) {
	for i := range r.members {
		m := &r.members[i]
		switch m.State(now, rules) {
		case Busy, Draining:
		default:
			continue
		}
		for k := range m.Workers {
			w := &m.Workers[k]
			if w.Busy == 0 || w.HeldSeconds/float64(w.Busy) <= limit.Seconds() {
				continue
			}
			messages++
			if each := w.HeldSeconds / float64(w.Busy); each > longest {
				longest, member = each, m.ID
			}
		}
	}
	return messages, longest, member
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

// maxRoundTrip bounds what the round trip of one worker counts for: it may have stood still, or all its answers were
// lost.
const maxRoundTrip = 90 * time.Second

func (m *Member) roundTrip() (longest time.Duration) {
	for i := range m.Workers {
		longest = max(longest, min(m.Workers[i].RoundTrip, maxRoundTrip))
	}
	return longest
}

// RoundTrip returns how long it takes on average from a report until the worker has heard the answer and has reported
// again: what a worker does is known here after that time at the latest. It is 0 where no worker is known to have heard
// an answer.
func (r Roster) RoundTrip() time.Duration {
	sum, n := time.Duration(0), 0
	for i := range r.members {
		if trip := r.members[i].roundTrip(); trip > 0 {
			sum, n = sum+trip, n+1
		}
	}
	if n == 0 {
		return 0
	}
	return sum / time.Duration(n)
}

// add keeps the members sorted by launch and id, whatever the order in which they are learned of.
func (r *Roster) add(f Facts) int { return r.insert(Member{Facts: &f}) }

func (r *Roster) insert(m Member) int {
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
