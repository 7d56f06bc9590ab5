package peer

import (
	"github.com/muster-scale/muster"
	"github.com/muster-scale/muster/internal/render"
)

// Fixed is a fleet that is never scaled: the baseline for cost.
type Fixed struct {
	// Workers is at least 0.
	Workers int
}

// Decide implements [muster.Policy].
func (p Fixed) Decide(o muster.Observation, recent muster.Recent) muster.Decision {
	return begin(o, recent, "fixed").settle(p.Workers, nil, "%s, always", render.Plural(p.Workers, "worker"))
}
