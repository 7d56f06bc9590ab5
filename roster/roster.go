package roster

import (
	"cmp"
	"math"
	"slices"
	"time"

	"github.com/muster-scale/muster"
	"github.com/muster-scale/muster/worker/protocol"
)

// Rules are the durations by which a roster judges silence.
type Rules struct {
	// Silence is how long after its last report a worker is lost. It is above zero.
	Silence time.Duration
	// StoredSilence is the same for a worker with stored reports, which come rarely; the longer of both counts.
	StoredSilence time.Duration
	// BootWithin is the boot deadline: how long after its launch a member that never received is lost. It is above
	// zero.
	BootWithin time.Duration
	// Grace is how long after it joined a member without a finished message gets no stop request: the work for which it
	// was launched may still be coming.
	Grace time.Duration
	// Unreported counts members as working once the fleet reports them in service, because their workers do not report.
	Unreported bool
	// Remember is how long an ended member is remembered, so that its late reports do not bring it back.
	Remember time.Duration
	// Watched is set in shadow mode, where another system sizes the fleet: a member whose workers never report is in
	// service WatchedAfter its launch.
	Watched      bool
	WatchedAfter time.Duration
}

// Roster is a fleet's members, in the order of their launch. The zero Roster is empty.
type Roster struct {
	// members are the existing ones, ended the recently ended ones in the order of their end. The elements of ended and
	// launches never change, so clones share them.
	members []Member
	byID    index
	ended   []ended
	// launches are the launch attempts of the last hour, oldest first; attempts is their sum.
	launches []launch
	attempts int
	// failed counts the failed launches in a row; failedAt and lastErr are the time and reason of the last one.
	failed   int
	failedAt time.Time
	lastErr  string
}

// State is the known state of a member.
type State string

// The states of a member, roughly in the order of its life. Ordered: launched, and neither listed nor reported yet.
// Booting: exists, and takes no messages yet. Lost: silent, or past its boot deadline. The package documentation
// explains the others.
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

// Has tells whether a member exists and has not ended. It uses no index, which a clone may be changing.
func (r Roster) Has(id string) bool {
	return slices.ContainsFunc(r.members, func(m Member) bool { return m.ID == id && m.EndedAt.IsZero() })
}

// Members returns the existing members, in the order of their launch. The caller must not change them.
func (r Roster) Members() []Member { return slices.Clip(r.members) }

