package board

import (
	"context"
	"encoding/json"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/muster-scale/muster"
	"github.com/muster-scale/muster/controller"
	"github.com/muster-scale/muster/controller/audit"
	"github.com/muster-scale/muster/internal/joblog"
	"github.com/muster-scale/muster/policy"
	"github.com/muster-scale/muster/queue"
	"github.com/muster-scale/muster/server"
)

const (
	// maxFailures, maxReasons and maxMembers bound the lists of a detail.
	maxFailures = 50
	maxReasons  = 20
	maxMembers  = 2000
	// explainedFor is how long an explanation is shown while the decision stays: finding what would change a decision
	// asks the policy some hundred times.
	explainedFor = 5 * time.Second
	// failuresFor is how long read failures are shown.
	failuresFor = 3 * time.Second
	// failuresAge is how far back failures are listed.
	failuresAge = 24 * time.Hour
)

// fleet answers with everything about one fleet.
func (l *Live) fleet(w http.ResponseWriter, r *http.Request) {
	f, name, ok := l.known(w, r)
	if !ok {
		return
	}
	answer(w, l.detail(r.Context(), f, name))
}

// changedDetail returns the detail of a fleet for its stream; nil if the fleet is gone. The time of the answer is left
// out, because only changes are sent.
func (l *Live) changedDetail(ctx context.Context, name string) []byte {
	f, ok := l.o.Fleets()[name]
	if !ok {
		return nil
	}
	d := l.detail(ctx, f, name)
	d.At = d.Status.Observation.At
	text, err := json.Marshal(d)
	if err != nil {
		return nil
	}
	return text
}

func (l *Live) detail(ctx context.Context, f server.Fleet, name string) Detail {
	now := l.clock()
	o, stepped := f.Last()
	d := Detail{At: now, Status: server.StatusOf(name, o, stepped, l.standing()[name]), Trees: []Tree{},
		Failures: []joblog.Record{}, DeadLetters: []DeadLetters{}}
	d.Row, _ = l.row(name, now)
	if stepped {
		d.Status.Members = server.MembersOf(o, now)
		d.Status.Members = d.Status.Members[:min(len(d.Status.Members), maxMembers)]
	}
	if stepped && o.Ready {
		d.Explanation = l.explanations.of(name, o, now)
	}
	d.Failures = append(d.Failures, l.failures.of(name, now, func() []joblog.Record {
		return l.readFailures(ctx, name, now)
	})...)
	d.DeadLetters = append(d.DeadLetters, l.deadLetters(ctx, o.Observation.Queues)...)
	d.Trees = append(d.Trees, l.treesOf(ctx, o.Observation.Queues, now)...)
	return d
}

// readFailures reads the last failures of a fleet, newest first. A log that cannot be read has none to show, and the
// counts of the row say that there are some.
func (l *Live) readFailures(ctx context.Context, fleet string, now time.Time) []joblog.Record {
	if l.o.Logs == "" {
		return nil
	}
	found, _, _ := joblog.Latest(ctx, l.o.Logs, fleet, joblog.Query{Since: now.Add(-failuresAge), Failed: true},
		maxFailures)
	slices.Reverse(found)
	return found
}

// failures keeps the last failures of each fleet for a moment: reading them takes megabytes of log, and several pages
// ask each second. Any goroutine may use it.
type failures struct {
	mu  sync.Mutex
	all map[string]readFailures
}

type readFailures struct {
	at      time.Time
	records []joblog.Record
}

// of returns the failures of a fleet, as read at most failuresFor before now.
func (x *failures) of(fleet string, now time.Time, read func() []joblog.Record) []joblog.Record {
	x.mu.Lock()
	defer x.mu.Unlock()
	if found, ok := x.all[fleet]; ok && now.Sub(found.at) < failuresFor && !now.Before(found.at) {
		return found.records
	}
	if x.all == nil {
		x.all = map[string]readFailures{}
	}
	x.all[fleet] = readFailures{now, read()}
	return x.all[fleet].records
}

