package muster

import (
	"time"

	"github.com/muster-scale/muster/metrics"
	"github.com/muster-scale/muster/override"
)

// Objective is the latency objective: the share Quantile of all messages must be in time. A message is in time if it
// takes no longer than Latency from sent to finished.
type Objective struct {
	// Latency is above zero.
	Latency time.Duration `json:"latency_ns"`
	// Quantile is above 0 and at most 1.
	Quantile float64 `json:"quantile"`
	// Late is the price of a late message in worker time: that much may be paid for one more message in time. Zero
	// selects the default of [Objective.PriceOfLate]. Messages that the quantile allows to be late cost nothing.
	Late time.Duration `json:"late_ns,omitzero"`
}

// The default price of a late message is the boot time of one worker, because one more launch is what saves a message.
// leastPrice in seconds bounds it from below: clouds bill at least a minute. mostWork bounds it from above, as a
// multiple of the message's own work: a message that a worker handles by the thousand is not worth a worker of its own.
const (
	leastPrice = 60
	mostWork   = 100
)

// PriceOfLate returns the price of a late message in worker-seconds. boot is the boot time of a worker and mean the
// mean work of a message, both in seconds; a mean of 0 is unknown.
func (o Objective) PriceOfLate(boot, mean float64) float64 {
	price := max(boot, leastPrice)
	switch {
	case o.Late > 0:
		return o.Late.Seconds()
	case mean > 0:
		return min(price, mostWork*mean)
	}
	return price
}

// Limits bound every size.
type Limits struct {
	// Min and Max hold for desired: 0 <= Min <= Max.
	Min int `json:"min"`
	Max int `json:"max"`
	// LaunchesPerHour bounds launch attempts, failed ones too, within any hour. It is at least 1.
	LaunchesPerHour int `json:"launches_per_hour"`
}

// Observation is everything a policy sees: one fleet and its queues at one instant.
type Observation struct {
	// Fleet is the fleet's name.
	Fleet string `json:"fleet"`
	// At is the instant of the step. Samples carry their own, earlier ones.
	At time.Time `json:"at"`
	// Poll is the time between two polls; zero means one second.
	Poll time.Duration `json:"poll_ns,omitzero"`
	// Objective and Limits are those in force at At: overrides narrow the limits of the configuration.
	Objective Objective `json:"objective"`
	Limits    Limits    `json:"limits"`
	// Queues are the queues the fleet serves, sorted by name; empty for a fleet whose work is known from worker reports
	// alone.
	Queues []QueueObservation `json:"queues,omitzero"`
	// Capacity is the fleet by worker state.
	Capacity Capacity `json:"capacity"`
	// Processing estimates the processing duration of a message, Boot the boot time of a worker.
	Processing Estimate `json:"processing"`
	Boot       Estimate `json:"boot"`
	// Pool is the warm pool; nil for a fleet without one. It is never changed. With a pool, Boot is about cold starts.
	Pool *Pool `json:"pool,omitzero"`
	// Classes is the work by message class, sorted by name; empty while fewer than two classes are known. Messages
	// without a class belong to the class with the empty name.
	Classes []Class `json:"classes,omitzero"`
	// Sharing tells how durations grow with the number of messages in progress, for members that share one machine. It
	// is nil for other fleets, and never changed.
	Sharing *Sharing `json:"sharing,omitzero"`
	// Arrivals are the rates at which messages were sent.
	Arrivals Arrivals `json:"arrivals,omitzero"`
	// Waiting is the backlog by age, oldest first, for the messages whose age is known or follows from the arrivals; at
	// most [MaxGroups] groups.
	Waiting []Waiting `json:"waiting,omitzero"`
	// Retrying counts the messages in flight that no worker has held for the last ten seconds, or for the round trip of
	// reports if that is longer. They failed, or their worker was lost, and they wait until they become visible again.
	// It is 0 where workers do not report. If the queue itself counts them, its number is used at once.
	Retrying float64 `json:"retrying,omitzero"`
	// Coming are the launched members that take no messages yet, oldest first; at most [MaxGroups] groups.
	Coming []Coming `json:"coming,omitzero"`
	// Pace is the work done in the last two minutes.
	Pace Pace `json:"pace,omitzero"`
	// FinishedSince counts the messages that workers have finished within the lag of the counts, LateSeconds, rounded
	// up to whole steps of five seconds: the backlog may still show them. It is 0 for exact counts.
	FinishedSince float64 `json:"finished_since,omitzero"`
	// Progress is the state of the work, with failures and late messages. It is nil in records older than the field,
	// and never changed.
	Progress *Progress `json:"progress,omitzero"`
	// Launches is the state of launching: attempts, failures and the next permitted attempt.
	Launches Launches `json:"launches"`
	// Forecast is the forecast of arrivals by season; it is zero for a fleet without one.
	Forecast Forecast `json:"forecast,omitzero"`
	// Expected is the forecast of the messages of running trees; it is nil while none runs, and never changed.
	Expected *Expected `json:"expected,omitzero"`
	// Metrics are the series that a metric-math policy reads in addition to the other fields, by key, at most
	// [metrics.MaxSeries]. A series of another system has all points that were read; a series of Muster's own has only
	// completed periods.
	Metrics []metrics.Series `json:"metrics,omitzero"`
	// Drift lists sizes of the fleet's own service that Muster did not set; it is nil for none, and never changed.
	Drift *Drift `json:"drift,omitzero"`
	// Overrides are the time-limited instructions of operators, also those that have not begun; never changed.
	Overrides override.List `json:"overrides,omitzero"`
	// Dismissed are the members that operators have asked to finish their messages and go since the last observation:
	// for each its name, and the reason behind a colon if there is one.
	Dismissed []string `json:"dismissed,omitzero"`
	// Notes are the remarks of the fleet's own service for a person; no policy reads them.
	Notes []string `json:"notes,omitzero"`
}

