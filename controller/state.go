package controller

import (
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/muster-scale/muster"
	"github.com/muster-scale/muster/controller/learning"
	"github.com/muster-scale/muster/roster"
	"github.com/muster-scale/muster/worker/protocol"
)

// State is everything a step remembers. All of it derives from the history and from what is seen next, so that a
// restart changes nothing. It is a value: a step never changes the state it was given.
type State struct {
	// Position is where the history of the fleet stands.
	Position muster.Position
	roster   roster.Roster
	queues   []muster.QueueObservation
	listed   Listed
	// expected is what trees are expected to send, nil where nothing was read; it is replaced, never changed. treesRead
	// is true once they were looked at, with or without success.
	expected  *muster.Expected
	treesRead bool
	// metered is what was read of metrics last; it is replaced, never changed.
	metered *Metered
	recent  muster.Recent
	// desired is the size asked for; it means something once adopted is true.
	desired int
	adopted bool
	// watched is true while the history tells of a fleet that another system sized: its size then was not Muster's.
	watched bool
	// learned is how long work and boots take, what came, and how work ended.
	learned learning.Memory
	// unread says why stored reports could not be read last; empty where they were.
	unread string
	// order is the order under way, if any: at most one write is in flight.
	order   *SetDesired
	orderAt time.Time
	// again is true after a restart that found the order without a result: nobody knows whether it reached the fleet.
	again bool
	endAt time.Time
	// aim is what is remembered of the fleet's own service.
	aim aim
	// drift is what others have made of its size; it is replaced, never changed.
	drift *muster.Drift
	// handed is what a cloud's target tracking was last told.
	handed handed
	// recorded is the last decision that was recorded, and what it was made from; nil before the first. It is replaced,
	// never changed.
	recorded   *remembered
	recordedAt time.Time
}

// Restore returns the state at the given position from the fleet's records, oldest first: the recent decisions, the
// size asked for, the launches of the past hour, the members and what became of them, and the durations learned. The
// first listing shows which members still exist.
func (s Settings) Restore(at muster.Position, records []muster.Record) (State, error) {
	st := s.start(at)
	for _, r := range records {
		if err := s.restore(&st, r); err != nil {
			return State{}, fmt.Errorf("fleet %s: read record %d of the history: %w", s.Fleet, r.Position.Seq, err)
		}
	}
	return st, nil
}

func (s *Settings) restore(st *State, r muster.Record) error {
	if _, is := Unencodable(r); is {
		return nil // what it should say is unknown: what was known before holds
	}
	switch r.Kind {
	case muster.Decided:
		var body Decided
		if err := json.Unmarshal(r.Body, &body); err != nil {
			return err
		}
		st.recent = st.recent.With(body.Decision, s.memory)
		st.watched = watched(r)
		st.desired, st.adopted = body.Decision.Desired, !st.watched
		st.recorded, st.recordedAt = s.remember(body), r.At
		st.expected, st.drift = body.Observation.Expected, body.Observation.Drift
		st.learned.RecallDecision(r.At, body.Observation)
	case muster.Changed:
		var body Changed
		if err := json.Unmarshal(r.Body, &body); err != nil {
			return err
		}
		st.desired, st.adopted = body.Desired, !st.watched
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
			st.order, st.orderAt, st.again = body.SetDesired, r.At, true
		}
	case muster.Resulted:
		var body ResultedBody
		if err := json.Unmarshal(r.Body, &body); err != nil {
			return err
		}
		st.resulted(Resulted{At: r.At, Effect: body.Effect, Failure: body.Failure})
	case muster.Learned:
		var body learning.Learned
		if err := json.Unmarshal(r.Body, &body); err != nil {
			return err
		}
		st.learned.Recall(r.At, body)
	}
	return nil
}

// start is the state of a controller that knows nothing.
func (s *Settings) start(at muster.Position) State {
	return State{Position: at, learned: learning.New(s.learning())}
}

// Directive returns what a worker is to be told.
func (st State) Directive(member, worker string) protocol.Directive {
	return st.roster.Directive(member, worker)
}

// Answer is [State.Directive] for a worker of a member that takes messages and of which nothing is asked: its report
// needs no step to be answered. It is false for any other.
func (st *State) Answer(member, worker string) (protocol.Directive, bool) {
	return st.roster.Answer(member, worker)
}

// Recent are the recent decisions, as a policy sees them. They must not be changed.
func (st *State) Recent() muster.Recent { return st.recent }

// whyLeft says why a member that offered to leave may.
func (st *State) whyLeft(member string) string {
	if st.roster.Cause(member) == protocol.EndOfBilling {
		return "it is idle, and its paid period ends"
	}
	return "no message came for it"
}

// MemberView is one member as it stood after a step.
type MemberView struct {
	ID         string
	State      roster.State
	LaunchedAt time.Time
	// JoinedAt is when a worker of it first took messages; zero before.
	JoinedAt    time.Time
	Slots, Busy int
	// HeldSeconds adds up how long its workers have held their messages by now, if they still hold those that they
	// reported.
	HeldSeconds float64
	// Incidents are what went wrong at its workers.
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

// UpToDecision returns those of the records that count at the newest decision among them. They are changed.
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

// Decides tells whether a record says what was decided.
func Decides(r muster.Record) bool {
	_, lost := Unencodable(r)
	return r.Kind == muster.Decided && !lost
}
