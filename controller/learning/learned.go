package learning

import (
	"time"

	"github.com/muster-scale/muster/series"
)

// Learned is the body of a [muster.Learned] record: what was measured since the one before.
type Learned struct {
	Processing series.Durations `json:"processing,omitzero"`
	Boots      series.Durations `json:"boots,omitzero"`
	// WarmBoots are those of members from a warm pool, which Boots has not.
	WarmBoots series.Durations `json:"warm_boots,omitzero"`
	// Classes are the durations of those that have a class, by class.
	Classes map[string]series.Durations `json:"classes,omitzero"`
	// Crowded are the durations by how many messages were in progress meanwhile, by level; of members that share a
	// machine.
	Crowded []Crowded `json:"crowded,omitzero"`
	// Arrived messages came from Since on, over all queues. Sent is how many each queue had counted in all by then.
	Arrived float64            `json:"arrived,omitzero"`
	Since   time.Time          `json:"since,omitzero"`
	Sent    map[string]float64 `json:"sent,omitzero"`
	// Finished is how many messages were finished in all by then.
	Finished float64 `json:"finished,omitzero"`
	// Counted is true where it was known, at the instant of the record, what every queue had counted. Only fleets with
	// a forecast say so.
	Counted bool `json:"counted,omitzero"`
	// Came is when they came, in a record that the history folded from others, which has no Since any more.
	Came []series.Came `json:"came,omitzero"`
	// Ended messages were finished whose time of sending is known, InTime of them in time.
	Ended  float64 `json:"ended,omitzero"`
	InTime float64 `json:"in_time,omitzero"`
	// Failed attempts failed, and Failing are their durations, which Processing has not.
	Failed  int64            `json:"failed,omitzero"`
	Failing series.Durations `json:"failing,omitzero"`
	// Dead messages became dead letters.
	Dead float64 `json:"dead,omitzero"`
}

// empty tells whether there is nothing to record.
func (l Learned) empty() bool {
	return l.Processing.Count == 0 && l.Boots.Count == 0 && l.WarmBoots.Count == 0 && l.Arrived == 0 && !l.Counted &&
		l.Ended == 0 && l.Failed == 0 && l.Failing.Count == 0 && l.Dead == 0
}
