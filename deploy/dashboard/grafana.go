package dashboard

import (
	"regexp"
	"strings"
)

// GrafanaDashboard is a dashboard of Grafana 9 or later.
type GrafanaDashboard struct {
	UID           string     `json:"uid"`
	Title         string     `json:"title"`
	Description   string     `json:"description"`
	Tags          []string   `json:"tags"`
	SchemaVersion int        `json:"schemaVersion"`
	Editable      bool       `json:"editable"`
	Refresh       string     `json:"refresh"`
	Time          TimeRange  `json:"time"`
	Templating    Templating `json:"templating"`
	// Annotations has no entries: Grafana's schema requires it.
	Annotations Marks   `json:"annotations"`
	Panels      []Panel `json:"panels"`
}

// TimeRange is the shown time, as in now-6h.
type TimeRange struct {
	From string `json:"from"`
	To   string `json:"to"`
}

// Templating holds the variables of a dashboard.
type Templating struct {
	List []Variable `json:"list"`
}

// Marks holds what is marked on all panels.
type Marks struct {
	List []any `json:"list"`
}

// Variable is a variable: the data source, or the fleet.
type Variable struct {
	Name       string      `json:"name"`
	Label      string      `json:"label"`
	Type       string      `json:"type"`
	Query      string      `json:"query"`
	Datasource *Datasource `json:"datasource,omitempty"`
	Regex      string      `json:"regex,omitempty"`
	Refresh    int         `json:"refresh,omitempty"`
	IncludeAll bool        `json:"includeAll,omitempty"`
	Multi      bool        `json:"multi,omitempty"`
	AllValue   string      `json:"allValue,omitempty"`
}

// Datasource names a data source.
type Datasource struct {
	Type string `json:"type"`
	UID  string `json:"uid"`
}

// Panel is one graph.
type Panel struct {
	ID          int         `json:"id"`
	Type        string      `json:"type"`
	Title       string      `json:"title"`
	Description string      `json:"description"`
	Datasource  Datasource  `json:"datasource"`
	GridPos     GridPos     `json:"gridPos"`
	FieldConfig FieldConfig `json:"fieldConfig"`
	Targets     []Target    `json:"targets"`
}

// GridPos is the place of a panel, in columns of 24 and in rows.
type GridPos struct {
	H int `json:"h"`
	W int `json:"w"`
	X int `json:"x"`
	Y int `json:"y"`
}

// FieldConfig has the unit of a panel.
type FieldConfig struct {
	Defaults  Defaults `json:"defaults"`
	Overrides []any    `json:"overrides"`
}

// Defaults are the settings of all lines of a panel.
type Defaults struct {
	Unit string  `json:"unit"`
	Min  float64 `json:"min"`
}

// Target is a query, and the label of its lines.
type Target struct {
	RefID        string     `json:"refId"`
	Datasource   Datasource `json:"datasource"`
	Expr         string     `json:"expr"`
	LegendFormat string     `json:"legendFormat"`
}

// panel is a panel before its place is known.
type panel struct {
	title, description, unit string
	lines                    []line
}

// line is one query, and the label of what it returns. Selectors stand as {}.
type line struct{ expr, legend string }

// inService counts the members in service of each fleet.
const inService = `sum by (fleet) (muster_members{state=~"idle|busy"})`

// queuePanels are those of the metrics that a fleet is sized by.
func queuePanels() []panel {
	return []panel{
		{"Messages", "Visible messages wait to be received. Messages in flight are at a worker, or wait for a retry.",
			"short", []line{
				{"sum by (fleet) (muster_queue_backlog{})", "{{fleet}} visible"},
				{"sum by (fleet) (muster_queue_in_flight{})", "{{fleet}} in flight"},
				{"sum by (fleet) (muster_queue_delayed{})", "{{fleet}} delayed"}}},
		{"Workers", "Desired and in service differ while members boot, or while none can be launched.", "short", []line{
			{inService, "{{fleet}} in service"},
			{"max by (fleet) (muster_desired{})", "{{fleet}} desired"},
			{"max by (fleet) (muster_limit_max{})", "{{fleet}} largest allowed"}}},
		{"Mean processing duration", "The time that one message takes in a slot.", "s", []line{
			{"max by (fleet) (muster_processing_mean_seconds{})", "{{fleet}}"}}},
		{"Backlog per worker", "Above the acceptable backlog per worker, messages will be late.", "short", []line{
			{"sum by (fleet) (muster_queue_backlog{}) / " + inService, "{{fleet}}"},
			{"max by (fleet) (muster_objective_latency_seconds{}) * sum by (fleet) (muster_slots{})\n" +
				"/ max by (fleet) (muster_processing_mean_seconds{}) / " + inService, "{{fleet}} acceptable"}}},
	}
}

