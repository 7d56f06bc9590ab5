package learning

import (
	"math"
	"time"

	"github.com/muster-scale/muster"
	"github.com/muster-scale/muster/series"
	"github.com/muster-scale/muster/worker/protocol"
)

const (
	// Every is how often measurements are recorded. They count from then on.
	Every = 5 * time.Second
	// NotedEvery is how often an unchanged decision is recorded, and with it the totals of the queues.
	NotedEvery = time.Minute
	// busiestEvery is how often old arrivals are dropped from the busiest times, which are expensive to compute.
	busiestEvery = 5 * time.Minute
)

// paceOver returns the window of the recent pace of work.
func paceOver() time.Duration { return muster.Pace{}.Over() }

// Rules are the parameters of learning about a fleet. They do not change while its controller runs.
type Rules struct {
	// Learn is the window of durations, LookBack that of arrivals; both above zero. Waits is for how long a message may
	// wait at most.
	Learn, LookBack, Waits time.Duration
	// Lasting is true for a fleet whose processing durations are remembered for longer than Learn where these are few:
	// the last [muster.ManyDurations] within [Remembered].
	Lasting bool
	// Poll is the time between two polls of the queues; above zero.
	Poll time.Duration
	// Cores is the number of cores that the members share; zero if they do not share a machine.
	Cores int
	// OneQueue is true for a fleet with one queue: every finished message came from it.
	OneQueue bool
	// Mean is the stated mean processing duration of a fleet whose workers do not report, and zero for others: each
	// message in flight then counts as finished once in so long.
	Mean time.Duration
	// Seasonal is true for a fleet with a forecast.
	Seasonal bool
	// Busiest is true if the policy reads the busiest times, for the share Quantile of messages.
	Busiest  bool
	Quantile float64
}

// Remembered is how far back durations count where few were measured, to the hour. The history keeps them as long.
const Remembered = series.SeasonLength

// last returns an empty memory of the last durations; one that keeps nothing if they are not remembered.
func (r Rules) last() series.Last {
	if !r.Lasting {
		return series.Last{}
	}
	return series.Last{Least: muster.ManyDurations, Longest: Remembered}
}

// LearnedReach returns the age up to which records of measurements count: see [Memory.Lacks].
func (r Rules) LearnedReach() time.Duration {
	if r.Lasting || r.Seasonal {
		return max(r.Reach(), Remembered+24*time.Hour)
	}
	return r.Reach()
}

// Reach returns the age up to which records of all kinds count. The pace of the last two minutes depends on the
// durations that were measured before them.
func (r Rules) Reach() time.Duration {
	return max(time.Hour, r.Learn+paceOver()+Every, series.Counts{Length: r.LookBack}.Reach(), r.long().Reach())
}

// long returns an empty count of arrivals for an eighth longer than a message may wait; one that keeps nothing where
// LookBack is as long.
func (r Rules) long() series.Long {
	if length := r.Waits + r.Waits/8; length > r.LookBack {
		return series.Long{Length: length}
	}
	return series.Long{}
}

// Memory is what was learned of one fleet. It derives from the records and from the measurements since the last one, so
// that a restart changes nothing. It is a value: a copy may be changed without the original. Make it with [New].
type Memory struct {
	processing, boots series.Window
	// last are the last measured processing durations, for where that window has few.
	last series.Last
	// warmBoots are the boot times of members from a warm pool; nil before the first. It is replaced, never changed.
	warmBoots *series.Window
	// classes are the classes with measurements, by name. It is replaced, never changed.
	classes []class
	// crowding has the durations by messages in progress; nil for members that do not share a machine. It is replaced,
	// never changed.
	crowding *crowding
	// arrivals counts messages, finished the measured durations, which are nearly all finished messages, of the last
	// hour; spent counts their seconds as spend returns them, and lately is what ended in the last seconds.
	arrivals, finished, spent series.Counts
	// longArrivals counts messages for as long as one may wait, where that is longer than arrivals does.
	longArrivals series.Long
	lately       lately
	progress     progress
	// busiest are the busiest times at busiestAt, with all arrivals counted since; nil if they must be computed. It is
	// replaced, never changed.
	busiest   []muster.Busiest
	busiestAt time.Time
	// seasonal has the arrivals of past weeks; nil for a fleet without a forecast.
	seasonal *seasonal
	// sent is what each queue had counted when it was last measured. It is replaced, never changed.
	sent    totals
	balance balance
	// retrying is the excess of messages in flight over those that workers hold.
	retrying lowWater
	// measured is not recorded and not counted yet. learnedAt is the time of the last record.
	measured  unrecorded
	learnedAt time.Time
}

