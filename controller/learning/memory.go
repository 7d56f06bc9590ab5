package learning

import (
	"time"

	"github.com/muster-scale/muster"
	"github.com/muster-scale/muster/series"
	"github.com/muster-scale/muster/worker/protocol"
)

const (
	// Every is how often what was measured is recorded; it counts from then on.
	Every = 5 * time.Second
	// NotedEvery is how often an unchanged decision is recorded, and with it what the queues had counted.
	NotedEvery = time.Minute
	// PaceOver is the time over which the recent pace of work is told.
	PaceOver = 2 * time.Minute
	// busiestEvery is how often the busiest times forget those that are long past.
	busiestEvery = 5 * time.Minute
)

// Rules say how a fleet is learned about. They do not change while its controller runs.
type Rules struct {
	// Learn is how far back durations count, LookBack how far back arrivals do; above zero.
	Learn, LookBack time.Duration
	// Poll is how often the queues are looked at; above zero.
	Poll time.Duration
	// Cores is how many cores the members share; zero where they share no machine.
	Cores int
	// OneQueue is true for a fleet with one queue: what its workers finish came from there.
	OneQueue bool
	// Seasonal is true for a fleet with a forecast.
	Seasonal bool
	// Busiest is true where the policy asks for the busiest times, of which it plans for the share Quantile.
	Busiest  bool
	Quantile float64
}

// Memory is what was learned of one fleet: how long its work takes, how long members boot, what came when, and how the
// work ends. It derives from the records of what was learned and from what was measured since, so that a restart
// changes nothing. It is a value: a copy may be changed without the original. Make it with [New].
type Memory struct {
	processing, boots series.Window
	// warmBoots are the boots of members from a warm pool.
	warmBoots series.Window
	// classes are those of the messages measured, by name. It is replaced, never changed.
	classes []class
	// crowding is what is known of members that share a machine.
	crowding crowding
	// arrivals and finished count messages that came and that were finished, spent the seconds of work on the latter.
	arrivals, finished, spent series.Counts
	progress                  progress
	// busiest tells the busiest times as of busiestAt and the last arrivals counted. It is replaced, never changed.
	busiest   []muster.Busiest
	busiestAt time.Time
	// seasonal is what came in past weeks; nil for a fleet without a forecast.
	seasonal *seasonal
	// sent is what each queue had counted when it was last measured. It is replaced, never changed.
	sent    totals
	balance balance
	// retrying is by how much the messages in flight exceeded those that workers hold.
	retrying lowWater
	// measured is not in the windows yet; learnedAt is when something was last put there.
	measured  Learned
	learnedAt time.Time
}

// New returns the memory of a fleet of which nothing is known.
func New(r Rules) Memory {
	m := Memory{
		processing: series.Window{Length: r.Learn}, boots: series.Window{Length: r.Learn},
		warmBoots: series.Window{Length: r.Learn},
		arrivals:  series.Counts{Length: r.LookBack}, finished: series.Counts{Length: PaceOver},
		spent:    series.Counts{Length: PaceOver},
		progress: newProgress(r.Learn),
	}
	if r.Seasonal {
		m.seasonal = &seasonal{}
	}
	return m
}

// Queue takes in a measurement of a queue: what came to it since the one before. Where the queue does not count that
// itself, Queue puts into q what follows from what is there and what was finished; queues are the measurements that
// stood before.
func (m *Memory) Queue(now time.Time, r Rules, queues []muster.QueueObservation, q *muster.QueueObservation) {
	if !m.balanced(now, r, queues, q) {
		m.arrived(now, *q, r.Poll)
	}
}

// Booted takes in the boot of a member, from a warm pool or not.
func (m *Memory) Booted(took time.Duration, warm bool) {
	boots := &m.measured.Boots
	if warm {
		boots = &m.measured.WarmBoots
	}
	*boots = series.Add(*boots, took)
}

// Failed takes in the newest failed attempt of a worker; nil is none.
func (m *Memory) Failed(f *protocol.LastFailure) { m.progress.failed(f) }

// Reports are what the workers told since the step before, report by report. Finished counts messages, and Failed
// attempts. Ended messages were finished and sent at a known time, InTime of them in time.
type Reports struct {
	Processing, Failing []series.Durations
	Classes             map[string][]series.Durations
	Finished, Failed    int64
	Ended, InTime       float64
}

// Reported takes in the reports of a step, and the dead letters of the queues as they stand.
func (m *Memory) Reported(r Rules, told Reports, queues []muster.QueueObservation) {
	m.balance.soon += float64(told.Finished)
	if r.Cores > 0 {
		for _, d := range told.Processing {
			m.crowding.messages, m.crowding.seconds = m.crowding.messages+d.Count, m.crowding.seconds+d.SumSeconds
		}
	}
	l := &m.measured
	l.Processing = series.MergeAll(l.Processing, told.Processing...)
	l.Classes = mergeClasses(l.Classes, told.Classes)
	l.Failing = series.MergeAll(l.Failing, told.Failing...)
	l.Failed += told.Failed
	l.Ended, l.InTime = l.Ended+told.Ended, l.InTime+told.InTime
	m.progress.bury(l, queues)
}

// Flush is what was learned just now; the zero one is nothing. What the queues had counted by then is in sent alone.
type Flush struct {
	Learned
	sent totals
}

// None tells whether there is nothing to record.
func (l Flush) None() bool { return l.sent == nil }