// State returns the state of m at now. The order of the cases matters: the end and the release are facts, and win over
// reports; then come members without reports, whose state the rules decide; only then the reports of workers.
func (m *Member) State(now time.Time, rules Rules) State {
	switch {
	case !m.EndedAt.IsZero():
		return Ended
	case !m.ReleasedAt.IsZero():
		return Released
	case rules.Unreported && m.Serving && m.reportsIgnored(now, rules):
		return Busy // it cannot report that it is idle
	case m.silent(rules):
		return m.withoutReports(now, rules)
	case len(m.Workers) == 0 || rules.Unreported && m.reportsIgnored(now, rules):
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
			leaving++ // a worker whose stop request was withdrawn will receive again
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

// unreported is the state of a member none of whose workers has received yet: it boots until the boot deadline. The
// deadline counts from the launch, or from when this controller first saw the member if that is later.
func (m *Member) unreported(now time.Time, rules Rules) State {
	switch {
	case m.failed || now.Sub(later(m.LaunchedAt, m.SeenAt)) > rules.BootWithin: // given up before, or late now
		return Lost
	case !m.DrainAt.IsZero():
		return Draining
	case !m.Listed && len(m.Workers) == 0:
		return Ordered
	}
	return Booting
}

// Capacity counts the members by state at now. The caller sets Desired, Known and Reason; slots is the configured
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
			if len(m.Workers) == 0 || rules.Unreported && m.reportsIgnored(now, rules) {
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

// hold adds the mean time in progress of the messages of each busy worker of m, at its last report. It leaves out the
// time since: with short messages the worker has others by now, and rare reports would make each look long.
func (m *Member) hold(held *spread) {
	for i := range m.Workers {
		if w := &m.Workers[i]; w.Busy > 0 {
			seconds := w.HeldSeconds / float64(w.Busy)
			held.n, held.sum, held.squares = held.n+1, held.sum+seconds, held.squares+seconds*seconds
		}
	}
}

// HeldBeyond returns how many messages had been in progress for longer than limit at the last reports, and the longest
// one with its member, in seconds. The number is a lower bound: a worker of several slots reports only the sum, and
// counts once if the mean exceeds the limit. Silent workers do not count.
func (r *Roster) HeldBeyond(
	now time.Time, rules Rules, limit time.Duration,
) (messages int, longest float64, member string) {
	for i := range r.members {
		m := &r.members[i]
		for k := range m.Workers {
			w := &m.Workers[k]
			if w.Busy == 0 || w.HeldSeconds/float64(w.Busy) <= limit.Seconds() {
				continue // the usual case, which needs no state
			}
			if s := m.State(now, rules); s != Busy && s != Draining {
				break
			}
			messages++
			if each := w.HeldSeconds / float64(w.Busy); each > longest {
				longest, member = each, m.ID
			}
		}
	}
	return messages, longest, member
}

// slots returns the slots of all its workers.
func (m *Member) slots() (n int) {
	for i := range m.Workers {
		n += m.Workers[i].Slots
	}
	return n
}

// busy returns the slots with a message, by the last reports.
func (m *Member) busy() (n int) {
	for i := range m.Workers {
		n += m.Workers[i].Busy
	}
	return n
}

// reportedAt returns the time of its newest report; zero before the first.
func (m *Member) reportedAt() (at time.Time) {
	for i := range m.Workers {
		at = later(at, m.Workers[i].ReportedAt)
	}
	return at
}

// idleSince returns when the last of its workers became idle.
func (m *Member) idleSince() (at time.Time) {
	for i := range m.Workers {
		at = later(at, m.Workers[i].IdleSince)
	}
	return at
}

// maxRoundTrip bounds the round trip of one worker, which may have been suspended, or lost all its answers.
const maxRoundTrip = 90 * time.Second

// roundTrip returns the longest round trip of its workers; 0 if none is known.
func (m *Member) roundTrip() (longest time.Duration) {
	for i := range m.Workers {
		longest = max(longest, min(m.Workers[i].RoundTrip, maxRoundTrip))
	}
	return longest
}

// RoundTrip returns the mean time from a report until the worker has its answer and reports again: a worker's state is
// known here after that time. It is 0 if no worker is known to have got an answer.
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

// add adds a member. Members are sorted by launch and id, in whatever order they are added.
func (r *Roster) add(f Facts) int { return r.insert(Member{Facts: &f}) }

// insert puts a member into its place and updates the index. Orders are usually the newest members, so that the index
// grows at its end; any other place moves members and needs a new index.
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

// later returns the later of two times.
func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

// inService tells whether the member receives and has no stop request.
func (m *Member) inService() bool {
	return !m.JoinedAt.IsZero() && m.DrainAt.IsZero() && m.ReleasedAt.IsZero()
}

// Coming returns the members that were launched and take no messages yet, oldest first, grouped by the second of their
// launch. Beyond [muster.MaxGroups] groups, later members join the last group and so seem a few seconds older.
func (r Roster) Coming(now time.Time, rules Rules) []muster.Coming {
	var groups []muster.Coming
	for i := range r.members {
		m := &r.members[i]
		if len(m.Workers) > 0 && m.Workers[0].State != protocol.Starting && !rules.Unreported {
			continue // the usual case: a worker has begun
		}
		if s := m.State(now, rules); s != Ordered && s != Booting {
			continue
		}
		age := max(0, now.Sub(m.LaunchedAt).Seconds())
		n := len(groups)
		if n == 0 || n < muster.MaxGroups && groups[n-1].AgeSeconds-age >= 1 {
			groups = append(groups, muster.Coming{AgeSeconds: age})
			n++
		}
		groups[n-1].Members++
		if m.Warm {
			groups[n-1].Warm++
		}
	}
	return groups
}

// Retries returns the number of messages that wait for their retry, and the age of the oldest in seconds, as the
// workers of all members reported them. It is false if no worker has reported, or if one does not report retries.
// Messages of ended workers are missing.
func (r Roster) Retries(now time.Time) (protocol.Retries, bool) {
	sum, reported := protocol.Retries{}, false
	for i := range r.members {
		for k := range r.members[i].Workers {
			w := &r.members[i].Workers[k]
			switch {
			case w.Seq == 0:
				continue
			case w.Retries == nil:
				return protocol.Retries{}, false
			}
			reported = true
			if w.Retries.Messages == 0 {
				continue
			}
			sum.Messages += w.Retries.Messages
			if age := w.Retries.OldestSeconds; age > 0 {
				sum.OldestSeconds = max(sum.OldestSeconds, age+max(0, now.Sub(w.ReportedAt).Seconds()))
			}
		}
	}
	return sum, reported
}

// withoutReports is the state of a member without reports, in shadow mode: booting for the usual boot time, then in
// service. It is never idle, because only a worker can report that.
func (m *Member) withoutReports(now time.Time, rules Rules) State {
	if now.Sub(m.LaunchedAt) < rules.WatchedAfter {
		return Booting
	}
	return Busy
}

// silent tells whether a member counts without reports.
func (m *Member) silent(rules Rules) bool {
	return rules.Watched && m.Listed && len(m.Workers) == 0 && m.DrainAt.IsZero() && m.ReleasedAt.IsZero()
}

// Forgive resets the count of failed launches: in shadow mode, failed members were not launched by Muster.
func (r *Roster) Forgive() { r.failed, r.lastErr = 0, "" }

// KeepAll withdraws all stop requests and tells workers that are ready to stop to work. It returns the members for
// which that is a change. Granted releases stay granted.
func (r *Roster) KeepAll() (kept []string) {
	for i := range r.members {
		m := &r.members[i]
		if !m.ReleasedAt.IsZero() {
			continue
		}
		news := !m.DrainAt.IsZero()
		if news {
			f := m.change()
			f.DrainAt, f.Dismissed = time.Time{}, false
		}
		for j := range m.Workers {
			if m.Workers[j].refuse() {
				news = true
			}
		}
		if news {
			kept = append(kept, m.ID)
		}
	}
	return kept
}
