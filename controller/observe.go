package controller

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/muster-scale/muster"
	"github.com/muster-scale/muster/controller/learning"
	"github.com/muster-scale/muster/internal/render"
	"github.com/muster-scale/muster/metrics"
	"github.com/muster-scale/muster/policy"
	"github.com/muster-scale/muster/roster"
)

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

// look keeps the newest measurement of each queue, sorted by name.
func (st *State) look(q *muster.QueueObservation) {
	queues, i := st.queues, 0
	for i < len(queues) && queues[i].Queue < q.Queue {
		i++
	}
	if i == len(queues) || queues[i].Queue != q.Queue {
		st.queues = slices.Insert(slices.Clip(queues), i, *q)
		return
	}
	st.queues = slices.Clone(queues)
	newest(&st.queues[i], q)
}

// newest keeps what is still known of a queue when a measurement fails; staleness is judged when it is used.
// Measurements arrive in the order they were made, so their instants are not compared: a clock that was set back would
// win for hours.
func newest(old, q *muster.QueueObservation) {
	newer(&old.Backlog, &q.Backlog)
	newer(&old.InFlight, &q.InFlight)
	newer(&old.Delayed, &q.Delayed)
	newer(&old.OldestAge, &q.OldestAge)
	newer(&old.Sent, &q.Sent)
	newer(&old.Retrying, &q.Retrying)
	newer(&old.OldestRetry, &q.OldestRetry)
	newer(&old.DeadLetters, &q.DeadLetters)
	if q.Retrying.Known {
		old.RetryAges = q.RetryAges
	}
	if old.Published != nil || q.Published != nil {
		p, n := old.Published.Value(), q.Published.Value()
		newer(&p.SentPerSecond, &n.SentPerSecond)
		newer(&p.DeletedPerSecond, &n.DeletedPerSecond)
		newer(&p.ProcessingMean, &n.ProcessingMean)
		old.Published = &p
	}
	old.LateSeconds = q.LateSeconds
}

// newer replaces a sample by a later one that tells more, or that it is in doubt.
func newer(old, s *muster.Sample) {
	if s.Known || !old.Known || s.Doubted {
		*old = *s
	}
}

// fresh returns the measurements, of which what is too old by now is unknown: those given, as nearly always, if nothing
// is.
func (s *Settings) fresh(queues []muster.QueueObservation, now time.Time) []muster.QueueObservation {
	counts, ages := s.staleAfter(), s.ageStaleAfter()
	i := 0
	for i < len(queues) && !stale(&queues[i], now, counts, ages) {
		i++
	}
	if i == len(queues) {
		return slices.Clip(queues)
	}
	queues = slices.Clone(queues)
	for i := range queues {
		q := &queues[i]
		for _, x := range []*muster.Sample{
			&q.Backlog, &q.InFlight, &q.Delayed, &q.Sent, &q.Retrying, &q.OldestRetry, &q.DeadLetters,
		} {
			*x = x.Fresh(now, counts)
		}
		q.OldestAge = q.OldestAge.Fresh(now, ages)
		if p := q.Published.Value(); q.Published != nil {
			p.SentPerSecond, p.DeletedPerSecond = p.SentPerSecond.Fresh(now, ages), p.DeletedPerSecond.Fresh(now, ages)
			p.ProcessingMean = p.ProcessingMean.Fresh(now, max(s.Learn, ages))
			q.Published = &p
		}
	}
	return queues
}

// stale tells whether something in q may be too old.
func stale(q *muster.QueueObservation, now time.Time, counts, ages time.Duration) bool {
	old := func(x *muster.Sample, most time.Duration) bool {
		age := now.Sub(x.At)
		return x.Known && (age > most || age < -most)
	}
	return old(&q.Retrying, counts) || old(&q.OldestRetry, counts) || old(&q.DeadLetters, counts) ||
		old(&q.Backlog, counts) || old(&q.InFlight, counts) || old(&q.Delayed, counts) || old(&q.Sent, counts) ||
		old(&q.OldestAge, ages) ||
		q.Published != nil
}

