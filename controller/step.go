package controller

import (
	"cmp"
	"fmt"
	"time"

	"github.com/muster-scale/muster"
	"github.com/muster-scale/muster/controller/learning"
	"github.com/muster-scale/muster/internal/render"
	"github.com/muster-scale/muster/worker/protocol"
)

// Outcome is what a step came to.
type Outcome struct {
	Observation muster.Observation
	Decision    muster.Decision
	// Ready is false until the queues and the fleet were seen completely once; until then nothing is done.
	Ready bool
	// Records are to be appended to the history, after Position of the state that was stepped, before any effect is
	// executed and before any worker is answered from Next.
	Records []muster.Record
	// Effects are to be executed in order. Failing ones are reported back as [Resulted].
	Effects []Effect
	// Changes say in words what happened to members, oldest first; they are recorded too.
	Changes []Changed
	// Finished and Failed count the messages that workers reported since the step before.
	Finished, Failed int64
	// Incidents counts, by kind, what went wrong at workers since the step before; nil for nothing.
	Incidents map[protocol.IncidentKind]int64
	// PricePerHour is what a worker costs in an hour, as configured; zero is unknown.
	PricePerHour float64
	// Spec is the policy's [policy.Spec] as JSON, as the records have it. It is never changed.
	Spec []byte
	// Unrecorded says since when and why nothing is done, when the history cannot be written; empty otherwise. Only
	// [Loop.Last] sets it.
	Unrecorded string
	// Next is the state once the records are appended.
	Next State

	bootWithin, storedSilence time.Duration
	unreported                bool
}

// Step computes what to do at now, given what happened since the last step. It is pure: equal arguments give equal
// outcomes, and st is not changed.
func (s Settings) Step(st State, now time.Time, in []Input) (o Outcome) {
	o.Next = st
	o.Next.roster = st.roster.Clone()
	s.advance(&o, now, in)
	return o
}

// advance steps o.Next, which the caller may change, and fills in what that came to.
func (s *Settings) advance(o *Outcome, now time.Time, in []Input) {
	o.PricePerHour, o.Spec = s.Spec.PricePerHour, s.spec
	next := &o.Next
	next.await(now)
	seen := s.fold(next, now, in)
	boot := next.learned.Boot(now, next.last().boot, s.BootPrior)
	rules := s.rules(boot)
	seen.gone(next.roster.Tidy(now, rules))

	if s.Spec.Shadow {
		s.follow(next, now, rules)
	}
	o.Ready, o.bootWithin, o.storedSilence, o.unreported = s.ready(next), rules.BootWithin, rules.StoredSilence,
		s.Unreported
	if o.Ready && !next.adopted {
		// The very first start takes the fleet as it finds it.
		next.desired, next.adopted = next.roster.Capacity(now, rules, s.Slots).Active(), true
	}
	s.tracked(next)
	s.contest(next, now)
	o.Observation = s.observe(next, now, boot)
	next.learned.Crowd(now, s.learning(), o.Observation.Capacity.BusySlots)
	o.Decision = s.policy.Decide(o.Observation, next.recent)
	// What was measured counts from the next step on, when it is in the history.
	seen.flushed = next.learned.Flush(now, counting(o.Observation))
	o.Finished, o.Failed, o.Incidents = seen.finished, seen.failed, seen.incidents
	w := write{settings: s, rules: rules, state: next, out: o}
	w.seen(seen)
	switch {
	case !o.Ready:
	case s.Spec.Shadow:
		w.decision()
		w.keepAll("another system sizes the fleet")
	case o.Decision.Verdict == muster.Delegate:
		w.decision()
		w.keepAll("the cloud sizes the fleet")
		w.handOver()
	case o.Decision.Reason == muster.Contested:
		w.decision()
		w.keepAll("another controller sizes the fleet too")
		w.protect()
	default:
		w.decision()
		w.departures(seen.departed)
		w.releases()
		w.size()
		w.restate()
		w.protect()
		w.trim()
	}
	next.aim.issued(now, o.Effects)
	next.Position.Seq += int64(len(o.Records))
}

// ready tells whether every queue was measured, the trees were looked at and the fleet was listed at least once since
// the start.
func (s *Settings) ready(st *State) bool {
	return !st.listed.At.IsZero() && (st.treesRead || !s.Trees) && len(st.queues) >= len(s.Queues)
}

// observe assembles what the policy sees: the newest samples, those that are too old as unknown.
func (s *Settings) observe(st *State, now time.Time, boot muster.Estimate) muster.Observation {
	learns := s.learning()
	o := muster.Observation{
		Fleet: s.Fleet, At: now, Poll: s.Poll, Objective: s.Objective, Limits: s.Limits,
		Capacity:   st.roster.Capacity(now, s.rules(boot), s.Slots),
		Processing: st.learned.Processing(now, st.last().processing, s.Spec.Processing),
		Boot:       boot,
		Launches:   st.roster.Launches(),
		Arrivals:   st.learned.Arrivals(now, learns),
		Coming:     st.roster.Coming(now, s.rules(boot)),
		Pace:       st.learned.Pace(now),
	}
	o.Classes, o.Sharing = st.learned.Classes(now), st.learned.Sharing(now, learns)
	o.Forecast = st.learned.Forecast(now, s.Poll, boot)
	o.Capacity.Desired = st.desired
	o.Capacity.Known, o.Capacity.Reason = true, ""
	o.Notes, o.Drift = st.notes(), st.drift
	if age := now.Sub(st.listed.At); st.listed.At.IsZero() || age > s.staleAfter() {
		o.Capacity.Known = false
		o.Capacity.Reason = fmt.Sprintf("the last listing is %s old", render.Seconds(age.Seconds()))
		if st.listed.Failure != "" {
			o.Capacity.Reason += ": " + st.listed.Failure
		}
		if st.listed.At.IsZero() {
			o.Capacity.Reason = cmp.Or(st.listed.Failure, "it was not listed yet")
		}
	}
	o.Queues = s.fresh(st.queues, now)
	o.Pool = st.pool(now)
	o.Expected, o.Metrics = s.expected(st, now), s.metrics(st, now)
	if s.Spec.Shadow {
		o.Capacity = supposed(o)
	}
	if !st.learned.MeasuresProcessing(now) {
		o.Processing = published(o)
	}
	if s.Unreported {
		o.Capacity = occupied(o)
	}
	if f := o.InFlight(); f.Known && !s.Unreported {
		o.Retrying = st.learned.Retrying(now, f.Value-float64(o.Capacity.BusySlots), st.roster.RoundTrip())
	}
	o.Waiting = st.learned.Waiting(now, o, learning.Every+s.Poll)
	o.Progress = s.progress(st, now, &o)
	return o
}
