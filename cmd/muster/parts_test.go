package main

import (
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/muster-scale/muster/app"
	"github.com/muster-scale/muster/config"

	"github.com/muster-scale/muster/worker/execution"
)

func TestWorkersAreStartedAsTheirFleetSays(t *testing.T) {
	data := t.TempDir()
	c := &config.Config{Data: data, Listen: config.Listen{Queue: "127.0.0.1:0", API: "127.0.0.1:0"}}
	a, err := app.Open(t.Context(), c, app.Options{Ephemeral: true, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	embedded := a.Endpoint() + "/000000000000/"
	const usual = "work --log warn --slots 1 --idle 0s --visibility 30s --grace 0s --warm-up 0s --protection none --queue QUEUE/q "
	for _, row := range []struct{ name, fleet, want string }{
		{"a command", "queue: q, workers: {command: [x, -y]}", usual + "-- x -y"},
		{"JSON lines, in batches", "queue: q, workers: {command: x, json_lines: true, batch: 3}", usual + "--batch 3 --json-lines -- x"},
		{"a URL", "queue: q, workers: {http: 'http://127.0.0.1:1/w'}", usual + "--http http://127.0.0.1:1/w"},
		{"attempts", "queue: q, workers: {command: x, max_attempts: 4, dead_letter: d}", usual + "--max-attempts 4 --dead-letter QUEUE/d --data DATA -- x"},
		{"classes", "queue: q, workers: {command: x, class_attribute: kind}", usual + "--class-attribute kind -- x"},
		{"reports, to CloudWatch each minute and to a table", "queue: q, workers: {command: x, report: ['cloudwatch:App', 'dynamodb:reports']}", usual + "--report cloudwatch:App --report dynamodb:reports --report-every 1m0s -- x"},
		{"billing", "queue: q, workers: {command: x, billing_period: 1h, billing_start: 2026-01-02T03:04:05Z}", usual + "--billing-period 1h0m0s --billing-start 2026-01-02T03:04:05Z -- x"},
		{"billing with a margin", "queue: q, workers: {command: x, billing_period: 1h, billing_margin: 5m}", usual + "--billing-period 1h0m0s --billing-margin 5m0s -- x"},
		{"a hook", "queue: q, workers: {command: x, lifecycle_hook: auto, auto_scaling_group: g}", usual + "--data DATA --lifecycle-hook auto --auto-scaling-group g -- x"},
		{"a hook and attempts", "queue: q, workers: {command: x, lifecycle_hook: h, max_attempts: 4, dead_letter: d}", usual + "--max-attempts 4 --dead-letter QUEUE/d --data DATA --lifecycle-hook h -- x"},
		{"variables: those with a value are not on the command line", "queue: q, workers: {command: x, env: [A, 'B=secret', C]}", usual + "--env A,C -- x"},
		{"its log, and how it retries", "queue: q, workers: {command: x, json_lines: true, log: debug, retry: 2s, start_limit: 5m}",
			strings.Replace(usual, "--log warn", "--log debug", 1) + "--retry 2s --start-limit 5m0s --json-lines -- x"},
		{"no queue: the command is the worker", "policy: {name: worker-utilization, signal: reports}, workers: {command: [x, -y]}", "x -y"},
	} {
		t.Run(row.name, func(t *testing.T) {
			c, err := config.Parse("m.yaml", []byte("version: 1\ndata: "+data+"\nfleets: [{name: f, max: 1, "+row.fleet+"}]"), nothing)
			if err != nil {
				t.Fatal(err)
			}
			argv, err := a.WorkerArgv(c.Fleets[0], c.Fleets[0].Workers)
			if err != nil {
				t.Fatal(err)
			}
			if filepath.IsAbs(argv[0]) {
				argv = argv[1:] // this program
				if err := newWork(&global{}).ParseFlags(argv[1:]); err != nil {
					t.Errorf("muster work does not take them: %v", err)
				}
			}
			got := strings.NewReplacer(embedded, "QUEUE/", data, "DATA").Replace(strings.Join(argv, " "))
			if got != row.want {
				t.Errorf("found\n%s\nwant\n%s", got, row.want)
			}
		})
	}
}

// nothing is an environment without variables.
func nothing(string) (string, bool) { return "", false }

// A value must get to the command, and to nothing that others can read.
func TestValuesOfVariablesGetToTheCommandAlone(t *testing.T) {
	for _, row := range []struct{ name, fleet, want string }{
		{"by the worker that runs it", "queue: q, workers: {command: x, env: ['A=1', B, 'C=a,\"b']}", `MUSTER_ENV=["A=1","C=a,\"b"]`},
		{"at once where the command is the worker", "policy: {name: worker-utilization, signal: reports}, workers: {command: x, env: ['A=1', B]}", "A=1"},
		{"none", "queue: q, workers: {command: x, env: [B]}", ""},
	} {
		t.Run(row.name, func(t *testing.T) {
			c, err := config.Parse("m.yaml", []byte("version: 1\nfleets: [{name: f, max: 1, "+row.fleet+"}]"), nothing)
			if err != nil {
				t.Fatal(err)
			}
			env := app.CommandEnv(c.Fleets[0], c.Fleets[0].Workers)
			if got := strings.Join(env, " "); got != row.want {
				t.Fatalf("found %s, want %s", got, row.want)
			}
			text, ok := strings.CutPrefix(row.want, "MUSTER_ENV=")
			if !ok {
				return
			}
			t.Setenv(app.EnvVariable, text)
			m := means{command: execution.Command{Env: []string{"B", "D=4"}}}
			if err := m.takeVariables(); err != nil {
				t.Fatal(err)
			}
			if got, want := m.command.Set, []string{"D=4", "A=1", `C=a,"b`}; !slices.Equal(got, want) || !slices.Equal(m.command.Env, []string{"B"}) {
				t.Errorf("the command gets %q and %q, want %q and B", got, m.command.Env, want)
			}
			if _, there := os.LookupEnv(app.EnvVariable); there {
				t.Error("the variable is left for what the worker starts")
			}
		})
	}
	m := means{command: execution.Command{Env: []string{"MUSTER_MESSAGE_ID=x"}}}
	if err := m.takeVariables(); err == nil {
		t.Error("a value was taken for what Muster tells a command")
	}
}
