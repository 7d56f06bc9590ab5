package sim

import (
	"cmp"
	"math"
	"math/bits"
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

// score counts what a run comes to.
type score struct {
	objective      int64
	times          times
	inTime, late   int64
	sumWait, sum   float64 // nanoseconds
	billed         float64 // seconds
	peak           int
	events, turns  int
	lastDirection  int
	messages, dead int64
}

// finished counts a message by its time in the system and how much of it was spent waiting.
func (s *score) finished(inSystem, waited int64) {
	s.messages++
	if inSystem <= s.objective {
		s.inTime++
	}
	s.times.add(inSystem)
	s.sumWait += float64(waited)
	s.sum += float64(inSystem)
}

// lost counts a message that will never finish.
func (s *score) lost() { s.dead++ }

// bill adds what a member costs that lived so long.
func (s *score) bill(lived time.Duration, w World) {
	paid := max(lived, w.MinimumBill)
	if w.BillStep > 0 {
		paid = (paid + w.BillStep - 1) / w.BillStep * w.BillStep
	}
	s.billed += paid.Seconds()
}

// decided counts changes of the size.
func (s *score) decided(previous, desired int) {
	direction := cmp.Compare(desired, previous)
	if direction == 0 {
		return
	}
	s.events++
	if s.lastDirection == -direction {
		s.turns++
	}
	s.lastDirection = direction
}

// result sums up. unfinished messages are those still in the system after end.
func (s *score) result(end time.Duration, unfinished int64, price float64) Result {
	all := s.messages + s.dead + unfinished
	never := s.dead + unfinished
	res := Result{
		Messages: all, InTime: s.inTime, PeakWorkers: s.peak, ScaleEvents: s.events, Reversals: s.turns,
		WorkerSeconds: s.billed, Cost: s.billed / 3600 * price, Dead: s.dead, Unfinished: unfinished,
		Seconds: end.Seconds(),
	}
	if all > 0 {
		res.InTimeRatio = float64(s.inTime) / float64(all)
	}
	quantile := func(q float64) float64 {
		rank := int64(math.Ceil(q * float64(all)))
		if rank > all-never {
			return end.Seconds()
		}
		return s.times.at(rank).Seconds()
	}
	if all > 0 {
		res.P50, res.P95, res.P99 = quantile(0.5), quantile(0.95), quantile(0.99)
	}
	if s.messages > 0 {
		res.MeanWait, res.MeanTime = s.sumWait/float64(s.messages)/1e9, s.sum/float64(s.messages)/1e9
	}
	return res
}

// price fills in what the late messages cost, for workers of the given mean boot time.
func (r *Result) price(o muster.Objective, boot time.Duration) {
	r.LatePrice = o.PriceOfLate(boot.Seconds(), r.MeanTime-r.MeanWait)
	due := float64(r.Messages - r.Dead)
	late := due - float64(r.InTime)
	r.Loss = r.WorkerSeconds + r.LatePrice*math.Max(0, late-(1-o.Quantile)*due)
}

// times is a histogram of durations of any length, exact below 256 ns and within 1/256 above: the eight bits below the
// leading one choose the bucket. It needs no logarithm, so it is the same on every machine.
type times struct {
	buckets [57 * 256]int64
}

func (t *times) add(ns int64) { t.buckets[bucket(max(0, ns))]++ }

func bucket(ns int64) int {
	shift := max(0, bits.Len64(uint64(ns))-9)
	return shift<<8 + int(ns>>shift)
}

// at returns the duration of the given rank, counted from 1; the middle of its bucket.
func (t *times) at(rank int64) time.Duration {
	for i, n := range t.buckets {
		if rank -= n; n > 0 && rank <= 0 {
			if i < 512 {
				return time.Duration(i)
			}
			shift := i>>8 - 1
			low := int64(i-shift<<8) << shift
			return time.Duration(low + int64(1)<<shift/2)
		}
	}
	return 0
}
