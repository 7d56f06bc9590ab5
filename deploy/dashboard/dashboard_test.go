package dashboard_test

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/muster-scale/muster/deploy/dashboard"
	"github.com/muster-scale/muster/kinds"
)

var update = flag.Bool("update", false, "write the golden files anew")

// golden compares text with a file.
func golden(t *testing.T, name, text string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if text != string(want) {
		t.Errorf("%s: found\n%s\nwant\n%s\ngo test ./deploy/dashboard -update writes it anew", name, text, want)
	}
}

// TestThePanelsAreWhatTheyWere compares what each panel shows, without its place.
func TestThePanelsAreWhatTheyWere(t *testing.T) {
	var b strings.Builder
	for _, p := range dashboard.Grafana(nil).Panels {
		fmt.Fprintf(&b, "%s (%s)\n", p.Title, p.FieldConfig.Defaults.Unit)
		for _, x := range p.Targets {
			fmt.Fprintf(&b, "  %s: %s\n", x.LegendFormat, strings.ReplaceAll(x.Expr, "\n", " "))
		}
	}
	golden(t, "grafana.txt", b.String())
}

// TestGrafanaCanShowIt holds what Grafana needs: panels that do not overlap, a data source that is chosen, and queries
// with names of their own.
func TestGrafanaCanShowIt(t *testing.T) {
	d := dashboard.Grafana([]string{"a.b", "c"})
	taken, ids := map[[2]int]string{}, map[int]bool{}
	for _, p := range d.Panels {
		if ids[p.ID] || p.ID == 0 || p.Title == "" || p.Description == "" || len(p.Targets) == 0 {
			t.Errorf("the panel %q has the number %d and %d queries", p.Title, p.ID, len(p.Targets))
		}
		ids[p.ID] = true
		if p.GridPos.X+p.GridPos.W > 24 {
			t.Errorf("the panel %q ends at column %d, a row has 24", p.Title, p.GridPos.X+p.GridPos.W)
		}
		for x := p.GridPos.X; x < p.GridPos.X+p.GridPos.W; x++ {
			for y := p.GridPos.Y; y < p.GridPos.Y+p.GridPos.H; y++ {
				if other := taken[[2]int{x, y}]; other != "" {
					t.Fatalf("the panels %q and %q overlap", p.Title, other)
				}
				taken[[2]int{x, y}] = p.Title
			}
		}
		refs := map[string]bool{}
		for _, x := range p.Targets {
			if x.Datasource.UID != "${datasource}" || x.Datasource.Type != "prometheus" || refs[x.RefID] {
				t.Errorf("%q has the query %+v", p.Title, x)
			}
			refs[x.RefID] = true
			if strings.Count(x.Expr, "muster_") != strings.Count(x.Expr, `{fleet=~"$fleet"`) {
				t.Errorf("%q does not select the fleet everywhere: %s", p.Title, x.Expr)
			}
		}
	}
	variables := d.Templating.List
	if len(variables) != 2 || variables[0].Type != "datasource" || variables[0].Name != "datasource" ||
		variables[1].Name != "fleet" || variables[1].Datasource.UID != "${datasource}" ||
		variables[1].Regex != `/^(a\.b|c)$/` {
		t.Errorf("found the variables %+v", variables)
	}
	text, err := json.Marshal(d)
	if err != nil || strings.Contains(string(text), `:null`) {
		t.Errorf("%v: found null in %s", err, text)
	}
}

