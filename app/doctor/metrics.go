package doctor

import (
	"context"
	"slices"

	"github.com/muster-scale/muster"
	"github.com/muster-scale/muster/config"
	"github.com/muster-scale/muster/internal/render"
	"github.com/muster-scale/muster/kind"
	"github.com/muster-scale/muster/metrics"
)

// held describes an unknown value, and what it means for the fleet: rises may be decided, decreases never.
const held = "%s is unknown: %s; meanwhile workers may be launched and none is stopped: check its name, dimensions " +
	"and region, and whether anything publishes it"

// signals reads a fleet's signals once. An unknown one is a note and no problem: it may not have been published yet.
func (e *exam) signals(ctx context.Context, f config.Fleet) {
	for _, signal := range kind.SignalsOf(f) {
		source, err := signal.Open(ctx, e.host, f, nil)
		measures := slices.Sorted(slices.Values(signal.Measures()))
		if !e.result(f.Name, "metrics", err, "%s is measured by %s", render.Plural(len(measures), "signal"),
			signal.Place()) {
			continue
		}
		o, err := source.Observe(ctx)
		if err != nil {
			e.add(f.Name, "metrics", Wrong, "%v", err)
			continue
		}
		samples := map[string]muster.Sample{
			"backlog": o.Backlog, "in_flight": o.InFlight, "delayed": o.Delayed, "oldest_age": o.OldestAge,
			"processing": o.Published.Value().ProcessingMean,
		}
		for _, name := range measures {
			if s := samples[name]; !s.Known {
				e.add(f.Name, "metrics", Note, held, "the signal "+name, s.Reason)
			}
		}
	}
}

// metrics reads the metrics that a fleet's policy names once. Metrics that Muster measures itself need no reading.
func (e *exam) metrics(ctx context.Context, f config.Fleet) {
	var queues []string
	for _, q := range f.Queues {
		queues = append(queues, q.Name)
	}
	var queries []metrics.Query
	for _, u := range f.Policy.Metrics(f.Name, queues) {
		if !u.Own {
			queries = append(queries, u.Query)
		}
	}
	if len(queries) == 0 {
		return
	}
	all, err := e.table.Meter(e.host, f).Metrics(ctx, queries)
	if !e.result(f.Name, "metrics", err, "the policy reads %s from CloudWatch", render.Plural(len(queries), "metric")) {
		return
	}
	for i, s := range all {
		what := "the metric " + queries[i].Namespace + " " + queries[i].Name
		switch {
		case !s.Known:
			e.add(f.Name, "metrics", Note, held, what, s.Reason)
		case len(s.Points) == 0:
			none := "it has no datapoint of the last " + render.Plural(metrics.MaxPoints, "period")
			e.add(f.Name, "metrics", Note, held, what, none)
		}
	}
}
