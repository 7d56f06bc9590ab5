package peer

import (
	"fmt"
	"math"
	"time"

	"github.com/muster-scale/muster"
	"github.com/muster-scale/muster/internal/render"
)

// HPA is the rule of Kubernetes' horizontal pod autoscaler for one external metric with a target of type AverageValue.
//
// It proposes ceil(metric / target) replicas at each sync, unless the ratio is within the tolerance. A stabilisation
// window then delays falls, and rates limit changes.
//
// Sources: kubernetes/kubernetes pkg/controller/podautoscaler/horizontal.go and replica_calculator.go,
// pkg/apis/autoscaling/v2/defaults.go.
type HPA struct {
	// Target is the metric's value per replica, above 0.
	Target float64
	// Tolerance is the distance of metric/target from 1 up to which the size is kept.
	Tolerance float64
	// Sync is the time between two evaluations, above zero.
	Sync time.Duration
	// Behavior shapes the changes. nil selects the older rule: falls wait for 300 s, and a rise at most doubles the
	// size, to at least 4.
	Behavior *Behavior
}

// Behavior is the field of that name of an HPA.
type Behavior struct {
	// Up and Down apply to their direction, but each rate counts the changes in both.
	Up, Down Scaling
}

// Scaling has the rules for one direction.
type Scaling struct {
	// Window is the stabilization window: a rise uses the smallest proposal in it, a fall the largest.
	Window time.Duration
	// Rates limit the change; the most permissive one counts. No rates mean no limit.
	Rates []Pace
}

// Pace allows a change of Pods replicas, or of Percent per hundred, within Period.
type Pace struct {
	Pods    int
	Percent float64
	Period  time.Duration
}

// DefaultBehavior returns the behavior that the API server fills in for an empty one.
func DefaultBehavior() *Behavior {
	return &Behavior{
		Up:   Scaling{Rates: []Pace{{Percent: 100, Period: 15 * time.Second}, {Pods: 4, Period: 15 * time.Second}}},
		Down: Scaling{Window: downWindow, Rates: []Pace{{Percent: 100, Period: 15 * time.Second}}},
	}
}

// downWindow is the controller's default downscale stabilization.
const downWindow = 300 * time.Second

// Names kept by an HPA: its clock, the time and size of the last proposal, and the time and size at the first sync.
const (
	keptSync     = "next_sync_s"
	keptAt       = "proposed_s"
	keptProposal = "proposal"
	keptFirstAt  = "first_s"
	keptFirst    = "first"
)

// proposal returns the size for the metric; replicas are the existing pods.
func (h HPA) proposal(metric float64, replicas int) int {
	ratio := metric / (h.Target * float64(replicas))
	if replicas > 0 && ratio >= 1-h.Tolerance && ratio <= 1+h.Tolerance {
		return replicas
	}
	return workers(metric / h.Target)
}

// look evaluates the metric at the sync time `at` and shapes the proposal. The present size is above zero.
func (h HPA) look(t *turn, recent muster.Recent, at, metric float64) (n int, in []muster.Value, why string) {
	c, low, high := t.o.Capacity, max(1, t.o.Limits.Min), t.o.Limits.Max
	size := c.Desired
	if _, ok := t.keep.get(keptFirst); !ok {
		t.keep.set(keptFirst, float64(size))
		t.keep.set(keptFirstAt, at)
	}
	proposal := h.proposal(metric, c.Active())
	t.keep.set(keptAt, at)
	t.keep.set(keptProposal, float64(proposal))
	n = proposal
	switch {
	case size > high:
		n = high
	case size < low:
		n = low
	case h.Behavior == nil:
		lasting := t.extreme(recent, at-downWindow.Seconds()-tick, proposal, down)
		n = clamp(lasting, low, min(high, max(2*size, 4)))
	default:
		n = h.shaped(t, recent, at, size, proposal, low, high)
	}
	in = []muster.Value{num("metric", metric), num("target", h.Target), num("replicas", float64(c.Active())),
		num("proposal", float64(proposal))}
	return n, in, fmt.Sprintf("%s at %s each is a proposal of %d; after windows and rates %d", render.Number(metric),
		render.Number(h.Target), proposal, n)
}

// shaped applies a behavior to a proposal: first the windows, then the rates.
func (h HPA) shaped(t *turn, recent muster.Recent, at float64, size, proposal, low, high int) int {
	rising := t.extreme(recent, at-h.Behavior.Up.Window.Seconds()+tick, proposal, up)
	falling := t.extreme(recent, at-h.Behavior.Down.Window.Seconds()+tick, proposal, down)
	n := min(max(size, rising), falling)
	switch {
	case n > size:
		most := size
		for _, r := range h.Behavior.Up.Rates {
			most = max(most, r.reach(size, recent, at, up))
		}
		if len(h.Behavior.Up.Rates) == 0 {
			most = math.MaxInt32
		}
		return clamp(n, low, min(high, most))
	case n < size:
		least := size
		for _, r := range h.Behavior.Down.Rates {
			least = min(least, r.reach(size, recent, at, down))
		}
		if len(h.Behavior.Down.Rates) == 0 {
			least = 0
		}
		return clamp(n, max(low, least), high)
	}
	return n
}

// reach returns the size that the rate allows, given the changes within its period.
func (r Pace) reach(size int, recent muster.Recent, at float64, rise bool) int {
	added, removed := changes(recent, at-r.Period.Seconds()+tick)
	start := float64(size - added + removed)
	switch {
	case rise && r.Pods > 0:
		return workers(start + float64(r.Pods))
	case rise:
		return workers(start * (1 + r.Percent/100))
	case r.Pods > 0:
		return int(max(0, start-float64(r.Pods)))
	}
	return int(max(0, start*(1-r.Percent/100)))
}

// changes returns the sums of the HPA's own changes since a time, up and down. Changes from and to zero belong to KEDA.
func changes(recent muster.Recent, since float64) (added, removed int) {
	for i := len(recent) - 1; i >= 0; i-- {
		p := recent[i]
		at, ok := p.Find(keptAt)
		if !ok || seconds(p.At) < since {
			break
		}
		if at < since || p.Previous <= 0 || p.Desired <= 0 {
			continue
		}
		added += max(0, p.Desired-p.Previous)
		removed += max(0, p.Previous-p.Desired)
	}
	return added, removed
}

// extreme returns the smallest proposal since a time, for a rise, or the largest, for a fall. The size at the first
// sync counts as a proposal.
func (t *turn) extreme(recent muster.Recent, since float64, proposal int, rise bool) int {
	pick := func(a, b int) int { return max(a, b) }
	if rise {
		pick = func(a, b int) int { return min(a, b) }
	}
	if at := t.keep.or(keptFirstAt, 0); at >= since {
		proposal = pick(proposal, workers(t.keep.or(keptFirst, float64(proposal))))
	}
	for i := len(recent) - 1; i >= 0; i-- {
		at, ok := recent[i].Find(keptAt)
		if !ok || at < since {
			break
		}
		if was, ok := recent[i].Find(keptProposal); ok {
			proposal = pick(proposal, workers(was))
		}
	}
	return proposal
}
