package policy

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/muster-scale/muster"
	"github.com/muster-scale/muster/metricmath"
	"github.com/muster-scale/muster/metrics"
)

// OwnNamespace is the namespace of what we know of fleets ourselves. Metrics of these names count as ours in any
// namespace that is not one of AWS.
const OwnNamespace = "Muster"

// own is a metric that an observation tells: nothing needs to be read for it.
type own struct {
	// what says it in words.
	what string
	read func(muster.Observation) muster.Sample
}

// ownMetric finds what of a fleet's observation a metric stands for, given the names of the queues that the fleet
// serves.
func ownMetric(q metrics.Query, fleet string, queues []string) (own, bool) {
	switch {
	case q.Namespace == "AWS/SQS" && len(q.Dimensions) == 1 && q.Dimensions[0].Name == "QueueName" &&
		slices.Contains(queues, q.Dimensions[0].Value):
		return ofQueue(q.Name, q.Dimensions[0].Value)
	case q.Namespace == "AWS/AutoScaling" && named(q, "AutoScalingGroupName"), q.Namespace == "ECS/ContainerInsights" &&
		named(q, "ClusterName", "ServiceName"):
		return ofGroup(q.Name)
	case strings.HasPrefix(q.Namespace, "AWS/") || strings.HasPrefix(q.Namespace, "ECS/"):
		return own{}, false
	}
	for _, d := range q.Dimensions {
		if !(d.Name == "Fleet" && d.Value == fleet) && !(d.Name == "QueueName" && slices.Contains(queues, d.Value)) {
			return own{}, false
		}
	}
	return ofWorkers(q.Name)
}

// named tells whether the dimensions of q have just these names.
func named(q metrics.Query, names ...string) bool {
	return len(q.Dimensions) == len(names) &&
		!slices.ContainsFunc(q.Dimensions, func(d metrics.Dimension) bool { return !slices.Contains(names, d.Name) })
}

func ofQueue(metric, queue string) (own, bool) {
	var what string
	var count func(muster.QueueObservation) muster.Sample
	switch metric {
	case "ApproximateNumberOfMessagesVisible":
		what, count = "backlog", func(q muster.QueueObservation) muster.Sample { return q.Backlog }
	case "ApproximateNumberOfMessagesNotVisible":
		what, count = "messages in flight", func(q muster.QueueObservation) muster.Sample { return q.InFlight }
	case "ApproximateNumberOfMessagesDelayed":
		what, count = "delayed messages", func(q muster.QueueObservation) muster.Sample { return q.Delayed }
	case "ApproximateAgeOfOldestMessage":
		what, count = "age in seconds of the oldest message",
			func(q muster.QueueObservation) muster.Sample { return q.OldestAge }
	default:
		return own{}, false
	}
	return own{"the " + what + " of the queue " + queue, func(o muster.Observation) muster.Sample {
		for _, q := range o.Queues {
			if q.Queue == queue {
				return count(q)
			}
		}
		return muster.Unknown(o.At, "the queue "+queue+" was not measured")
	}}, true
}

// ofCapacity is a number of members or slots, unknown while the fleet could not be listed.
func ofCapacity(what string, n func(muster.Capacity) int) (own, bool) {
	return own{"the fleet's " + what, func(o muster.Observation) muster.Sample {
		if !o.Capacity.Known {
			return muster.Unknown(o.At, "the fleet could not be listed: "+o.Capacity.Reason)
		}
		return muster.Measured(o.At, float64(n(o.Capacity)))
	}}, true
}

func ofGroup(metric string) (own, bool) {
	switch metric {
	case "GroupInServiceInstances", "RunningTaskCount":
		return ofCapacity("members in service", muster.Capacity.InService)
	case "GroupDesiredCapacity", "DesiredTaskCount":
		return ofCapacity("desired size", func(c muster.Capacity) int { return c.Desired })
	case "GroupPendingInstances", "PendingTaskCount":
		return ofCapacity("members on their way", func(c muster.Capacity) int { return c.Ordered + c.Booting })
	}
	return own{}, false
}

