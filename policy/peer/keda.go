package peer

import (
	"time"

	"github.com/muster-scale/muster"
	"github.com/muster-scale/muster/internal/render"
)

// KEDA is a ScaledObject on an SQS queue. KEDA's operator scales between 0 and 1; the HPA that it creates does the
// rest. Messages in flight count and delayed ones do not, which is its default.
//
// Sources: kedacore/keda pkg/scaling/executor/scale_scaledobjects.go, controllers/keda/hpa.go,
// pkg/scalers/aws_sqs_queue_scaler.go, apis/keda/v1alpha1/withtriggers_types.go.
type KEDA struct {
	Name string
	// Poll is the operator's polling interval, above zero. The HPA has its own clock and its own reading.
	Poll time.Duration
	// Cooldown is how long the queue must be empty before the operator scales to 0.
	Cooldown time.Duration
	HPA      HPA
}

// Names kept by KEDA: the operator's clock, and the time at which it last found work.
const (
	keptPoll   = "next_poll_s"
	keptActive = "active_s"
)

// Decide implements [muster.Policy].
func (p KEDA) Decide(o muster.Observation, recent muster.Recent) muster.Decision {
	t := begin(o, recent, p.Name, keptPoll, keptActive, keptSync, keptAt, keptProposal, keptFirst, keptFirstAt)
	_, poll := t.keep.due(keptPoll, o.At, p.Poll, 0)
	// The two clocks are independent. Half a period is their mean distance.
	at, sync := t.keep.due(keptSync, o.At, p.HPA.Sync, p.HPA.Sync/2)
	if !poll && !sync {
		return t.between()
	}
	if d, lacks := t.lacks(needWork | needCapacity); lacks {
		return d
	}
	metric := work(o)
	if poll {
		if d, done := p.poll(t, metric); done {
			return d
		}
	}
	if !sync || o.Capacity.Desired == 0 {
		return t.between()
	}
	n, in, why := p.HPA.look(t, recent, at, metric)
	return t.settle(n, in, "%s", why)
}

// poll is one evaluation of the operator; done is true if it changed the size.
func (p KEDA) poll(t *turn, metric float64) (d muster.Decision, done bool) {
	now, size, low := seconds(t.o.At), t.o.Capacity.Desired, t.o.Limits.Min
	active, was := t.keep.get(keptActive)
	in := []muster.Value{num("metric", metric)}
	switch {
	case metric > 0:
		t.keep.set(keptActive, now)
		if size == 0 {
			return t.settle(max(1, low), in, "messages wait and no replica exists: KEDA activates, and the HPA "+
				"continues"), true
		}
	case size > 0 && low == 0 && (!was || active+p.Cooldown.Seconds() < now-tick):
		return t.settle(0, in, "the queue was empty for %s", render.Seconds(p.Cooldown.Seconds())), true
	}
	return d, false
}
