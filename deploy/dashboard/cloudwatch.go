package dashboard

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/muster-scale/muster/config"
	"github.com/muster-scale/muster/kind"
)

// CloudWatchDashboard is the body of a dashboard of CloudWatch.
type CloudWatchDashboard struct {
	Widgets []Widget `json:"widgets"`
}

// Widget is one graph, or a heading.
type Widget struct {
	Type       string     `json:"type"`
	X          int        `json:"x"`
	Y          int        `json:"y"`
	Width      int        `json:"width"`
	Height     int        `json:"height"`
	Properties Properties `json:"properties"`
}

// Properties are those of a widget. A heading has only Markdown.
type Properties struct {
	Markdown string `json:"markdown,omitempty"`
	Title    string `json:"title,omitempty"`
	Region   string `json:"region,omitempty"`
	View     string `json:"view,omitempty"`
	Period   int    `json:"period,omitempty"`
	// Metrics are rows of a namespace, a metric, its dimensions, and an object with the rest; or of an object with an
	// expression.
	Metrics     [][]any      `json:"metrics,omitempty"`
	Annotations *Annotations `json:"annotations,omitempty"`
}

// Annotations are lines at fixed values.
type Annotations struct {
	Horizontal []Annotation `json:"horizontal"`
}

// Annotation is a line at a value.
type Annotation struct {
	Label string  `json:"label"`
	Value float64 `json:"value"`
}

// The grid of CloudWatch has 24 columns: two graphs in a row.
const (
	columns = 24
	width   = columns / 2
	height  = 6
)

// mostWidgets is how many widgets a dashboard of CloudWatch may have.
const mostWidgets = 500

// Make returns the JSON of the dashboard of a system, grafana or cloudwatch, for the fleets of a configuration. For
// Grafana a configuration without fleets stands for all fleets.
func Make(system string, c *config.Config) ([]byte, error) {
	var d any
	var err error
	switch system {
	case "grafana":
		var names []string
		for _, f := range c.Fleets {
			names = append(names, f.Name)
		}
		d = Grafana(names)
	case "cloudwatch":
		d, err = CloudWatch(c)
	default:
		err = fmt.Errorf("found the system %q, allowed is grafana or cloudwatch", system)
	}
	if err != nil {
		return nil, fmt.Errorf("make a dashboard: %w", err)
	}
	text, err := json.MarshalIndent(d, "", "  ")
	return append(text, '\n'), err
}

// CloudWatch returns the dashboard of the fleets with a queue on SQS. It fails if no fleet has such a queue.
func CloudWatch(c *config.Config) (CloudWatchDashboard, error) {
	var d CloudWatchDashboard
	y := 0
	for _, f := range c.Fleets {
		graphs := graphsOf(f)
		if len(graphs) == 0 {
			continue
		}
		in := kind.HomeOf(f)
		if in == "" {
			return d, fmt.Errorf("nothing names the region of the fleet %s: state it in the configuration", f.Name)
		}
		d.Widgets = append(d.Widgets, Widget{Type: "text", Y: y, Width: columns, Height: 1,
			Properties: Properties{Markdown: "## " + f.Name}})
		y++
		for i, g := range graphs {
			g.Region, g.View, g.Period = in, "timeSeries", 60
			d.Widgets = append(d.Widgets, Widget{Type: "metric", X: i % 2 * width, Y: y + i/2*height, Width: width,
				Height: height, Properties: g})
		}
		y += (len(graphs) + 1) / 2 * height
	}
	if n := len(d.Widgets); n > mostWidgets {
		return d, fmt.Errorf("found %d widgets for %d fleets, a dashboard of CloudWatch has %d at most: keep the "+
			"fleets in several configurations, or use --grafana", n, len(c.Fleets), mostWidgets)
	}
	if len(d.Widgets) == 0 {
		return d, errors.New("found no fleet with a queue on SQS; use --grafana for others, or name the " +
			"configuration with -f FILE")
	}
	return d, nil
}

// graphsOf returns the graphs of a fleet; none without a queue on SQS.
func graphsOf(f config.Fleet) []Properties {
	var visible, oldest [][]any
	for _, q := range f.Queues {
		if !q.Remote {
			continue
		}
		of := func(metric, stat, label string) []any {
			return []any{"AWS/SQS", metric, "QueueName", q.Name, map[string]any{"stat": stat, "label": q.Name + label}}
		}
		visible = append(visible, of("ApproximateNumberOfMessagesVisible", "Maximum", " visible"),
			of("ApproximateNumberOfMessagesNotVisible", "Maximum", " in flight"))
		oldest = append(oldest, of("ApproximateAgeOfOldestMessage", "Maximum", ""))
	}
	if len(visible) == 0 {
		return nil
	}
	published := func(metric, label string) []any {
		return []any{kind.NamespaceOf(f), metric, "Fleet", f.Name, map[string]any{"stat": "Average", "label": label}}
	}
	size := [][]any{published("WorkersInService", "in service")}
	if desired := desiredOf(f); desired != nil {
		size = append(size, desired)
	}
	at := func(label string, v float64) *Annotations { return &Annotations{[]Annotation{{label, v}}} }
	graphs := []Properties{
		{Title: "Messages", Metrics: visible},
		{Title: "Workers", Metrics: size, Annotations: at("largest allowed", float64(f.Limits.Max))},
		{Title: "Mean processing duration (s)", Metrics: [][]any{published("MeanProcessingDuration", "mean")}},
		{Title: "Backlog per worker", Metrics: [][]any{published("BacklogPerWorker", "backlog per worker"),
			published("AcceptableBacklogPerWorker", "acceptable")}},
		{Title: "Oldest message (s)", Metrics: oldest, Annotations: at("objective", f.Objective.Latency.Seconds())},
		{Title: "Share in time and late, last hour", Annotations: at("objective", f.Objective.Quantile),
			Metrics: append([][]any{{map[string]any{"expression": "1 - intime", "label": "late", "id": "late"}}},
				withID(published("InTimeRatio", "in time"), "intime"))},
	}
	if price := f.Policy.PricePerHour; price > 0 {
		graphs = append(graphs, Properties{Title: "Cost per hour", Metrics: [][]any{
			{map[string]any{"expression": fmt.Sprintf("workers * %g", price), "label": "cost", "id": "cost"}},
			hidden(withID(published("WorkersInService", "in service"), "workers"))}})
	}
	return graphs
}

// desiredOf returns the desired count of the group or service, or nil where CloudWatch does not have it.
func desiredOf(f config.Fleet) []any {
	rest := map[string]any{"stat": "Average", "label": "desired"}
	switch of := f.Facts().Tracked; {
	case of.Group != "":
		return []any{"AWS/AutoScaling", "GroupDesiredCapacity", "AutoScalingGroupName", of.Group, rest}
	case of.Service != "":
		cluster := of.Cluster[strings.LastIndexByte(of.Cluster, '/')+1:] // an ARN ends with the name
		return []any{"ECS/ContainerInsights", "DesiredTaskCount", "ClusterName", cluster, "ServiceName", of.Service,
			rest}
	}
	return nil
}

// withID names a metric for expressions.
func withID(metric []any, id string) []any {
	metric[len(metric)-1].(map[string]any)["id"] = id
	return metric
}

// hidden keeps a metric for expressions only.
func hidden(metric []any) []any {
	metric[len(metric)-1].(map[string]any)["visible"] = false
	return metric
}