// pool is the warm pool as far as is known at now; nil for a fleet that has none. What was learned of it stays when the
// pool cannot be read for a while.
func (st *State) pool(now time.Time) *muster.Pool {
	p := muster.Pool{Ready: st.ready()}
	if p.Boot = st.learned.WarmBoot(now); !p.Boot.Known && st.last().pool != nil {
		p.Boot = st.last().pool.Boot
	}
	if st.listed.Ready == nil && !p.Boot.Known {
		return nil
	}
	return &p
}

// ready is how many members the warm pool can start beyond those that were ordered from it and did not show yet.
func (st *State) ready() int {
	if st.listed.Ready == nil {
		return 0
	}
	return max(0, *st.listed.Ready-st.roster.Awaited())
}

// fromPool notes which of the members that are ordered now are expected from the warm pool, the first ones, and returns
// how many.
func (st *State) fromPool(ordered []string) int {
	// Those that are ordered now are not expected from it yet.
	n := min(st.ready(), len(ordered))
	st.roster.FromPool(ordered[:n])
	return n
}

// tiers records of which tier members are that were expected to be of the other.
func (x *seen) tiers(other []roster.Tiered) {
	for _, t := range other {
		x.changes = append(x.changes, Changed{Member: t.Member, What: t.Change(), Why: why(t.Tier)})
	}
}

func why(t muster.Tier) string {
	if t == muster.Warm {
		return "it comes from the warm pool"
	}
	return "it was started anew, and not from the warm pool"
}

// published returns what the sources know of processing durations, averaged over the queues that know it, or else what
// the observation has. Programs that publish their mean and never report are served by that.
func published(o muster.Observation) muster.Estimate {
	sum, n := 0.0, 0
	for _, q := range o.Queues {
		if mean := q.Published.Value().ProcessingMean; mean.Known && mean.Value > 0 {
			sum, n = sum+mean.Value, n+1
		}
	}
	if n == 0 {
		return o.Processing
	}
	mean := sum / float64(n)
	return muster.Estimate{Known: true, Count: int64(n), MeanSeconds: mean, P50Seconds: mean, P95Seconds: mean,
		P99Seconds: mean}
}

// occupied takes as many slots of a fleet whose workers do not report to be busy as messages are in flight, and all
// where nobody knows.
func occupied(o muster.Observation) muster.Capacity {
	c := o.Capacity
	if n, known := o.InFlight().Count(); known {
		c.BusySlots = min(c.Slots, n)
		members := c.InService()
		c.Busy = min(members, int(math.Ceil(float64(c.BusySlots)/c.SlotsPerWorker)))
		c.Idle = members - c.Busy
	}
	return c
}

// Reads returns what a [metrics.Meter] has to read for the fleet's policy, sorted by key; none for most policies.
func (s Settings) Reads() (queries []metrics.Query) {
	for _, u := range s.uses {
		if !u.Own {
			queries = append(queries, u.Query)
		}
	}
	return queries
}

// newPeriod tells whether a period of a metric that we keep ourselves began since a decision was recorded. What the
// metric was in a period is known from the records alone, so each period needs one.
func (s *Settings) newPeriod(recorded, now time.Time) bool {
	return slices.ContainsFunc(s.uses, func(u policy.MetricUse) bool {
		return u.Own && !metrics.PeriodAt(recorded,
			u.Query.PeriodSeconds).Equal(metrics.PeriodAt(now, u.Query.PeriodSeconds))
	})
}

// meter keeps what was read last. What could be read before counts until it is too old.
func (st *State) meter(x Metered) {
	if x.Failure != "" && st.metered != nil && len(st.metered.Series) > 0 {
		x = Metered{At: st.metered.At, Series: st.metered.Series, Failure: x.Failure}
	}
	st.metered = &x
}

// meterStale is how old what was read of metrics may be, in periods of each metric: then it is unknown.
const meterStale = 3

