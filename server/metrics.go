package server

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/muster-scale/muster"
	"github.com/muster-scale/muster/controller"
	"github.com/muster-scale/muster/internal/lifecycle"
	"github.com/muster-scale/muster/policy"
)

// Metrics exports the fleets' last observations and counts their decisions. A count that is unknown is not exported as a
// number: its muster_signal_known is 0 instead.
type Metrics struct {
	fleets    func() map[string]Fleet
	standing  func() map[string]Standing
	decisions *prometheus.CounterVec
	ended     *prometheus.CounterVec
	messages  *prometheus.CounterVec
	incidents *prometheus.CounterVec
}

// NewMetrics registers the metrics of the given fleets with r. Where they stand in their lives may be nil: then all run.
func NewMetrics(r prometheus.Registerer, fleets func() map[string]Fleet, standing func() map[string]Standing) (*Metrics, error) {
	m := &Metrics{
		fleets: fleets, standing: standing,
		decisions: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "muster_decisions_total",
			Help: "Steps taken, by verdict and reason."}, []string{"fleet", "verdict", "reason"}),
		ended: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "muster_member_changes_total",
			Help: "Changes of members, by what happened."}, []string{"fleet", "change"}),
	}
	m.messages = prometheus.NewCounterVec(prometheus.CounterOpts{Name: "muster_messages_total",
		Help: "Messages that workers have reported, by how their work ended."}, []string{"fleet", "result"})
	m.incidents = prometheus.NewCounterVec(prometheus.CounterOpts{Name: "muster_worker_incidents_total",
		Help: "What went wrong at workers, by kind."}, []string{"fleet", "kind"})
	for _, c := range []prometheus.Collector{m, m.decisions, m.ended, m.messages, m.incidents} {
		if err := r.Register(c); err != nil {
			return nil, err
		}
	}
	return m, nil
}

// Count counts the outcome of a step. It may be called from any goroutine.
func (m *Metrics) Count(o controller.Outcome) {
	if !o.Ready {
		return
	}
	m.decisions.WithLabelValues(o.Decision.Fleet, string(o.Decision.Verdict), string(o.Decision.Reason)).Inc()
	m.messages.WithLabelValues(o.Decision.Fleet, "finished").Add(float64(o.Finished))
	m.messages.WithLabelValues(o.Decision.Fleet, "failed").Add(float64(o.Failed))
	for kind, n := range o.Incidents {
		m.incidents.WithLabelValues(o.Decision.Fleet, incidentLabel(kind)).Add(float64(n))
	}
	for _, c := range o.Changes {
		if c.Incident != nil {
			continue // counted above
		}
		m.ended.WithLabelValues(o.Decision.Fleet, string(c.What)).Inc()
	}
}

// incidentLabel keeps workers from making labels of their own.
func incidentLabel(kind muster.IncidentKind) string {
	switch kind {
	case muster.ProtectionFailed, muster.LeaseLost, muster.DeleteFailed, muster.ReportFailed, muster.HookFailed,
		muster.EndpointDown:
		return string(kind)
	}
	return "other"
}

func desc(name, help string, labels ...string) *prometheus.Desc {
	return prometheus.NewDesc(name, help, labels, nil)
}

// Describe implements [prometheus.Collector]: what is exported depends on what is known.
func (m *Metrics) Describe(chan<- *prometheus.Desc) {}

// Collect implements [prometheus.Collector].
func (m *Metrics) Collect(ch chan<- prometheus.Metric) {
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
		ch <- prometheus.MustNewConstMetric(desc("muster_fleet_sized",
			"1 while the fleet is sized as configured; 0 while it starts, has failed, ends, or nothing can be recorded. muster status says why.", "fleet"),
			prometheus.GaugeValue, sized, name)
		if !ok || sized == 0 && standing[name].Phase != "" && standing[name].Phase != string(lifecycle.Running) {
			continue // what was seen last says nothing about now
		}
		gauge := func(d *prometheus.Desc, v float64, labels ...string) {
			ch <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, v, append([]string{name}, labels...)...)
		}
		collectQueues(o.Observation, gauge)
		if o.Ready {
			gauge(desc("muster_desired", "Members asked for.", "fleet"), float64(o.Observation.Capacity.Desired))
			if o.Decision.Verdict == muster.Shadow {
				gauge(desc("muster_shadow_desired", "Members that would be asked for, of a fleet that another system sizes and that has another size.", "fleet"), float64(o.Decision.Desired))
			}
			collectOutlook(o, gauge)
		}
		collectProgress(o.Observation, gauge)
		collectFleet(o.Observation, gauge)
	}
}

