package limit

import (
	"math"
	"time"
)

// Bound is a proven lower bound of what any schedule pays that keeps the objective.
type Bound struct {
	// WorkerSeconds is the bound, at least 0.
	WorkerSeconds float64 `json:"worker_seconds"`
	// Method names the proof: work, rush, lull, crews or prices.
	Method string `json:"method"`
	// Start is prescient or causal.
	Start string `json:"start"`
	// Unreachable says that no schedule at all keeps the objective. WorkerSeconds is then what working all messages
	// costs.
	Unreachable bool `json:"unreachable,omitempty"`
	// Certificate proves a bound by prices, and is absent for the others, which are recomputed in a moment.
	Certificate *Certificate `json:"certificate,omitempty"`
}

// Work returns the bound that needs no deadlines: each slot does at most one second of work in a second, and someone
// has to be launched. If late messages may be left undone, the work of the most expensive ones that may be late is left
// out. Worker-seconds of the minimum are paid anyway.
func (f *Profile) Work() Bound {
	return Bound{WorkerSeconds: down(f.atLeast() + f.boots(1)), Method: "work", Start: Prescient.String()}
}

// atLeast returns the worker-seconds in service that working the messages takes, without boots.
func (f *Profile) atLeast() float64 {
	work := f.work
	if f.problem.Shed {
		work -= f.beyond + largest(f.sizes, f.excused)
	}
	needed := max(0, work).Seconds() / float64(f.problem.Slots)
	return max(needed, float64(f.problem.Min)*f.last.Seconds())
}

// boots returns the worker-seconds of the boots without which no more than Min workers are ever in service together.
func (f *Profile) boots(workers int64) float64 {
	if f.problem.Shed && workers == 1 && f.attainable == f.excused {
		return 0
	}
	return float64(max(0, workers-int64(f.problem.Min))) * f.problem.Boot.Seconds()
}

// down takes off what rounding in a few thousand additions can have added at most.
func down(seconds float64) float64 { return max(0, seconds*(1-1e-11)) }

// Bounds are the strongest bounds found for the two ways to start.
type Bounds struct {
	Prescient Bound `json:"prescient"`
	Causal    Bound `json:"causal"`
}

// Strongest computes every bound and returns the highest for each start. A prescient bound holds for causal schedules
// too. It takes a few seconds at most, and gives the same bytes each time on the same architecture. Effort is how many
// rounds the solver of the prices may take; 0 stands for 1000. More rounds raise the bound, never its risk.
func Strongest(f *Profile, effort int) (Bounds, error) {
	best := Bounds{Prescient: f.Work(), Causal: f.Work()}
	best.Causal.Start = Causal.String()
	take := func(to *Bound, b Bound) {
		if b.Unreachable && !to.Unreachable || b.Unreachable == to.Unreachable && b.WorkerSeconds > to.WorkerSeconds {
			*to = b
		}
	}
	for _, start := range []Start{Prescient, Causal} {
		priced, err := f.Prices(start, effort)
		if err != nil {
			return Bounds{}, err
		}
		for _, b := range []Bound{f.Rush(start), f.Lull(), f.Crews(start), priced} {
			if start == Prescient {
				take(&best.Prescient, b)
			}
			b.Start = Causal.String()
			take(&best.Causal, b)
		}
	}
	return best, nil
}

// Slack returns the slack ratio k = (L - s - b) / b of an objective L, a service time s and a boot time b, the last two
// at the quantile that matters. Above 0 a launch that follows a message still saves it, so that only cost is at stake;
// at or below 0 only capacity that is there already helps. Without a boot every message can be rescued that fits: the
// ratio is then plus or minus infinity.
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