// New returns the memory of a fleet without a past.
func New(r Rules) Memory {
	m := Memory{
		processing: series.Window{Length: r.Learn}, boots: series.Window{Length: r.Learn},
		last:     r.last(),
		arrivals: series.Counts{Length: r.LookBack}, finished: series.Counts{Length: shareOver},
		spent: series.Counts{Length: paceOver()}, longArrivals: r.long(),
	}
	if r.Seasonal {
		m.seasonal = &seasonal{}
	}
	return m
}

// Queue applies the measurement q of a queue: it counts the messages that arrived since the one before. For a queue
// that does not count sent messages, it sets q.Sent by the balance. queues are the earlier measurements.
func (m *Memory) Queue(now time.Time, r Rules, queues []muster.QueueObservation, q *muster.QueueObservation) {
	if !m.balanced(now, r, queues, q) {
		m.arrived(now, *q, r.Poll)
	}
}

// Booted adds the boot time of a member, from a warm pool or not.
func (m *Memory) Booted(took time.Duration, warm bool) {
	l := m.measured.change()
	boots := &l.Boots
	if warm {
		boots = &l.WarmBoots
	}
	*boots = series.Add(*boots, took)
}

// Failed notes the newest failed attempt of a worker; nil is none.
func (m *Memory) Failed(f *protocol.LastFailure) { m.progress.failed(f) }

// Reports are the sums over the worker reports of one step; histograms come one for each report. Ended counts finished
// messages whose sending time is known, InTime those of them that were in time.
type Reports struct {
	Processing, Failing []series.Durations
	Classes             map[string][]series.Durations
	Finished, Failed    int64
	Ended, InTime       float64
	Usage               protocol.Usage
}

// Reported applies the reports of a step, and the present number of dead letters.
func (m *Memory) Reported(r Rules, reports Reports, queues []muster.QueueObservation) {
	m.balance.soon += float64(reports.Finished)
	if r.Cores > 0 {
		m.changeCrowding().add(reports.Processing)
	}
	u := &m.measured
	u.Processing = series.MergeAll(u.Processing, reports.Processing...)
	u.Ended, u.InTime = u.Ended+reports.Ended, u.InTime+reports.InTime
	if len(reports.Classes) > 0 || len(reports.Failing) > 0 || reports.Failed > 0 {
		l := u.change()
		l.Classes = mergeClasses(l.Classes, reports.Classes)
		l.Failing = series.MergeAll(l.Failing, reports.Failing...)
		l.Failed += reports.Failed
	}
	if reports.Usage.Calls > 0 {
		l := u.change()
		l.Usage = protocol.MergeUsage(l.Usage, reports.Usage)
	}
	if dead := m.progress.addDead(queues); dead > 0 {
		u.change().Dead += dead
	}
}

// Flush is what [Memory.Flush] counted just now; the zero Flush is nothing. The totals of the queues are in sent, not
// in Learned.Sent.
type Flush struct {
	Learned
	// sent is the total of each queue at its last measurement. It is replaced, never changed.
	sent totals
}

// None tells whether there is nothing to record.
func (l Flush) None() bool { return l.sent == nil }

