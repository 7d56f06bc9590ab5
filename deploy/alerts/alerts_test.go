package alerts_test

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/muster-scale/muster/deploy/alerts"
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
		t.Errorf("%s: found\n%s\nwant\n%s\ngo test ./deploy/alerts -update writes it anew", name, text, want)
	}
}

func TestTheRulesAreWhatTheyWere(t *testing.T) { golden(t, "rules.yml", alerts.Prometheus(nil)) }

// promtool runs Debian's promtool in the folder dir.
func promtool(t *testing.T, dir string, args ...string) {
	t.Helper()
	program, err := exec.LookPath("promtool")
	switch {
	case err != nil && os.Getenv("CI") == "true":
		t.Fatal("the program promtool is not installed, and CI needs it; on Debian: apt-get install prometheus")
	case err != nil:
		t.Skip("the program promtool is not installed; on Debian: apt-get install prometheus")
	}
	cmd := exec.CommandContext(t.Context(), program, args...)
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("promtool %s: %v\n%s", strings.Join(args, " "), err, out)
	}
}

func TestPrometheusAcceptsTheRules(t *testing.T) {
	for name, fleets := range map[string][]string{"all": nil, "one": {"a"}, "two": {"a.b", "c-d_e"}} {
		path := filepath.Join(t.TempDir(), name+".yml")
		if err := os.WriteFile(path, []byte(alerts.Prometheus(fleets)), 0o600); err != nil {
			t.Fatal(err)
		}
		promtool(t, ".", "check", "rules", path)
	}
}

// TestTheRulesAlertWhenTheyShould runs testdata/rules_test.yml: what each rule alerts at, and what it does not.
func TestTheRulesAlertWhenTheyShould(t *testing.T) {
	promtool(t, "testdata", "test", "rules", "rules_test.yml")
}

// TestEveryRuleHasATest holds that rules_test.yml has a case that alerts for each rule.
func TestEveryRuleHasATest(t *testing.T) {
	text, err := os.ReadFile("testdata/rules_test.yml")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range alerts.Names() {
		if !strings.Contains(string(text), "alertname: "+name+"\n        exp_alerts:") {
			t.Errorf("testdata/rules_test.yml has no case in which %s alerts", name)
		}
	}
}

func TestRulesForSomeFleetsSelectThem(t *testing.T) {
	for _, r := range alerts.Rules([]string{"a.b", "c"}) {
		if strings.Contains(r.Expr, "muster_") && !strings.Contains(r.Expr, `fleet=~"a\\.b|c"`) &&
			r.Name != "MusterNoController" {
			t.Errorf("%s has the expression %s, want only the fleets a.b and c", r.Name, r.Expr)
		}
		if r.Name == "MusterNoController" && r.Expr != "absent(muster_fleet_sized{fleet=\"a.b\"})\n"+
			"or absent(muster_fleet_sized{fleet=\"c\"})" {
			t.Errorf("MusterNoController has the expression %s", r.Expr)
		}
	}
}

const fleets = `version: 1
fleets:
  - name: web-images
    queue: https://sqs.eu-west-1.amazonaws.com/123456789012/work
    max: 10
    objective: {latency: 300s, quantile: 0.99}
    policy: {name: dynamic-backlog, processing: 25s}
    asg: {group: web}
    delegate: {namespace: Own}
  - {name: local, queue: jobs, max: 3, objective: {latency: 1m}, workers: {command: [./x]}}
`

// template returns the alarms of a configuration.
func template(t *testing.T, text string) (alerts.Template, error) {
	t.Helper()
	c, err := kinds.Parse("m.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return alerts.CloudWatch(c)
}

func TestTheAlarmsAreWhatTheyWere(t *testing.T) {
	found, err := template(t, fleets)
	if err != nil {
		t.Fatal(err)
	}
	// One line for each alarm keeps the file short enough to read.
	var b strings.Builder
	for _, part := range []any{found.Parameters, found.Conditions} {
		text, err := json.Marshal(part)
		if err != nil {
			t.Fatal(err)
		}
		b.WriteString(string(text) + "\n")
	}
	text, err := json.Marshal(found.Resources)
	if err != nil {
		t.Fatal(err)
	}
	b.WriteString(strings.ReplaceAll(string(text), `,"WebImages`, ",\n\"WebImages") + "\n")
	golden(t, "alarms.txt", b.String())
}

func TestEveryAlertIsAnAlarmToo(t *testing.T) {
	found, err := template(t, fleets)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range alerts.Names() {
		if name == "MusterFleetNotSized" {
			continue // nothing of that fleet is published, so NoController is its alarm
		}
		r, ok := found.Resources["WebImages"+strings.TrimPrefix(name, "Muster")]
		if !ok || r.Properties["AlarmActions"] == nil {
			t.Errorf("found %+v for %s, want an alarm that notifies", r, name)
		}
	}
}

func TestFleetsWithSimilarNamesHaveTheirOwnAlarms(t *testing.T) {
	one, err := template(t, fleets)
	if err != nil {
		t.Fatal(err)
	}
	i := strings.Index(fleets, "  - name: web-images")
	j := strings.Index(fleets, "  - {name: local")
	again := strings.NewReplacer("web-images", "web_images", "group: web", "group: web2", "/work",
		"/more").Replace(fleets[i:j])
	two, err := template(t, fleets+again)
	if err != nil {
		t.Fatal(err)
	}
	if len(two.Resources) != 2*len(one.Resources) {
		t.Errorf("found %d alarms of two fleets, want twice the %d of one", len(two.Resources), len(one.Resources))
	}
}

func TestWithoutAQueueOnSQSThereIsNoAlarm(t *testing.T) {
	_, err := template(t, "version: 1\nfleets: [{name: local, queue: jobs, max: 3, objective: {latency: 1m}, "+
		"workers: {command: [./x]}}]")
	if err == nil || !strings.Contains(err.Error(), "use --prometheus") {
		t.Errorf("found %v, want an error that names --prometheus", err)
	}
	if _, err := alerts.Make("datadog", nil); err == nil ||
		!strings.Contains(err.Error(), "allowed is prometheus or cloudwatch") {
		t.Errorf("found %v, want an error that names the systems", err)
	}
}

// TestATemplateHasNoMoreAlarmsThanCloudFormationTakes holds that too many are refused before they are deployed.
func TestATemplateHasNoMoreAlarmsThanCloudFormationTakes(t *testing.T) {
	text := "version: 1\nfleets:\n"
	for i := range 42 {
		text += fmt.Sprintf("  - {name: f%d, queue: 'https://sqs.eu-west-1.amazonaws.com/123456789012/q%[1]d', max: "+
			"5, asg: {group: g%[1]d, reports: none}}\n", i)
	}
	c, err := kinds.Parse("muster.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := alerts.CloudWatch(c); err == nil ||
		!strings.Contains(err.Error(), "found 504 alarms for 42 fleets, a template of CloudFormation has 500 at most") {
		t.Errorf("found %v", err)
	}
	c.Fleets = c.Fleets[:41]
	if _, err := alerts.CloudWatch(c); err != nil {
		t.Error(err)
	}
}
