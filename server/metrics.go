package server

import (
	"net/http"

	"github.com/muster-scale/muster"
	"github.com/muster-scale/muster/controller"
	"github.com/muster-scale/muster/event"
	"github.com/muster-scale/muster/internal/exposition"
	"github.com/muster-scale/muster/internal/lifecycle"
	"github.com/muster-scale/muster/policy/outlook"
	"github.com/muster-scale/muster/worker/protocol"
)

// This file has the metrics of fleets. docs/api.md lists them; their names are a contract with dashboards and alerts.

// Metrics exports the fleets' last observations and counts their decisions. An unknown value is not exported; its
// muster_signal_known is 0 instead.
type Metrics struct {
	fleets   func() map[string]Fleet
	standing func() map[string]Standing
	// These count since the start of the program, so a restart begins at zero, as Prometheus expects of counters.
	decisions *exposition.Counts
	ended     *exposition.Counts
	messages  *exposition.Counts
	latency   *latencies
	incidents *exposition.Counts
	events    *exposition.Counts
}

// The results of an event, as the label of a metric.
const (
	// EventWoke: it woke at least one fleet.
	EventWoke = "woke"
	// EventRepeated: its id was known.
	EventRepeated = "repeated"
	// EventConcernsNone: it is about nothing that a fleet has.
	EventConcernsNone = "concerns_none"
)

// CountEvent counts an event that was received, by its kind and result. It may be called from any goroutine.
func (m *Metrics) CountEvent(kind event.Kind, result string) { m.events.Add(1, string(kind), result) }

// NewMetrics returns the metrics of the given fleets. standing returns their phases; if it is nil, all run.
func NewMetrics(fleets func() map[string]Fleet, standing func() map[string]Standing) *Metrics {
	return &Metrics{
		fleets: fleets, standing: standing,
		decisions: exposition.NewCounts(desc("muster_decisions_total", "Steps taken, by verdict and reason.", "fleet",
			"verdict", "reason")),
		ended: exposition.NewCounts(desc("muster_member_changes_total", "Changes of members, by what happened.",
			"fleet", "change")),
		messages: exposition.NewCounts(desc("muster_messages_total", "Messages that workers have reported, by how "+
			"their work ended.",
			"fleet", "result")),
		latency: newLatencies(),
		events: exposition.NewCounts(desc("muster_events_total", "Events received, by kind and by what they did.",
			"kind", "result")),
		incidents: exposition.NewCounts(desc("muster_worker_incidents_total", "What went wrong at workers, by kind.",
			"fleet", "kind")),
	}
}

// Count counts the outcome of a step. It may be called from any goroutine.
func (m *Metrics) Count(o controller.Outcome) {
	fleet := o.Observation.Fleet
	// What workers report counts even while the fleet cannot be sized: no later step repeats it.
	m.messages.Add(float64(o.Finished), fleet, "finished")
	m.messages.Add(float64(o.Failed), fleet, "failed")
	m.latency.add(fleet, o.Observation.Objective.Latency, o.InSystem)
	for kind, n := range o.Incidents {
		m.incidents.Add(float64(n), fleet, incidentLabel(kind))
	}
	for _, c := range o.Changes {
		if c.Incident != nil {
			continue // counted above
		}
		m.ended.Add(1, fleet, string(c.What))
	}
	if o.Ready {
		m.decisions.Add(1, fleet, string(o.Decision.Verdict), string(o.Decision.Reason))
	}
}

// incidentLabel bounds the label's values: workers cannot add their own.
func incidentLabel(kind protocol.IncidentKind) string {
	switch kind {
	case protocol.ProtectionFailed, protocol.LeaseLost, protocol.DeleteFailed, protocol.ReportFailed,
		protocol.HookFailed,
		protocol.EndpointDown:
		return string(kind)
	}
	return "other"
}

// desc describes a metric: its name, its help text and its labels.
func desc(name, help string, labels ...string) exposition.Family {
	return exposition.Family{Name: name, Help: help, Labels: labels}
}