// metrics are the series for the policy, sorted by key: of our own the past periods, which the last record tells; of
// others what was read.
func (s *Settings) metrics(st *State, now time.Time) []metrics.Series {
	if len(s.uses) == 0 {
		return nil
	}
	var all []metrics.Series
	if whole := st.last().whole; whole != nil {
		all = policy.Remember(s.uses, *whole, s.Queues, now)
	} else {
		all = policy.Remember(s.uses, muster.Observation{}, s.Queues, now)
	}
	var metered Metered
	if st.metered != nil {
		metered = *st.metered
	}
	age := now.Sub(metered.At)
	for _, u := range s.uses {
		if u.Own {
			continue
		}
		unknown := metrics.Series{Key: u.Query.Key(), Reason: "nobody reads metrics of CloudWatch for this fleet"}
		if metered.Failure != "" {
			unknown.Reason = metered.Failure
		}
		i := slices.IndexFunc(metered.Series, func(m metrics.Series) bool { return m.Key == unknown.Key })
		switch {
		case i >= 0 && age <= meterStale*time.Duration(u.Query.PeriodSeconds)*time.Second:
			all = append(all, bounded(metered.Series[i]))
			continue
		case i >= 0:
			unknown.Reason = fmt.Sprintf("it was last read %s ago",
				render.Seconds(age.Seconds())) + because(metered.Failure)
		}
		all = append(all, unknown)
	}
	slices.SortFunc(all, func(a, b metrics.Series) int { return cmp.Compare(a.Key, b.Key) })
	return all
}

func because(failure string) string {
	if failure == "" {
		return ""
	}
	return ": " + failure
}

// bounded returns s with its newest points alone, if it has more than an observation carries.
func bounded(s metrics.Series) metrics.Series {
	if k := len(s.Points); k > 0 && s.Points[k-1].N >= metrics.MaxPoints {
		first := s.Points[k-1].N - metrics.MaxPoints + 1
		s.Start = s.Start.Add(time.Duration(first*s.PeriodSeconds) * time.Second)
		points := make([]metrics.Point, 0, metrics.MaxPoints)
		for _, p := range s.Points {
			if p.N >= first {
				points = append(points, metrics.Point{N: p.N - first, Value: p.Value})
			}
		}
		s.Points = points
	}
	return s
}

// progress tells how the work goes.
func (s *Settings) progress(st *State, now time.Time, o *muster.Observation) *muster.Progress {
	ends := st.learned.Ends(now)
	w := &muster.Progress{Failed: ends.Failed, Finished: ends.Finished, Failing: ends.Failing}
	if f := ends.Last; f != nil {
		w.LastError, w.LastErrorAt = f.Error, f.At
	}
	w.DeadLetters, _ = learning.DeadLetters(o.Queues)
	s.retries(st, now, o, w)
	if !s.Unreported && o.Objective.Latency > 0 {
		w.Held, w.HeldLongest, w.HeldBy = st.roster.HeldBeyond(now, s.rules(o.Boot), o.Objective.Latency)
	}
	w.Late = late(o, w)
	ended := ends.Ended + (ends.Dead + w.Late.Value)
	w.Ended = math.Round(ended)
	switch {
	case s.Unreported || !ends.Told:
		w.InTime = muster.Unknown(now, "the workers do not tell how long messages were in the system")
	case w.Ended > 0 && w.Late.Known:
		w.InTime = muster.Measured(now, math.Min(1, math.Max(0, ends.InTime/ended)))
	}
	return w
}

// retries tells messages that workers hold from those that wait for a retry.
func (s *Settings) retries(st *State, now time.Time, o *muster.Observation, w *muster.Progress) {
	inFlight := o.InFlight()
	w.Retrying = o.Total(func(q muster.QueueObservation) muster.Sample { return q.Retrying })
	if w.Retrying.Known {
		w.OldestRetry = muster.Measured(w.Retrying.At, 0)
		for i := range o.Queues {
			w.OldestRetry.Value = max(w.OldestRetry.Value, o.Queues[i].OldestRetry.Value)
		}
		if inFlight.Known {
			w.Working = muster.Measured(inFlight.At, max(0, inFlight.Value-w.Retrying.Value))
		}
		if !s.Unreported {
			o.Retrying = max(o.Retrying, w.Retrying.Value) // as soon as the queue knows it
		}
		return
	}
	why := "the queue does not tell, and the workers do not report"
	for i := range o.Queues {
		why = cmp.Or(o.Queues[i].Retrying.Reason, why)
	}
	w.Retrying = muster.Unknown(now, why)
	if s.Unreported || !o.Capacity.Known {
		return
	}
	told, ok := st.roster.Retries(now)
	settled := ok || st.learned.RetryingSettled()
	if settled || o.Capacity.InService() > 0 || inFlight.Known && inFlight.Value == 0 {
		w.Working = muster.Measured(now,
			float64(o.Capacity.BusySlots)) // else its workers have not reported since a restart
	}
	if !settled {
		return
	}
	// Workers that ended have told nothing since; what is in flight longer than reports take, and at no worker, was
	// theirs.
	n := max(float64(told.Messages), o.Retrying)
	if inFlight.Known {
		n = min(n, inFlight.Value)
	}
	w.Retrying = muster.Measured(now, n)
	switch {
	case n == 0:
		w.OldestRetry = muster.Measured(now, 0)
	case told.OldestSeconds > 0:
		w.OldestRetry = muster.Measured(now, told.OldestSeconds)
	default:
		w.OldestRetry = muster.Unknown(now, "no worker that is still there tells when they were sent")
	}
}

