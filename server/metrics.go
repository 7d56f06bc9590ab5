package server

import (
	"net/http"
	"sync"

	"github.com/muster-scale/muster"
	"github.com/muster-scale/muster/controller"
	"github.com/muster-scale/muster/policy"
)

// Metrics exports the fleets' last observations and counts their decisions. A count that is unknown is not exported as a
// number: its muster_signal_known is 0 instead. It is safe for use by several goroutines.
type Metrics struct {
	fleets func() map[string]Fleet
	mu     sync.Mutex
	counts *exposition
}

// NewMetrics returns the metrics of the given fleets. Fleets is called whenever they are read; nobody changes the map it returns.
func NewMetrics(fleets func() map[string]Fleet) *Metrics {
	return &Metrics{fleets: fleets, counts: newExposition()}
}

// Count counts the outcome of a step.
func (m *Metrics) Count(o controller.Outcome) {
	if !o.Ready {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	fleet := o.Decision.Fleet
	m.counts.add(counterOf("muster_decisions_total", "Steps taken, by verdict and reason.", "fleet", "verdict", "reason"), 1,
		fleet, string(o.Decision.Verdict), string(o.Decision.Reason))
	messages := counterOf("muster_messages_total", "Messages that workers have reported, by how their work ended.", "fleet", "result")
	m.counts.add(messages, float64(o.Finished), fleet, "finished")
	m.counts.add(messages, float64(o.Failed), fleet, "failed")
	incidents := counterOf("muster_worker_incidents_total", "What went wrong at workers, by kind.", "fleet", "kind")
	for kind, n := range o.Incidents {
		m.counts.add(incidents, float64(n), fleet, incidentLabel(kind))
	}
	changes := counterOf("muster_member_changes_total", "Changes of members, by what happened.", "fleet", "change")
	for _, c := range o.Changes {
		if c.Incident != nil {
			continue // counted above
		}
		m.counts.add(changes, 1, fleet, string(c.What))
	}
}

// incidentLabel keeps workers from making labels of their own.
func incidentLabel(kind muster.IncidentKind) string {
	switch kind {
	case muster.ProtectionFailed, muster.LeaseLost, muster.DeleteFailed, muster.ReportFailed, muster.HookFailed:
		return string(kind)
	}
	return "other"
}

// ServeHTTP serves the metrics of this instant in the text format of Prometheus.
func (m *Metrics) ServeHTTP(w http.ResponseWriter, r *http.Request) { m.collect().serve(w, r) }

func (m *Metrics) collect() *exposition {
	e := newExposition()
	for name, f := range m.fleets() {
		o, ok := f.Last()
		if !ok {
			continue
		}
		gauge := func(f family, v float64, labels ...string) { e.set(f, v, append([]string{name}, labels...)...) }
		collectQueues(o.Observation, gauge)
		if o.Ready {
			gauge(gaugeOf("muster_desired", "Members asked for.", "fleet"), float64(o.Observation.Capacity.Desired))
			if o.Decision.Verdict == muster.Shadow {
				gauge(gaugeOf("muster_shadow_desired", "Members that would be asked for, of a fleet that another system sizes and that has another size.", "fleet"), float64(o.Decision.Desired))
			}
			collectOutlook(o, gauge)
		}
		collectFleet(o.Observation, gauge)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	e.merge(m.counts)
	return e
}

func known() family {
	return gaugeOf("muster_signal_known", "1 when the signal is known, 0 when it is missing, stale or broken. The signal capacity has no queue.",
		"fleet", "queue", "signal")
}

func collectQueues(o muster.Observation, gauge func(family, float64, ...string)) {
	for _, q := range o.Queues {
		for _, s := range []struct {
			name, help string
			sample     muster.Sample
		}{
			{"backlog", "Messages waiting to be received.", q.Backlog},
			{"in_flight", "Messages received and not yet deleted.", q.InFlight},
			{"delayed", "Messages not yet visible.", q.Delayed},
			{"oldest_age_seconds", "Age of the oldest waiting message.", q.OldestAge},
		} {
			if !s.sample.Known {
				gauge(known(), 0, q.Queue, s.name)
				continue
			}
			gauge(known(), 1, q.Queue, s.name)
			gauge(gaugeOf("muster_queue_"+s.name, s.help, "fleet", "queue"), s.sample.Value, q.Queue)
		}
	}
}

// collectOutlook exports what a message that arrives now has to expect, where that can be told, and what the size costs.
func collectOutlook(o controller.Outcome, gauge func(family, float64, ...string)) {
	if e := policy.ArrivingNow(o.Observation, o.Decision.Desired); e.Known {
		gauge(gaugeOf("muster_expected_time_seconds", "Mean time from sent to finished of a message that arrives now, if the size stayed as it is.", "fleet"), e.Seconds)
		gauge(gaugeOf("muster_objective_chance", "Probability that a message that arrives now meets the latency objective, if the size stayed as it is.", "fleet"), e.InTime)
	}
	if o.PricePerHour > 0 {
		gauge(gaugeOf("muster_cost_per_hour", "What the desired size costs in an hour, in the currency of the configured price.", "fleet"), o.PricePerHour*float64(o.Decision.Desired))
	}
}

func collectFleet(o muster.Observation, gauge func(family, float64, ...string)) {
	gauge(gaugeOf("muster_objective_latency_seconds", "The latency objective.", "fleet"), o.Objective.Latency.Seconds())
	if o.Processing.Known {
		gauge(gaugeOf("muster_processing_mean_seconds", "Mean processing duration, measured or prior.", "fleet"), o.Processing.MeanSeconds)
	}
	if o.Boot.Known {
		gauge(gaugeOf("muster_boot_mean_seconds", "Mean boot time, measured or prior.", "fleet"), o.Boot.MeanSeconds)
	}
	for _, c := range o.Classes {
		gauge(gaugeOf("muster_class_processing_mean_seconds", "Mean processing duration of a class of messages.", "fleet", "class"), c.Processing.MeanSeconds, c.Name)
		gauge(gaugeOf("muster_class_share", "Share of a class of the messages that ended lately.", "fleet", "class"), c.Share, c.Name)
	}
	c := o.Capacity
	if !c.Known {
		gauge(known(), 0, "", "capacity")
		return
	}
	gauge(known(), 1, "", "capacity")
	workers := gaugeOf("muster_members", "Members by state.", "fleet", "state")
	for _, s := range []struct {
		state string
		n     int
	}{{"ordered", c.Ordered}, {"booting", c.Booting}, {"idle", c.Idle}, {"busy", c.Busy}, {"draining", c.Draining}, {"released", c.Released}, {"lost", c.Lost}} {
		gauge(workers, float64(s.n), s.state)
	}
	gauge(gaugeOf("muster_slots", "Slots of members in service.", "fleet"), float64(c.Slots))
	gauge(gaugeOf("muster_busy_slots", "Slots that hold a message.", "fleet"), float64(c.BusySlots))
}
