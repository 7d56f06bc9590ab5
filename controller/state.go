package controller

import (
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/muster-scale/muster"
	"github.com/muster-scale/muster/controller/learning"
	"github.com/muster-scale/muster/override"
	"github.com/muster-scale/muster/roster"
	"github.com/muster-scale/muster/worker/protocol"
)

// State is the memory of a controller. All of it derives from the history and from later inputs, so that a restart
// changes nothing. It is a value: a step never changes the state it was given.
type State struct {
	// Position is the end of the fleet's history.
	Position muster.Position
	// roster has the members. queues are the newest measurements by name, listed the newest listing without its
	// members.
	roster roster.Roster
	queues []muster.QueueObservation
	// failures say for each of queues why its last reading failed; empty if it did not.
	failures []string
	listed   Listed
	// expected is the newest forecast of trees, nil before one was read; it is replaced, never changed. treesRead is
	// true once a reading was tried, with or without success.
	expected  *muster.Expected
	treesRead bool
	// metered are the metrics read last; it is replaced, never changed.
	metered *Metered
	recent  muster.Recent
	// desired is the desired size; it is valid once adopted is true.
	desired int
	adopted bool
	// shadowed is true while the restored records are of a fleet in shadow mode: its size was set by another system.
	shadowed bool
	// learned has the learned quantities: durations, boots, arrivals and failures.
	learned learning.Memory
	// unread says why the last reading of stored reports failed; empty if it succeeded.
	unread string
	// order is the order under way, if any: at most one write is in flight.
	order   *SetDesired
	orderAt time.Time
	// orderRecalled is true after a restart that found the order without a result: it may or may not have reached the
	// fleet, so it is given once more.
	orderRecalled bool
	// endAt is when overdue members were last ended.
	endAt time.Time
	// writes is the memory of writing to the fleet's own service.
	writes serviceWrites
	// overrides are the time-limited instructions of operators; the list is replaced, never changed.
	overrides override.List
	// past are those that ended lately; it is replaced, never changed.
	past override.Past
	// drift lists sizes of that service that Muster did not set; it is replaced, never changed.
	drift *muster.Drift
	// idleStop is that of the newest decision: see [muster.Decision]. It is 0 before the first one after a start.
	idleStop time.Duration
	// handed is the last handover to a cloud's target tracking.
	handed handed
	// recorded is the last recorded decision with the parts of its observation that are still needed; nil before the
	// first. It is replaced, never changed.
	recorded   *remembered
	recordedAt time.Time
}

// Restore rebuilds the state at the given position from the fleet's records, oldest first: recent decisions, the
// desired size, the launches of the past hour, the members and their changes, and the learned durations. The first
// listing then shows which members still exist.
func (s Settings) Restore(at muster.Position, records []muster.Record) (State, error) {
	st := s.start(at)
	for _, r := range records {
		if err := s.restore(&st, r); err != nil {
			return State{}, fmt.Errorf("fleet %s: read record %d of the history: %w", s.Fleet, r.Position.Seq, err)
		}
	}
	return st, nil
}

// restore applies one record.
func (s *Settings) restore(st *State, r muster.Record) error {
	if _, is := Unencodable(r); is {
		return nil // its content is unknown, so the state before it holds
	}
	switch r.Kind {
	case muster.Decided:
		var body Decided
		if err := json.Unmarshal(r.Body, &body); err != nil {
			return err
		}
		st.recent = st.recent.With(body.Decision, s.memory)
		st.shadowed = inShadow(r)
		st.desired, st.adopted = body.Decision.Desired, !st.shadowed
		st.recorded, st.recordedAt = s.remember(body), r.At
		st.expected, st.drift = body.Observation.Expected, body.Observation.Drift
		st.overrides = body.Observation.Overrides
		st.learned.RecallDecision(r.At, body.Observation)
	case muster.Changed:
		var body Changed
		if err := json.Unmarshal(r.Body, &body); err != nil {
			return err
		}
		st.desired, st.adopted = body.Desired, !st.shadowed
		if body.Incident != nil {
			st.roster.RecallIncident(body.Member, roster.Incident{Worker: body.Worker, Incident: *body.Incident,
				At: r.At})
			return nil
		}
		if body.What == roster.Named {
			st.roster.Rename(body.Member, body.As)
			break
		}
		st.roster.Recall(r.At, body.Member, body.What, body.Wasted, body.Why)
	case muster.Intended:
		var body Intended
		if err := json.Unmarshal(r.Body, &body); err != nil {
			return err
		}
		if body.SetDesired != nil {
			st.roster.RecallLaunch(r.At, body.SetDesired.Launch)
			st.roster.FromPool(body.SetDesired.Launch[:min(body.SetDesired.Warm, len(body.SetDesired.Launch))])
			st.order, st.orderAt, st.orderRecalled = body.SetDesired, r.At, true
		}
	case muster.Resulted:
		var body ResultedBody
		if err := json.Unmarshal(r.Body, &body); err != nil {
			return err
		}
		st.resulted(Resulted{At: r.At, Effect: body.Effect, Failure: body.Failure})
	case muster.Overridden:
		var body override.Change
		if err := json.Unmarshal(r.Body, &body); err != nil {
			return err
		}
		st.overrides, st.past = st.overrides.After(body), st.past.After(body, r.At)
	case muster.Learned:
		var body learning.Learned
		if err := json.Unmarshal(r.Body, &body); err != nil {
			return err
		}
		st.learned.Recall(r.At, body)
	}
	return nil
}

