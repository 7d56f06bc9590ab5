package limit

import (
	"math"
	"time"
)

// Bound is a proven lower bound of what any schedule pays that meets the objective.
type Bound struct {
	// WorkerSeconds is the bound, at least 0.
	WorkerSeconds float64 `json:"worker_seconds"`
	// Method names the proof: work, capacity, rush, lull, crews or prices.
	Method string `json:"method"`
	// Start is prescient or causal, as [Start] explains.
	Start string `json:"start"`
	// Unreachable says that no schedule at all meets the objective. WorkerSeconds is then the cost of working all
	// messages.
	Unreachable bool `json:"unreachable,omitempty"`
	// Certificate proves a bound by prices. It is absent for the other methods, which are quickly computed again.
	Certificate *Certificate `json:"certificate,omitempty"`
}

// Work returns the bound that needs no deadlines: a slot does at most one second of work in a second, and some worker
// has to be launched. If late messages may be left undone, the largest work that may be late is left out. The
// worker-seconds of the minimum are paid anyway.
func (f *Profile) Work() Bound {
	return Bound{WorkerSeconds: down(f.atLeast() + f.boots(1)), Method: "work", Start: Prescient.String()}
}

// atLeast returns the worker-seconds in service, without boots, that the work of the messages takes.
func (f *Profile) atLeast() float64 {
	work := f.work
	if f.problem.Shed {
		work -= f.beyond + largest(f.sizes, f.excused)
	}
	needed := max(0, work).Seconds() / float64(f.problem.Slots)
	return max(needed, float64(f.problem.Min)*f.last.Seconds())
}

// boots returns the worker-seconds of the boots that are needed to have the given number of workers in service at once.
func (f *Profile) boots(workers int64) float64 {
	// With no message that has to be in time, no worker has to be launched at all.
	if f.problem.Shed && workers == 1 && f.attainable == f.excused {
		return 0
	}
	return float64(max(0, workers-int64(f.problem.Min))) * f.problem.Boot.Seconds()
}

// down subtracts what rounding in a few thousand additions can have added at most, so that the bound stays a bound.
func down(seconds float64) float64 { return max(0, seconds*(1-1e-11)) }

// Bounds are the strongest bounds that were found, for both ways to start.
type Bounds struct {
	Prescient Bound `json:"prescient"`
	Causal    Bound `json:"causal"`
}

// Strongest computes every bound and returns the highest for each start. A prescient bound holds for causal schedules
// too. It takes a few seconds at most. Effort is the number of rounds of the solver for prices; 0 stands for 1000. More
// rounds can raise the bound and cannot make it wrong.
func Strongest(f *Profile, effort int) (Bounds, error) {
	best := Bounds{Prescient: f.Work(), Causal: f.Work()}
	best.Causal.Start = Causal.String()
	take := func(to *Bound, b Bound) {
		// Where no schedule meets the objective, bounds have no limit, and the largest says nothing.
		if b.Unreachable && !to.Unreachable {
			*to = f.Work()
			to.Method, to.Start, to.Unreachable = b.Method, b.Start, true
		} else if !to.Unreachable && b.WorkerSeconds > to.WorkerSeconds {
			*to = b
		}
	}
	for _, start := range []Start{Prescient, Causal} {
		priced, err := f.Prices(start, effort)
		if err != nil {
			return Bounds{}, err
		}
		for _, b := range []Bound{f.Capacity(), f.Rush(start), f.Lull(), f.Crews(start), priced} {
			if start == Prescient {
				take(&best.Prescient, b)
			}
			b.Start = Causal.String()
			// Every bound holds for causal schedules, because they are prescient ones too.
			take(&best.Causal, b)
		}
	}
	return best, nil
}

// Slack returns the slack ratio k = (L - s - b) / b of an objective L, a service time s and a boot time b, the last two
// at the quantile of the objective. Above 0 a worker that is launched for a message still finishes it in time, so only
// the cost is at stake. At or below 0 only capacity that exists already helps. Without a boot the ratio is plus or
// minus infinity: a message fits into the objective, or it does not.
func Slack(latency, service, boot time.Duration) float64 {
	left := (latency - service - boot).Seconds()
	switch {
	case boot > 0:
		return left / boot.Seconds()
	case left >= 0:
		return math.Inf(1)
	}
	return math.Inf(-1)
}