// ofWorkers finds the metrics that worker fleets use to publish, by their names in the published examples.
func ofWorkers(metric string) (own, bool) {
	switch metric {
	case "TotalWorkers":
		return ofCapacity("slots in service", func(c muster.Capacity) int { return c.Slots })
	case "BusyWorkers":
		return ofCapacity("busy slots", func(c muster.Capacity) int { return c.BusySlots })
	case "InService":
		return ofCapacity("members in service", muster.Capacity.InService)
	case "Desired":
		return ofCapacity("desired size", func(c muster.Capacity) int { return c.Desired })
	case "TotalWork":
		return own{"the backlog and the messages in flight", totalWork}, true
	case "BacklogPerWorker", "BacklogPerInstance":
		return own{"the backlog over the members in service, or the backlog while there are none",
			backlogPerMember}, true
	case "WorkerUtilization":
		return own{"total work over the slots in service", func(o muster.Observation) muster.Sample {
			work := totalWork(o)
			if !o.Capacity.Known {
				return muster.Unknown(o.At, "the fleet could not be listed: "+o.Capacity.Reason)
			}
			if work.Known {
				work.Value = Utilization(work.Value, float64(o.Capacity.Slots))
			}
			return work
		}}, true
	case "MPD":
		return own{"the mean processing duration in seconds", meanProcessing}, true
	case "AcceptableBacklogPerWorker", "AcceptableBacklogPerInstance":
		return own{"the latency objective over the mean processing duration, times the slots of a worker",
			func(o muster.Observation) muster.Sample {
				mpd := meanProcessing(o)
				if mpd.Known {
					mpd = muster.Measured(o.At, o.Objective.Latency.Seconds()*o.Capacity.SlotsPerWorker/mpd.Value)
				}
				return mpd
			}}, true
	}
	return own{}, false
}

func totalWork(o muster.Observation) muster.Sample {
	work, _, _ := WorkerUtilization{Signal: SignalTotal}.work(o)
	return work
}

func backlogPerMember(o muster.Observation) muster.Sample {
	backlog := o.Backlog()
	switch {
	case !o.Capacity.Known:
		return muster.Unknown(o.At, "the fleet could not be listed: "+o.Capacity.Reason)
	case backlog.Known:
		backlog.Value /= float64(max(1, o.Capacity.InService()))
	}
	return backlog
}

func meanProcessing(o muster.Observation) muster.Sample {
	if p := o.Processing; !p.Known || p.MeanSeconds <= 0 {
		return muster.Unknown(o.At, "no processing duration was measured yet")
	}
	return muster.Measured(o.At, o.Processing.MeanSeconds)
}

// queryOf is what has to be read for an entry of a list.
func queryOf(m metricmath.MetricStat) metrics.Query {
	q := metrics.Query{Namespace: m.Metric.Namespace, Name: m.Metric.MetricName, Stat: m.Stat, Unit: m.Unit,
		PeriodSeconds: m.PeriodSeconds}
	for _, d := range m.Metric.Dimensions {
		q.Dimensions = append(q.Dimensions, metrics.Dimension(d))
	}
	return q
}

// MetricUse is a metric that a policy reads.
type MetricUse struct {
	Query metrics.Query
	// Own is true for what an observation of the fleet tells anyway; others have to be read where they are kept.
	Own bool
	// What says in words what an own metric stands for.
	What string
}

// Metrics returns the metrics that the policy of s, or any policy within it, reads for a fleet that serves the queues
// of the given names; sorted by key, each once.
func (s Spec) Metrics(fleet string, queues []string) (uses []MetricUse) {
	for _, of := range s.Largest {
		uses = append(uses, of.Metrics(fleet, queues)...)
	}
	if program, err := metricmath.Compile(s.Queries, metricmath.Options{}); err == nil && s.Name == metricMath {
		for _, entry := range program.Metrics() {
			q := queryOf(*entry.MetricStat)
			o, is := ownMetric(q, fleet, queues)
			uses = append(uses, MetricUse{q, is, o.what})
		}
	}
	slices.SortFunc(uses, func(a, b MetricUse) int { return cmp.Compare(a.Query.Key(), b.Query.Key()) })
	return slices.CompactFunc(uses, func(a, b MetricUse) bool { return a.Query.Key() == b.Query.Key() })
}

// Remember returns the past periods of the own metrics among uses, for an observation at now: what the last recorded
// observation remembered, and its own value. So the memory of a policy is the history, and a restart changes nothing.
// The period that now is in is left to the observation itself.
func Remember(uses []MetricUse, last muster.Observation, queues []string, now time.Time) (all []metrics.Series) {
	for _, u := range uses {
		seconds := u.Query.PeriodSeconds
		o, is := ownMetric(u.Query, last.Fleet, queues)
		if !is || last.At.IsZero() {
			continue
		}
		key, period := u.Query.Key(), time.Duration(seconds)*time.Second
		open := metrics.PeriodAt(now, seconds)
		s := metrics.Series{Key: key, Known: true, Start: open.Add(-(metrics.MaxPoints - 1) * period),
			PeriodSeconds: seconds}
		add := func(at time.Time, v float64) {
			if !at.Before(s.Start) && at.Before(open) {
				s.Points = append(s.Points, metrics.Point{N: int(at.Sub(s.Start) / period), Value: v})
			}
		}
		was := metrics.PeriodAt(last.At, seconds)
		if before, ok := last.Metric(key); ok && before.PeriodSeconds == seconds {
			for _, p := range before.Points {
				if at := before.Start.Add(time.Duration(p.N) * period); at.Before(was) {
					add(at, p.Value)
				}
			}
		}
		if v := o.read(last); v.Known {
			add(was, v.Value)
		}
		if len(s.Points) > 0 {
			all = append(all, s)
		}
	}
	return all
}
