package sim

import (
	"time"

	"github.com/muster-scale/muster"
	"github.com/muster-scale/muster/awsrules/tracking"
	"github.com/muster-scale/muster/sim/internal/kernel"
)

// tracked is the state of the scaling policy that sizes a delegated fleet: AWS's own target tracking, for which Muster
// supplies the metric and the target.
type tracked struct {
	tracker tracking.Tracker
	// metric is the newest metric that was handed over, at the time at. known is false before the first one, and when
	// the counts from which it was computed were unknown.
	metric float64
	at     int64
	known  bool
}

// serviced tells whether the fleet has a service of its own, which keeps the desired count and chooses the members that
// end.
func (r *run) serviced() bool { return r.world.Silent || r.world.Tracking != nil }

// handedOver notes the metric and the target of a handover.
func (r *run) handedOver(h muster.Handover) {
	t := &r.tracked
	t.metric, t.known = r.settings.Spec.Tracked(h)
	t.at = r.now
	if h.Target > 0 {
		t.tracker.SetTarget(h.Target)
	}
}

// trackEvery plans the next datapoint of the tracked metric.
func (r *run) trackEvery() {
	if p := r.world.Tracking; p != nil {
		r.after(max(p.Period, time.Second), evTracked, kernel.None, 0)
	}
}

// track evaluates the scaling policy at a datapoint of its metric; it may change the desired count of the service. A
// metric that was not handed over within the last two periods is missing.
func (r *run) track() {
	p, t := *r.world.Tracking, &r.tracked
	var metric *float64
	if age := time.Duration(r.now - t.at); t.known && age <= 2*p.Period {
		metric = &t.metric
	}
	limits := r.settings.Limits
	before := r.serviceDesired
	r.serviceDesired = t.tracker.Point(p, r.time(), metric, tracking.Capacity{
		InService: r.ready, Desired: r.serviceDesired, Min: limits.Min, Max: limits.Max, Pending: r.live > r.ready,
	})
	r.tally.Decided(before, r.serviceDesired)
	if r.serviceDesired != before {
		r.service()
	}
	r.trackEvery()
}