// TestPrometheusParsesEveryQuery has promtool check the queries as recording rules.
func TestPrometheusParsesEveryQuery(t *testing.T) {
	program, err := exec.LookPath("promtool")
	switch {
	case err != nil && os.Getenv("CI") == "true":
		t.Fatal("the program promtool is not installed, and CI needs it; on Debian: apt-get install prometheus")
	case err != nil:
		t.Skip("the program promtool is not installed; on Debian: apt-get install prometheus")
	}
	var b strings.Builder
	b.WriteString("groups:\n  - name: queries\n    rules:\n")
	n := 0
	for _, p := range dashboard.Grafana(nil).Panels {
		for _, x := range p.Targets {
			n++
			expr := strings.NewReplacer("$fleet", "a|b", "$__rate_interval", "2m", "\n", " ").Replace(x.Expr)
			fmt.Fprintf(&b, "      - record: query:%d\n        expr: %s\n", n, fmt.Sprintf("%q", expr))
		}
	}
	path := filepath.Join(t.TempDir(), "queries.yml")
	if err := os.WriteFile(path, []byte(b.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.CommandContext(t.Context(), program, "check", "rules", path).CombinedOutput(); err != nil {
		t.Errorf("promtool: %v\n%s\n%s", err, out, b.String())
	}
}

const fleets = `version: 1
fleets:
  - name: images
    queue: https://sqs.eu-west-1.amazonaws.com/123456789012/work
    max: 10
    objective: {latency: 300s, quantile: 0.99}
    policy: {name: dynamic-backlog, processing: 25s}
    price: 0.2
    asg: {group: web}
    delegate: {namespace: Own}
  - name: slides
    queue: https://sqs.eu-west-1.amazonaws.com/123456789012/slides
    max: 5
    objective: {latency: 60s}
    ecs: {cluster: "arn:aws:ecs:eu-west-1:123456789012:cluster/prod", service: slides}
  - {name: local, queue: jobs, max: 3, objective: {latency: 1m}, workers: {command: [./x]}}
`

// cloudWatch returns the dashboard of a configuration.
func cloudWatch(t *testing.T, text string) (dashboard.CloudWatchDashboard, error) {
	t.Helper()
	c, err := kinds.Parse("m.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return dashboard.CloudWatch(c)
}

func TestTheWidgetsAreWhatTheyWere(t *testing.T) {
	d, err := cloudWatch(t, fleets)
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	for _, w := range d.Widgets {
		fmt.Fprintf(&b, "%d,%d %dx%d %s%s %s\n", w.X, w.Y, w.Width, w.Height, w.Properties.Markdown, w.Properties.Title,
			w.Properties.Region)
		for _, m := range w.Properties.Metrics {
			text, err := json.Marshal(m)
			if err != nil {
				t.Fatal(err)
			}
			fmt.Fprintf(&b, "  %s\n", text)
		}
		if a := w.Properties.Annotations; a != nil {
			fmt.Fprintf(&b, "  at %g %s\n", a.Horizontal[0].Value, a.Horizontal[0].Label)
		}
	}
	golden(t, "cloudwatch.txt", b.String())
}

// TestWidgetsDoNotOverlap holds the grid of CloudWatch, and that expressions use ids of their own widget.
func TestWidgetsDoNotOverlap(t *testing.T) {
	d, err := cloudWatch(t, fleets)
	if err != nil {
		t.Fatal(err)
	}
	taken := map[[2]int]bool{}
	identifier := regexp.MustCompile(`[a-z]+`)
	for _, w := range d.Widgets {
		for x := w.X; x < w.X+w.Width; x++ {
			for y := w.Y; y < w.Y+w.Height; y++ {
				if taken[[2]int{x, y}] || x >= 24 {
					t.Fatalf("the widget %q overlaps another, or the edge", w.Properties.Title)
				}
				taken[[2]int{x, y}] = true
			}
		}
		ids, used := map[string]bool{}, []string{}
		for _, m := range w.Properties.Metrics {
			rest := m[len(m)-1].(map[string]any)
			if id, ok := rest["id"].(string); ok {
				ids[id] = true
			}
			if expression, ok := rest["expression"].(string); ok {
				used = append(used, identifier.FindAllString(expression, -1)...)
			}
		}
		for _, id := range used {
			if !ids[id] {
				t.Errorf("the widget %q uses %q, which is none of its metrics", w.Properties.Title, id)
			}
		}
	}
}

func TestWhatCloudWatchCannotShowIsSaid(t *testing.T) {
	local := "version: 1\nfleets: [{name: local, queue: jobs, max: 3, objective: {latency: 1m}, " +
		"workers: {command: [./x]}}]"
	if _, err := cloudWatch(t, local); err == nil || !strings.Contains(err.Error(), "use --grafana") {
		t.Errorf("found %v, want an error that names --grafana", err)
	}
	if _, err := dashboard.Make("datadog", nil); err == nil ||
		!strings.Contains(err.Error(), "allowed is grafana or cloudwatch") {
		t.Errorf("found %v, want an error that names the systems", err)
	}
}

// TestADashboardHasNoMoreWidgetsThanCloudWatchTakes holds that too many are refused before they are put.
func TestADashboardHasNoMoreWidgetsThanCloudWatchTakes(t *testing.T) {
	text := "version: 1\nfleets:\n"
	for i := range 72 {
		text += fmt.Sprintf("  - {name: f%d, queue: 'https://sqs.eu-west-1.amazonaws.com/123456789012/q%[1]d', max: "+
			"5, asg: {group: g%[1]d, reports: none}}\n", i)
	}
	c, err := kinds.Parse("muster.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := dashboard.CloudWatch(c); err == nil ||
		!strings.Contains(err.Error(), "for 72 fleets, a dashboard of CloudWatch has 500 at most") {
		t.Errorf("found %v", err)
	}
	c.Fleets = c.Fleets[:71]
	if _, err := dashboard.CloudWatch(c); err != nil {
		t.Error(err)
	}
}