// Forecast is the forecast of arrivals from the same time of earlier days or weeks. All rates are in messages per
// second. Package series computes it.
type Forecast struct {
	// Known is false while too little history exists. Used is true while the forecast beat the rate of the last minutes
	// clearly in a test on the past week. Reason says why it is not used; it is empty when Used.
	Known  bool   `json:"known"`
	Used   bool   `json:"used"`
	Reason string `json:"reason,omitzero"`
	// Season is the period that repeats: "day" or "week".
	Season string `json:"season,omitzero"`
	// AheadSeconds is the forecast horizon. PerSecond is the highest rate expected within it, LatelyPerSecond the
	// highest rate expected for the past hour. With a probability of three quarters, the actual rate is at most
	// PerSecond plus ErrorPerSecond.
	AheadSeconds    float64 `json:"ahead_s"`
	PerSecond       float64 `json:"per_s"`
	LatelyPerSecond float64 `json:"lately_per_s"`
	ErrorPerSecond  float64 `json:"error_per_s"`
	// Tested is the number of quarters of an hour in the test. MissPerSecond is the mean error of the forecast in it: a
	// message too few counts 0.75, a message too many 0.25. ReactingMissPerSecond is the same for taking the rate of
	// the quarter before.
	Tested                int     `json:"tested"`
	MissPerSecond         float64 `json:"miss_per_s"`
	ReactingMissPerSecond float64 `json:"reacting_miss_per_s"`
}

// Class describes the messages of one class.
type Class struct {
	Name string `json:"name"`
	// Share is the class's share, 0 to 1, of the messages that ended in the last two minutes. If none did, it is the
	// share of all measured ones. Finished counts the class's messages that ended in the last two minutes.
	Share    float64 `json:"share"`
	Finished float64 `json:"finished"`
	// Processing estimates the processing duration of a message of the class.
	Processing Estimate `json:"processing"`
}

// MaxGroups bounds the groups by age in an observation.
const MaxGroups = 32

// Waiting is a group of waiting messages of similar age.
type Waiting struct {
	// AgeSeconds is the age of the oldest of them.
	AgeSeconds float64 `json:"age_s"`
	Messages   float64 `json:"messages"`
}

// ByAge returns the waiting messages by age, oldest first. Without groups it returns one of the oldest age, or of age 0
// if that is unknown.
func (o Observation) ByAge() []Waiting {
	if len(o.Waiting) > 0 {
		return o.Waiting
	}
	return []Waiting{{AgeSeconds: o.OldestAge().Value, Messages: o.Backlog().Value}}
}

// Coming is a group of members that were launched within one second.
type Coming struct {
	// AgeSeconds is the time since their launch.
	AgeSeconds float64 `json:"age_s"`
	Members    int     `json:"members"`
	// Warm is how many of them are expected from the warm pool.
	Warm int `json:"warm,omitzero"`
}

