package sim

import (
	"time"

	"github.com/muster-scale/muster"
	"github.com/muster-scale/muster/awsrules/tracking"
	"github.com/muster-scale/muster/sim/internal/kernel"
)

// tracked is the scaling policy of a delegated fleet: AWS's own target tracking, which Muster gives a metric and a
// target.
type tracked struct {
	tracker tracking.Tracker
	// metric is what was handed over last, at an instant of the run; known is false while nothing was, or while the
	// counts behind it were unknown.
	metric float64
	at     int64
	known  bool
}

// serviced tells whether a service of the fleet's own keeps its count, and chooses which members end.
func (r *run) serviced() bool { return r.world.Silent || r.world.Tracking != nil }

// handedOver takes in the metric and the target of a handover.
func (r *run) handedOver(h muster.Handover) {
	t := &r.tracked
	t.metric, t.known = r.settings.Spec.Tracked(h)
	t.at = r.now
	if h.Target > 0 {
		t.tracker.SetTarget(h.Target)
	}
}

// trackEvery sees to the next datapoint of the tracked metric.
func (r *run) trackEvery() {
	if p := r.world.Tracking; p != nil {
		r.after(max(p.Period, time.Second), evTracked, kernel.None, 0)
	}
}

// track is a datapoint of the tracked metric: the policy may set another count. A metric that was not handed over
// within the last two periods is missing.
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
	if r.serviceDesired != before {
		r.service()
	}
	r.trackEvery()
}
