// Package scoring says what a simulated run is judged by. A simulator counts with a [Tally] while the run goes on:
// messages that finished or never will, bills of members, changes of the desired count. At the end [Tally.Result] sums
// up to a [Result], the row that every comparison, tournament, threshold and report reads.
//
// Both simulators count here, package sim and package sim/queueing, so their results can be compared. The package knows
// nothing of queues, fleets or policies. Package sim/limit computes the lower bounds that a Result has room for.
package scoring

import (
	"math"
	"time"

	"github.com/muster-scale/muster"
)

// Result is what a run came to. Times are in seconds.
type Result struct {
	// Policy, Trace and Seed say what was run.
	Policy string `json:"policy"`
	Trace  string `json:"trace"`
	Seed   uint64 `json:"seed"`
	// Messages is how many were sent, children included; InTime of them finished within the latency objective, and
	// InTimeRatio is their share, from 0 to 1.
	Messages    int64   `json:"messages"`
	InTime      int64   `json:"in_time"`
	InTimeRatio float64 `json:"in_time_ratio"`
	// P50, P95 and P99 are quantiles of the times from sent to finished, within 0.4 %. A message that never finished
	// counts as later than any other: a quantile that falls on one is the length of the run.
	P50 float64 `json:"p50_s"`
	P95 float64 `json:"p95_s"`
	P99 float64 `json:"p99_s"`
	// WorkerSeconds is what was paid for: from the launch of each member to its end, by the rules of [Billing].
	WorkerSeconds float64 `json:"worker_seconds"`
	// Bound is a lower bound of the worker-seconds of any schedule that meets the objective, even one that knows
	// the future. Method names its proof, and Ratio is WorkerSeconds over Bound. All three are zero until package
	// sim/limit has computed the bound.
	Bound  float64 `json:"clairvoyant_worker_seconds"`
	Method string  `json:"clairvoyant_method"`
	Ratio  float64 `json:"ratio"`
	// PeakWorkers is the largest number of members at a time, Launches the number of launch attempts. ScaleEvents is
	// how often a decision changed the desired count, Reversals how often a change went the other way than the one
	// before.
	PeakWorkers int `json:"peak_workers"`
	Launches    int `json:"launches"`
	ScaleEvents int `json:"scale_events"`
	Reversals   int `json:"reversals"`
	// Cost is WorkerSeconds in hours, times the price of an hour.
	Cost float64 `json:"cost"`
	// LaunchesPerHour is Launches over the length of the run. BootSeconds is the sum of the boot times of all launches.
	LaunchesPerHour float64 `json:"launches_per_hour"`
	BootSeconds     float64 `json:"boot_seconds"`
	// LatePrice is the price, in worker-seconds, of each message that is late beyond the share that the quantile
	// allows. Loss is WorkerSeconds plus that price for each of them. Dead letters do not count: no fleet saves them.
	LatePrice float64 `json:"late_price_s"`
	Loss      float64 `json:"loss_worker_seconds"`
	// BoundCausal is the lower bound for schedules that launch nothing before the first message; zero until it is
	// computed.
	BoundCausal float64 `json:"causal_worker_seconds"`
	// Unreachable says that no schedule at all meets the objective. The lower bound is then the cost of the work alone.
	Unreachable bool `json:"unreachable,omitzero"`

	// MeanWait is the mean time from sent to the last receive, MeanTime the mean from sent to finished. Both are over
	// the messages that finished.
	MeanWait float64 `json:"mean_wait_s"`
	MeanTime float64 `json:"mean_time_s"`
	// BusySeconds is the sum over all slots of the time in which they handled a message. Dead counts the dead letters,
	// Unfinished the messages that were still in the system when the run was given up.
	BusySeconds float64 `json:"busy_seconds"`
	Dead        int64   `json:"dead"`
	Unfinished  int64   `json:"unfinished"`
	// Seconds is the length of the run in virtual time. Steps counts the steps of the controller, Records the records
	// that it wrote to the history.
	Seconds float64 `json:"seconds"`
	Steps   int64   `json:"steps"`
	Records int64   `json:"records"`
	// Faults are the violated invariants that were found, as texts. Any fault is a bug: see package sim.
	Faults []string `json:"faults,omitzero"`
}

// Price fills in LatePrice and Loss, for members of the given mean boot time. The simulator calls it last, because it
// reads other fields.
func (r *Result) Price(o muster.Objective, boot time.Duration) {
	r.LatePrice = o.PriceOfLate(boot.Seconds(), r.MeanTime-r.MeanWait)
	due := float64(r.Messages - r.Dead)
	late := due - float64(r.InTime)
	r.Loss = r.WorkerSeconds + r.LatePrice*math.Max(0, late-(1-o.Quantile)*due)
}
