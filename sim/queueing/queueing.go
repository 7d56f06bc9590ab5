// Package queueing replays a trace on a fleet whose size is a function of the true load: no controller, no polls, no
// leases, no reports, no records. Decisions take effect at once. What is left is a queue with servers that boot, as
// queueing theory describes it.
//
//	result, err := queueing.Run(queueing.Options{Trace: messages, Size: queueing.FixedSize(16), Max: 16})
//	fmt.Println(result.MeanWait)
//
// A [Size] decides on the [Load]; [FixedSize] and [DelayedOff] are two of theory. The package serves two purposes: to
// try formulas on traces that are too long for the full simulator, and to check the full simulator, package sim, which
// must agree where nothing but the queue matters. Both are built from the same events, random streams and scores.
//
// The package knows neither policies nor faults. To judge a policy, use package sim. Groups and children are refused.
package queueing

import (
	"io"
	"time"

	"github.com/muster-scale/muster/sim/scoring"
	"github.com/muster-scale/muster/sim/trace"
	"github.com/muster-scale/muster/sim/world"
)

// Load is the true state of the queue and the fleet, by which a [Size] decides.
type Load struct {
	// At is the time since the start of the run.
	At time.Duration
	// Backlog messages wait, InFlight messages are in progress.
	Backlog, InFlight int
	// Booting members take no messages yet, Ready members do.
	Booting, Ready int
	// Desired is the newest desired count.
	Desired int
}

// Size returns the desired count for a load. It is called after each arrival, departure and boot, and must depend on
// its argument alone. The result is limited to the Min and Max of [Options].
type Size func(Load) int

// FixedSize returns a Size that always desires n members.
func FixedSize(n int) Size { return func(Load) int { return n } }

// DelayedOff returns a Size that desires a slot for each message in the system: it launches a member for messages that
// find no free slot. With [Options.IdleStop] it is the M/M/k queue with set-up times and delayed-off of the literature.
func DelayedOff(slots int) Size {
	return func(l Load) int { return (l.Backlog + l.InFlight + slots - 1) / slots }
}

// Options say what a run is of.
type Options struct {
	// Name is what the result calls the policy.
	Name  string
	Trace trace.Trace
	Seed  uint64
	// Latency is the latency objective.
	Latency time.Duration
	Size    Size
	// Min and Max bound the size; Max is at least 1.
	Min, Max int
	// Slots is how many messages a member handles at once, 1 to 1000; 1 when zero.
	Slots int
	// Boot is the time from the launch of a member until it takes messages. With equal seeds the k-th launch boots as
	// long as in package sim.
	Boot world.Draw
	// IdleStop is how long a member without any message stays while more members exist than are desired; with 0 it
	// leaves at once.
	IdleStop time.Duration
	// Random hands a message to any member with a free slot, as SQS does, and not to the one that waits longest.
	Random bool
}

// Run replays a trace. It returns an error when the options are impossible or the trace cannot be read. Memory depends
// on the messages in the system, and not on the length of the trace.
func Run(o Options) (scoring.Result, error) {
	r, err := newRun(o)
	if err != nil {
		return scoring.Result{}, err
	}
	reader, err := o.Trace.Open()
	if err != nil {
		return scoring.Result{}, err
	}
	if c, ok := reader.(io.Closer); ok {
		defer c.Close()
	}
	r.reader = reader
	if err := r.loop(); err != nil {
		return scoring.Result{}, err
	}
	return r.finish(), nil
}
