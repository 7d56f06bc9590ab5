package config_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/muster-scale/muster/config"
)

func TestWhatAWorkerIsToItsMachine(t *testing.T) {
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for _, row := range []struct {
		name, fleet, part string
		want              config.Workers
	}{
		{"nothing is stated", "", "", config.Workers{}},
		{"metrics, each minute", "report: [cloudwatch]", "",
			config.Workers{Report: []string{"cloudwatch"}, ReportEvery: time.Minute}},
		{"a namespace, a table, and metrics more often",
			`report: ["cloudwatch:App", "dynamodb:reports"], report_every: 5s`, "",
			config.Workers{Report: []string{"cloudwatch:App", "dynamodb:reports"}, ReportEvery: 5 * time.Second}},
		{"an hour is paid for", "billing_period: 1h, billing_margin: 30m", "",
			config.Workers{BillingPeriod: time.Hour, BillingMargin: 30 * time.Minute}},
		{"from an instant on", "billing_period: 1h, billing_start: 2026-01-02T03:04:05Z", "",
			config.Workers{BillingPeriod: time.Hour, BillingStart: at}},
		{"in another zone, quoted", `billing_period: 1h, billing_start: "2026-01-02T04:04:05+01:00"`, "",
			config.Workers{BillingPeriod: time.Hour, BillingStart: at}},
		{"a hook", "lifecycle_hook: auto, auto_scaling_group: hosts", "",
			config.Workers{LifecycleHook: "auto", Group: "hosts"}},
		{"a part reports elsewhere", "report: [cloudwatch], lifecycle_hook: auto", `report: ["dynamodb:parts"]`,
			config.Workers{Report: []string{"dynamodb:parts"}, ReportEvery: time.Minute, LifecycleHook: "auto"}},
		{"a part reports nowhere else", "report: [cloudwatch], report_every: 5s", "report: []",
			config.Workers{ReportEvery: 5 * time.Second}},
	} {
		t.Run(row.name, func(t *testing.T) {
			fleet := strings.TrimSuffix("command: x, "+row.fleet, ", ")
			w := parse(t, "version: 1\nfleets: [{name: f, queue: q, max: 3, workers: {"+fleet+
				"}, split: [{name: a, weight: 1, workers: {"+row.part+
				"}}, {name: b, weight: 1}]}]").Fleets[0].Split[0].Workers
			got := config.Workers{
				Report: w.Report, ReportEvery: w.ReportEvery, BillingPeriod: w.BillingPeriod,
				BillingMargin: w.BillingMargin, BillingStart: w.BillingStart,
				LifecycleHook: w.LifecycleHook, Group: w.Group,
			}
			if diff := diff(row.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if want := len(row.want.Report) > 0 || row.want.LifecycleHook != ""; w.OnAWS() != want {
				t.Errorf("it calls AWS: %t, want %t", w.OnAWS(), want)
			}
		})
	}
}

func TestWhereTheReportsOfAFleetAre(t *testing.T) {
	for _, row := range []struct{ name, fleet, want string }{
		{"with the controller", "asg: {group: web}", ""},
		{"in a table, of a group whose service ends its instances", "asg: {group: web, reports: none}, reports_from: " +
			"'dynamodb:reports'", "reports"},
		{"in a table, of a service", "ecs: {cluster: prod, service: web, reports: none}, reports_from: " +
			"'dynamodb:reports.eu'", "reports.eu"},
		{"in a table, of tasks that leave by themselves", "policy: exact, ecs: {cluster: prod, task_definition: " +
			"work}, reports_from: 'dynamodb:reports'", "reports"},
	} {
		t.Run(row.name, func(t *testing.T) {
			if got := parse(t, "version: 1\nfleets: [{name: f, "+onSQS+row.fleet+
				"}]").Fleets[0].ReportsTable; got != row.want {
				t.Errorf("found the table %q, want %q", got, row.want)
			}
		})
	}
}

func TestRemarksTellOfAttemptsThatNeverCome(t *testing.T) {
	const queues = "queues: [{name: q, dead_letter: {queue: dead, after: 3}}, {name: none}, {name: late, " +
		"dead_letter: {queue: dead, after: 9}}]\n"
	for _, row := range []struct{ name, fleet, path, says string }{
		{"more receives than attempts", "queue: q, workers: {command: x, max_attempts: 2}", "", ""},
		{"fewer", "queue: q, workers: {command: x, max_attempts: 5}", "fleets[0].workers.max_attempts",
			"moves a message to dead after 3 receives (queues[0].dead_letter.after), so attempt 4 of 5 never comes"},
		{"as many: an interruption costs the last", "queue: q, workers: {command: x, max_attempts: 3}",
			"fleets[0].workers.max_attempts", "so one that was interrupted loses its last attempt"},
		{"nobody counts", "queue: q, workers: {command: x}", "", ""},
		{"the queue moves nothing", "queue: none, workers: {command: x, max_attempts: 5, dead_letter: dead}", "", ""},
		{"one of several queues", "queues: [late, q], workers: {command: x, max_attempts: 5, dead_letter: dead}",
			"fleets[0].workers.max_attempts", "the queue q"},
		{"a part alone", "queue: q, workers: {command: x}, split: [{name: a, weight: 1}, {name: b, weight: 1, " +
			"workers: {max_attempts: 4}}]", "fleets[0].split[1].workers.max_attempts", "attempt 4 of 4"},
		{"a queue on SQS of that name", "queue: 'https://sqs.eu-west-1.amazonaws.com/1/q', workers: {command: x, " +
			"max_attempts: 5, dead_letter: 'https://sqs.eu-west-1.amazonaws.com/1/d'}", "", ""},
	} {
		t.Run(row.name, func(t *testing.T) {
			remarks := parse(t, "version: 1\n"+queues+"fleets: [{name: f, max: 3, policy: exact, "+row.fleet+
				"}]").Remarks()
			if row.says == "" {
				if len(remarks) > 0 {
					t.Errorf("found %v, want none", remarks)
				}
				return
			}
			if !slices.ContainsFunc(remarks, func(r config.Fault) bool {
				return r.Path == row.path &&
					strings.Contains(r.Message, row.says)
			}) || len(remarks) != 1 {
				t.Errorf("found %v, want one at %s that says %q", remarks, row.path, row.says)
			}
		})
	}
}

// A fleet whose workers do not report learns nothing, and stays small.
func TestRemarksTellWhereDurationsAreNeverKnown(t *testing.T) {
	for _, row := range []struct {
		name, fleet string
		said        bool
	}{
		{"nothing is stated", "asg: {group: g, reports: none}", true},
		{"the mean is", "asg: {group: g, reports: none}, policy: {name: deadline, processing: 30s}", false},
		{"a backlog per worker is", "asg: {group: g, reports: none}, policy: {name: dynamic-backlog, acceptable: 9}",
			false},
		{"the workers report", "asg: {group: g}", false},
		{"a policy that asks for none", "asg: {group: g, reports: none}, policy: " +
			"{name: backlog-per-worker, acceptable: 9}",
			false},
	} {
		t.Run(row.name, func(t *testing.T) {
			remarks := parse(t, "version: 1\nfleets: [{name: f, max: 3, "+
				"queue: 'https://sqs.eu-west-1.amazonaws.com/123456789012/q', "+row.fleet+"}]").Remarks()
			said := slices.ContainsFunc(remarks, func(r config.Fault) bool {
				return r.Path == "fleets[0].name" && strings.Contains(r.Message, "workers that do not report")
			})
			if said != row.said {
				t.Errorf("found %v, want it said: %t", remarks, row.said)
			}
		})
	}
}

func TestRemarksTellWhereNothingIsKnownOfDurations(t *testing.T) {
	for _, row := range []struct {
		name, fleet string
		said        bool
	}{
		{"neither is stated", "workers: {command: x}", true},
		{"the mean is", "workers: {command: x}, policy: {name: deadline, processing: 30s}", false},
		{"the longest is", "workers: {command: x, time_limit: 10m}", false},
		{"a policy that asks for neither", "workers: {command: x}, policy: exact", false},
		{"a target that follows the durations", "workers: {command: x}, policy: dynamic-backlog", true},
		{"workers elsewhere", "asg: {group: g}", false},
		{"workers that report to nobody", "asg: {group: g, reports: none}", false},
	} {
		t.Run(row.name, func(t *testing.T) {
			remarks := parse(t, "version: 1\nqueues: [{name: q}]\nfleets: [{name: f, max: 3, queue: q, "+row.fleet+
				"}]").Remarks()
			said := slices.ContainsFunc(remarks, func(r config.Fault) bool {
				return r.Path == "fleets[0].name" &&
					strings.Contains(r.Message, "neither policy.processing nor workers.time_limit")
			})
			if said != row.said {
				t.Errorf("found %v, want it said: %t", remarks, row.said)
			}
		})
	}
}
