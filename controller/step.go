package controller

import (
	"fmt"
	"time"

	"github.com/muster-scale/muster"
	"github.com/muster-scale/muster/controller/learning"
	"github.com/muster-scale/muster/internal/render"
	"github.com/muster-scale/muster/override"
	"github.com/muster-scale/muster/roster"
	"github.com/muster-scale/muster/series"
	"github.com/muster-scale/muster/worker/protocol"
)

// Outcome is the result of a step.
type Outcome struct {
	Observation muster.Observation
	Decision    muster.Decision
	// Ready is false until every queue and the fleet were read once; until then nothing is done.
	Ready bool
	// Records must be appended to the history, after the Position of the stepped state, before any effect is carried
	// out and before any worker is answered from Next.
	Records []muster.Record
	// Effects must be carried out in order. Each result comes back as [Resulted].
	Effects []Effect
	// Changes are the changes of members in words, oldest first; they are recorded too.
	Changes []Changed
	// Finished counts the messages, and Failed the failed attempts, that workers reported since the step before.
	Finished, Failed int64
	// InSystem holds the times from sent to finished of those of the Finished messages whose send time is known.
	InSystem series.Durations
	// Incidents counts the problems of workers since the step before, by kind; nil for none.
	Incidents map[protocol.IncidentKind]int64
	// Overrides are the changes of overrides, oldest first; they are recorded too. Answers are those to the
	// [Instructed] inputs, in their order.
	Overrides []override.Change
	Answers   []override.Answer
	// PricePerHour is the configured price of a worker for an hour; zero is unknown.
	PricePerHour float64
	// Spec is the policy's [policy.Spec] as JSON, as in the records. It is never changed.
	Spec []byte
	// Unrecorded says since when and why nothing is done, if the history cannot be written; empty otherwise. Only
	// the live loop (package controller/loop) sets it.
	Unrecorded string
	// Next is the state after the records were appended.
	Next State

	// What Members needs to derive states.
	bootWithin, storedSilence time.Duration
	unreported                bool
}

// Step computes what to do at now, given the inputs since the last step. It is pure: equal arguments give equal
// outcomes, and st is not changed.
func (s Settings) Step(st State, now time.Time, in []Input) (o Outcome) {
	o.Next = st
	o.Next.roster = st.roster.Clone()
	s.advance(&o, now, in)
	return o
}

// advance steps o.Next, which the caller gives away, and fills in the outcome.
func (s *Settings) advance(o *Outcome, now time.Time, in []Input) {
	o.PricePerHour, o.Spec = s.Spec.PricePerHour, s.spec
	next := &o.Next
	next.await(now)
	seen := s.fold(next, now, in)
	boot := next.learned.Boot(now, next.last().boot, s.BootPrior)
	rules := s.rules(boot)
	seen.gone(next.roster.Tidy(now, rules))

	if s.Spec.Shadow {
		s.adoptSize(next, now, rules)
	}
	o.Ready, o.bootWithin, o.storedSilence, o.unreported = s.ready(next), rules.BootWithin, rules.StoredSilence,
		s.Unreported
	if o.Ready && !next.adopted {
		// The first start ever takes over the fleet at its present size.
		next.desired, next.adopted = next.roster.Capacity(now, rules, s.Slots).Active(), true
	}
	s.tracked(next)
	s.contest(next, now)
	instructed := len(next.overrides)+len(seen.instructed) > 0
	if instructed {
		s.instruct(next, now, rules, boot, &seen)
	}
	o.Observation = s.observe(next, now, boot)
	o.Observation.Dismissed = dismissedBy(seen.dismissed)
	if instructed {
		s.useUp(next, now, &o.Observation, &seen)
	}
	next.learned.Crowd(now, s.learning(), o.Observation.Capacity.BusySlots)
	o.Decision = s.policy.Decide(o.Observation, next.recent)
	// Flush after Decide: a measurement counts from the next step on, when it is in the history. Otherwise a restart
	// between the two would decide differently.
	seen.flushed = next.learned.Flush(now, learning.Counting(o.Observation))
	o.Finished, o.Failed, o.InSystem, o.Incidents = seen.finished, seen.failed, seen.inSystem, seen.incidents
	o.Overrides, o.Answers = seen.overrides, seen.answers
	w := write{settings: s, rules: rules, state: next, out: o}
	w.recordFindings(seen)
	next.idleStop = 0
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
		w.dismissals(seen.dismissed)
		w.releases()
		w.size()
		w.restate()
		w.protect()
		w.trim()
		if !w.unsure() {
			next.idleStop = o.Decision.IdleStop
		}
	}
	next.writes.issued(now, o.Effects)
	next.Position.Seq += int64(len(o.Records))
}