// late counts the messages that wait, in the backlog or for a retry, for longer than the objective allows, and those
// that a worker has held for longer.
func late(o *muster.Observation, w *muster.Progress) muster.Sample {
	most := o.Objective.Latency.Seconds()
	backlog, oldest := o.Backlog(), o.OldestAge()
	n := float64(w.Held)
	switch {
	case !backlog.Known:
		return muster.Unknown(o.At, "the backlog is unknown")
	case backlog.Value == 0, oldest.Known && oldest.Value <= most:
	case len(o.Waiting) == 0:
		return muster.Unknown(o.At, "the ages of what waits are unknown")
	default:
		n += older(o.Waiting, most)
	}
	switch {
	case !w.Retrying.Known:
		return muster.Unknown(o.At, "what waits for a retry is unknown")
	case w.Retrying.Value == 0, w.OldestRetry.Known && w.OldestRetry.Value <= most:
		return muster.Measured(o.At, n)
	case !w.OldestRetry.Known:
		return muster.Unknown(o.At, "the ages of what waits for a retry are unknown")
	}
	retries := 0.0
	for i := range o.Queues {
		retries += older(o.Queues[i].RetryAges, most)
	}
	return muster.Measured(o.At, n+max(1, retries))
}

// older counts the messages of the groups that are older than so many seconds.
func older(groups []muster.Waiting, seconds float64) (n float64) {
	for _, g := range groups {
		if g.AgeSeconds > seconds {
			n += g.Messages
		}
	}
	return n
}

// lookBack is how far back arrivals are counted: far enough to tell the ages of all that is still in time.
func (s *Settings) lookBack() time.Duration {
	return min(max(time.Hour, 2*s.Objective.Latency), 12*time.Hour)
}

// learning are the rules by which the fleet is learned about.
func (s *Settings) learning() learning.Rules {
	return learning.Rules{Learn: s.Learn, LookBack: s.lookBack(), Poll: s.Poll, Cores: s.Cores,
		OneQueue: len(s.Queues) == 1, Seasonal: s.Spec.Seasonal(), Busiest: s.plansAhead,
		Quantile: s.Objective.Quantile}
}

// staleAfter is how old a queue measurement or a listing may be before it is unknown.
func (s *Settings) staleAfter() time.Duration { return max(3*s.Poll, 5*time.Second, s.Stale) }

// ageStaleAfter is the same for ages. Where looks are rare, ages come by the minute and a minute or two late.
func (s *Settings) ageStaleAfter() time.Duration {
	if s.Stale > 0 {
		return max(s.staleAfter(), 3*time.Minute)
	}
	return s.staleAfter()
}

// rules are the roster's times. A member gets three times the slowest boot seen lately, and never less than half a
// minute: giving it up too early launches a second one.
func (s *Settings) rules(boot muster.Estimate) roster.Rules {
	slowest := max(s.BootPrior.Seconds(), boot.P95Seconds)
	within := max(30*time.Second, time.Duration(3*slowest*float64(time.Second)))
	r := roster.Rules{Silence: silence, StoredSilence: max(silence, 3*s.Poll), BootWithin: within, Grace: grace,
		Remember: 5 * time.Minute, Unreported: s.Unreported}
	if s.Spec.Shadow && !s.Unreported { // the workers of another system need not report
		r.Watched, r.WatchedAfter = true, s.BootPrior
	}
	return r
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