// deadLetters describes the dead-letter queues of a fleet's queues.
func (l *Live) deadLetters(ctx context.Context, queues []muster.QueueObservation) (all []DeadLetters) {
	if l.o.Queues == nil {
		return nil
	}
	for _, q := range queues {
		c, err := l.o.Queues.Counts(q.Queue)
		if err != nil || c.DeadLetterQueue == "" {
			continue
		}
		one := DeadLetters{Queue: c.DeadLetterQueue, Source: q.Queue, Messages: count(c.DeadLetters),
			Reasons: []DeadReason{}}
		if c.DeadLetters > 0 {
			one.Reasons = append(one.Reasons, l.reasons(ctx, c.DeadLetterQueue)...)
		}
		all = append(all, one)
	}
	return all
}

// reasons lists messages of a dead-letter queue with their last failures, without their bodies.
func (l *Live) reasons(ctx context.Context, name string) (all []DeadReason) {
	found, err := l.o.Queues.Peek(ctx, name, maxReasons, queue.AnyState)
	if err != nil {
		return nil // the count says that there are some
	}
	var ids []string
	for _, m := range found {
		ids = append(ids, m.ID)
		all = append(all, DeadReason{Message: m.ID, Sent: m.Sent.UTC(), Receives: m.ReceiveCount})
	}
	if l.o.LastFailures == nil {
		return all
	}
	failures, err := l.o.LastFailures(ctx, ids)
	if err != nil {
		return all
	}
	for i := range all {
		if f, ok := failures[all[i].Message]; ok {
			all[i].Failure = &f
		}
	}
	return all
}

// explanations keeps the last explanation of each fleet. Any goroutine may use it.
type explanations struct {
	mu  sync.Mutex
	all map[string]explained
}

// explained is an explanation, of which decision it is, and when it was made.
type explained struct {
	at      time.Time
	verdict muster.Verdict
	desired int
	Explanation
}

// of explains the last decision of a fleet; nil if its policy cannot be built.
func (x *explanations) of(fleet string, o controller.Outcome, now time.Time) *Explanation {
	x.mu.Lock()
	defer x.mu.Unlock()
	if e, ok := x.all[fleet]; ok && now.Sub(e.at) < explainedFor && e.desired == o.Decision.Desired &&
		e.verdict == o.Decision.Verdict {
		return &e.Explanation
	}
	var spec policy.Spec
	if json.Unmarshal(o.Spec, &spec) != nil {
		return nil
	}
	p, err := policy.New(spec)
	if err != nil {
		return nil
	}
	recent := o.Next.Recent()
	if n := len(recent); n > 0 && recent[n-1].At.Equal(o.Decision.At) {
		recent = recent[:n-1] // what the policy remembered before this decision
	}
	e := explained{now, o.Decision.Verdict, o.Decision.Desired,
		explanationOf(audit.ExplainDecision(p, o.Observation, recent, o.Decision))}
	if x.all == nil {
		x.all = map[string]explained{}
	}
	x.all[fleet] = e
	return &e.Explanation
}

// logs answers with the newest records of a fleet's log.
func (l *Live) logs(w http.ResponseWriter, r *http.Request) {
	_, name, ok := l.known(w, r)
	if !ok {
		return
	}
	limit, ok := limitOf(w, r, "limit", 200, 2000)
	if !ok {
		return
	}
	since, ok := timeOf(w, r, "since", time.Time{})
	if !ok {
		return
	}
	asked := r.URL.Query()
	q := joblog.Query{Since: since, Message: asked.Get("message"), Failed: asked.Get("failed") == "1",
		Member: asked.Get("member")}
	a := Logs{Records: []joblog.Record{}}
	if l.o.Logs != "" {
		found, cut, err := joblog.Latest(r.Context(), l.o.Logs, name, q, limit)
		if err != nil {
			fail(w, http.StatusInternalServerError, "%v", err)
			return
		}
		a.Records, a.Cut = append(a.Records, found...), cut
	}
	answer(w, a)
}