// ready tells whether every queue was measured, the trees were read and the fleet was listed at least once since the
// start. An earlier decision would take an unread queue for an empty one.
func (s *Settings) ready(st *State) bool {
	return !st.listed.At.IsZero() && (st.treesRead || !s.Trees) && len(st.queues) >= len(s.Queues)
}

// Advance is [Settings.Step] for a caller that gives the state away, which saves a copy of the roster. Afterwards st,
// every copy of it, and Next of earlier outcomes must not be used.
func (s Settings) Advance(st State, now time.Time, in []Input) (o Outcome) {
	o.Next = st
	s.advance(&o, now, in)
	return o
}

// fold applies the inputs to st, which the caller gives away, and returns what is to be recorded of them.
func (s *Settings) fold(st *State, now time.Time, in []Input) (seen findings) {
	var buffer [8]series.Durations // on the stack, because every step has reports
	processing := buffer[:0]       // one for each report
	seen.objective = s.Objective.Latency
	rules := s.learning()
	for _, i := range in {
		switch x := i.(type) {
		case Measured:
			q := &x.QueueObservation
			st.learned.Queue(now, rules, st.queues, q)
			st.keepMeasurement(q)
		case Listed:
			if x.Failure == "" {
				if x.Service != nil {
					seen.named(st.roster.Name(x.Listing)...)
				}
				seen.gone(st.roster.Listed(x.Listing))
				seen.tiers(st.roster.Tiers(x.Listing))
				if s.Unreported {
					for _, n := range st.roster.Serve(x.At) {
						seen.news(st, n)
					}
				}
			}
			if x.Failure == "" || st.listed.At.IsZero() {
				st.listed = Listed{Listing: muster.Listing{At: x.At, Service: x.Service, Ready: x.Ready},
					Failure: x.Failure} // the roster has the members
			} else {
				st.listed.Failure = x.Failure
			}
		case Expected:
			st.keepExpected(x.Expected)
		case Metered:
			st.keepMetrics(x)
		case Reported:
			processing = seen.report(st, &x.Report, false, processing)
		case *Reported:
			processing = seen.report(st, &x.Report, false, processing)
		case Unread:
			st.unread = x.Failure
		case Stored:
			processing = seen.report(st, &x.Report, true, processing)
		case Resulted:
			seen.results = append(seen.results, x)
			st.resulted(x)
		case Instructed:
			seen.instructed = append(seen.instructed, x)
		}
	}
	st.learned.Reported(rules, learning.Reports{Processing: processing, Failing: seen.failing, Classes: seen.classes,
		Finished: seen.finished, Failed: seen.failed, Ended: seen.ended, InTime: seen.inTime,
		Usage: seen.usage}, st.queues)
	if st.order != nil && now.Sub(st.orderAt) > OrderTimeout {
		st.order, st.orderRecalled = nil, false
	}
	return seen
}

// resulted applies the result of an effect. A failed order may have been carried out in part: the roster waits for a
// listing to show that.
func (st *State) resulted(x Resulted) {
	st.written(x)
	if st.order == nil || st.order.ID != x.Effect {
		return
	}
	if x.Failure != "" {
		st.roster.NotLaunched(x.At, st.order.Launch, x.Failure)
	}
	st.order, st.orderRecalled = nil, false
}

// await keeps the members of an order that a restart found without a result as ordered. They may still appear as long
// as its result may come.
func (st *State) await(now time.Time) {
	if st.orderRecalled && now.Sub(st.orderAt) <= OrderTimeout {
		st.roster.Expect(now, st.order.Launch)
	}
}

