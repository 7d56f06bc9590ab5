package peer

import (
	"math"
	"time"

	"github.com/muster-scale/muster"
	"github.com/muster-scale/muster/internal/render"
)

// Practo is Practo's worker pod autoscaler: total work over a target, with a minimum from the arrival rate and a long
// delay before falls. Use it in an [Every].
//
// Sources: practo/k8s-worker-pod-autoscaler pkg/controller/controller.go and scale_operation.go, README.
type Practo struct {
	// Target is backlog plus in flight per worker, above 0.
	Target float64
	// Processing is the user's figure for the processing duration, which gives the minimum. Zero means none.
	Processing time.Duration
	// Delay is the time between any change and the next fall.
	Delay time.Duration
}

// practoTolerance is the relative change of the size that is too small to make.
const practoTolerance = 0.1

// Decide implements [muster.Policy].
func (p Practo) Decide(o muster.Observation, recent muster.Recent) muster.Decision {
	t := begin(o, recent, "practo")
	if d, lacks := t.lacks(needWork | needCapacity); lacks {
		return d
	}
	size, low, high := o.Capacity.Desired, o.Limits.Min, o.Limits.Max
	rate := 0.0
	if o.Arrivals.Known {
		rate = max(0, o.Arrivals.Minute)
	}
	low = max(low, workers(p.Processing.Seconds()*rate/slots(o)))
	n := low // without work, the workers that the arrivals need
	if messages := work(o); messages > 0 || size == 0 {
		n = workers(messages / p.Target)
		if size > 0 && math.Abs(float64(n-size))/float64(size) <= practoTolerance {
			n = size
		}
	}
	n = min(max(n, low), high)
	in := []muster.Value{num("messages", work(o)), num("target", p.Target), num("floor", float64(low)),
		num("rate_per_s", rate)}
	if n < size {
		if !o.Arrivals.Known {
			return t.hold(muster.UnknownBacklog, in, "no fall while the arrival rate is unknown")
		}
		if ago, is := within(o, recent, p.Delay, up, down); is {
			return t.hold(muster.CoolingDown, in, "%s needed, but the last change was %s ago",
				render.Plural(n, "worker"), render.Seconds(ago.Seconds()))
		}
	}
	return t.settle(n, in, "%s of work at %s each, at least %d for the arrivals: %s", render.Number(work(o)),
		render.Number(p.Target), low, render.Plural(n, "worker"))
}
