package muster

import (
	"time"

	"github.com/muster-scale/muster/metrics"
)

// Objective is the latency a user asks for: a message is in time if it takes no longer than Latency from sent to
// finished, and the share Quantile of all messages shall be in time.
type Objective struct {
	// Latency is above zero.
	Latency time.Duration `json:"latency_ns"`
	// Quantile is above 0 and at most 1.
	Quantile float64 `json:"quantile"`
	// Late is what a late message is worth, as the time of one worker: so much may be paid to have one message more in
	// time. Zero stands for a default: see [Objective.PriceOfLate]. Messages that the quantile allows to be late cost
	// nothing.
	Late time.Duration `json:"late_ns,omitzero"`
}

// The default price of a late message is the boot of a worker, because that is what it takes to save one; a minute at
// least, which clouds bill at least; and at most so many times its own work: messages that a worker handles by the
// thousand are not worth a worker each.
const (
	leastPrice = 60
	mostWork   = 100
)

// PriceOfLate returns what a late message is worth in worker-seconds, where a worker boots within boot seconds and the
// work of a message takes mean seconds; a mean of 0 is unknown.
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
	// Poll is the time between two looks; a second where it is zero.
	Poll time.Duration `json:"poll_ns,omitzero"`
	// Objective and Limits are those in force.
	Objective Objective `json:"objective"`
	Limits    Limits    `json:"limits"`
	// Queues are the queues the fleet serves, sorted by name; empty for a fleet whose work is known from worker reports
	// alone.
	Queues []QueueObservation `json:"queues,omitzero"`
	// Capacity is the fleet by worker state.
	Capacity Capacity `json:"capacity"`
	// Processing is what was learned about processing durations, Boot about boot times.
	Processing Estimate `json:"processing"`
	Boot       Estimate `json:"boot"`
	// Pool is the warm pool; nil for a fleet without one, and never changed. Boot is then about members that were not
	// prepared.
	Pool *Pool `json:"pool,omitzero"`
	// Classes is the work by class, by name; empty while fewer than two classes are known. Messages without a class are
	// one of the empty name.
	Classes []Class `json:"classes,omitzero"`
	// Sharing is how durations depend on how many messages are in progress, where members share one machine; it is nil
	// for other fleets, and never changed.
	Sharing *Sharing `json:"sharing,omitzero"`
	// Arrivals is how fast messages come.
	Arrivals Arrivals `json:"arrivals,omitzero"`
	// Waiting is the backlog by age, oldest first, as far as ages are known or follow from the arrivals; at most
	// [MaxGroups] groups.
	Waiting []Waiting `json:"waiting,omitzero"`
	// Retrying is how many messages in flight no worker has held for the last ten seconds, or for the round trip of
	// reports where that is longer: they failed, or their worker was lost, and they wait until they become visible
	// again. It is 0 where workers do not report. A queue that tells what waits for a retry has it count at once.
	Retrying float64 `json:"retrying,omitzero"`
	// Coming are the members that were launched and take no messages yet, oldest first; at most [MaxGroups] groups.
	Coming []Coming `json:"coming,omitzero"`
	// Pace is how much work was done lately.
	Pace Pace `json:"pace,omitzero"`
	// Progress is how the work goes, failures among it; it is nil in observations from before there was one, and never
	// changed.
	Progress *Progress `json:"progress,omitzero"`
	// Launches is what was learned about launching.
	Launches Launches `json:"launches"`
	// Forecast is how fast messages are expected to come; it is zero for a fleet without a forecast.
	Forecast Forecast `json:"forecast,omitzero"`
	// Expected is what running trees are expected to send; it is nil while none runs, and never changed.
	Expected *Expected `json:"expected,omitzero"`
	// Metrics are the series that a metric-math policy reads beside what else is here, by key, at most
	// [metrics.MaxSeries]: of metrics that another system keeps whatever was read of them, of our own the periods
	// that are past.
	Metrics []metrics.Series `json:"metrics,omitzero"`
	// Drift is what others have made of the size of the fleet's own service; it is nil for nothing, and never changed.
	Drift *Drift `json:"drift,omitzero"`
	// Notes are those of the fleet's own service, for a person; no policy reads them.
	Notes []string `json:"notes,omitzero"`
}

