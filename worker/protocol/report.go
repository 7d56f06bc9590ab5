package protocol

import (
	"time"

	"github.com/muster-scale/muster/series"
)

// WorkerState is what a worker says of itself.
type WorkerState string

// The worker's states. A worker only ever moves Starting -> Receiving -> Draining -> Idle -> Leaving, or back from
// Draining or Idle to Receiving under a new lease epoch.
const (
	// Starting: not ready for messages yet.
	Starting WorkerState = "starting"
	// Receiving: takes messages, or is full.
	Receiving WorkerState = "receiving"
	// Draining: takes no more messages and still holds some.
	Draining WorkerState = "draining"
	// Idle: takes no more messages and holds none; the report carries a release token.
	Idle WorkerState = "idle"
	// Leaving: was granted its release, or must go at once, and ends.
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
	// EndOfBilling: no message waits, and what the member is paid for ends soon.
	EndOfBilling Cause = "end_of_billing"
	// Signalled: an operator or the system told the process to end.
	Signalled Cause = "signalled"
)

// Report is what a worker says, at every change of state and at regular intervals. Silence is unknown, never idle.
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
	// Slots is how many messages the worker handles at once, Busy how many it holds: 0 <= Busy <= Slots.
	Slots int `json:"slots"`
	Busy  int `json:"busy"`
	// HeldSeconds adds up how long each held message has been worked on.
	HeldSeconds float64 `json:"held_s,omitzero"`
	// Token is the release token, only with State Idle.
	Token string `json:"token,omitzero"`
	// Challenge repeats that of the newest answer. A token counts only together with the controller's present
	// challenge: a report from before the controller started, however late it comes, does not know that.
	Challenge int64 `json:"challenge,omitzero"`
	// Finished counts the messages that were finished and that no earlier report counted, Failed the attempts that
	// failed. Processing holds the durations of the former, Failing those of the latter. Workers from before there was
	// Failing have both in Processing.
	Finished   int64            `json:"finished,omitzero"`
	Failed     int64            `json:"failed,omitzero"`
	Processing series.Durations `json:"processing,omitzero"`
	Failing    series.Durations `json:"failing,omitzero"`
	// InSystem holds the times from sent to finished of the messages in Finished whose time of sending is known.
	InSystem series.Durations `json:"in_system,omitzero"`
	// Classes holds the durations in Processing of messages that have a class, by class: at most MaxClasses and one for
	// all others.
	Classes map[string]series.Durations `json:"classes,omitzero"`
	// Unanswered repeats what earlier reports counted for which no answer came, oldest first: at most MaxUnanswered.
	// The receiver counts those whose Seq is above that of every report it took before.
	Unanswered []Tally `json:"unanswered,omitzero"`
	// Incidents is what went wrong since the worker started, sorted by kind: at most MaxIncidents.
	Incidents []Incident `json:"incidents,omitzero"`
	// Retries are the messages that the worker gave back and that are not visible again yet; nil in reports of workers
	// that do not tell.
	Retries *Retries `json:"retries,omitzero"`
	// LastFailure is the newest failed attempt since the worker started; nil for none.
	LastFailure *LastFailure `json:"last_failure,omitzero"`
}

// Retries are the messages that one worker gave back and that are not visible again yet.
type Retries struct {
	Messages int64 `json:"messages"`
	// OldestSeconds is the time since the oldest of them was sent; 0 without any, or where that is not known.
	OldestSeconds float64 `json:"oldest_s,omitzero"`
}

// LastFailure is an attempt at a message that failed.
type LastFailure struct {
	// At is when it ended, by the worker's clock.
	At time.Time `json:"at"`
	// Error says why, at most [MaxErrorBytes] long.
	Error string `json:"error"`
}

// MaxErrorBytes bounds [LastFailure.Error].
const MaxErrorBytes = 400

// Tally is what one report counted.
type Tally struct {
	// Seq is the number of the report that counted it first.
	Seq int64 `json:"seq"`
	// The rest is as in that report.
	Finished   int64                       `json:"finished,omitzero"`
	Failed     int64                       `json:"failed,omitzero"`
	Processing series.Durations            `json:"processing,omitzero"`
	Failing    series.Durations            `json:"failing,omitzero"`
	InSystem   series.Durations            `json:"in_system,omitzero"`
	Classes    map[string]series.Durations `json:"classes,omitzero"`
}

const (
	// MaxUnanswered bounds the earlier reports that a report repeats.
	MaxUnanswered = 16
	// MaxClasses bounds the classes in one report, but for the one that stands for all others.
	MaxClasses = 16
	// OtherClass is the class of messages whose own has no usable name, or came when there was no room for one more.
	OtherClass = "other"
)
