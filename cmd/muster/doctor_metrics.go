package main

import (
	"context"
	"maps"
	"slices"

	"github.com/muster-scale/muster"
	"github.com/muster-scale/muster/config"
)

// metrics reads once what a fleet is measured by in CloudWatch, and what its policy reads there. What is not there is a note and no
// fault: it may be that nobody has published it yet.
func (e *exam) metrics(ctx context.Context, f config.Fleet) {
	const held = "%s is unknown: %s; while that is so workers may be launched and nobody is let go: look whether its name, dimensions and region are right, and whether anything publishes it"
	if f.Metrics != nil {
		source, err := e.aws.Metrics(ctx, f, nil)
		if !e.result(f.Name, "metrics", err, "%s is measured by CloudWatch", muster.Plural(len(f.Metrics.Measures), "signal")) {
			return
		}
		o, err := source.Observe(ctx)
		if err != nil {
			e.find(f.Name, "metrics", levelWrong, "%v", err)
			return
		}
		signals := map[string]muster.Sample{
			"backlog": o.Backlog, "in_flight": o.InFlight, "delayed": o.Delayed, "oldest_age": o.OldestAge, "processing": o.Published.Value().ProcessingMean,
		}
		for _, name := range slices.Sorted(maps.Keys(f.Metrics.Measures)) {
			if s := signals[name]; !s.Known {
				e.find(f.Name, "metrics", levelNote, held, "the signal "+name, s.Reason)
			}
		}
	}
	var queues []string
	for _, q := range f.Queues {
		queues = append(queues, q.Name)
	}
	var queries []muster.MetricQuery
	for _, u := range f.Policy.Metrics(f.Name, queues) {
		if !u.Own {
			queries = append(queries, u.Query)
		}
	}
	if len(queries) == 0 {
		return
	}
	all, err := e.aws.Meter(f).Metrics(ctx, queries)
	if !e.result(f.Name, "metrics", err, "the policy reads %s from CloudWatch", muster.Plural(len(queries), "metric")) {
		return
	}
	for i, s := range all {
		what := "the metric " + queries[i].Namespace + " " + queries[i].Name
		switch {
		case !s.Known:
			e.find(f.Name, "metrics", levelNote, held, what, s.Reason)
		case len(s.Points) == 0:
			e.find(f.Name, "metrics", levelNote, held, what, "it has no datapoint of the last "+muster.Plural(muster.MaxMetricPoints, "period"))
		}
	}
}