// Pool is the state of a warm pool. Launches take members from it as long as it has some.
type Pool struct {
	// Ready is how many members it can start now; 0 while that is unknown.
	Ready int `json:"ready"`
	// Boot estimates the boot time of members from the pool; it is not known before the first measurement.
	Boot Estimate `json:"boot"`
}

// LatelyOver is the time constant of the fields of [Pace] that begin with Lately: what ended so long before counts less
// by a factor of e.
const LatelyOver = 8 * time.Second

// HangsBeyond is how many times the 99th percentile a message takes that hangs. Such a message is rare and says nothing
// about the others, however long it takes.
const HangsBeyond = 10

// ManyDurations is the number of measured durations from which on their 99th percentile says something.
const ManyDurations = 200

// Pace is the work done in the last two minutes: Finished messages, which took Seconds slot-seconds in all. Failed
// attempts are not in it, see [Progress].Failing.
//
// Once [ManyDurations] were measured, each duration counts with at most [HangsBeyond] times the 99th percentile of the
// hours before: one that hung for an hour would otherwise look like longer work. The mean excess of those hours is
// added for each message, so that Seconds / Finished keeps their mean.
type Pace struct {
	Finished float64 `json:"finished"`
	Seconds  float64 `json:"seconds"`
	// LatelyFinished, LatelySeconds and LatelyLong are of the last seconds, the newest counting most ([LatelyOver]):
	// how many messages ended, how long they took in all, computed like Seconds, and how many of them took more than
	// twice the median of the hours before. Work that became longer ends more rarely, so the earlier messages would
	// hide it for two minutes.
	LatelyFinished float64 `json:"lately_finished,omitzero"`
	LatelySeconds  float64 `json:"lately_seconds,omitzero"`
	LatelyLong     float64 `json:"lately_long,omitzero"`
	// LatelyPerSecond is how many messages ended a second within those seconds, LatelySlots how many slots they kept
	// busy. Both are only known where the counts of a queue may be old, and 0 elsewhere.
	LatelyPerSecond float64 `json:"lately_per_s,omitzero"`
	LatelySlots     float64 `json:"lately_slots,omitzero"`
}

// Over returns the window of the work done, of the fields that do not begin with Lately.
func (Pace) Over() time.Duration { return 2 * time.Minute }

// Arrivals are the rates at which messages were sent to a fleet's queues, in messages per second, over windows that end
// at the observation. A window longer than the time watched is cut to that time.
type Arrivals struct {
	// Known is false while arrivals were counted for less than a second.
	Known bool `json:"known"`
	// TenSeconds to TwelveHours are the mean rates over these windows. FourHours and TwelveHours are zero where
	// arrivals are remembered for less than that, because no message may wait for so long.
	TenSeconds    float64 `json:"ten_seconds_per_s,omitzero"`
	Minute        float64 `json:"minute_per_s,omitzero"`
	FiveMinutes   float64 `json:"five_minutes_per_s,omitzero"`
	TwentyMinutes float64 `json:"twenty_minutes_per_s,omitzero"`
	Hour          float64 `json:"hour_per_s,omitzero"`
	FourHours     float64 `json:"four_hours_per_s,omitzero"`
	TwelveHours   float64 `json:"twelve_hours_per_s,omitzero"`
	// QuietSeconds is the time since the last arrival, to five seconds; 0 where one came just now or nothing was
	// counted.
	QuietSeconds float64 `json:"quiet_s,omitzero"`
	// WatchedSeconds is for how long arrivals have been counted, at most an hour.
	WatchedSeconds float64 `json:"watched_s,omitzero"`
	// Busiest gives, for windows of several lengths, the number of messages in the busiest ones, shortest window first.
	// It covers all arrivals that are kept.
	Busiest []Busiest `json:"busiest,omitzero"`
}

// Busiest is the capacity that windows of one length would have needed in the past. If each window of OverSeconds had
// had room for Messages, the share [Objective].Quantile of all messages would have found room.
type Busiest struct {
	OverSeconds float64 `json:"over_s"`
	Messages    float64 `json:"messages"`
	// Rooms is the same for the smaller shares of [RoomShares], as far as they are below the quantile.
	Rooms [4]float64 `json:"rooms,omitzero"`
}