// Flush moves the measurements since the last time into the windows, every few seconds, and returns them. The caller
// must record them: what counts must be in the history. For a fleet with a forecast, the absence of arrivals is
// recorded too, every few minutes, if counting says that the totals of all queues are known.
func (m *Memory) Flush(now time.Time, counting bool) Flush {
	// The first durations of all count at once: until then the policy has only the prior.
	first := m.measured.Processing.Count > 0 && !m.MeasuresProcessing(now)
	if age := now.Sub(m.learnedAt); age >= 0 && age < Every && !first {
		return Flush{}
	}
	counting = counting && m.seasonal != nil
	if m.measured.empty() && !m.balance.corrected && !(counting && m.seasonal.overdue(now)) {
		return Flush{}
	}
	flushed := Flush{Learned: m.measured.learned()}
	flushed.Counted, flushed.Finished = counting, m.balance.settled()
	sent := make(totals, len(m.sent))
	for i, c := range m.sent {
		sent[i] = total{c.queue, counted{n: m.balance.record(c.n), at: now}}
	}
	m.sent, flushed.sent = sent, sent
	m.balance.corrected = false
	m.count(now, flushed.Learned)
	m.busiest = nil
	m.measured = unrecorded{}
	return flushed
}

// Recall applies a record of the history. Records come in order.
func (m *Memory) Recall(at time.Time, l Learned) {
	m.progress.recallDead(l.Dead)
	m.count(at, l)
	for queue, n := range l.Sent {
		m.sent = m.sent.with(queue, counted{n: n, at: at})
	}
}

// RecallDecision applies what a recorded decision saw.
func (m *Memory) RecallDecision(at time.Time, o muster.Observation) {
	m.progress.recall(o)
	m.Watch(o)
	m.Noted(at, o)
}

// count adds a record to the windows. It is the only function that does, for new records and for recalled ones.
func (m *Memory) count(at time.Time, l Learned) {
	if m.seasonal != nil {
		m.seasonal = m.seasonal.remember(at, l)
	}
	if l.Finished > 0 {
		m.balance.finished, m.balance.soon = l.Finished, 0
	}
	for _, c := range l.Came {
		from := time.Unix(c.From, 0)
		m.longArrivals = m.longArrivals.Add(from, from.Add(series.CameWithin), float64(c.Messages))
	}
	if l.Counted = false; l.empty() {
		return // the absence of arrivals changes only the seasons
	}
	since := m.learnedAt
	if since.IsZero() || at.Sub(since) > 2*Every {
		since = at.Add(-Every)
	}
	m.learnedAt = at
	var spent float64
	if l.Processing.Count > 0 {
		spent = m.spend(at, l.Processing)
	}
	m.processing = m.processing.Add(at, l.Processing)
	m.boots = m.boots.Add(at, l.Boots)
	m.last = m.last.Add(at, l.Processing)
	m.warmBoots = addWarm(m.warmBoots, at, l.WarmBoots, m.boots.Length)
	if len(l.Crowded) > 0 {
		m.changeCrowding().learn(since, at, l, m.processing.Length)
	}
	m.classes = classify(m.classes, since, at, l, m.processing.Length)
	m.arrivals = m.arrivals.Add(l.Since, at, l.Arrived)
	m.longArrivals = m.longArrivals.Add(l.Since, at, l.Arrived)
	m.finished = m.finished.Add(since, at, float64(l.Processing.Count))
	m.spent = m.spent.Add(since, at, spent)
	m.progress.count(since, at, l, m.processing.Length)
}

// addWarm returns warm with more boot times, or warm itself without any.
func addWarm(warm *series.Window, at time.Time, boots series.Durations, learn time.Duration) *series.Window {
	if boots.Count == 0 {
		return warm
	}
	w := series.Window{Length: learn}
	if warm != nil {
		w = *warm
	}
	w, _ = w.Add(at, boots).At(at) // with its estimate
	return &w
}

