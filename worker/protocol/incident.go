package protocol

// IncidentKind says what went wrong at a worker.
type IncidentKind string

// The kinds of incidents. Workers of a later version may report others.
const (
	// ProtectionFailed: the protection from scale-in could not be changed, or ran out: the member may be ended while
	// busy.
	ProtectionFailed IncidentKind = "protection"
	// LeaseLost: the hold on a message was lost while it was worked on, so that it is worked on again.
	LeaseLost IncidentKind = "lease_lost"
	// DeleteFailed: a message that is done could not be deleted, so that it is worked on again.
	DeleteFailed IncidentKind = "delete"
	// ReportFailed: a report to somewhere else than the controller was not taken.
	ReportFailed IncidentKind = "report"
	// HookFailed: the lifecycle hook that keeps the member could not be extended.
	HookFailed IncidentKind = "hook"
	// EndpointDown: nothing listens where the work is done, so that no message is received.
	EndpointDown IncidentKind = "endpoint"
)

const (
	// MaxIncidents bounds the kinds of incidents in one report.
	MaxIncidents = 8
	// MaxIncidentKind bounds the length of a kind, in bytes.
	MaxIncidentKind = 32
	// MaxIncidentText bounds what is said of one, in bytes.
	MaxIncidentText = 200
)

// Incident is what went wrong at a worker and shows in nothing else that it reports. It holds no part of a message but
// its id.
type Incident struct {
	Kind IncidentKind `json:"kind"`
	// Count is how often since the worker started; above zero.
	Count int64 `json:"count"`
	// Text says what happened last, on one line of at most MaxIncidentText bytes.
	Text string `json:"text"`
}