// RoomShares returns the shares of all messages that [Busiest].Rooms belong to.
func RoomShares() [4]float64 { return [4]float64{0.5, 0.8, 0.9, 0.95} }

// QueueObservation is one queue at one instant. Each count is a sample of its own, because a source may know some and
// not others.
type QueueObservation struct {
	// Queue is the queue's name.
	Queue string `json:"queue"`
	// Backlog, InFlight and Delayed are counts of messages.
	Backlog  Sample `json:"backlog"`
	InFlight Sample `json:"in_flight"`
	Delayed  Sample `json:"delayed"`
	// OldestAge is the age in seconds of the oldest message in the backlog, 0 when nothing waits.
	OldestAge Sample `json:"oldest_age_s"`
	// Sent counts the messages ever sent to the queue, if the source knows it. It restarts from 0 when the queue does.
	Sent Sample `json:"sent,omitzero"`
	// Retrying counts the messages in flight that a worker returned after a failure and that are not visible yet, if
	// the source knows it: no worker holds them. OldestRetry is the time in seconds since the oldest of them was sent,
	// 0 if there is none. RetryAges are all of them by that time, oldest first, at most [MaxGroups] groups.
	Retrying    Sample    `json:"retrying,omitzero"`
	OldestRetry Sample    `json:"oldest_retry_s,omitzero"`
	RetryAges   []Waiting `json:"retry_ages,omitzero"`
	// DeadLetters counts the messages in the dead-letter queues of this queue, if the source knows it.
	DeadLetters Sample `json:"dead_letters,omitzero"`
	// LateSeconds is the greatest lag of counts and ages: they show the queue at some time between LateSeconds ago and
	// now. It is 0 for exact counts.
	LateSeconds float64 `json:"late_s,omitzero"`
	// Published holds what other systems publish about the queue; nil for most sources, and never changed.
	Published *Published `json:"published,omitzero"`
}

// Published holds measurements of a queue that other systems publish, such as CloudWatch metrics.
type Published struct {
	// SentPerSecond and DeletedPerSecond are the mean rates over the minute before their instant.
	SentPerSecond    Sample `json:"sent_per_s,omitzero"`
	DeletedPerSecond Sample `json:"deleted_per_s,omitzero"`
	// ProcessingMean is the mean processing duration of the queue's messages in seconds.
	ProcessingMean Sample `json:"processing_mean_s,omitzero"`
}

// Value returns *p, or for nil a Published whose samples are all unknown.
func (p *Published) Value() Published {
	if p == nil {
		return Published{}
	}
	return *p
}

// Capacity is a fleet's members by state. A member is in exactly one of Ordered, Booting, Idle, Busy, Draining,
// Released and Lost.
type Capacity struct {
	// Known is false while the fleet could not be listed; Reason then says why, and the counts are the last known ones.
	Known  bool   `json:"known"`
	Reason string `json:"reason,omitzero"`
	// Desired is the size last set, less the workers that stopped by themselves since.
	Desired int `json:"desired"`
	// Ordered members were launched and not listed yet. Booting members exist and take no messages yet.
	Ordered int `json:"ordered"`
	Booting int `json:"booting"`
	// Idle and Busy members are in service.
	Idle int `json:"idle"`
	Busy int `json:"busy"`
	// Draining members take no more messages. Released members have their stop permit and are about to end.
	Draining int `json:"draining"`
	Released int `json:"released"`
	// Lost members stopped reporting, so that their state is unknown: they count neither as capacity nor as idle.
	Lost int `json:"lost"`
	// Slots is the number of slots of the members in service. BusySlots is how many of them hold a message.
	Slots     int `json:"slots"`
	BusySlots int `json:"busy_slots"`
	// HeldMeanSeconds is how long the messages in progress had been worked on at the last report of their worker, as
	// the mean over the busy workers in service. HeldDeviationSeconds is its standard deviation between workers: 0 when
	// all began together.
	HeldMeanSeconds      float64 `json:"held_mean_s,omitzero"`
	HeldDeviationSeconds float64 `json:"held_deviation_s,omitzero"`
	// SlotsPerWorker is the mean over reporting workers, or the configured number while none reports. It is above 0.
	SlotsPerWorker float64 `json:"slots_per_worker"`
	// Unreported is true for a fleet whose workers do not report: BusySlots is then derived from the messages in
	// flight, and nothing is known of the work itself.
	Unreported bool `json:"unreported,omitzero"`
}