// objectivePanels are those that tell whether the objective is met, and at what cost.
func objectivePanels() []panel {
	rate := func(metric string) string { return "sum by (fleet) (rate(" + metric + "{}[$__rate_interval]))" }
	quantile := func(q string) string {
		return "histogram_quantile(" + q + ", sum by (fleet, le) (rate(muster_message_latency_seconds_bucket{}" +
			"[$__rate_interval])))"
	}
	hour := func(metric string) string { return "sum by (fleet) (rate(" + metric + "{}[1h]))" }
	return []panel{
		{"Oldest message", "Above the objective, it is late before its work begins.", "s", []line{
			{"max by (fleet) (muster_queue_oldest_age_seconds{})", "{{fleet}}"},
			{"max by (fleet) (muster_objective_latency_seconds{})", "{{fleet}} objective"}}},
		{"Messages finished", "In time means that sent to finished took no longer than the objective.", "ops", []line{
			{rate("muster_messages_in_time_total"), "{{fleet}} in time"},
			{rate("muster_messages_late_total"), "{{fleet}} late"}}},
		{"Share in time, last hour", "Below the quantile of the objective, the error budget is overspent.",
			"percentunit", []line{
				{hour("muster_messages_in_time_total") + "\n/ (" + hour("muster_messages_in_time_total") + " + " +
					hour("muster_messages_late_total") + ")", "{{fleet}}"},
				{"max by (fleet) (muster_objective_quantile{})", "{{fleet}} objective"}}},
		{"Time from sent to finished", "The median and the 95th percentile. Buckets are narrow around the objective.",
			"s", []line{
				{quantile("0.5"), "{{fleet}} median"},
				{quantile("0.95"), "{{fleet}} p95"},
				{"max by (fleet) (muster_objective_latency_seconds{})", "{{fleet}} objective"}}},
		{"Failures", "Failed attempts are retried. A dead letter needs a person.", "short", []line{
			{"sum by (fleet) (increase(muster_messages_total{result=\"failed\"}[$__rate_interval]))",
				"{{fleet}} failed attempts"},
			{"sum by (fleet) (muster_queue_dead_letters{})", "{{fleet}} dead letters"},
			{"sum by (fleet) (increase(muster_worker_incidents_total{}[$__rate_interval]))", "{{fleet}} incidents"}}},
		{"Cost per hour", "The configured price times the desired count.", "short", []line{
			{"max by (fleet) (muster_cost_per_hour{})", "{{fleet}}"}}},
		{"Unknown signals", "While a signal is unknown, no worker is stopped.", "short", []line{
			{"sum by (fleet, signal) (1 - muster_signal_known{})", "{{fleet}} {{signal}}"}}},
		{"Not sized", "1 while the controller runs and does not size the fleet.", "short", []line{
			{"1 - min by (fleet) (muster_fleet_sized{})", "{{fleet}}"}}},
	}
}

// selector matches the selector of a metric: empty, or with labels.
var selector = regexp.MustCompile(`\{([^{}]*)\}`)

// byFleet restricts every selector of an expression to the variable fleet.
func byFleet(expr string) string {
	return selector.ReplaceAllStringFunc(expr, func(s string) string {
		if s == "{}" {
			return `{fleet=~"$fleet"}`
		}
		return `{fleet=~"$fleet",` + s[1:]
	})
}

// Grafana returns the dashboard. Its variable fleet offers the named fleets; none means all that are measured.
func Grafana(fleets []string) GrafanaDashboard {
	source := Datasource{Type: "prometheus", UID: "${datasource}"}
	fleet := Variable{Name: "fleet", Label: "Fleet", Type: "query", Query: "label_values(muster_fleet_sized, fleet)",
		Datasource: &source, Refresh: 2, IncludeAll: true, Multi: true}
	if len(fleets) > 0 {
		var names []string
		for _, f := range fleets {
			names = append(names, regexp.QuoteMeta(f))
		}
		fleet.Regex = "/^(" + strings.Join(names, "|") + ")$/"
	}
	d := GrafanaDashboard{
		UID: "muster-fleets", Title: "Muster fleets", Description: "By muster template dashboard --grafana.",
		Tags: []string{"muster"}, SchemaVersion: 37, Editable: true, Refresh: "30s",
		Time:        TimeRange{From: "now-6h", To: "now"},
		Annotations: Marks{List: []any{}},
		Templating: Templating{List: []Variable{
			{Name: "datasource", Label: "Data source", Type: "datasource", Query: "prometheus"}, fleet}},
	}
	const width, height = 12, 8
	for i, p := range append(queuePanels(), objectivePanels()...) {
		one := Panel{
			ID: i + 1, Type: "timeseries", Title: p.title, Description: p.description, Datasource: source,
			GridPos:     GridPos{H: height, W: width, X: i % 2 * width, Y: i / 2 * height},
			FieldConfig: FieldConfig{Defaults: Defaults{Unit: p.unit}, Overrides: []any{}},
		}
		for k, l := range p.lines {
			one.Targets = append(one.Targets, Target{RefID: string(rune('A' + k)), Datasource: source,
				Expr: byFleet(l.expr), LegendFormat: l.legend})
		}
		d.Panels = append(d.Panels, one)
	}
	return d
}