// Forecast is how fast messages are expected to come, by what came at the same time of days or weeks before. All rates
// are in messages per second.
type Forecast struct {
	// Known is false while too little is known to tell. Used is true while the forecast, tested on what came in the
	// past week, missed by clearly less than going by the last minutes would have. Reason says why not; it is empty
	// when Used.
	Known  bool   `json:"known"`
	Used   bool   `json:"used"`
	Reason string `json:"reason,omitzero"`
	// Season is what repeats: "day" or "week".
	Season string `json:"season,omitzero"`
	// PerSecond is the most that is expected within AheadSeconds, LatelyPerSecond the most that was to be expected for
	// the past hour. Three times out of four no more came than PerSecond and ErrorPerSecond.
	AheadSeconds    float64 `json:"ahead_s"`
	PerSecond       float64 `json:"per_s"`
	LatelyPerSecond float64 `json:"lately_per_s"`
	ErrorPerSecond  float64 `json:"error_per_s"`
	// Tested is how many quarters of an hour were tested. MissPerSecond is by how much the forecast missed on average,
	// where too little counts three quarters and too much one; ReactingMissPerSecond is the same for going by the
	// quarter before.
	Tested                int     `json:"tested"`
	MissPerSecond         float64 `json:"miss_per_s"`
	ReactingMissPerSecond float64 `json:"reacting_miss_per_s"`
}

// Class is what is known of the messages of one class.
type Class struct {
	Name string `json:"name"`
	// Share is its share of the messages that ended during the last two minutes, or, when none did, of all that were
	// measured: 0 to 1. Finished is how many of it ended during the last two minutes.
	Share    float64 `json:"share"`
	Finished float64 `json:"finished"`
	// Processing is what was learned about its processing durations.
	Processing Estimate `json:"processing"`
}

// MaxGroups bounds the groups by age in an observation.
const MaxGroups = 32

// Waiting is a group of waiting messages of about one age.
type Waiting struct {
	// AgeSeconds is the age of the oldest of them.
	AgeSeconds float64 `json:"age_s"`
	Messages   float64 `json:"messages"`
}

// Coming is a group of members that were launched together.
type Coming struct {
	// AgeSeconds is how long ago.
	AgeSeconds float64 `json:"age_s"`
	Members    int     `json:"members"`
	// Warm is how many of them come from the warm pool.
	Warm int `json:"warm,omitzero"`
}

// Pool is a warm pool: launches take members from it as long as it has some.
type Pool struct {
	// Ready is how many it can start now; 0 while that is not known.
	Ready int `json:"ready"`
	// Boot is what was learned about the boot times of members from it; it is not known before the first was measured.
	Boot Estimate `json:"boot"`
}

// Pace is the work done during the last two minutes: so many messages were finished, which took so many seconds of
// slots in all. Attempts that failed are not in it: they are in [Progress.Failing].
type Pace struct {
	Finished float64 `json:"finished"`
	Seconds  float64 `json:"seconds"`
}

// Arrivals are the rates at which messages came to the queues of a fleet, in messages per second, over the time that
// just passed. A rate over more time than was observed is over what was observed.
type Arrivals struct {
	// Known is false while too little was observed to tell.
	Known bool `json:"known"`
	// TenSeconds, Minute, FiveMinutes, TwentyMinutes and Hour are the rates over so long.
	TenSeconds    float64 `json:"ten_seconds_per_s,omitzero"`
	Minute        float64 `json:"minute_per_s,omitzero"`
	FiveMinutes   float64 `json:"five_minutes_per_s,omitzero"`
	TwentyMinutes float64 `json:"twenty_minutes_per_s,omitzero"`
	Hour          float64 `json:"hour_per_s,omitzero"`
	// QuietSeconds is for how long nothing has come, to five seconds; 0 where something came just now or nothing was
	// counted.
	QuietSeconds float64 `json:"quiet_s,omitzero"`
	// WatchedSeconds is for how long arrivals have been counted, an hour at most.
	WatchedSeconds float64 `json:"watched_s,omitzero"`
	// Busiest says how many messages came at the busiest times, shortest windows first; it is of as far back as
	// arrivals are kept.
	Busiest []Busiest `json:"busiest,omitzero"`
}

// Busiest is how many messages came within a window of time at the busiest times: room for so many in every window of
// that length would have been room for the share [Objective].Quantile of all messages.
type Busiest struct {
	OverSeconds float64 `json:"over_s"`
	Messages    float64 `json:"messages"`
	// Rooms is the same for smaller shares of all messages: those of [RoomShares], as far as they are below the
	// quantile.
	Rooms [4]float64 `json:"rooms,omitzero"`
}

// RoomShares are the shares of all messages that [Busiest.Rooms] are for.
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
	// Sent counts the messages ever sent to the queue, where the source knows it; it starts anew when the queue does.
	Sent Sample `json:"sent,omitzero"`
	// Retrying counts those in flight that a worker gave back and that are not visible yet, where the source knows it:
	// they wait for their retry and no worker holds them. OldestRetry is the time in seconds since the oldest of them
	// was sent, 0 without any; RetryAges are all of them by that time, oldest first, at most [MaxGroups] groups.
	Retrying    Sample    `json:"retrying,omitzero"`
	OldestRetry Sample    `json:"oldest_retry_s,omitzero"`
	RetryAges   []Waiting `json:"retry_ages,omitzero"`
	// DeadLetters counts the messages in the queues for dead letters of this one, where the source knows it.
	DeadLetters Sample `json:"dead_letters,omitzero"`
	// LateSeconds is by how much counts and ages may lag behind: they show the queue as it was between so long ago and
	// now. It is 0 where they are exact.
	LateSeconds float64 `json:"late_s,omitzero"`
	// Published is what others publish of the queue; nil for most sources, and never changed.
	Published *Published `json:"published,omitzero"`
}

