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

// OwnNamespace is the namespace of metrics about fleets that Muster knows itself. Metrics of these names count as own
// ones in any namespace that does not belong to AWS.
const OwnNamespace = "Muster"

// ownReading is a metric that is part of every observation, so it need not be read from anywhere.
type ownReading struct {
	// description is a noun phrase for it.
	description string
	read        func(muster.Observation) muster.Sample
}

// ownMetric returns the part of a fleet's observation that a metric stands for, or false if it must be read elsewhere.
// queues are the names of the queues that the fleet serves.
func ownMetric(q metrics.Query, fleet string, queues []string) (ownReading, bool) {
	switch {
	case q.Namespace == "AWS/SQS" && len(q.Dimensions) == 1 && q.Dimensions[0].Name == "QueueName" &&
		slices.Contains(queues, q.Dimensions[0].Value):
		return queueMetric(q.Name, q.Dimensions[0].Value)
	case q.Namespace == "AWS/AutoScaling" && hasDimensions(q, "AutoScalingGroupName"),
		q.Namespace == "ECS/ContainerInsights" && hasDimensions(q, "ClusterName", "ServiceName"):
		return groupMetric(q.Name)
	case strings.HasPrefix(q.Namespace, "AWS/") || strings.HasPrefix(q.Namespace, "ECS/"):
		return ownReading{}, false
	}
	for _, d := range q.Dimensions {
		if !(d.Name == "Fleet" && d.Value == fleet) && !(d.Name == "QueueName" && slices.Contains(queues, d.Value)) {
			return ownReading{}, false
		}
	}
	return workerMetric(q.Name)
}

// hasDimensions tells whether the dimensions of q have exactly these names.
func hasDimensions(q metrics.Query, names ...string) bool {
	return len(q.Dimensions) == len(names) &&
		!slices.ContainsFunc(q.Dimensions, func(d metrics.Dimension) bool { return !slices.Contains(names, d.Name) })
}

// queueMetric returns the own reading of a metric of AWS/SQS.
func queueMetric(metric, queue string) (ownReading, bool) {
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
		return ownReading{}, false
	}
	return ownReading{"the " + what + " of the queue " + queue, func(o muster.Observation) muster.Sample {
		for _, q := range o.Queues {
			if q.Queue == queue {
				return count(q)
			}
		}
		return muster.Unknown(o.At, "the queue "+queue+" was not measured")
	}}, true
}

// capacityMetric returns the own reading of a number of members or slots. It is unknown while the fleet cannot be
// listed.
func capacityMetric(what string, n func(muster.Capacity) int) (ownReading, bool) {
	return ownReading{"the fleet's " + what, func(o muster.Observation) muster.Sample {
		if !o.Capacity.Known {
			return muster.Unknown(o.At, "the fleet could not be listed: "+o.Capacity.Reason)
		}
		return muster.Measured(o.At, float64(n(o.Capacity)))
	}}, true
}

// groupMetric returns the own reading of a metric of an Auto Scaling group or an ECS service.
func groupMetric(metric string) (ownReading, bool) {
	switch metric {
	case "GroupInServiceInstances", "RunningTaskCount":
		return capacityMetric("members in service", muster.Capacity.InService)
	case "GroupDesiredCapacity", "DesiredTaskCount":
		return capacityMetric("desired size", func(c muster.Capacity) int { return c.Desired })
	case "GroupPendingInstances", "PendingTaskCount":
		return capacityMetric("members on their way", func(c muster.Capacity) int { return c.Ordered + c.Booting })
	}
	return ownReading{}, false
}

// workerMetric returns the own reading of a metric that worker fleets publish themselves, by the names in AWS's
// published examples.
func workerMetric(metric string) (ownReading, bool) {
	switch metric {
	case "TotalWorkers":
		return capacityMetric("slots in service", func(c muster.Capacity) int { return c.Slots })
	case "BusyWorkers":
		return capacityMetric("busy slots", func(c muster.Capacity) int { return c.BusySlots })
	case "InService":
		return capacityMetric("members in service", muster.Capacity.InService)
	case "Desired":
		return capacityMetric("desired size", func(c muster.Capacity) int { return c.Desired })
	case "TotalWork":
		return ownReading{"the backlog and the messages in flight", totalWork}, true
	case "BacklogPerWorker", "BacklogPerInstance":
		return ownReading{"the backlog over the members in service, or the backlog while there are none",
			backlogPerMember}, true
	case "WorkerUtilization":
		return ownReading{"total work over the slots in service", func(o muster.Observation) muster.Sample {
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
		return ownReading{"the mean processing duration in seconds", meanProcessing}, true
	case "AcceptableBacklogPerWorker", "AcceptableBacklogPerInstance":
		return ownReading{"the latency objective over the mean processing duration, times the slots of a worker",
			func(o muster.Observation) muster.Sample {
				mpd := meanProcessing(o)
				if mpd.Known {
					mpd = muster.Measured(o.At, o.Objective.Latency.Seconds()*o.Capacity.SlotsPerWorker/mpd.Value)
				}
				return mpd
			}}, true
	}
	return ownReading{}, false
}

// totalWork returns the backlog plus the messages in flight.
func totalWork(o muster.Observation) muster.Sample {
	work, _, _ := WorkerUtilization{Signal: SignalTotal}.work(o)
	return work
}

// backlogPerMember returns the backlog over the members in service; without any, the backlog itself.
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

// meanProcessing returns the mean processing duration in seconds.
func meanProcessing(o muster.Observation) muster.Sample {
	if p := o.Processing; !p.Known || p.MeanSeconds <= 0 {
		return muster.Unknown(o.At, "no processing duration was measured yet")
	}
	return muster.Measured(o.At, o.Processing.MeanSeconds)
}

// queryOf returns the query that reads the metric of a list entry.
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
	// Own is true for a metric that is part of an observation of the fleet. Others must be read from where they are
	// kept.
	Own bool
	// What describes an own metric in words.
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
			uses = append(uses, MetricUse{q, is, o.description})
		}
	}
	slices.SortFunc(uses, func(a, b MetricUse) int { return cmp.Compare(a.Query.Key(), b.Query.Key()) })
	return slices.CompactFunc(uses, func(a, b MetricUse) bool { return a.Query.Key() == b.Query.Key() })
}

// Remember returns the completed periods of the own metrics among uses, for an observation at now. They are those that
// the last recorded observation remembered, and its own value. So the memory of the policy is the history, and a
// restart changes nothing. The period that contains now is left to the new observation.
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
