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

// observe assembles the observation for the policy: the newest samples, with those that are too old as unknown.
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
	if len(st.overrides) > 0 {
		o.Limits = s.limits(st, now)
	}
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
	o.Queues = s.fresh(st.queues, st.failures, now)
	o.Pool, o.FinishedSince = st.pool(now), st.learned.FinishedSince(now, o.LateSeconds())
	if o.LateSeconds() > 0 {
		o.Pace.LatelyPerSecond, o.Pace.LatelySlots = st.learned.LatelyBusy(now)
	}
	o.Expected, o.Metrics = s.expected(st, now), s.metrics(st, now)
	if s.Spec.Shadow {
		o.Capacity = estimateBusy(o)
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

// keepMeasurement stores the newest measurement of a queue. Queues are sorted by name.
func (st *State) keepMeasurement(q *muster.QueueObservation) {
	queues, i := st.queues, 0
	for i < len(queues) && queues[i].Queue < q.Queue {
		i++
	}
	if i == len(queues) || queues[i].Queue != q.Queue {
		st.queues = slices.Insert(slices.Clip(queues), i, *q)
		st.failures = slices.Insert(slices.Clip(st.failures), i, "")
		return
	}
	st.queues = slices.Clone(queues)
	updateQueue(&st.queues[i], q)
	if why := cmp.Or(q.Backlog.Reason, q.InFlight.Reason); why != st.failures[i] {
		st.failures = slices.Clone(st.failures)
		st.failures[i] = why
	}
}

// updateQueue replaces the samples of a queue, and keeps known ones whose new measurement failed: their age is judged
// when they are used. Measurements arrive in the order they were made, so their instants are not compared: after a
// clock was set back, old samples would win for hours.
func updateQueue(old, q *muster.QueueObservation) {
	updateSample(&old.Backlog, &q.Backlog)
	updateSample(&old.InFlight, &q.InFlight)
	updateSample(&old.Delayed, &q.Delayed)
	updateSample(&old.OldestAge, &q.OldestAge)
	updateSample(&old.Sent, &q.Sent)
	updateSample(&old.Retrying, &q.Retrying)
	updateSample(&old.OldestRetry, &q.OldestRetry)
	updateSample(&old.DeadLetters, &q.DeadLetters)
	if q.Retrying.Known {
		old.RetryAges = q.RetryAges
	}
	if old.Published != nil || q.Published != nil {
		p, n := old.Published.Value(), q.Published.Value()
		updateSample(&p.SentPerSecond, &n.SentPerSecond)
		updateSample(&p.DeletedPerSecond, &n.DeletedPerSecond)
		updateSample(&p.ProcessingMean, &n.ProcessingMean)
		old.Published = &p
	}
	old.LateSeconds = q.LateSeconds
}

// updateSample replaces a sample by a later one, unless that is merely unknown.
func updateSample(old, s *muster.Sample) {
	if s.Known || !old.Known || s.Doubted {
		*old = *s
	}
}

// fresh returns the measurements with samples that are too old as unknown, because of their failures. It returns the
// given slice if none is, which is the usual case.
func (s *Settings) fresh(queues []muster.QueueObservation, failures []string, now time.Time) []muster.QueueObservation {
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
			known := x.Known
			if *x = x.Fresh(now, counts); known && !x.Known && failures[i] != "" {
				x.Reason += ": " + failures[i]
			}
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

// stale tells whether a sample in q may be too old.
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

// pool returns the state of the warm pool at now; nil for a fleet without one. The learned boot time is kept while the
// pool cannot be read.
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

// ready returns how many members the warm pool can start, less those that were ordered from it and are not listed yet.
func (st *State) ready() int {
	if st.listed.Ready == nil {
		return 0
	}
	return max(0, *st.listed.Ready-st.roster.Awaited())
}

// fromPool records that the first of the ordered members are expected from the warm pool, and returns how many.
func (st *State) fromPool(ordered []string) int {
	// ready does not count the members of this order yet.
	n := min(st.ready(), len(ordered))
	st.roster.FromPool(ordered[:n])
	return n
}

// tiers records members whose tier differs from the expected one.
func (x *findings) tiers(other []roster.Tiered) {
	for _, t := range other {
		x.changes = append(x.changes, Changed{Member: t.Member, What: t.Change(), Why: why(t.Tier)})
	}
}

// why says which tier a member came from.
func why(t muster.Tier) string {
	if t == muster.Warm {
		return "it comes from the warm pool"
	}
	return "it was a cold start, not from the warm pool"
}

// published returns the mean of the processing durations that sources publish, over the queues that have one; otherwise
// the estimate of the observation. It serves workers that publish their mean and never report.
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

// occupied estimates the busy slots of a fleet whose workers do not report: one for each message in flight, or all if
// that number is unknown.
func occupied(o muster.Observation) muster.Capacity {
	c := o.Capacity
	c.Unreported = true
	if n, known := o.InFlight().Count(); known {
		c.BusySlots = min(c.Slots, n)
		members := c.InService()
		c.Busy = min(members, int(math.Ceil(float64(c.BusySlots)/c.SlotsPerWorker)))
		c.Idle = members - c.Busy
	}
	return c
}

// Reads returns the queries that a [metrics.Meter] must read for the fleet's policy, sorted by key; none for most
// policies.
func (s Settings) Reads() (queries []metrics.Query) {
	for _, u := range s.uses {
		if !u.Own {
			queries = append(queries, u.Query)
		}
	}
	return queries
}

// newPeriod tells whether a new period of one of Muster's own metrics has begun since a decision was recorded. The
// value of a past period is known from records alone, so each period needs one.
func (s *Settings) newPeriod(recorded, now time.Time) bool {
	return slices.ContainsFunc(s.uses, func(u policy.MetricUse) bool {
		return u.Own && !metrics.PeriodAt(recorded,
			u.Query.PeriodSeconds).Equal(metrics.PeriodAt(now, u.Query.PeriodSeconds))
	})
}

// keepMetrics stores the metrics read last. After a failure the earlier ones are kept until they are too old.
func (st *State) keepMetrics(x Metered) {
	if x.Failure != "" && st.metered != nil && len(st.metered.Series) > 0 {
		x = Metered{At: st.metered.At, Series: st.metered.Series, Failure: x.Failure}
	}
	st.metered = &x
}

// meterStale is the age at which a metric becomes unknown, in periods of that metric.
const meterStale = 3

// metrics returns the series for the policy, sorted by key. For Muster's own metrics they are the past periods from the
// last record; for metrics of other systems, what was read.
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
		unknown := metrics.Series{Key: u.Query.Key(), Reason: "this fleet has no reader of CloudWatch metrics"}
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

// because writes a failure as the end of a reason.
func because(failure string) string {
	if failure == "" {
		return ""
	}
	return ": " + failure
}

// bounded returns s with at most as many points as an observation carries, the newest ones.
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

// progress summarises the state of the work.
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

// retries separates the messages that workers hold from those that wait for retry. A queue that counts them itself is
// exact. Otherwise the count comes from worker reports, and from messages in flight that no worker holds.
func (s *Settings) retries(st *State, now time.Time, o *muster.Observation, w *muster.Progress) {
	inFlight := o.InFlight()
	// Most queues do not count them; the sum is formed only where all do.
	unknown := slices.IndexFunc(o.Queues, func(q muster.QueueObservation) bool { return !q.Retrying.Known })
	if unknown < 0 && len(o.Queues) > 0 {
		w.Retrying = o.Total(func(q muster.QueueObservation) muster.Sample { return q.Retrying })
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
	why := "the queue does not count retries, and the workers do not report"
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
		// Otherwise the workers may not have reported since a restart.
		w.Working = muster.Measured(now, float64(o.Capacity.BusySlots))
	}
	if !settled {
		return
	}
	// The retries of ended workers are in no report: they are among the messages in flight that no worker holds.
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
		w.OldestRetry = muster.Unknown(now, "no present worker reports when they were sent")
	}
}

// late counts the messages that are late already: in the backlog or waiting for retry for longer than the objective, or
// held by a worker for longer than it.
func late(o *muster.Observation, w *muster.Progress) muster.Sample {
	most := o.Objective.Latency.Seconds()
	backlog, oldest := o.Backlog(), o.OldestAge()
	n := float64(w.Held)
	switch {
	case !backlog.Known:
		return muster.Unknown(o.At, "the backlog is unknown")
	case backlog.Value == 0, oldest.Known && oldest.Value <= most:
	case len(o.Waiting) == 0:
		return muster.Unknown(o.At, "the ages of the backlog are unknown")
	default:
		n += older(o.Waiting, most)
	}
	switch {
	case !w.Retrying.Known:
		return muster.Unknown(o.At, "the number of messages waiting for retry is unknown")
	case w.Retrying.Value == 0, w.OldestRetry.Known && w.OldestRetry.Value <= most:
		return muster.Measured(o.At, n)
	case !w.OldestRetry.Known:
		return muster.Unknown(o.At, "the ages of messages waiting for retry are unknown")
	}
	retries := 0.0
	for i := range o.Queues {
		retries += older(o.Queues[i].RetryAges, most)
	}
	return muster.Measured(o.At, n+max(1, retries))
}

// older counts the messages in groups older than the given seconds.
func older(groups []muster.Waiting, seconds float64) (n float64) {
	for _, g := range groups {
		if g.AgeSeconds > seconds {
			n += g.Messages
		}
	}
	return n
}

// lookBack is the window of arrivals, from which rates and busy times are taken.
func (s *Settings) lookBack() time.Duration {
	return min(max(time.Hour, 2*s.Objective.Latency), 12*time.Hour)
}

// learning returns the rules of package learning for this fleet.
func (s *Settings) learning() learning.Rules {
	mean := time.Duration(0)
	if s.Unreported {
		mean = s.Spec.Processing
	}
	return learning.Rules{Learn: s.Learn, Lasting: s.lasting, LookBack: s.lookBack(),
		Waits: s.Objective.Latency, Poll: s.Poll, Cores: s.Cores, Mean: mean, OneQueue: len(s.Queues) == 1,
		Seasonal: s.Spec.Seasonal(), Busiest: s.plansAhead, Quantile: s.Objective.Quantile}
}

// staleAfter is the age at which a queue measurement or a listing becomes unknown.
func (s *Settings) staleAfter() time.Duration { return max(3*s.Poll, 5*time.Second, s.Stale) }

// ageStaleAfter is the same for ages. Where polls are rare, ages come from CloudWatch: once a minute, and a minute or
// two late.
func (s *Settings) ageStaleAfter() time.Duration {
	if s.Stale > 0 {
		return max(s.staleAfter(), 3*time.Minute)
	}
	return s.staleAfter()
}

// rules returns the durations of the roster. A member may take three times the slowest recent boot, at least half a
// minute: giving it up too early launches a second one. Until a boot was measured, nobody knows how long one takes. It
// is then ten times the expected boot, at least two minutes.
func (s *Settings) rules(boot muster.Estimate) roster.Rules {
	slowest := max(s.BootPrior.Seconds(), boot.P95Seconds)
	least, times := 30*time.Second, 3.0
	if !boot.Known || boot.Prior {
		least, times = 2*time.Minute, 10
	}
	within := max(least, time.Duration(times*slowest*float64(time.Second)))
	r := roster.Rules{Silence: silence, StoredSilence: max(silence, 3*s.Poll), BootWithin: within, Grace: grace,
		Remember: 5 * time.Minute, Unreported: s.Unreported}
	if s.Spec.Shadow && !s.Unreported { // the workers of the other system may not report to Muster
		r.Watched, r.WatchedAfter = true, s.BootPrior
	}
	return r
}

// expected returns the forecast of trees at now, unknown if it is too old; nil while no tree runs.
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

// keepExpected stores the forecast of the last successful reading of trees; its age is judged when it is used.
func (st *State) keepExpected(e muster.Expected) {
	st.treesRead = true
	if e.Known || st.expected == nil || !st.expected.Known {
		st.expected = &e
	}
}