// Published is what others publish of a queue, where they do.
type Published struct {
	// SentPerSecond and DeletedPerSecond are the rates over the minute before their instant.
	SentPerSecond    Sample `json:"sent_per_s,omitzero"`
	DeletedPerSecond Sample `json:"deleted_per_s,omitzero"`
	// ProcessingMean is the mean processing duration of its messages in seconds.
	ProcessingMean Sample `json:"processing_mean_s,omitzero"`
}

// Value returns what is published; for nil all of it is unknown.
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
	// Desired is the size last asked for, less the workers that left by themselves.
	Desired int `json:"desired"`
	// Ordered were launched and not seen yet; Booting are seen and take no messages yet.
	Ordered int `json:"ordered"`
	Booting int `json:"booting"`
	// Idle and Busy members are in service.
	Idle int `json:"idle"`
	Busy int `json:"busy"`
	// Draining take no more messages; Released were granted their release token and are leaving.
	Draining int `json:"draining"`
	Released int `json:"released"`
	// Lost members went silent: their work is unknown. They are neither capacity nor idle.
	Lost int `json:"lost"`
	// Slots is the number of slots of the members in service, BusySlots those holding a message.
	Slots     int `json:"slots"`
	BusySlots int `json:"busy_slots"`
	// HeldMeanSeconds is how long the messages in progress had been worked on when their workers reported last, on
	// average over the busy workers in service. HeldDeviationSeconds is how far that differs between workers: 0 when
	// all began together.
	HeldMeanSeconds      float64 `json:"held_mean_s,omitzero"`
	HeldDeviationSeconds float64 `json:"held_deviation_s,omitzero"`
	// SlotsPerWorker is the mean over reporting workers, or the configured number while none reports. It is above 0.
	SlotsPerWorker float64 `json:"slots_per_worker"`
}

// InService returns the number of members whose workers take messages.
func (c Capacity) InService() int { return c.Idle + c.Busy }

// Pending returns the number of members that were asked for and do not take messages yet, those not even launched
// included: S3's "desired less running".
func (c Capacity) Pending() int { return max(0, c.Desired-c.InService()) }

// Live returns the number of members that exist, whatever they do; it counts against the maximum.
func (c Capacity) Live() int {
	return c.Ordered + c.Booting + c.Idle + c.Busy + c.Draining + c.Released + c.Lost
}

// Active returns the members that count towards desired: those in service and those still to come.
func (c Capacity) Active() int { return c.Ordered + c.Booting + c.Idle + c.Busy }

// Launches is what a policy may know about launching.
type Launches struct {
	// LastHour counts launch attempts of the past hour, failed ones too.
	LastHour int `json:"last_hour"`
	// Failed counts the launches in a row whose member ended, or never took a message, before any of its fellows did.
	Failed int `json:"failed"`
	// RetryAt is when the next launch may be tried after a failure; zero when there is nothing to wait for.
	RetryAt time.Time `json:"retry_at,omitzero"`
	// LastError says why the last launch failed.
	LastError string `json:"last_error,omitzero"`
}

// Total adds up one count over all queues. It is unknown if it is unknown for any queue, and for a fleet without
// queues.
func (o Observation) Total(count func(QueueObservation) Sample) Sample {
	return total(o.At, o.Queues, func(q *QueueObservation) Sample { return count(*q) })
}

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

// Room returns how many more members may exist: every member counts against the maximum, whatever it does.
func (o Observation) Room() int { return max(0, o.Limits.Max-o.Capacity.Live()) }

// Pending returns the members that are still to come: asked for and not in service, as far as there is room for them.
// Members that drain or went silent hold their places, and no worker comes for those.
func (o Observation) Pending() int {
	c := o.Capacity
	return min(c.Pending(), c.Ordered+c.Booting+o.Room())
}

// LateSeconds returns by how much the counts of any queue may lag behind at most.
func (o Observation) LateSeconds() float64 {
	late := 0.0
	for _, q := range o.Queues {
		late = max(late, q.LateSeconds)
	}
	return late
}

// OldestAge returns the age in seconds of the oldest waiting message of all queues.
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

// Metric returns the series of a key, and whether there is one.
func (o Observation) Metric(key string) (metrics.Series, bool) {
	for _, s := range o.Metrics {
		if s.Key == key {
			return s, true
		}
	}
	return metrics.Series{}, false
}