// Flush puts what was measured since the last time into the windows, every few seconds, and returns it to be recorded:
// what counts is in the history. That nothing came is recorded every few minutes, for a fleet with a forecast alone,
// where counting says that it is known what the queues have counted.
func (m *Memory) Flush(now time.Time, counting bool) Flush {
	// What is the first to be known counts at once.
	_, known := m.processing.At(now)
	first := m.measured.Processing.Count > 0 && !known.Known
	if age := now.Sub(m.learnedAt); age >= 0 && age < Every && !first {
		return Flush{}
	}
	flushed := Flush{Learned: m.measured}
	flushed.Counted, flushed.Finished = counting && m.seasonal != nil, m.balance.settled()
	if m.measured.empty() && !m.balance.corrected && !(flushed.Counted && m.seasonal.overdue(now)) {
		return Flush{}
	}
	sent := make(totals, len(m.sent))
	for i, c := range m.sent {
		sent[i] = total{c.queue, counted{n: m.balance.record(c.n), at: now}}
	}
	m.sent, flushed.sent = sent, sent
	m.balance.corrected = false
	m.count(now, flushed.Learned)
	m.busiest = nil
	m.measured = Learned{}
	return flushed
}

// Recall takes in a record of what was learned.
func (m *Memory) Recall(at time.Time, l Learned) {
	m.progress.buried(l.Dead)
	m.count(at, l)
	for queue, n := range l.Sent {
		m.sent = m.sent.with(queue, counted{n: n, at: at})
	}
}

// RecallDecision takes in what a recorded decision saw.
func (m *Memory) RecallDecision(at time.Time, o muster.Observation) {
	m.progress.recall(o)
	m.Watch(o)
	m.Noted(at, o)
}

// count takes what was learned into the windows.
func (m *Memory) count(at time.Time, l Learned) {
	if m.seasonal != nil {
		m.seasonal = m.seasonal.remember(at, l)
	}
	if l.Finished > 0 {
		m.balance.finished, m.balance.soon = l.Finished, 0
	}
	if l.Counted = false; l.empty() {
		return // that nothing came changes nothing else
	}
	since := m.learnedAt
	if since.IsZero() || at.Sub(since) > 2*Every {
		since = at.Add(-Every)
	}
	m.learnedAt = at
	m.processing = m.processing.Add(at, l.Processing)
	m.boots = m.boots.Add(at, l.Boots)
	m.warmBoots = m.warmBoots.Add(at, l.WarmBoots)
	m.crowding.learn(since, at, l, m.processing.Length)
	m.classes = classify(m.classes, since, at, l, m.processing.Length)
	m.arrivals = m.arrivals.Add(l.Since, at, l.Arrived)
	m.finished = m.finished.Add(since, at, float64(l.Processing.Count))
	m.spent = m.spent.Add(since, at, l.Processing.SumSeconds)
	m.progress.count(since, at, l)
}

// Processing tells how long messages take. While nothing was measured within what counts, the estimate last recorded
// holds, or else the prior: a quiet hour is no reason to forget how long the work takes.
func (m *Memory) Processing(now time.Time, last muster.Estimate, prior time.Duration) muster.Estimate {
	return estimate(&m.processing, now, last, prior)
}

// MeasuresProcessing tells whether durations of messages were measured within what counts.
func (m *Memory) MeasuresProcessing(now time.Time) bool {
	_, e := m.processing.At(now)
	return e.Known
}

// Boot is as [Memory.Processing], of the boots of members that come from no warm pool.
func (m *Memory) Boot(now time.Time, last muster.Estimate, prior time.Duration) muster.Estimate {
	return estimate(&m.boots, now, last, prior)
}

// WarmBoot tells how long members from a warm pool boot, if that was measured within what counts.
func (m *Memory) WarmBoot(now time.Time) (e muster.Estimate) {
	m.warmBoots, e = m.warmBoots.At(now)
	return e
}

func estimate(w *series.Window, now time.Time, last muster.Estimate, prior time.Duration) (e muster.Estimate) {
	if *w, e = w.At(now); e.Known {
		return e
	}
	if !last.Known || last.Prior {
		return series.Estimate(series.Durations{}, prior)
	}
	return last
}

// Pace tells the recent pace of work.
func (m *Memory) Pace(now time.Time) muster.Pace {
	return muster.Pace{Finished: m.finished.Over(now, PaceOver), Seconds: m.spent.Over(now, PaceOver)}
}

// Arrivals tells what came.
func (m *Memory) Arrivals(now time.Time, r Rules) muster.Arrivals {
	a := rates(m.arrivals, now)
	if at := now.Truncate(busiestEvery); r.Busiest && a.Known && (m.busiest == nil || !at.Equal(m.busiestAt)) {
		m.busiest, m.busiestAt = busiest(m.arrivals, at, r.Quantile), at
	}
	a.Busiest = m.busiest
	return a
}

// Classes tells the mix of messages; nil while fewer than two classes are known.
func (m *Memory) Classes(now time.Time) (classes []muster.Class) {
	m.classes, classes = mix(m.classes, now)
	return classes
}

// Retrying tells how many messages wait for a retry: by how much those in flight have exceeded those that workers hold,
// at least, for as long as a report takes, or longer. excess is by how much they do now.
func (m *Memory) Retrying(now time.Time, excess float64, roundTrip time.Duration) float64 {
	m.retrying = m.retrying.add(now, excess, max(retryingOver, roundTrip))
	return m.retrying.least()
}

// RetryingSettled tells whether the excess was seen for long enough to say so.
func (m *Memory) RetryingSettled() bool { return m.retrying.full }