// Collect adds the metrics to a page. It may be called from any goroutine.
func (m *Metrics) Collect(p *exposition.Page) {
	for _, c := range []*exposition.Counts{m.decisions, m.ended, m.messages, m.incidents, m.events} {
		c.Collect(p)
	}
	m.latency.collect(p)
	standing := map[string]Standing{}
	if m.standing != nil {
		standing = m.standing()
	}
	for name, f := range m.fleets() {
		o, ok := f.Last()
		sized := 1.0
		if !ok || !o.Ready || troubleOf(standing[name], o) != "" || standing[name].stopping() {
			sized = 0
		}
		p.Add(exposition.Gauge, desc("muster_fleet_sized", "1 while the fleet is sized as configured; 0 while it "+
			"starts, has failed, "+
			"ends, or nothing can be recorded. muster status says why.", "fleet"), sized, name)
		if !ok || sized == 0 && standing[name].Phase != "" && standing[name].Phase != string(lifecycle.Running) {
			continue // the last observation is out of date
		}
		gauge := func(d exposition.Family, v float64, labels ...string) {
			p.Add(exposition.Gauge, d, v, append([]string{name}, labels...)...)
		}
		collectQueues(o.Observation, gauge)
		if o.Ready {
			gauge(desc("muster_desired", "The desired count.", "fleet"), float64(o.Observation.Capacity.Desired))
			if o.Decision.Verdict == muster.Shadow {
				gauge(desc("muster_shadow_desired", "The desired count that Muster would set, of a fleet that another "+
					"system sizes and that has another size.", "fleet"), float64(o.Decision.Desired))
			}
			collectOutlook(o, gauge)
		}
		collectProgress(o.Observation, gauge)
		collectFleet(o.Observation, gauge)
		collectOverrides(o.Observation, gauge)
	}
}

// known describes the metric that says whether a signal is known.
func known() exposition.Family {
	return desc("muster_signal_known", "1 when the signal is known, 0 when it is missing, stale or broken. The "+
		"signal capacity has no queue.",
		"fleet", "queue", "signal")
}

// collectQueues exports the counts of each queue, and for each whether it is known.
func collectQueues(o muster.Observation, gauge func(exposition.Family, float64, ...string)) {
	for _, q := range o.Queues {
		for _, s := range []struct {
			name, metric, help string
			sample             muster.Sample
		}{
			{"backlog", "muster_queue_backlog", "Messages waiting to be received.", q.Backlog},
			{"in_flight", "muster_queue_in_flight", "Messages received and not yet deleted.", q.InFlight},
			{"delayed", "muster_queue_delayed", "Messages not yet visible.", q.Delayed},
			{"oldest_age_seconds", "muster_queue_oldest_age_seconds", "Age of the oldest waiting message.",
				q.OldestAge},
			{"dead_letters", "muster_queue_dead_letters", "Messages in the queues for dead letters of the queue.",
				q.DeadLetters},
		} {
			if !s.sample.Known {
				gauge(known(), 0, q.Queue, s.name)
				continue
			}
			gauge(known(), 1, q.Queue, s.name)
			gauge(desc(s.metric, s.help, "fleet", "queue"), s.sample.Value, q.Queue)
		}
	}
}

// collectOutlook exports the expectation of a message that arrives now, if it is known, and the price of the size.
func collectOutlook(o controller.Outcome, gauge func(exposition.Family, float64, ...string)) {
	if e := outlook.ArrivingNow(o.Observation, o.Decision.Desired); e.Known {
		gauge(desc("muster_expected_time_seconds", "Mean time from sent to finished of a message that arrives now, "+
			"if the size stayed as it is.", "fleet"), e.Seconds)
		gauge(desc("muster_objective_chance", "Probability that a message that arrives now meets the latency "+
			"objective, if the size stayed as it is.", "fleet"), e.InTime)
	}
	if o.PricePerHour > 0 {
		gauge(desc("muster_cost_per_hour", "What the desired size costs in an hour, in the currency of the "+
			"configured price.", "fleet"), o.PricePerHour*float64(o.Decision.Desired))
	}
}

