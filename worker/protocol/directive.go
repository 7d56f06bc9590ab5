package protocol

import "time"

// Ask is what a directive tells a worker to do.
type Ask string

// The asks.
const (
	// Work: take messages; a worker that is draining or idle begins to receive again.
	Work Ask = "work"
	// Drain: take no more messages, finish those in progress, then mint a release token.
	Drain Ask = "drain"
	// Leave: the release of the token is granted; end.
	Leave Ask = "leave"
)

// Directive is the reply to a report.
type Directive struct {
	Ask Ask `json:"ask"`
	// Token is the granted token with Leave; a worker obeys Leave only for its own token. With Work it is the refused
	// token: the controller with that challenge never grants it.
	Token string `json:"token,omitzero"`
	// Challenge is a number below 2^53 that the controller made when it first heard of the worker. The worker's reports
	// repeat it.
	Challenge int64 `json:"challenge,omitzero"`
	// IdleStop, with Work, lets the worker become ready to stop once it was without a message for so long, in
	// nanoseconds, if that is sooner than its own configuration says; zero leaves it to the configuration.
	IdleStop time.Duration `json:"idle_stop_ns,omitzero"`
	// ReportWithin is how soon the worker should report again, in nanoseconds; zero leaves it to the worker.
	ReportWithin time.Duration `json:"report_within_ns,omitzero"`
}
