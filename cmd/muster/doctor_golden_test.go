package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/muster-scale/muster/cmd/muster/internal/command"
	model "github.com/muster-scale/muster/sim/cloud"
	"github.com/muster-scale/muster/sim/cloud/account"
	"github.com/muster-scale/muster/sim/cloud/queues"
)

// What scripts read of doctor: every kind of finding, with its fields.
func TestWhatDoctorPrintsAsJSON(t *testing.T) {
	const service = "  - {name: slides, queue: \"https://sqs.eu-west-1.amazonaws.com/000000000000/slides\", " +
		"objective: {latency: 300s}, max: 9, policy: {name: worker-utilization, target: 0.7}, ecs: {cluster: prod, " +
		"service: web}, delegate: {}, workers: {boot: 4m}}\n"
	_, file := onFakeECS(t, func(w *model.World) {
		if _, err := w.SQS().CreateQueue(queues.CreateQueueInput{QueueName: "slides"}); err != nil {
			t.Fatal(err)
		}
		w.Inject(account.Injection{Trouble: account.AccessDenied, Action: "GetMetricData"})
	}, strings.Replace(groupWeb, "max: 10", "max: 2", 1)+service)
	code, out, _ := runMuster(t, "doctor", "-f", file, "-o", "json")
	if code != command.ExitFailed {
		t.Errorf("ended with %d, want %d: a fleet has more members than its max", code, command.ExitFailed)
	}
	golden := filepath.Join("testdata", "doctor.json")
	if *update {
		if err := os.WriteFile(golden, []byte(out), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(string(want), out); d != "" {
		t.Errorf("doctor prints another JSON than %s has (-want +got), run the test with -update to accept it:\n%s",
			golden, d)
	}
}

func TestDoctorSaysWhenACooldownIsShorterThanTheMetricIsLate(t *testing.T) {
	service := func(delegate, boot string) string {
		return "  - {name: slides, " + onWork + ", max: 9, policy: {name: worker-utilization, target: 0.7}, ecs: " +
			"{cluster: prod, service: web}, delegate: {" + delegate + "}, workers: {boot: " + boot + "}}\n"
	}
	for _, row := range []struct{ name, fleets, says string }{
		{"AWS's own cooldown and a long boot", service("", "4m"), "the scaling policy muster-slides waits 5m0s after " +
			"a scale-out, but its metric shows the effect only after 6m0s"},
		{"one that was configured too short", service("cooldown: 90s", "30s"),
			"muster-slides waits 1m30s after a scale-out"},
		{"one that is long enough", service("cooldown: 6m", "4m"), ""},
		{"AWS's own and a short boot", service("", "60s"), ""},
	} {
		t.Run(row.name, func(t *testing.T) {
			_, file := onFakeECS(t, nil, row.fleets)
			_, out, _ := runMuster(t, "doctor", "-f", file)
			if row.says == "" && strings.Contains(out, "slides cooldown") || !strings.Contains(out, row.says) {
				t.Errorf("found %s, want %q in it", out, row.says)
			}
		})
	}
}