// collectFleet exports the objective, the learned durations and the members. Counts of members are left out while the
// capacity is unknown.
func collectFleet(o muster.Observation, gauge func(exposition.Family, float64, ...string)) {
	gauge(desc("muster_objective_latency_seconds", "The latency objective.", "fleet"), o.Objective.Latency.Seconds())
	gauge(desc("muster_objective_quantile", "The share of messages, 0 to 1, that the latency objective is for.",
		"fleet"), o.Objective.Quantile)
	gauge(desc("muster_limit_min", "The smallest allowed size.", "fleet"), float64(o.Limits.Min))
	gauge(desc("muster_limit_max", "The largest allowed size.", "fleet"), float64(o.Limits.Max))
	if o.Processing.Known {
		gauge(desc("muster_processing_mean_seconds",
			"Mean processing duration of finished messages, measured or prior.", "fleet"), o.Processing.MeanSeconds)
	}
	if o.Boot.Known {
		gauge(desc("muster_boot_mean_seconds", "Mean boot time, measured or prior.", "fleet"), o.Boot.MeanSeconds)
	}
	for _, c := range o.Classes {
		gauge(desc("muster_class_processing_mean_seconds", "Mean processing duration of a class of messages.", "fleet",
			"class"), c.Processing.MeanSeconds, c.Name)
		gauge(desc("muster_class_share", "Share of a class of the messages that ended lately.", "fleet", "class"),
			c.Share, c.Name)
	}
	c := o.Capacity
	if !c.Known {
		gauge(known(), 0, "", "capacity")
		return
	}
	gauge(known(), 1, "", "capacity")
	workers := desc("muster_members", "Members by state.", "fleet", "state")
	for _, s := range []struct {
		state string
		n     int
	}{{"ordered", c.Ordered}, {"booting", c.Booting}, {"idle", c.Idle}, {"busy", c.Busy}, {"draining",
		c.Draining}, {"released", c.Released}, {"lost", c.Lost}} {
		gauge(workers, float64(s.n), s.state)
	}
	gauge(desc("muster_slots", "Slots of members in service.", "fleet"), float64(c.Slots))
	gauge(desc("muster_busy_slots", "Slots with a message.", "fleet"), float64(c.BusySlots))
}

// scrape answers with all metrics.
func scrape(collect func(*exposition.Page)) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		var page exposition.Page
		if collect != nil {
			collect(&page)
		}
		w.Header().Set("Content-Type", exposition.ContentType)
		w.Write(page.Bytes()) // an error means that the client has gone
	}
}

// collectProgress exports the progress of the work. For an unknown value it exports a muster_signal_known of 0, without
// a queue.
func collectProgress(o muster.Observation, gauge func(exposition.Family, float64, ...string)) {
	p := o.Progress.Value()
	for _, s := range []struct {
		signal, name, help string
		sample             muster.Sample
	}{
		{"working", "muster_messages_working", "Messages in progress at workers.", p.Working},
		{"retrying", "muster_messages_retrying",
			"Messages that failed and wait for their retry: no worker holds them.", p.Retrying},
		{"oldest_retry_seconds", "muster_oldest_retry_seconds",
			"Time since the oldest message was sent that waits for its retry.", p.OldestRetry},
		{"late", "muster_messages_late",
			"Messages that wait, also for a retry, or are at a worker for longer than the objective allows.", p.Late},
		{"in_time", "muster_in_time_ratio",
			"Share of the messages of the last hour that were in time; dead letters and late ones are not.", p.InTime},
	} {
		if !s.sample.Known {
			gauge(known(), 0, "", s.signal)
			continue
		}
		gauge(known(), 1, "", s.signal)
		gauge(desc(s.name, s.help, "fleet"), s.sample.Value)
	}
	if o.Progress == nil {
		return
	}
	gauge(desc("muster_attempts_failed_lately", "Attempts that failed in the last five minutes.", "fleet"), p.Failed)
	if p.Failing.Known {
		gauge(desc("muster_failing_mean_seconds",
			"Mean duration of attempts that failed. muster_processing_mean_seconds is without them.", "fleet"),
			p.Failing.MeanSeconds)
	}
	if !p.LastErrorAt.IsZero() {
		gauge(desc("muster_last_error_timestamp_seconds",
			"When the last attempt failed of which a worker told why, in seconds since 1970.", "fleet"),
			float64(p.LastErrorAt.UnixMilli())/1000)
	}
}
