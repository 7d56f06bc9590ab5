package muster

import "time"

// Progress is the state of a fleet's work over all its queues: messages in progress, waiting for retry, failed and
// late. A number that nothing measures is an unknown sample, never 0.
type Progress struct {
	// Working counts the messages in progress at workers.
	Working Sample `json:"working,omitzero"`
	// Retrying counts the messages waiting for retry: they failed and are not visible again yet, no worker holds them
	// and none can receive them. Some queues count them exactly; for other queues the number follows from worker
	// reports. OldestRetry is the time in seconds since the oldest of them was sent, 0 if there is none.
	Retrying    Sample `json:"retrying,omitzero"`
	OldestRetry Sample `json:"oldest_retry_s,omitzero"`
	// DeadLetters counts the messages in the dead-letter queues.
	DeadLetters Sample `json:"dead_letters,omitzero"`
	// Late counts the messages that are late already: those in the backlog or waiting for retry whose age exceeds the
	// objective, and those that a worker has held for longer than the objective. It is a lower bound, because the full
	// age of messages in progress is unknown.
	Late Sample `json:"late,omitzero"`
	// Held counts the late messages that a worker holds; hanging work is among them. HeldLongest is how long the
	// longest of them had been held at its worker's last report, in seconds. HeldBy is that worker's member.
	Held        int     `json:"held_late,omitzero"`
	HeldLongest float64 `json:"held_longest_s,omitzero"`
	HeldBy      string  `json:"held_by,omitzero"`
	// InTime is the share, 0 to 1, of the last hour's messages that were in time. Ended is the number of those
	// messages: the finished ones, the ones that became dead letters, and Late. InTime is unknown while there are none.
	InTime Sample  `json:"in_time,omitzero"`
	Ended  float64 `json:"ended_last_hour"`
	// Failed counts the failed attempts of the last [FailedOver], Finished the finished messages.
	Failed   float64 `json:"failed_lately"`
	Finished float64 `json:"finished_lately"`
	// Failing estimates the duration of failing attempts. They occupy slots and finish no message, so they are not in
	// [Observation].Processing.
	Failing Estimate `json:"failing,omitzero"`
	// LastError is the error of the last failed attempt, if workers report it. LastErrorAt is its time by the worker's
	// clock.
	LastError   string    `json:"last_error,omitzero"`
	LastErrorAt time.Time `json:"last_error_at,omitzero"`
}

// FailedOver is the window of [Progress].Failed and [Progress].Finished.
const FailedOver = 5 * time.Minute

// FailingShare returns the share, 0 to 1, of the attempts that ended in the last [FailedOver] and failed.
func (w Progress) FailingShare() float64 { return w.Failed / max(1, w.Failed+w.Finished) }

// Value returns *w, or for nil a Progress whose samples are all unknown.
func (w *Progress) Value() Progress {
	if w == nil {
		return Progress{}
	}
	return *w
}

// Oldest returns the time in seconds since the oldest message in the backlog or waiting for retry was sent. If only one
// of the two is known and above 0, Oldest returns that one: it is a lower bound.
func (o Observation) Oldest() Sample {
	visible, retry := o.OldestAge(), o.Progress.Value().OldestRetry
	switch {
	case retry.Known && (retry.Value > visible.Value || !visible.Known && retry.Value > 0):
		return retry
	case !visible.Known:
		return visible
	case visible.Value == 0 && o.Progress != nil && !retry.Known && o.Progress.Retrying.Value > 0:
		return Unknown(visible.At, "messages wait for retry, and their age is unknown")
	}
	return visible
}
