package muster

import "time"

// Progress is how the work of a fleet goes, over all its queues: what is in progress, what waits for a retry, what
// failed and what is late. A sample is unknown where nothing tells it, and never 0 instead.
type Progress struct {
	// Working counts the messages that workers hold.
	Working Sample `json:"working,omitzero"`
	// Retrying counts the messages that failed and are not visible again yet: no worker holds them, and none can
	// receive them. A queue that knows its own says it exactly; elsewhere it follows from what workers report, as does
	// OldestRetry, the time in seconds since the oldest of them was sent. That is 0 while none waits for a retry.
	Retrying    Sample `json:"retrying,omitzero"`
	OldestRetry Sample `json:"oldest_retry_s,omitzero"`
	// DeadLetters counts the messages in the queues for dead letters.
	DeadLetters Sample `json:"dead_letters,omitzero"`
	// Late counts the messages that wait, in the backlog or for a retry, for longer than the objective allows, and
	// those that a worker has held for longer than that: at least so many, because the age of those in progress is not
	// known.
	Late Sample `json:"late,omitzero"`
	// Held counts those of Late that a worker holds: work that hangs is among them. HeldLongest is how long the one
	// that was held longest had been held, in seconds, when its worker reported last, and HeldBy the worker's member.
	Held        int     `json:"held_late,omitzero"`
	HeldLongest float64 `json:"held_longest_s,omitzero"`
	HeldBy      string  `json:"held_by,omitzero"`
	// InTime is the share of the messages of the last hour that were in time, 0 to 1, of Ended: those finished during
	// that hour, those that became dead letters, and those of Late. It is unknown while there are none.
	InTime Sample  `json:"in_time,omitzero"`
	Ended  float64 `json:"ended_last_hour"`
	// Failed is how many attempts failed during [FailedOver] until now, and Finished how many messages were finished.
	Failed   float64 `json:"failed_lately"`
	Finished float64 `json:"finished_lately"`
	// Failing is what was learned about how long attempts take that fail. They occupy slots and get no work done, so
	// they are not in [Observation.Processing].
	Failing Estimate `json:"failing,omitzero"`
	// LastError is why the last attempt failed, as far as workers tell it, at the instant LastErrorAt by the worker's
	// clock.
	LastError   string    `json:"last_error,omitzero"`
	LastErrorAt time.Time `json:"last_error_at,omitzero"`
}

// FailedOver is the time that [Progress.Failed] and [Progress.Finished] count.
const FailedOver = 5 * time.Minute

// Value returns how the work goes; for nil all of it is unknown.
func (w *Progress) Value() Progress {
	if w == nil {
		return Progress{}
	}
	return *w
}

// Oldest returns the time in seconds since the oldest message was sent that waits, in the backlog or for a retry. Where
// only one of the two is known it is that, if it is above 0: the oldest message is at least so old.
func (o Observation) Oldest() Sample {
	visible, retry := o.OldestAge(), o.Progress.Value().OldestRetry
	switch {
	case retry.Known && (retry.Value > visible.Value || !visible.Known && retry.Value > 0):
		return retry
	case !visible.Known:
		return visible
	case visible.Value == 0 && o.Progress != nil && !retry.Known && o.Progress.Retrying.Value > 0:
		return Unknown(visible.At, "messages wait for a retry, and their age is not known")
	}
	return visible
}