// start returns the state of a controller without any history.
func (s *Settings) start(at muster.Position) State {
	return State{Position: at, learned: learning.New(s.learning())}
}

// Directive returns the answer to a worker's report.
func (st *State) Directive(member, worker string) protocol.Directive {
	return st.withIdleStop(member, st.roster.Directive(member, worker))
}

// Answer is [State.Directive] for a worker whose report needs no step: its member is in service and has no stop
// request. It is false for any other.
func (st *State) Answer(member, worker string) (protocol.Directive, bool) {
	d, ok := st.roster.Answer(member, worker)
	return st.withIdleStop(member, d), ok
}

// withIdleStop returns d with the idle stop of the newest decision, if the worker works. One of several workers of a
// member gets none: it would wait without messages until the others are idle too.
func (st *State) withIdleStop(member string, d protocol.Directive) protocol.Directive {
	if d.Ask == protocol.Work && st.idleStop > 0 && st.roster.Alone(member) {
		d.IdleStop = st.idleStop
	}
	return d
}

// Recent returns the recent decisions, as a policy sees them. The caller must not change them.
func (st *State) Recent() muster.Recent { return st.recent }

// Has tells whether a member is known and has not ended.
func (st *State) Has(member string) bool { return st.roster.Has(member) }

// whyLeft says why a member that is ready to stop gets its permit.
func (st *State) whyLeft(member string) string {
	if st.roster.Cause(member) == protocol.EndOfBilling {
		return "it is idle, and its paid period ends"
	}
	return "no message came for it"
}

// MemberView is the state of one member after a step, for people.
type MemberView struct {
	ID         string
	State      roster.State
	LaunchedAt time.Time
	// JoinedAt is when one of its workers first took messages; zero before.
	JoinedAt    time.Time
	Slots, Busy int
	// HeldSeconds is the sum of the times that its workers have held their messages by now, if they still hold those of
	// their last report.
	HeldSeconds float64
	// Incidents are the last problems of its workers.
	Incidents []roster.Incident
}

// Members returns the members that exist at now, in the order of their launch.
func (o Outcome) Members(now time.Time) []MemberView {
	rules := roster.Rules{Silence: silence, StoredSilence: o.storedSilence, BootWithin: o.bootWithin,
		Unreported: o.unreported}
	var views []MemberView
	for _, m := range o.Next.roster.Members() {
		v := MemberView{ID: m.ID, State: m.State(now, rules), LaunchedAt: m.LaunchedAt, JoinedAt: m.JoinedAt}
		v.Incidents = m.Incidents()
		for _, w := range m.Workers {
			v.Slots += w.Slots
			v.Busy += w.Busy
			v.HeldSeconds += w.HeldSeconds + float64(w.Busy)*max(0, now.Sub(w.ReportedAt).Seconds())
		}
		views = append(views, v)
	}
	return views
}

// UpToDecision returns the records that count at the newest decision among them. It reuses the memory of records.
func (s Settings) UpToDecision(records []muster.Record) []muster.Record {
	for i := len(records) - 1; i >= 0; i-- {
		if Decides(records[i]) {
			newest := records[i].At
			from := newest.Add(-s.RestoreFrom())
			return slices.DeleteFunc(records, func(r muster.Record) bool {
				return r.At.Before(from) ||
					!s.Restores(r, newest)
			})
		}
	}
	return records
}

// Decides tells whether a record holds a readable decision.
func Decides(r muster.Record) bool {
	_, lost := Unencodable(r)
	return r.Kind == muster.Decided && !lost
}
