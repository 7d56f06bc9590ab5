package peer

import (
	"github.com/muster-scale/muster"
	"github.com/muster-scale/muster/internal/render"
)

// The scaling strategies of a ScaledJob.
const (
	// JobDefault counts messages in flight too, and subtracts every unfinished job.
	JobDefault = "default"
	// JobAccurate counts waiting messages only, and subtracts the jobs that have not started yet.
	JobAccurate = "accurate"
	// JobEager counts waiting messages only, and creates as many jobs as the maximum allows.
	JobEager = "eager"
)

// ScaledJob is KEDA's ScaledJob: each poll creates jobs and never removes one; a job ends when its work is done. Use it
// in an [Every], with workers that stop as soon as nothing waits.
//
// Sources: kedacore/keda pkg/scaling/executor/scale_jobs.go, pkg/scaling/scaledjob/metrics.go; KEDA documentation, page
// "ScaledJob specification".
type ScaledJob struct {
	Name string
	// Target is the number of messages per job, above 0.
	Target float64
	// Strategy is one of the Job constants.
	Strategy string
}

// Decide implements [muster.Policy].
func (p ScaledJob) Decide(o muster.Observation, recent muster.Recent) muster.Decision {
	t := begin(o, recent, p.Name)
	need, length := needBacklog|needCapacity, o.Backlog().Value
	if p.Strategy == JobDefault {
		need, length = needWork|needCapacity, work(o)
	}
	if d, lacks := t.lacks(need); lacks {
		return d
	}
	running, pending := o.Capacity.Desired, o.Pending()
	in := []muster.Value{num("length", length), num("target", p.Target), num("running", float64(running)),
		num("pending", float64(pending))}
	create := 0
	if length > 0 {
		create = p.create(length, running, pending, o.Limits)
	}
	d := t.settle(running+create, in, "%s of work at %s a job, %d unfinished and %d of them pending: %s",
		render.Number(length),
		render.Number(p.Target), running, pending, render.Plural(create, "new job"))
	if o.InFlight().Known {
		d.Floor = 0
	}
	return d
}

// create returns how many jobs a poll creates. The minimum is created first; the strategies see only the jobs above it.
func (p ScaledJob) create(length float64, running, pending int, limits muster.Limits) int {
	low, high := limits.Min, limits.Max
	if running < low {
		return low - running
	}
	running -= low
	most, least := min(high, workers(length/p.Target)), workers(length)
	var effective int
	switch p.Strategy {
	case JobAccurate:
		effective = most - pending
		if most+running-pending > high {
			effective = high - running
		}
	case JobEager:
		effective, least = min(high-running-pending, most), high
	default:
		effective = most - running
	}
	return max(0, min(least, effective))
}
