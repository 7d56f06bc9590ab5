package policy

import (
	"fmt"
	"time"

	"github.com/muster-scale/muster"
	"github.com/muster-scale/muster/internal/render"
	"github.com/muster-scale/muster/policy/internal/rules"
)

// Stabilised lets a wish act only once it has lasted: a rise goes to the smallest wish of the time Out, a fall to the
// largest wish of the time In. Time for which no wish is known counts as a wish for the present size. It also notes the
// wish in the decision, which is what it reads later.
type Stabilised struct {
	Of muster.Policy
	// Out and In are at least 0; zero acts at once.
	Out, In time.Duration
}

// Decide implements [muster.Policy].
func (p Stabilised) Decide(o muster.Observation, recent muster.Recent) muster.Decision {
	d := p.Of.Decide(o, recent)
	d.Wish = d.Desired
	window, extreme := p.In, func(a, b int) int { return max(a, b) }
	if d.Desired > d.Previous {
		window, extreme = p.Out, func(a, b int) int { return min(a, b) }
	}
	if window == 0 || d.Desired == d.Previous || d.Verdict == muster.Hold {
		return d
	}
	start := d.At.Add(-window)
	past := recent.Since(start)
	lasting := d.Wish
	if len(past) == 0 || past[0].At.After(start) {
		lasting = extreme(lasting, d.Previous)
	}
	for _, e := range past {
		lasting = extreme(lasting, e.Wish)
	}
	if d.Desired > d.Previous {
		lasting = max(lasting, d.Previous)
	} else {
		lasting = min(lasting, d.Previous)
	}
	if lasting == d.Desired {
		return d
	}
	t := muster.Term{
		Rule: "stabilization", In: []muster.Value{rules.Value("wish", float64(d.Wish)),
			rules.Value("window_s", window.Seconds()),
			rules.Value("lasting", float64(lasting))},
		Out: lasting, Why: fmt.Sprintf("over the past %s the wish that lasted is %d", render.Seconds(window.Seconds()),
			lasting),
	}
	if lasting == d.Previous {
		return d.Held(muster.Stabilising, t)
	}
	return d.With(t)
}
