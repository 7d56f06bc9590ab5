package protocol

// IncidentKind says what went wrong at a worker.
type IncidentKind string

// The kinds of incidents. Workers of a later version may report others.
const (
	// ProtectionFailed: the scale-in protection could not be changed, or ran out. The member may be stopped while busy.
	ProtectionFailed IncidentKind = "protection"
	// LeaseLost: the lease on a message in progress was lost, so another worker repeats the work.
	LeaseLost IncidentKind = "lease_lost"
	// DeleteFailed: a finished message could not be deleted, so the work is repeated.
	DeleteFailed IncidentKind = "delete"
	// ReportFailed: a digest to a destination, other than the controller, failed.
	ReportFailed IncidentKind = "report"
	// HookFailed: the lifecycle hook that keeps the machine could not be extended.
	HookFailed IncidentKind = "hook"
	// EndpointDown: nothing listens at the endpoint that does the work, so nothing is received.
	EndpointDown IncidentKind = "endpoint"
)

const (
	// MaxIncidents bounds the kinds of incidents in one report.
	MaxIncidents = 8
	// MaxIncidentKind bounds the length of a kind, in bytes.
	MaxIncidentKind = 32
	// MaxIncidentText bounds the text of an incident, in bytes.
	MaxIncidentText = 200
)

// Incident is a problem at a worker that the rest of its report does not show. It holds no part of a message but its
// id.
type Incident struct {
	Kind IncidentKind `json:"kind"`
	// Count is how often it occurred since the worker started; above zero.
	Count int64 `json:"count"`
	// Text describes the last occurrence, on one line of at most MaxIncidentText bytes.
	Text string `json:"text"`
}
