package learning

import (
	"time"

	"github.com/muster-scale/muster/series"
	"github.com/muster-scale/muster/worker/protocol"
)

// Learned is the body of a [muster.Learned] record: the measurements since the record before. The field names are part
// of the format of the history.
type Learned struct {
	// Processing are the durations of finished messages, Boots the boot times of members.
	Processing series.Durations `json:"processing,omitzero"`
	Boots      series.Durations `json:"boots,omitzero"`
	// WarmBoots are the boot times of members from a warm pool, which Boots does not have.
	WarmBoots series.Durations `json:"warm_boots,omitzero"`
	// Classes are the durations of messages with a class, by class.
	Classes map[string]series.Durations `json:"classes,omitzero"`
	// Crowded are the durations by the number of messages in progress, for members that share a machine.
	Crowded []Crowded `json:"crowded,omitzero"`
	// Arrived messages came since Since, over all queues. Sent is the total that each queue had counted by then.
	Arrived float64            `json:"arrived,omitzero"`
	Since   time.Time          `json:"since,omitzero"`
	Sent    map[string]float64 `json:"sent,omitzero"`
	// Finished is the total of finished messages by then.
	Finished float64 `json:"finished,omitzero"`
	// Counted is true if the total of every queue was known at the instant of the record. Only fleets with a forecast
	// set it.
	Counted bool `json:"counted,omitzero"`
	// Came are the arrivals by five minutes, in a record that the history folded from several. It has Arrived and Since
	// only for messages that came while nobody looked for more than ten minutes.
	Came []series.Came `json:"came,omitzero"`
	// Ended counts finished messages whose sending time is known, InTime those of them that were in time.
	Ended  float64 `json:"ended,omitzero"`
	InTime float64 `json:"in_time,omitzero"`
	// Failed counts failed attempts. Failing are their durations, which Processing does not have.
	Failed  int64            `json:"failed,omitzero"`
	Failing series.Durations `json:"failing,omitzero"`
	// Dead counts messages that became dead letters.
	Dead float64 `json:"dead,omitzero"`
	// Usage is the measured processor time and memory of the work. It changes no decision: package advice reads it.
	Usage protocol.Usage `json:"usage,omitzero"`
}

// unrecorded are the measurements since the last record, as a [Learned] in little memory: a step copies them. The
// fields of the same names are those that most fleets measure.
type unrecorded struct {
	Processing    series.Durations
	Arrived       float64
	Since         time.Time
	Ended, InTime float64
	// others has the other fields; nil while they are empty. It is replaced, never changed.
	others *Learned
}

// change returns the other fields, which the caller may change.
func (u *unrecorded) change() *Learned {
	var l Learned
	if u.others != nil {
		l = *u.others
	}
	u.others = &l
	return &l
}

// empty tells whether there is nothing to record.
func (u *unrecorded) empty() bool {
	return u.Processing.Count == 0 && u.Arrived == 0 && u.Ended == 0 && (u.others == nil || u.others.empty())
}

// learned returns the measurements for a record.
func (u *unrecorded) learned() (l Learned) {
	if u.others != nil {
		l = *u.others
	}
	l.Processing, l.Arrived, l.Since, l.Ended, l.InTime = u.Processing, u.Arrived, u.Since, u.Ended, u.InTime
	return l
}

// empty tells whether there is nothing to record.
func (l Learned) empty() bool {
	return l.Processing.Count == 0 && l.Boots.Count == 0 && l.WarmBoots.Count == 0 && l.Arrived == 0 && !l.Counted &&
		l.Ended == 0 && l.Failed == 0 && l.Failing.Count == 0 && l.Dead == 0 && l.Usage.Calls == 0
}
