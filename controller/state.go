package controller

import (
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/muster-scale/muster"
	"github.com/muster-scale/muster/roster"
	"github.com/muster-scale/muster/series"
)

// State is everything a step remembers. All of it derives from the history and from what is seen next, so that a restart
// changes nothing. It is a value: a step never changes the state it was given.
type State struct {
	// Position is where the history of the fleet stands.
	Position muster.Position
	roster   roster.Roster
	queues   []muster.QueueObservation
	listed   Listed
	recent   muster.Recent
	// desired is the size asked for; it means something once adopted is true.
	desired    int
	adopted    bool
	processing series.Window
	boots      series.Window
	// measured are durations that are not in the windows yet; learnedAt is when they last were put there.
	measured  Learned
	learnedAt time.Time
	// order is the order under way, if any: at most one write is in flight.
	order   *SetDesired
	orderAt time.Time
	endAt   time.Time
	// recorded is the last decision that was recorded, and what it was made from.
	recorded   Decided
	recordedAt time.Time
}

// Restore returns the state at the given position from the fleet's records, oldest first: the recent decisions, the size
// asked for, the launches of the past hour, the members and what became of them, and the durations learned. The first
// listing shows which members still exist.
func (s Settings) Restore(at muster.Position, records []muster.Record) (State, error) {
	st := State{Position: at, processing: series.Window{Length: s.Learn}, boots: series.Window{Length: s.Learn}}
	for _, r := range records {
		if err := s.restore(&st, r); err != nil {
			return State{}, fmt.Errorf("fleet %s: read record %d of the history: %w", s.Fleet, r.Position.Seq, err)
		}
	}
	return st, nil
}

func (s Settings) restore(st *State, r muster.Record) error {
	switch r.Kind {
	case muster.Decided:
		var body Decided
		if err := json.Unmarshal(r.Body, &body); err != nil {
			return err
		}
		st.recent = st.recent.With(body.Decision, s.memory)
		st.desired, st.adopted = body.Decision.Desired, true
		st.recorded, st.recordedAt = body, r.At
	case muster.Changed:
		var body Changed
		if err := json.Unmarshal(r.Body, &body); err != nil {
			return err
		}
		st.desired, st.adopted = body.Desired, true
		st.roster.Recall(r.At, body.Member, body.What, body.Wasted, body.Why)
	case muster.Intended:
		var body Intended
		if err := json.Unmarshal(r.Body, &body); err != nil {
			return err
		}
		if body.SetDesired != nil {
			st.roster.RecallLaunch(r.At, body.SetDesired.Launch)
		}
	case muster.Learned:
		var body Learned
		if err := json.Unmarshal(r.Body, &body); err != nil {
			return err
		}
		st.learnedAt = r.At
		st.processing = st.processing.Add(r.At, body.Processing)
		st.boots = st.boots.Add(r.At, body.Boots)
	}
	return nil
}

// estimate summarises what a window holds at now. When nothing was measured within it, the last recorded estimate still
// holds: a quiet hour is no reason to forget how long the work takes.
func estimate(w *series.Window, now time.Time, last muster.Estimate, prior time.Duration) (e muster.Estimate) {
	if *w, e = w.At(now); e.Known {
		return e
	}
	if !last.Known || last.Prior {
		return series.Estimate(muster.Durations{}, prior)
	}
	return last
}

// RestoreFrom returns how far back [Settings.Restore] needs the records, before now.
func (s Settings) RestoreFrom() time.Duration {
	return max(time.Hour, s.Learn, s.memory+holdEvery)
}

// Directive returns what a worker is to be told.
func (st State) Directive(member, worker string) muster.Directive {
	return st.roster.Directive(member, worker)
}

// InService tells whether the member takes messages and nothing is being asked of it: its reports need no step to be answered.
func (st State) InService(member string) bool { return st.roster.InService(member) }

// MemberView is one member as it stood after a step.
type MemberView struct {
	ID          string
	State       roster.State
	LaunchedAt  time.Time
	Slots, Busy int
}

// Members returns the members that exist at now, in the order of their launch.
func (o Outcome) Members(now time.Time) []MemberView {
	rules := roster.Rules{Silence: silence, BootWithin: o.bootWithin}
	var views []MemberView
	for _, m := range o.Next.roster.Members() {
		v := MemberView{ID: m.ID, State: m.State(now, rules), LaunchedAt: m.LaunchedAt}
		for _, w := range m.Workers {
			v.Slots += w.Slots
			v.Busy += w.Busy
		}
		views = append(views, v)
	}
	return views
}

