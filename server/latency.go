package server

import (
	"sync"
	"time"

	"github.com/muster-scale/muster/internal/exposition"
	"github.com/muster-scale/muster/series"
)

// This file counts by the latency objective: messages in time, late messages, and how long messages took.

// latencies counts the finished messages of each fleet since the start of the program. It is safe for concurrent use.
type latencies struct {
	inTime, late *exposition.Counts

	mu     sync.Mutex
	fleets map[string]fleetLatency
}

// fleetLatency has the times from sent to finished of a fleet, and its latest objective.
type fleetLatency struct {
	objective time.Duration
	inSystem  series.Durations
}

func newLatencies() *latencies {
	return &latencies{
		inTime: exposition.NewCounts(desc("muster_messages_in_time_total", "Finished messages that took no longer "+
			"from sent to finished than the latency objective. Those of unknown send time are left out.", "fleet")),
		late: exposition.NewCounts(desc("muster_messages_late_total", "Finished messages that took longer from sent "+
			"to finished than the latency objective. Those of unknown send time are left out.", "fleet")),
		fleets: map[string]fleetLatency{},
	}
}

// add counts the messages of one step by the objective of that step: a later change of the objective does not move what
// was counted. Both counters exist from the first step on, because a rate needs a first value.
func (l *latencies) add(fleet string, objective time.Duration, inSystem series.Durations) {
	if objective <= 0 {
		return // nothing says what is in time
	}
	inTime := series.Within(inSystem, objective)
	l.inTime.Add(inTime, fleet)
	l.late.Add(float64(inSystem.Count)-inTime, fleet)
	l.mu.Lock()
	defer l.mu.Unlock()
	one := l.fleets[fleet]
	l.fleets[fleet] = fleetLatency{objective, series.Merge(one.inSystem, inSystem)}
}

// collect adds the counters and histograms to a page.
func (l *latencies) collect(p *exposition.Page) {
	l.inTime.Collect(p)
	l.late.Collect(p)
	l.mu.Lock()
	defer l.mu.Unlock()
	for fleet, one := range l.fleets {
		h := exposition.Histogram{Count: float64(one.inSystem.Count), Sum: one.inSystem.SumSeconds}
		for _, bound := range latencyBounds(one.objective) {
			h.Buckets = append(h.Buckets, exposition.Bucket{AtMost: bound.Seconds(),
				Count: series.Within(one.inSystem, bound)})
		}
		p.AddHistogram(desc("muster_message_latency_seconds", "Time from sent to finished of finished messages. "+
			"The bounds of the buckets are multiples of the latency objective.", "fleet"), h, fleet)
	}
}

// latencyBounds returns the bounds of the buckets: from a tenth to ten times the objective, and closest around it. A
// change of the objective makes other buckets. Their counts begin with all messages so far, so no rate jumps.
func latencyBounds(objective time.Duration) []time.Duration {
	var bounds []time.Duration
	for _, percent := range [...]time.Duration{10, 25, 50, 75, 90, 100, 110, 150, 200, 500, 1000} {
		bounds = append(bounds, objective*percent/100)
	}
	return bounds
}