func known() *prometheus.Desc {
	return desc("muster_signal_known", "1 when the signal is known, 0 when it is missing, stale or broken. The signal capacity has no queue.",
		"fleet", "queue", "signal")
}

func collectQueues(o muster.Observation, gauge func(*prometheus.Desc, float64, ...string)) {
	for _, q := range o.Queues {
		for _, s := range []struct {
			name, help string
			sample     muster.Sample
		}{
			{"backlog", "Messages waiting to be received.", q.Backlog},
			{"in_flight", "Messages received and not yet deleted.", q.InFlight},
			{"delayed", "Messages not yet visible.", q.Delayed},
			{"oldest_age_seconds", "Age of the oldest waiting message.", q.OldestAge},
			{"dead_letters", "Messages in the queues for dead letters of the queue.", q.DeadLetters},
		} {
			if !s.sample.Known {
				gauge(known(), 0, q.Queue, s.name)
				continue
			}
			gauge(known(), 1, q.Queue, s.name)
			gauge(desc("muster_queue_"+s.name, s.help, "fleet", "queue"), s.sample.Value, q.Queue)
		}
	}
}

// collectOutlook exports what a message that arrives now has to expect, where that can be told, and what the size costs.
func collectOutlook(o controller.Outcome, gauge func(*prometheus.Desc, float64, ...string)) {
	if e := policy.ArrivingNow(o.Observation, o.Decision.Desired); e.Known {
		gauge(desc("muster_expected_time_seconds", "Mean time from sent to finished of a message that arrives now, if the size stayed as it is.", "fleet"), e.Seconds)
		gauge(desc("muster_objective_chance", "Probability that a message that arrives now meets the latency objective, if the size stayed as it is.", "fleet"), e.InTime)
	}
	if o.PricePerHour > 0 {
		gauge(desc("muster_cost_per_hour", "What the desired size costs in an hour, in the currency of the configured price.", "fleet"), o.PricePerHour*float64(o.Decision.Desired))
	}
}

func collectFleet(o muster.Observation, gauge func(*prometheus.Desc, float64, ...string)) {
	gauge(desc("muster_objective_latency_seconds", "The latency objective.", "fleet"), o.Objective.Latency.Seconds())
	if o.Processing.Known {
		gauge(desc("muster_processing_mean_seconds", "Mean processing duration of finished messages, measured or prior.", "fleet"), o.Processing.MeanSeconds)
	}
	if o.Boot.Known {
		gauge(desc("muster_boot_mean_seconds", "Mean boot time, measured or prior.", "fleet"), o.Boot.MeanSeconds)
	}
	for _, c := range o.Classes {
		gauge(desc("muster_class_processing_mean_seconds", "Mean processing duration of a class of messages.", "fleet", "class"), c.Processing.MeanSeconds, c.Name)
		gauge(desc("muster_class_share", "Share of a class of the messages that ended lately.", "fleet", "class"), c.Share, c.Name)
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
	}{{"ordered", c.Ordered}, {"booting", c.Booting}, {"idle", c.Idle}, {"busy", c.Busy}, {"draining", c.Draining}, {"released", c.Released}, {"lost", c.Lost}} {
		gauge(workers, float64(s.n), s.state)
	}
	gauge(desc("muster_slots", "Slots of members in service.", "fleet"), float64(c.Slots))
	gauge(desc("muster_busy_slots", "Slots that hold a message.", "fleet"), float64(c.BusySlots))
}
