package protocol

import (
	"time"

	"github.com/muster-scale/muster/series"
)

// WorkerState is the state that a worker reports.
type WorkerState string

// The worker's states. A worker only ever moves Starting -> Receiving -> Draining -> Idle -> Leaving, or back from
// Draining or Idle to Receiving under a new lease epoch.
const (
	// Starting: not ready for messages yet.
	Starting WorkerState = "starting"
	// Receiving: takes messages, or is full.
	Receiving WorkerState = "receiving"
	// Draining: takes no more messages and still has some in progress.
	Draining WorkerState = "draining"
	// Idle: takes no more messages and has none in progress; the report carries a release token.
	Idle WorkerState = "idle"
	// Leaving: its release was granted, or it must stop at once; it is ending.
	Leaving WorkerState = "leaving"
)

// Cause says why a worker stopped receiving.
type Cause string

// The causes.
const (
	// Asked: a directive told it to drain.
	Asked Cause = "asked"
	// IdleTooLong: no message came for the configured time.
	IdleTooLong Cause = "idle_too_long"
	// EndOfBilling: no message waits, and the paid period ends soon.
	EndOfBilling Cause = "end_of_billing"
	// Signalled: an operator or the system told the process to end.
	Signalled Cause = "signalled"
)

// Report is the state of a worker. It is sent at every change of state and at regular intervals. A worker without
// recent reports is unknown, never idle.
type Report struct {
	Fleet  string `json:"fleet"`
	Member string `json:"member"`
	// Worker names the worker; on a member with one worker it is the member's id.
	Worker string `json:"worker"`
	// Epoch is the lease epoch: it grows each time the worker begins to receive. A token counts only in its own epoch.
	Epoch int64 `json:"epoch"`
	// Seq grows with every report of a worker process; a report that comes late or twice is ignored.
	Seq int64 `json:"seq"`
	// At is stamped by the receiver. SentAt is the worker's own clock and only a hint.
	At     time.Time   `json:"at,omitzero"`
	SentAt time.Time   `json:"sent_at,omitzero"`
	State  WorkerState `json:"state"`
	Cause  Cause       `json:"cause,omitzero"`
	// Slots is how many messages the worker handles at once, Busy how many are in progress: 0 <= Busy <= Slots.
	Slots int `json:"slots"`
	Busy  int `json:"busy"`
	// HeldSeconds adds up how long each message has been in progress.
	HeldSeconds float64 `json:"held_s,omitzero"`
	// Token is the release token, only with State Idle.
	Token string `json:"token,omitzero"`
	// Challenge repeats that of the newest answer. A token counts only together with the controller's current
	// challenge. A report from before the controller started does not know it, however late it arrives.
	Challenge int64 `json:"challenge,omitzero"`
	// Finished counts the finished messages, and Failed the failed attempts, that no earlier report counted. Processing
	// holds the durations of finished messages, Failing those of failed attempts. Older workers, without Failing, have
	// both in Processing.
	Finished   int64            `json:"finished,omitzero"`
	Failed     int64            `json:"failed,omitzero"`
	Processing series.Durations `json:"processing,omitzero"`
	Failing    series.Durations `json:"failing,omitzero"`
	// InSystem holds the times from sent to finished, for those messages in Finished whose send time is known.
	InSystem series.Durations `json:"in_system,omitzero"`
	// Classes holds the durations in Processing by class of message: at most MaxClasses classes and OtherClass.
	Classes map[string]series.Durations `json:"classes,omitzero"`
	// Usage is the processor time and memory of the work that ended; nil if it was not measured.
	Usage *Usage `json:"usage,omitzero"`
	// Unanswered repeats the counts of earlier reports without an answer, oldest first: at most MaxUnanswered. The
	// receiver counts those whose Seq is above that of every report it has processed.
	Unanswered []Tally `json:"unanswered,omitzero"`
	// Incidents are the problems since the worker started, sorted by kind: at most MaxIncidents.
	Incidents []Incident `json:"incidents,omitzero"`
	// Retries are the messages of this worker that wait for their retry; nil from workers that do not report them.
	Retries *Retries `json:"retries,omitzero"`
	// LastFailure is the newest failed attempt since the worker started; nil for none.
	LastFailure *LastFailure `json:"last_failure,omitzero"`
}

// Retries are the messages that one worker returned to the queue and that are not visible again yet.
type Retries struct {
	Messages int64 `json:"messages"`
	// OldestSeconds is the age of the oldest of them, in seconds; 0 without any, or if unknown.
	OldestSeconds float64 `json:"oldest_s,omitzero"`
}

// LastFailure is the newest failed attempt at a message.
type LastFailure struct {
	// At is when it ended, by the worker's clock.
	At time.Time `json:"at"`
	// Error says why, at most [MaxErrorBytes] long.
	Error string `json:"error"`
}

// MaxErrorBytes bounds [LastFailure.Error].
const MaxErrorBytes = 400

// Tally returns the counts of r, without those of earlier reports.
func (r *Report) Tally() Tally {
	return Tally{
		Seq: r.Seq, Finished: r.Finished, Failed: r.Failed, Processing: r.Processing,
		Failing: r.Failing, InSystem: r.InSystem, Classes: r.Classes, Usage: r.Usage,
	}
}

// Tally holds the counts of one report.
type Tally struct {
	// Seq is the number of the first report with these counts.
	Seq int64 `json:"seq"`
	// The other fields are those of the report.
	Finished   int64                       `json:"finished,omitzero"`
	Failed     int64                       `json:"failed,omitzero"`
	Processing series.Durations            `json:"processing,omitzero"`
	Failing    series.Durations            `json:"failing,omitzero"`
	InSystem   series.Durations            `json:"in_system,omitzero"`
	Classes    map[string]series.Durations `json:"classes,omitzero"`
	Usage      *Usage                      `json:"usage,omitzero"`
}

const (
	// MaxUnanswered bounds the earlier reports that a report repeats.
	MaxUnanswered = 16
	// MaxClasses bounds the classes in one report, without OtherClass.
	MaxClasses = 16
	// OtherClass is the class of messages whose own has no usable name, or exceeded MaxClasses.
	OtherClass = "other"
)
