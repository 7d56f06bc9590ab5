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
	// Messages were sent, children included; InTime of them finished within the objective.
	Messages    int64   `json:"messages"`
	InTime      int64   `json:"in_time"`
	InTimeRatio float64 `json:"in_time_ratio"`
	// P50, P95 and P99 are of the times from sent to finished, within 0.4 %. Messages that never finished count as
	// infinitely late, which is written as the longest time there is: the run's.
	P50 float64 `json:"p50_s"`
	P95 float64 `json:"p95_s"`
	P99 float64 `json:"p99_s"`
	// WorkerSeconds is what was paid for: from the launch of each member to its end, by the bill's rules.
	WorkerSeconds float64 `json:"worker_seconds"`
	// Clairvoyant is a lower bound of what any schedule pays that keeps the objective, Method the proof it comes from,
	// and Ratio the quotient; they are zero until somebody computes the bound.
	Clairvoyant float64 `json:"clairvoyant_worker_seconds"`
	Method      string  `json:"clairvoyant_method"`
	Ratio       float64 `json:"ratio"`
	// PeakWorkers is the largest number of members at a time, Launches the number of launch attempts, ScaleEvents how
	// often the size asked for changed, Reversals how often it changed direction.
	PeakWorkers int `json:"peak_workers"`
	Launches    int `json:"launches"`
	ScaleEvents int `json:"scale_events"`
	Reversals   int `json:"reversals"`
	// Cost is WorkerSeconds in hours, times the price of an hour.
	Cost float64 `json:"cost"`
	// LaunchesPerHour is Launches over the length of the run; BootSeconds adds up the boots of all that were launched.
	LaunchesPerHour float64 `json:"launches_per_hour"`
	BootSeconds     float64 `json:"boot_seconds"`
	// LatePrice is what a message costs, in worker-seconds, that is late beyond the share that may be; Loss is
	// WorkerSeconds plus that price for each. Dead letters are not in it: no size of a fleet saves them.
	LatePrice float64 `json:"late_price_s"`
	Loss      float64 `json:"loss_worker_seconds"`
	// BoundCausal is Clairvoyant for schedules that may not launch before the first message; zero until somebody
	// computes it.
	BoundCausal float64 `json:"causal_worker_seconds"`

	// MeanWait is the mean time from sent to the last receive, MeanTime from sent to finished.
	MeanWait float64 `json:"mean_wait_s"`
	MeanTime float64 `json:"mean_time_s"`
	// BusySeconds are the seconds that slots held a message, Dead the messages that ended as dead letters, Unfinished
	// those that nobody finished before the run was given up.
	BusySeconds float64 `json:"busy_seconds"`
	Dead        int64   `json:"dead"`
	Unfinished  int64   `json:"unfinished"`
	// Seconds is the length of the run in virtual time, Steps the number of steps of the controller, Records what it
	// recorded.
	Seconds float64 `json:"seconds"`
	Steps   int64   `json:"steps"`
	Records int64   `json:"records"`
	// Faults are the broken promises that were found; a run without any is right.
	Faults []string `json:"faults,omitzero"`
}

// Price fills in what the late messages cost, for workers of the given mean boot time.
func (r *Result) Price(o muster.Objective, boot time.Duration) {
	r.LatePrice = o.PriceOfLate(boot.Seconds(), r.MeanTime-r.MeanWait)
	due := float64(r.Messages - r.Dead)
	late := due - float64(r.InTime)
	r.Loss = r.WorkerSeconds + r.LatePrice*math.Max(0, late-(1-o.Quantile)*due)
}
