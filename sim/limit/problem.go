package limit

import (
	"fmt"
	"math"
	"time"

	"github.com/muster-scale/muster/sim/trace"
)

// Problem asks how little it costs, in worker-seconds, to meet a latency objective on a trace.
//
// A worker is paid from its launch to its end, takes no message during its boot, and then handles up to Slots messages
// at once, each without interruption. A message is in time if it is finished no later than Latency after its arrival. A
// message whose own service is longer than Latency can never be in time; the objective is about the others, the
// attainable ones.
//
// A minimum billed time and a billing granularity only add to a bill, so a bound without them also holds with them.
type Problem struct {
	// Trace holds the messages. Of children only the work counts: when a child is sent depends on the schedule.
	Trace trace.Trace
	// Latency is the objective, above zero.
	Latency time.Duration
	// Quantile is the share of the attainable messages that must be in time, above 0 and at most 1.
	Quantile float64
	// Boot is the shortest boot of any worker, at least 0. With random boots a bound must assume the shortest.
	Boot time.Duration
	// Slots is how many messages a worker handles at once, at least 1.
	Slots int
	// Min workers are in service at the trace's start, without a boot to pay, and stay until the last message arrives.
	// At most Max workers are paid for at a time; 0 means no maximum.
	Min, Max int
	// Shed allows late messages to be left undone. Without it every message is worked, however late, as a queue does.
	Shed bool
}

// Start says when the first workers may be launched.
type Start int

const (
	// Prescient launches may come before the first message: the schedule knows the whole future.
	Prescient Start = iota
	// Causal launches may not come before the first message arrives; from then on the schedule knows the whole future.
	// No policy without a forecast can start earlier.
	Causal
)

// String returns the word used in tables and certificates.
func (s Start) String() string {
	if s == Causal {
		return "causal"
	}
	return "prescient"
}

// check returns an error that names the field of p that is not allowed.
func (p Problem) check() error {
	refuse := func(name, found, allowed string) error {
		return fmt.Errorf("limit of trace %q: %s is %s; give %s", p.Trace.Name, name, found, allowed)
	}
	switch {
	case p.Trace.Open == nil:
		return refuse("the trace", "absent", "one that can be opened")
	case p.Latency <= 0 || p.Latency > longest:
		return refuse("the latency objective", p.Latency.String(), "more than 0s and at most "+longest.String())
	case !(p.Quantile > 0 && p.Quantile <= 1):
		return refuse("the quantile", fmt.Sprint(p.Quantile), "a share above 0 and at most 1")
	case p.Boot < 0 || p.Boot > longest:
		return refuse("the boot time", p.Boot.String(), "0s to "+longest.String())
	case p.Slots < 1 || p.Slots > mostWorkers:
		return refuse("the number of slots", fmt.Sprint(p.Slots), fmt.Sprintf("1 to %d", mostWorkers))
	case p.Min < 0 || p.Min > mostWorkers:
		return refuse("the minimum", fmt.Sprint(p.Min), fmt.Sprintf("0 to %d", mostWorkers))
	case p.Max < 0 || p.Max > mostWorkers || p.Max > 0 && p.Max < p.Min:
		return refuse("the maximum", fmt.Sprint(p.Max), fmt.Sprintf("0 for none, or the minimum, %d, to %d", p.Min,
			mostWorkers))
	}
	return nil
}

const (
	// longest bounds each time that a problem names, and arrivals, so that sums of a few stay far from overflow.
	longest = 20 * 365 * 24 * time.Hour
	// mostWorkers bounds counts of workers and slots.
	mostWorkers = 1_000_000
)

// excused returns how many of n attainable messages may be late. It is rounded in favour of the schedule where a share
// such as 0.99 has no exact value.
func (p Problem) excused(n int64) int64 {
	return min(n, int64(math.Floor((1-p.Quantile)*float64(n)+1e-6)))
}
