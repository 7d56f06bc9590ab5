package scoring

import (
	"cmp"
	"math"
	"time"
)

// Tally counts what a run comes to. A simulator sets Objective before the run, calls the methods as things happen, and
// takes the Result at the end.
type Tally struct {
	// Objective is the latency objective in nanoseconds: a message that takes no longer is in time.
	Objective int64
	// Billing says how long a member is paid for.
	Billing Billing

	times          times
	inTime         int64
	sumWait, sum   float64 // nanoseconds
	billed         float64 // seconds
	peak           int
	changes, turns int
	lastDirection  int // of the desired count: -1, 1, or 0 before the first change
	messages, dead int64
}

// Billing are the rules of a member's bill. The zero value bills the time that a member existed, to the nanosecond.
type Billing struct {
	// Minimum is the least time that is billed, and Step the granularity: time is rounded up to whole steps.
	Minimum, Step time.Duration
}

// Finished counts a message by its time from sent to finished and how much of that it waited, in nanoseconds.
func (t *Tally) Finished(inSystem, waited int64) {
	t.messages++
	if inSystem <= t.Objective {
		t.inTime++
	}
	t.times.add(inSystem)
	t.sumWait += float64(waited)
	t.sum += float64(inSystem)
}

// Dead counts a message that ended as a dead letter and will never finish.
func (t *Tally) Dead() { t.dead++ }

// Members notes how many members exist, so that the peak is known.
func (t *Tally) Members(n int) { t.peak = max(t.peak, n) }

// Bill adds the bill of a member that existed for the given time.
func (t *Tally) Bill(lived time.Duration) {
	paid := max(lived, t.Billing.Minimum)
	if step := t.Billing.Step; step > 0 {
		paid = (paid + step - 1) / step * step
	}
	t.billed += paid.Seconds()
}

// Billed returns the worker-seconds billed so far.
func (t *Tally) Billed() float64 { return t.billed }

// Decided counts a change of the desired count, and whether it reverses the change before it. A decision that changes
// nothing does not count.
func (t *Tally) Decided(previous, desired int) {
	direction := cmp.Compare(desired, previous)
	if direction == 0 {
		return
	}
	t.changes++
	if t.lastDirection == -direction {
		t.turns++
	}
	t.lastDirection = direction
}

// Result sums up a run that ended at the time end since its start. Unfinished messages were still in the system then,
// and price is what a worker costs an hour. The fields that only the simulator knows stay zero.
func (t *Tally) Result(end time.Duration, unfinished int64, price float64) Result {
	never := t.dead + unfinished
	all := t.messages + never
	res := Result{
		Messages: all, InTime: t.inTime, PeakWorkers: t.peak, ScaleEvents: t.changes, Reversals: t.turns,
		WorkerSeconds: t.billed, Cost: t.billed / 3600 * price, Dead: t.dead, Unfinished: unfinished,
		Seconds: end.Seconds(),
	}
	// A message that never finishes is later than any other: the ranks behind the finished ones have the longest time
	// that the run knows, which is its length.
	quantile := func(q float64) float64 {
		rank := int64(math.Ceil(q * float64(all)))
		if rank > all-never {
			return end.Seconds()
		}
		return t.times.at(rank).Seconds()
	}
	if all > 0 {
		res.InTimeRatio = float64(t.inTime) / float64(all)
		res.P50, res.P95, res.P99 = quantile(0.5), quantile(0.95), quantile(0.99)
	}
	if t.messages > 0 {
		res.MeanWait, res.MeanTime = t.sumWait/float64(t.messages)/1e9, t.sum/float64(t.messages)/1e9
	}
	return res
}
