package delegate

import (
	"fmt"
	"strconv"
	"strings"
)

// This file says what AWS tracks: a metric that Muster publishes, or metric math that CloudWatch computes.

// stat is a metric with the statistic that is tracked.
type stat struct {
	namespace, name, stat string
	// dimensions are alternating names and values.
	dimensions []string
}

// query is one step of a metric that CloudWatch computes.
type query struct {
	id string
	// expression is empty for a stat.
	expression string
	stat       stat
}

// own returns a metric that Muster publishes.
func (d *Publisher) own(name string) stat {
	return stat{d.o.Namespace, name, "Average", []string{dimension, d.o.Fleet}}
}

// published is the tracked metric if Muster publishes it.
func (d *Publisher) published() stat {
	if d.o.Formula == BacklogPerWorker {
		return d.own(MetricBacklogPerWorker)
	}
	return d.own(MetricUtilization)
}

// computed returns the queries of a tracked metric that CloudWatch computes; the last query is tracked. For an unused
// queue, which publishes nothing, the last value counts.
func (d *Delegate) computed(target float64) []query {
	var all []query
	sum := func(id, metric string) string {
		var terms []string
		for i, queue := range d.o.Queues {
			one := id
			if len(d.o.Queues) > 1 {
				one += strconv.Itoa(i + 1)
			}
			all = append(all, query{id: one, stat: stat{"AWS/SQS", metric, "Maximum", []string{"QueueName", queue}}})
			terms = append(terms, "FILL("+one+", REPEAT)")
		}
		return strings.Join(terms, " + ")
	}
	if d.o.Formula == BacklogPerWorker {
		waiting := sum("backlog", "ApproximateNumberOfMessagesVisible")
		return append(all, query{id: "workers", stat: d.inService()}, query{id: "waiting", expression: waiting},
			query{id: "backlogPerWorker", expression: "waiting / workers"},
			query{id: "tracked", expression: fmt.Sprintf("IF(FILL(workers, 0) > 0, backlogPerWorker, IF(waiting > 0, "+
				"waiting + %s, 0))", strconv.FormatFloat(target, 'f', -1, 64))})
	}
	work := ""
	if d.o.Formula == Utilization {
		work = sum("backlog", "ApproximateNumberOfMessagesVisible") + " + "
	}
	work += sum("inFlight", "ApproximateNumberOfMessagesNotVisible")
	return append(all, query{id: "workers", stat: d.own(MetricTotalWorkers)}, query{id: "totalWork", expression: work},
		query{id: "utilizationRatio", expression: "totalWork / workers"},
		query{id: "utilization", expression: "IF(FILL(workers, 0) > 0, utilizationRatio, IF(totalWork > 0, 1, 0))"})
}

// inService is AWS's own count of members. The group must collect group metrics, or the cluster use Container Insights.
func (d *Delegate) inService() stat {
	if d.o.Group != "" {
		return stat{"AWS/AutoScaling", "GroupInServiceInstances", "Average",
			[]string{"AutoScalingGroupName", d.o.Group}}
	}
	return stat{"ECS/ContainerInsights", "RunningTaskCount", "Average",
		[]string{"ClusterName", last(d.o.Cluster), "ServiceName", last(d.o.Service)}}
}

// last returns the last part of an ARN or a path.
func last(arn string) string { return arn[strings.LastIndexByte(arn, '/')+1:] }
