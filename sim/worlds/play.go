package worlds

import (
	"context"
	"math"
	"time"

	"github.com/muster-scale/muster/sim/contest"
	"github.com/muster-scale/muster/sim/scoring"
	"github.com/muster-scale/muster/sim/trace"
)

// Outcome is the result of one contender in one world.
type Outcome struct {
	World  uint64 `json:"world"`
	Policy string `json:"policy"`
	// WorkerSeconds were paid, BootSeconds of them for boots. Loss adds the price of the late messages; see
	// [scoring.Result].
	WorkerSeconds float64 `json:"worker_seconds"`
	BootSeconds   float64 `json:"boot_seconds"`
	Loss          float64 `json:"loss_worker_seconds"`
	// InTime is the share of all messages in time. Settled is that share of the messages sent after the first hour, or
	// after the first quarter of a shorter world. Dead letters count as late in both.
	InTime  float64 `json:"in_time_ratio"`
	Settled float64 `json:"settled_in_time_ratio"`
	// Launches, Reversals and Peak are those of [scoring.Result]. Messages were sent, and Unfinished of them never
	// finished.
	Launches   int   `json:"launches"`
	Reversals  int   `json:"reversals"`
	Peak       int   `json:"peak_workers"`
	Messages   int64 `json:"messages"`
	Unfinished int64 `json:"unfinished"`
	// Faults are violated invariants.
	Faults []string `json:"faults,omitempty"`
}

// Prepare makes the trace of a world and measures it.
func Prepare(w World) (contest.Prepared, error) { return contest.Prepare(w.Event, w.seed()) }

// Play runs a contender in a world.
func Play(ctx context.Context, w World, p contest.Prepared, c contest.Contender) (Outcome, error) {
	from := seconds(math.Min(3600, w.Length/4))
	sent, inTime := int64(0), int64(0)
	err := p.Trace.Each(func(m trace.Message) bool {
		if m.Arrival >= from {
			sent += family(m)
		}
		return true
	})
	if err != nil {
		return Outcome{}, err
	}
	r, err := p.Watch(ctx, c, nil, func(at, finished time.Duration) {
		if at >= from && finished-at <= w.Event.Objective.Latency {
			inTime++
		}
	}, nil)
	if err != nil {
		return Outcome{}, err
	}
	o := outcome(w, r)
	if sent > 0 {
		o.Settled = math.Min(1, float64(inTime)/float64(sent))
	}
	return o, nil
}

// outcome returns the fields of an outcome that a result has.
func outcome(w World, r scoring.Result) Outcome {
	return Outcome{
		World: w.Number, Policy: r.Policy, WorkerSeconds: r.WorkerSeconds, BootSeconds: r.BootSeconds, Loss: r.Loss,
		InTime: r.InTimeRatio, Settled: 1,
		Launches: r.Launches, Reversals: r.Reversals, Peak: r.PeakWorkers, Messages: r.Messages,
		Unfinished: r.Unfinished, Faults: r.Faults,
	}
}

// Mean returns the mean of one contender's outcomes in repetitions of one world. Counts are rounded, and Faults are
// those of all. There is at least one outcome.
func Mean(all []Outcome) Outcome {
	m := Outcome{World: all[0].World, Policy: all[0].Policy}
	n := float64(len(all))
	var launches, reversals, peak, messages, unfinished float64
	for _, o := range all {
		m.WorkerSeconds += o.WorkerSeconds / n
		m.BootSeconds += o.BootSeconds / n
		m.Loss += o.Loss / n
		m.InTime += o.InTime / n
		m.Settled += o.Settled / n
		launches += float64(o.Launches)
		reversals += float64(o.Reversals)
		peak += float64(o.Peak)
		messages += float64(o.Messages)
		unfinished += float64(o.Unfinished)
		m.Faults = append(m.Faults, o.Faults...)
	}
	round := func(sum float64) int { return int(math.Round(sum / n)) }
	m.Launches, m.Reversals, m.Peak = round(launches), round(reversals), round(peak)
	m.Messages, m.Unfinished = int64(round(messages)), int64(round(unfinished))
	return m
}

// family counts a message and all messages below it.
func family(m trace.Message) int64 {
	n := int64(1)
	for _, c := range m.Children {
		n += family(c)
	}
	return n
}
