package controller

import (
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/muster-scale/muster"
	"github.com/muster-scale/muster/controller/learning"
	"github.com/muster-scale/muster/internal/render"
	"github.com/muster-scale/muster/roster"
	"github.com/muster-scale/muster/series"
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

// remembered is what a recorded decision is still asked for.
type remembered struct {
	decision         muster.Decision
	processing, boot muster.Estimate
	expected         *muster.Expected
	drift            *muster.Drift
	pool             *muster.Pool
	// whole is all that it was made from, for policies that tell the past periods of metrics from it; nil for others.
	whole *muster.Observation
}

func (s *Settings) remember(d Decided) *remembered {
	r := &remembered{decision: d.Decision, processing: d.Observation.Processing, boot: d.Observation.Boot,
		expected: d.Observation.Expected, drift: d.Observation.Drift, pool: d.Observation.Pool}
	r.decision.Trail = nil // every fleet has one
	if len(s.uses) > 0 {
		whole := d.Observation
		r.whole = &whole
	}
	return r
}

// last is the last decision that was recorded; a zero one before the first.
func (st *State) last() *remembered {
	if st.recorded == nil {
		return &remembered{}
	}
	return st.recorded
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

// fold takes the inputs into st, which the caller may change, and returns what they showed.
func (s *Settings) fold(st *State, now time.Time, in []Input) (seen seen) {
	var room [8]series.Durations // not on the heap: every step has reports
	processing := room[:0]       // report by report
	seen.objective = s.Objective.Latency
	rules := s.learning()
	for _, i := range in {
		switch x := i.(type) {
		case Measured:
			q := &x.QueueObservation
			st.learned.Queue(now, rules, st.queues, q)
			st.look(q)
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
			st.expect(x.Expected)
		case Metered:
			st.meter(x)
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
		}
	}
	st.learned.Reported(rules, learning.Reports{Processing: processing, Failing: seen.failing, Classes: seen.classes,
		Finished: seen.finished, Failed: seen.failed, Ended: seen.ended, InTime: seen.inTime}, st.queues)
	if st.order != nil && now.Sub(st.orderAt) > OrderTimeout {
		st.order, st.again = nil, false
	}
	return seen
}

// resulted takes in how an effect ended.
func (st *State) resulted(x Resulted) {
	st.written(x)
	if st.order == nil || st.order.ID != x.Effect {
		return
	}
	if x.Failure != "" {
		st.roster.NotLaunched(x.At, st.order.Launch, x.Failure)
	}
	st.order, st.again = nil, false
}

// await counts the members of an order that a restart found without a result as ordered: as long as a result may come,
// they may still appear.
func (st *State) await(now time.Time) {
	if st.again && now.Sub(st.orderAt) <= OrderTimeout {
		st.roster.Expect(now, st.order.Launch)
	}
}

// seen is what a batch of inputs showed.
type seen struct {
	// changes are those of members, in the order in which they came: a restart that reads them must count the failures
	// of launches as they were counted.
	changes []Changed
	results []Resulted
	flushed learning.Flush
	// departed are members that leave, or have left, by themselves.
	departed         []string
	finished, failed int64              // messages, and attempts
	failing          []series.Durations // report by report
	objective        time.Duration
	ended, inTime    float64                       // messages finished that were sent at a known time, and in time
	classes          map[string][]series.Durations // by class
	// incidents counts what went wrong at workers, by kind; nil for nothing.
	incidents map[protocol.IncidentKind]int64
}

// report takes in a report, and returns processing with its durations.
func (x *seen) report(st *State, r *protocol.Report, stored bool, processing []series.Durations) []series.Durations {
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
	for i := range news.Counted {
		processing = x.count(&news.Counted[i], processing)
	}
	if taken {
		st.learned.Failed(r.LastFailure)
		x.news(st, news)
	}
	return processing
}

// count adds what a worker counted, and returns processing with its durations.
func (x *seen) count(t *protocol.Tally, processing []series.Durations) []series.Durations {
	x.finished, x.failed = x.finished+t.Finished, x.failed+t.Failed
	if t.Processing.Count > 0 {
		processing = append(processing, t.Processing)
	}
	if t.Failing.Count > 0 {
		x.failing = append(x.failing, t.Failing)
	}
	if t.InSystem.Count > 0 {
		x.ended, x.inTime = x.ended+float64(t.InSystem.Count), x.inTime+series.Within(t.InSystem, x.objective)
	}
	for name, d := range t.Classes { // each class by itself, so that their order does not matter
		if x.classes == nil {
			x.classes = map[string][]series.Durations{}
		}
		x.classes[name] = append(x.classes[name], d)
	}
	return processing
}

// news records what was seen of a member for the first time.
func (x *seen) news(st *State, news roster.News) {
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
			Changed{Member: news.Member, What: roster.Proved, Why: "was of use, so launching works again"})
	}
}

// times says how often.
func times(n int64) string {
	if n == 1 {
		return "once"
	}
	return fmt.Sprintf("%d times", n)
}

func (x *seen) gone(members []roster.Gone) {
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

// expected is what trees are expected to send, as far as that is known at now; nil while none runs.
func (s *Settings) expected(st *State, now time.Time) *muster.Expected {
	if st.expected == nil {
		return nil
	}
	e := st.expected.Fresh(now, max(treesStale, s.staleAfter()))
	if e.Known && e.Trees == 0 {
		return nil
	}
	return &e
}

// expect keeps what the last look at the trees that succeeded found; how old it may be is judged when it is used.
func (st *State) expect(e muster.Expected) {
	st.treesRead = true
	if e.Known || st.expected == nil || !st.expected.Known {
		st.expected = &e
	}
}
