package alerts_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/muster-scale/muster/deploy/alerts"
	"github.com/muster-scale/muster/deploy/dashboard"
)

// This file holds docs/monitoring.md, the rules and the dashboard to the metrics that the program exports.

var metricName = regexp.MustCompile(`^muster_[a-z0-9_]+$`)

// exported returns the names of all metrics: each stands as a literal in package server, which writes /metrics.
func exported(t *testing.T) []string {
	t.Helper()
	files, err := filepath.Glob("../../server/*.go")
	if err != nil || len(files) == 0 {
		t.Fatalf("found %d files of package server, %v", len(files), err)
	}
	names := map[string]bool{}
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(parsed, func(n ast.Node) bool {
			if l, ok := n.(*ast.BasicLit); ok && l.Kind == token.STRING {
				if text, err := strconv.Unquote(l.Value); err == nil && metricName.MatchString(text) {
					names[text] = true
				}
			}
			return true
		})
	}
	return slices.Sorted(maps.Keys(names))
}

// page returns the rows of the tables of docs/monitoring.md that begin with a name in back quotes, without these.
func page(t *testing.T, prefix string) map[string][]string {
	t.Helper()
	text, err := os.ReadFile("../../docs/monitoring.md")
	if err != nil {
		t.Fatal(err)
	}
	rows := map[string][]string{}
	for line := range strings.Lines(string(text)) {
		if !strings.HasPrefix(line, "|") {
			continue // a sentence may begin with the name of a metric
		}
		cells := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), " | ")
		if name := strings.Trim(cells[0], " `"); strings.HasPrefix(strings.TrimSpace(cells[0]), "`"+prefix) {
			rows[name] = cells
		}
	}
	return rows
}

func TestThePageListsEveryMetricAndNoOther(t *testing.T) {
	rows := page(t, "muster_")
	for _, name := range exported(t) {
		cells := rows[name]
		if len(cells) != 5 {
			t.Errorf("docs/monitoring.md has %q for %s, want metric, kind, unit, meaning and alert", cells, name)
			continue
		}
		counts := strings.HasSuffix(name, "_total")
		if (strings.TrimSpace(cells[1]) == "counter") != counts {
			t.Errorf("docs/monitoring.md says that %s is a %s", name, cells[1])
		}
		delete(rows, name)
	}
	for name := range rows {
		t.Errorf("docs/monitoring.md lists %s, which /metrics does not have", name)
	}
}

func TestThePageListsEveryAlertAndNoOther(t *testing.T) {
	rows := page(t, "Muster")
	severities := map[string]string{}
	for _, r := range alerts.Rules(nil) {
		severities[r.Name] = r.Severity
	}
	for _, name := range alerts.Names() {
		if cells := rows[name]; len(cells) != 4 || strings.TrimSpace(cells[1]) != severities[name] {
			t.Errorf("docs/monitoring.md has %q for %s, want its severity %s, what happened and what to do", cells,
				name, severities[name])
		}
	}
	if len(rows) != len(severities) {
		t.Errorf("docs/monitoring.md lists %d alerts, there are %d", len(rows), len(severities))
	}
}

var usedMetric = regexp.MustCompile(`muster_[a-z0-9_]+`)

// metricsOf returns the metrics of an expression. A histogram is three series.
func metricsOf(expr string) (names []string) {
	for _, name := range usedMetric.FindAllString(expr, -1) {
		names = append(names, strings.TrimSuffix(name, "_bucket"))
	}
	return names
}

// TestThePageSaysWhichAlertUsesAMetric holds the last column of the metrics to the rules, in both directions.
func TestThePageSaysWhichAlertUsesAMetric(t *testing.T) {
	uses := map[string]map[string]bool{} // alerts by metric
	use := func(alert, expr string) {
		for _, name := range metricsOf(expr) {
			if uses[name] == nil {
				uses[name] = map[string]bool{}
			}
			uses[name][alert] = true
		}
	}
	for _, r := range alerts.Rules(nil) {
		use(r.Name, r.Expr)
		if strings.Contains(r.Expr, "muster:messages_late") { // by way of the recorded ratios
			use(r.Name, "muster_messages_late_total muster_messages_in_time_total muster_objective_quantile")
		}
	}
	for name, cells := range page(t, "muster_") {
		want := slices.Sorted(maps.Keys(uses[name]))
		got := regexp.MustCompile("Muster[A-Za-z]+").FindAllString(cells[len(cells)-1], -1)
		if slices.Sort(got); !slices.Equal(got, want) {
			t.Errorf("docs/monitoring.md says that %s is used by %q, want %q", name, got, want)
		}
	}
}

func TestRulesAndDashboardsUseExportedMetricsOnly(t *testing.T) {
	known := exported(t)
	check := func(where, expr string) {
		for _, name := range metricsOf(expr) {
			if !slices.Contains(known, name) {
				t.Errorf("%s uses %s, which /metrics does not have", where, name)
			}
		}
	}
	for _, r := range alerts.Rules(nil) {
		check(r.Name, r.Expr)
	}
	check("the rule file", alerts.Prometheus(nil))
	for _, p := range dashboard.Grafana(nil).Panels {
		for _, x := range p.Targets {
			check(p.Title, x.Expr)
		}
	}
}