// findings are what a batch of inputs showed, to be recorded after the decision.
type findings struct {
	// changes are the changes of members, in order of arrival: a restart that reads them must count the failures of
	// launches in the same order.
	changes []Changed
	results []Resulted
	flushed learning.Flush
	// departed are members that stop, or have stopped, by themselves.
	departed         []string
	finished, failed int64              // finished messages, failed attempts
	failing          []series.Durations // one for each report
	objective        time.Duration
	ended, inTime    float64                       // finished messages with a known age, and those in time
	inSystem         series.Durations              // the times from sent to finished of these messages
	usage            protocol.Usage                // the sum over the reports
	classes          map[string][]series.Durations // by class
	// instructed are the requests of operators, answers the answers to them, overrides the changes of overrides, and
	// dismissed the requests that members go.
	instructed []Instructed
	answers    []override.Answer
	dismissed  []Instructed
	overrides  []override.Change
	// incidents counts the problems of workers by kind; nil for none.
	incidents map[protocol.IncidentKind]int64
}

// report applies a report to st. It returns processing with the report's durations. If the fleet's own service chooses
// the names, the first report of an unknown member may name an ordered one.
func (x *findings) report(st *State, r *protocol.Report, stored bool, processing []series.Durations,
) []series.Durations {
	if st.listed.Service != nil && !stored && roster.Check(*r) == nil {
		if n, ok := st.roster.NameOne(r.Member); ok {
			x.named(n)
		}
	}
	var taken bool
	var news roster.News
	if stored {
		taken, news = st.roster.Stored(*r)
	} else {
		taken, news = st.roster.Reported(*r)
	}
	for i := range news.Repeated {
		processing = x.count(&news.Repeated[i], processing)
	}
	if news.Counts {
		own := r.Tally()
		processing = x.count(&own, processing)
	}
	if taken {
		st.learned.Failed(r.LastFailure)
		x.news(st, news)
	}
	return processing
}

// count adds the counts of a report, and returns processing with its durations.
func (x *findings) count(t *protocol.Tally, processing []series.Durations) []series.Durations {
	x.finished, x.failed = x.finished+t.Finished, x.failed+t.Failed
	if t.Processing.Count > 0 {
		processing = append(processing, t.Processing)
	}
	if t.Failing.Count > 0 {
		x.failing = append(x.failing, t.Failing)
	}
	if t.InSystem.Count > 0 {
		x.ended, x.inTime = x.ended+float64(t.InSystem.Count), x.inTime+series.Within(t.InSystem, x.objective)
		x.inSystem = series.Merge(x.inSystem, t.InSystem)
	}
	if t.Usage != nil {
		x.usage = protocol.MergeUsage(x.usage, *t.Usage)
	}
	for name, d := range t.Classes { // the order of the map does not matter: classes are independent
		if x.classes == nil {
			x.classes = map[string][]series.Durations{}
		}
		x.classes[name] = append(x.classes[name], d)
	}
	return processing
}

// news records first events of a member: it joined, it succeeded, it stops, it had a problem.
func (x *findings) news(st *State, news roster.News) {
	if news.Joined {
		why := "ready " + render.Seconds(news.Boot.Seconds()) + " after it was ordered"
		if news.Warm {
			why += ", from the warm pool"
		}
		st.learned.Booted(news.Boot, news.Warm)
		x.changes = append(x.changes, Changed{Member: news.Member, What: roster.Joined, Why: why})
	}
	if news.Departed {
		x.departed = append(x.departed, news.Member)
	}
	for kind, n := range news.More {
		if x.incidents == nil {
			x.incidents = map[protocol.IncidentKind]int64{}
		}
		x.incidents[kind] += n
	}
	for _, i := range news.Incidents {
		x.changes = append(x.changes, Changed{Member: news.Member, What: roster.HadIncident, Worker: i.Worker,
			Incident: &i.Incident,
			Why:      fmt.Sprintf("%s, %s so far: %s", i.Kind, times(i.Count), i.Text)})
	}
	if news.Proved {
		x.changes = append(x.changes,
			Changed{Member: news.Member, What: roster.Proved, Why: "its launch succeeded, so launching works again"})
	}
}

// times writes a count as a frequency.
func times(n int64) string {
	if n == 1 {
		return "once"
	}
	return fmt.Sprintf("%d times", n)
}

// gone records members that have ended or were given up.
func (x *findings) gone(members []roster.Gone) {
	for _, g := range members {
		c := Changed{Member: g.Member, What: roster.HasEnded, Why: g.Failure, Wasted: g.Wasted}
		if g.Exists {
			c.What = roster.GivenUp
		}
		if g.Departed {
			x.departed = append(x.departed, g.Member)
		}
		x.changes = append(x.changes, c)
	}
}