// before returns the records that count at the newest decision among them.
func (s Settings) before(records []muster.Record) []muster.Record {
	for i := len(records) - 1; i >= 0; i-- {
		if decided(records[i]) {
			from := records[i].At.Add(-s.RestoreFrom())
			return slices.DeleteFunc(records, func(r muster.Record) bool { return r.At.Before(from) })
		}
	}
	return records
}

func decided(r muster.Record) bool { return r.Kind == muster.Decided }

// fold takes the inputs into st, which the caller may change, and returns what they showed.
func (s Settings) fold(st *State, now time.Time, in []Input) (seen seen) {
	for _, i := range in {
		switch x := i.(type) {
		case Measured:
			st.look(x.QueueObservation)
		case Listed:
			if x.Failure == "" {
				seen.gone = append(seen.gone, st.roster.Listed(x.Listing)...)
			}
			if x.Failure == "" || st.listed.At.IsZero() {
				st.listed = x
			} else {
				st.listed.Failure = x.Failure
			}
		case Reported:
			seen.report(st, x.Report)
		case Resulted:
			seen.results = append(seen.results, x)
			if st.order != nil && st.order.ID == x.Effect {
				if x.Failure != "" {
					seen.gone = append(seen.gone, st.roster.NotLaunched(now, st.order.Launch, x.Failure)...)
				}
				st.order = nil
			}
		}
	}
	if st.order != nil && now.Sub(st.orderAt) > orderTimeout {
		st.order = nil
	}
	return seen
}

// learn puts the durations measured since the last time into the windows, every few seconds, and returns them to be
// recorded: what counts is in the history.
func (st *State) learn(now time.Time) Learned {
	// What is the first to be known counts at once.
	_, known := st.processing.At(now)
	first := st.measured.Processing.Count > 0 && !known.Known
	if age := now.Sub(st.learnedAt); age >= 0 && age < learnEvery && !first {
		return Learned{}
	}
	flushed := st.measured
	if flushed.Processing.Count == 0 && flushed.Boots.Count == 0 {
		return flushed
	}
	st.processing = st.processing.Add(now, flushed.Processing)
	st.boots = st.boots.Add(now, flushed.Boots)
	st.measured, st.learnedAt = Learned{}, now
	return flushed
}

// seen is what a batch of inputs showed.
type seen struct {
	news    []roster.News
	gone    []roster.Gone
	results []Resulted
	flushed Learned
	// finished and failed count messages.
	finished, failed int64
}

func (x *seen) report(st *State, r muster.Report) {
	taken, news := st.roster.Reported(r)
	if !taken {
		return
	}
	x.finished, x.failed = x.finished+r.Finished, x.failed+r.Failed
	if r.Processing.Count > 0 {
		st.measured.Processing = series.Merge(st.measured.Processing, r.Processing)
	}
	if news.Joined || news.Proved {
		x.news = append(x.news, news)
	}
	if news.Joined {
		st.measured.Boots = series.Add(st.measured.Boots, news.Boot)
	}
}

// look keeps the newest measurement of each queue, sorted by name.
func (st *State) look(q muster.QueueObservation) {
	queues := slices.Clone(st.queues)
	i, ok := slices.BinarySearchFunc(queues, q, func(a, b muster.QueueObservation) int {
		if a.Queue < b.Queue {
			return -1
		} else if a.Queue > b.Queue {
			return 1
		}
		return 0
	})
	if ok {
		queues[i] = newest(queues[i], q)
	} else {
		queues = slices.Insert(queues, i, q)
	}
	st.queues = queues
}

// newest keeps what is still known of a queue when a measurement fails; staleness is judged when it is used. Measurements
// arrive in the order they were made, so their instants are not compared: a clock that was set back would win for hours.
func newest(old, q muster.QueueObservation) muster.QueueObservation {
	for _, f := range []struct{ o, n *muster.Sample }{
		{&old.Backlog, &q.Backlog}, {&old.InFlight, &q.InFlight}, {&old.Delayed, &q.Delayed}, {&old.OldestAge, &q.OldestAge},
	} {
		if f.n.Known || !f.o.Known {
			*f.o = *f.n
		}
	}
	return old
}
