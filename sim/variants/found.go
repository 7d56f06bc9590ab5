package variants

import "time"

// The kinds of a [Run].
const (
	// Recorded is what really happened, and no simulation.
	Recorded = "recorded"
	Present  = "present"
	Changed  = "changed"
	Other    = "other"
)

// Found is the answer, as muster replay -o json prints it.
type Found struct {
	Fleet string    `json:"fleet"`
	From  time.Time `json:"from"`
	To    time.Time `json:"to"`
	// Messages is how many messages were replayed.
	Messages int64 `json:"messages"`
	// Objective and Quantile are those of the present configuration.
	ObjectiveSeconds float64 `json:"objective_s"`
	Quantile         float64 `json:"quantile"`
	// Notes say how the messages were reconstructed, and what is not simulated.
	Notes []string `json:"notes"`
	// Runs are what really happened where that is known, the present configuration, the changed one if there is one,
	// and the others in the order of the request.
	Runs []Run `json:"runs"`
	// Bound is a lower bound of the cost of any scheduler that meets the objective; absent if it was not asked for.
	Bound *Bound `json:"bound,omitzero"`
	// YAML is the changed fleet as a part of a configuration; empty without a change of it.
	YAML string `json:"yaml"`
}

// Run is what one configuration or autoscaler came to. A figure that is unknown is nil, and null in JSON.
type Run struct {
	// Name is the name of the policy. Kind is [Recorded], [Present], [Changed] or [Other].
	Name string `json:"name"`
	Kind string `json:"kind"`
	// InTime is the share of messages in time, and P50, P95 and P99 are quantiles of the time from sent to finished.
	InTime *float64 `json:"in_time"`
	P50    *float64 `json:"p50_s"`
	P95    *float64 `json:"p95_s"`
	P99    *float64 `json:"p99_s"`
	// WorkerHours is what is paid for. Cost is their price; nil without a price.
	WorkerHours *float64 `json:"worker_hours"`
	Cost        *float64 `json:"cost"`
	ScaleEvents *int     `json:"scale_events"`
	Launches    *int     `json:"launches"`
	PeakWorkers *int     `json:"peak_workers"`
	// Curves are nil for what really happened: the history has them.
	Curves *Curves `json:"curves"`
	// Failure says why the run is not possible; then no figure is known.
	Failure string `json:"failure,omitzero"`
}

// Bound is a lower bound of the cost.
type Bound struct {
	WorkerHours float64  `json:"worker_hours"`
	Cost        *float64 `json:"cost"`
	// Unreachable says that no scheduler at all meets the objective.
	Unreachable bool `json:"unreachable"`
}
