package uninformed

import (
	"fmt"
	"math"
	"time"

	"github.com/muster-scale/muster"
)

// Burst is a number of messages that arrive at once while there is no worker. They all take equally long, a worker
// handles one at a time, and no other message follows. A burst is judged by its loss: the worker-seconds, plus the
// price of each message that is late beyond the allowed share.
//
// A worker is paid for its boot even when it is not needed any more, and ends when no message is left.
type Burst struct {
	// Messages is how many arrive, from 1 to 200.
	Messages int
	// Objective says when a message is in time, how many must be, and what a late one costs. A message whose own work
	// takes longer than the latency counts as late like any other.
	Objective muster.Objective
	// Boot is the boot time of every worker, above 0. The policy knows it from the start.
	Boot time.Duration
}

const (
	// mostMessages bounds a burst: the states of [Burst.Solve] grow with its square.
	mostMessages = 200
	// mostBegun bounds how many messages a worker finishes in time, for messages that take next to no time.
	mostBegun = 1_000_000
	// longest bounds each time that a burst or a prior names, so that sums of a few cannot overflow.
	longest = 20 * 365 * 24 * time.Hour
)

// check returns an error that names the field of b that is not allowed.
func (b Burst) check() error {
	refuse := func(name, found, allowed string) error {
		return fmt.Errorf("limit of a burst: %s is %s; give %s", name, found, allowed)
	}
	o := b.Objective
	switch {
	case b.Messages < 1 || b.Messages > mostMessages:
		return refuse("the number of messages", fmt.Sprint(b.Messages), fmt.Sprintf("1 to %d", mostMessages))
	case o.Latency <= 0 || o.Latency > longest:
		return refuse("the latency objective", o.Latency.String(), "more than 0s and at most "+longest.String())
	case !(o.Quantile > 0 && o.Quantile <= 1):
		return refuse("the quantile", fmt.Sprint(o.Quantile), "a share above 0 and at most 1")
	case o.Late < 0 || o.Late > longest:
		return refuse("the price of a late message", o.Late.String(), "0s for the default, and at most "+
			longest.String())
	case b.Boot <= 0 || b.Boot > longest:
		return refuse("the boot time", b.Boot.String(), "more than 0s and at most "+longest.String())
	}
	return nil
}

// Launch is a number of workers that are launched together while no message has finished yet.
type Launch struct {
	// Longer is the duration that the messages must have exceeded: the launch is made that long after the first worker
	// was ready, if no message has finished by then. 0 is a launch at the arrival of the burst.
	Longer time.Duration
	// Workers is how many workers are launched.
	Workers int
}

// Told returns the least loss of any policy that is told how long each message takes.
func (b Burst) Told(each time.Duration) float64 {
	s := each.Seconds()
	return b.work(s) + b.least(b.begun(b.whole(), s), 0, 1, s)
}

// Loss returns the loss of a policy that is told no duration and makes these launches until a message has finished; the
// first launch must be at the arrival of the burst. From then on the policy knows the duration and does what costs
// least.
func (b Burst) Loss(launches []Launch, each time.Duration) float64 {
	return b.loss(launches, each.Seconds())
}

// loss is Loss for messages of s seconds.
func (b Burst) loss(launches []Launch, s float64) float64 {
	workers, inTime := 0, 0
	for _, l := range launches {
		switch longer := l.Longer.Seconds(); {
		case l.Longer == 0:
			inTime += l.Workers * b.begun(b.whole(), s)
		case longer < s:
			inTime += l.Workers * b.begun(b.second()-longer, s)
		default:
			continue // a message has finished before that launch
		}
		workers += l.Workers
	}
	return b.work(s) + b.boots(workers) + b.rest(inTime, s)
}

// whole and second return the time within the latency, in seconds, in which a worker works: one that is launched at the
// arrival, and one that is launched when the first of those is ready.
func (b Burst) whole() float64  { return (b.Objective.Latency - b.Boot).Seconds() }
func (b Burst) second() float64 { return (b.Objective.Latency - 2*b.Boot).Seconds() }

// begun returns how many messages of s seconds a worker finishes within the given seconds.
func (b Burst) begun(seconds, s float64) int {
	return int(min(mostBegun, max(0, math.Floor(seconds/s+1e-9))))
}

// work returns the worker-seconds of all messages.
func (b Burst) work(s float64) float64 { return float64(b.Messages) * s }

// boots returns the worker-seconds of the boots of so many workers.
func (b Burst) boots(workers int) float64 { return float64(workers) * b.Boot.Seconds() }

// rest returns the least that is still to be paid when a message of s seconds has finished, besides the work and the
// workers launched before, which finish inTime messages in time: for late messages and for the boots of more workers.
func (b Burst) rest(inTime int, s float64) float64 {
	return b.least(b.begun(b.second()-s, s), inTime, 0, s)
}

// least returns the least sum of boots and prices of late messages when at least fewest workers are launched. Each
// finishes the number each of messages in time, and anyway messages are in time without them.
//
// The sum is convex in the number of workers and bends where no message is late any more. So the whole numbers near
// there, and fewest, are the only candidates.
func (b Burst) least(each, anyway, fewest int, s float64) float64 {
	due := b.Objective.Quantile*float64(b.Messages) - float64(min(b.Messages, anyway))
	price := b.Objective.PriceOfLate(b.Boot.Seconds(), s)
	cost := func(workers int) float64 {
		return b.boots(workers) + price*math.Max(0, due-float64(workers)*float64(each))
	}
	best := cost(fewest)
	if each > 0 && due > 0 {
		enough := int(math.Ceil(due / float64(each)))
		best = min(best, cost(max(fewest, enough)), cost(max(fewest, enough-1)))
	}
	return best
}