// Processing estimates the processing duration, from the measurements of the window, or from the last ones where those
// are more: see [Rules]. Without any it returns the last recorded estimate, or else the prior: a quiet hour is no
// reason to forget how long the work takes.
func (m *Memory) Processing(now time.Time, recorded muster.Estimate, prior time.Duration) (e muster.Estimate) {
	if m.processing, e = m.processing.At(now); e.Count < m.last.Least {
		var more muster.Estimate
		if m.last, more = m.last.At(now); more.Count > e.Count {
			e = more
		}
	}
	return orElse(e, recorded, prior)
}

// Lacks tells whether measurements from before the instant since could change an estimate, if m was restored from those
// since then: fewer than are remembered have been measured in the whole hours since.
func (m *Memory) Lacks(since time.Time) bool { return !m.last.Whole(since) }

// MeasuresProcessing tells whether the window has a measured processing duration.
func (m *Memory) MeasuresProcessing(now time.Time) bool {
	_, e := m.processing.At(now)
	return e.Known
}

// Boot estimates the boot time of members that do not come from a warm pool, from the measurements of the window.
// Without any it returns the last recorded estimate, or else the prior.
func (m *Memory) Boot(now time.Time, recorded muster.Estimate, prior time.Duration) (e muster.Estimate) {
	m.boots, e = m.boots.At(now)
	return orElse(e, recorded, prior)
}

// WarmBoot estimates the boot time of members from a warm pool. It is unknown without a measurement in the window.
func (m *Memory) WarmBoot(now time.Time) (e muster.Estimate) {
	if m.warmBoots != nil {
		_, e = m.warmBoots.At(now)
	}
	return e
}

// orElse returns the measured estimate, or else the recorded one, or else the prior.
func orElse(measured, recorded muster.Estimate, prior time.Duration) muster.Estimate {
	switch {
	case measured.Known:
		return measured
	case !recorded.Known || recorded.Prior:
		return series.Estimate(series.Durations{}, prior)
	}
	return recorded
}

// Pace returns the recent pace of work.
func (m *Memory) Pace(now time.Time) muster.Pace {
	p := muster.Pace{Finished: m.finished.Over(now, paceOver()), Seconds: m.spent.Over(now, paceOver())}
	return m.lately.addTo(p, now)
}

// FinishedSince returns how many messages were finished within lag seconds before now; 0 for no lag. A step that began
// within it counts as a whole, and so do messages that are not recorded yet: without those, a restarted controller
// launches a worker in vain at worst.
func (m *Memory) FinishedSince(now time.Time, lag float64) float64 {
	if lag <= 0 {
		return 0
	}
	over := Every + time.Duration(lag*float64(time.Second))
	return math.Ceil(m.finished.Over(now, over)-1e-9) + float64(m.measured.Processing.Count)
}

// Arrivals returns the rates of arrivals at now. The busiest times are computed again after each record, and every five
// minutes.
func (m *Memory) Arrivals(now time.Time, r Rules) muster.Arrivals {
	a := rates(m.arrivals, now)
	if at := now.Truncate(busiestEvery); r.Busiest && a.Known && (m.busiest == nil || !at.Equal(m.busiestAt)) {
		m.busiest, m.busiestAt = busiest(m.arrivals, at, r.Quantile), at
	}
	a.Busiest = m.busiest
	return a
}

// Classes returns the mix of message classes; nil while fewer than two are known.
func (m *Memory) Classes(now time.Time) (classes []muster.Class) {
	m.classes, classes = mix(m.classes, now)
	return classes
}

// Retrying returns how many messages wait for retry: the least excess of messages in flight over held ones during a
// report interval. excess is the present difference; roundTrip is how old worker reports may be.
func (m *Memory) Retrying(now time.Time, excess float64, roundTrip time.Duration) float64 {
	m.retrying = m.retrying.add(now, excess, max(retryingOver, roundTrip))
	return m.retrying.least()
}

// RetryingSettled tells whether the excess was observed for long enough.
func (m *Memory) RetryingSettled() bool { return m.retrying.full }