// InService returns the number of members whose workers take messages.
func (c Capacity) InService() int { return c.Idle + c.Busy }

// Pending returns Desired less the members in service. Members that are not launched yet count too.
func (c Capacity) Pending() int { return max(0, c.Desired-c.InService()) }

// Live returns the number of members that exist, in any state. This number counts against [Limits].Max.
func (c Capacity) Live() int {
	return c.Ordered + c.Booting + c.Idle + c.Busy + c.Draining + c.Released + c.Lost
}

// Active returns the members that count towards Desired: ordered, booting and in service.
func (c Capacity) Active() int { return c.Ordered + c.Booting + c.Idle + c.Busy }

// Launches is the state of launching, as far as a policy may know it.
type Launches struct {
	// LastHour counts the launch attempts of the past hour, failed ones included.
	LastHour int `json:"last_hour"`
	// Failed counts the failed launches in a row. A launch failed if its member ended, or passed the boot deadline,
	// before it took a message. A new member that proves useful resets the count.
	Failed int `json:"failed"`
	// RetryAt is the earliest time of the next launch after a failure; zero if there is nothing to wait for.
	RetryAt time.Time `json:"retry_at,omitzero"`
	// LastError says why the last launch failed.
	LastError string `json:"last_error,omitzero"`
}

// Total returns the sum of one count over all queues, with the oldest of their instants. The sum is unknown if the
// count is unknown for any queue, and for a fleet without queues.
func (o Observation) Total(count func(QueueObservation) Sample) Sample {
	return total(o.At, o.Queues, func(q *QueueObservation) Sample { return count(*q) })
}

// total is [Observation.Total] without copying queues: an observation is read at every step.
func total(at time.Time, queues []QueueObservation, count func(*QueueObservation) Sample) Sample {
	if len(queues) == 0 {
		return Unknown(at, "the fleet has no queue")
	}
	sum := Sample{At: at, Known: true}
	for i := range queues {
		s := count(&queues[i])
		if !s.Known {
			return Unknown(s.At, "queue "+queues[i].Queue+": "+s.Reason)
		}
		sum.Value += s.Value
		if s.At.Before(sum.At) {
			sum.At = s.At
		}
	}
	return sum
}

// Backlog returns the messages waiting to be received, over all queues.
func (o Observation) Backlog() Sample {
	return total(o.At, o.Queues, func(q *QueueObservation) Sample { return q.Backlog })
}

// InFlight returns the messages received and not yet deleted, over all queues.
func (o Observation) InFlight() Sample {
	return total(o.At, o.Queues, func(q *QueueObservation) Sample { return q.InFlight })
}

// Room returns how many more members may exist. Members in every state count against the maximum.
func (o Observation) Room() int { return max(0, o.Limits.Max-o.Capacity.Live()) }

// Pending returns how many members will come into service: the desired ones that are not in service, bounded by the
// room for them. Draining and lost members keep their places up to the maximum, and no new worker takes those.
func (o Observation) Pending() int {
	c := o.Capacity
	return min(c.Pending(), c.Ordered+c.Booting+o.Room())
}

// LateSeconds returns the greatest lag in seconds of any queue's counts.
func (o Observation) LateSeconds() float64 {
	late := 0.0
	for _, q := range o.Queues {
		late = max(late, q.LateSeconds)
	}
	return late
}

// OldestAge returns the age in seconds of the oldest message in the backlog of any queue. It is unknown if the age is
// unknown for any queue.
func (o Observation) OldestAge() Sample {
	if len(o.Queues) == 0 {
		return Unknown(o.At, "the fleet has no queue")
	}
	oldest := o.Queues[0].OldestAge
	for _, q := range o.Queues[1:] {
		if !q.OldestAge.Known {
			return q.OldestAge
		}
		if oldest.Known && q.OldestAge.Value > oldest.Value {
			oldest = q.OldestAge
		}
	}
	return oldest
}

// Metric returns the series with the given key, and whether there is one.
func (o Observation) Metric(key string) (metrics.Series, bool) {
	for _, s := range o.Metrics {
		if s.Key == key {
			return s, true
		}
	}
	return metrics.Series{}, false
}
