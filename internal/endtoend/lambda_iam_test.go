package endtoend_test

import (
	"context"
	"encoding/json"
	"log/slog"
	"maps"
	"net/http"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/muster-scale/muster"
	"github.com/muster-scale/muster/app/function"
	"github.com/muster-scale/muster/config"
	"github.com/muster-scale/muster/deploy/iam"
	"github.com/muster-scale/muster/history/dynamohistory"
	"github.com/muster-scale/muster/internal/awsapi"
	"github.com/muster-scale/muster/kind"
	"github.com/muster-scale/muster/mustertest"
	"github.com/muster-scale/muster/mustertest/fakeaws"
	"github.com/muster-scale/muster/mustertest/faketable"
	"github.com/muster-scale/muster/queue"
	"github.com/muster-scale/muster/sim/cloud/groupapi"
	"github.com/muster-scale/muster/sqsapi"
	"github.com/muster-scale/muster/worker"
	"github.com/muster-scale/muster/worker/dynamoreport"
	"github.com/muster-scale/muster/worker/protocol"
)

// This file holds the policies of the functions to their calls, as iam_test.go does for the commands.

// answerless are the configurations of functions: workers that get no answers.
var answerless = map[string]string{
	"a group":             "asg: {group: web, reports: none}",
	"a group and a table": "asg: {group: web, reports: none}, reports_from: dynamodb:reports",
	"a delegated group":   "asg: {group: web, reports: none}, delegate: {}",
	"a service":           "ecs: {cluster: prod, service: web, reports: none}",
	"a service on instances": "ecs: {cluster: prod, service: hosted, reports: none, " +
		"capacity: {group: hosts, tasks_per_instance: 2}}",
	"a service on a group with a pool": "ecs: {cluster: prod, service: hosted, reports: none, " +
		"capacity: {group: web, tasks_per_instance: 2}}",
	"a delegated service": "ecs: {cluster: prod, service: web, reports: none}, delegate: {}",
	"a measured group":    "asg: {group: web, reports: none}, metrics: {processing: {namespace: App, metric: MPD}}",
}

// historyOf returns a history in a table, and a function that adds its calls to those of r.
func historyOf(t *testing.T, r *recorder) (muster.History, func()) {
	t.Helper()
	table := faketable.New("stream", "element")
	h, err := dynamohistory.New(table, "history")
	if err != nil {
		t.Fatal(err)
	}
	return h, func() {
		for action := range table.Calls() {
			r.called["dynamodb:"+action] = true
		}
	}
}

// call opens a function for a configuration and invokes it twice. A configuration that it refuses makes no calls.
func call(t *testing.T, name, fleet string, r *recorder, payload string) {
	t.Helper()
	past, count := historyOf(t, r)
	c := configurationOf(t, fleet)
	f, err := function.New(t.Context(), function.Options{
		Lookup: func(v string) (string, bool) {
			env := map[string]string{function.VariableFunction: name, function.VariableConfig: text(c, fleet),
				function.VariableQueue: queueURL}
			value, ok := env[v]
			return value, ok
		},
		HTTP: mustertest.InProcess{Handler: r}, Logger: slog.New(slog.DiscardHandler), History: past,
	})
	if err != nil {
		return
	}
	for range 2 {
		ctx, stop := context.WithTimeout(t.Context(), time.Minute)
		if _, err := f.Invoke(ctx, []byte(payload)); err != nil && name != "hook" { // which waits
			t.Errorf("%s, %s: %v", name, fleet, err)
		}
		stop()
		time.Sleep(time.Minute)
	}
	count()
}

// text returns the configuration of one fleet as configurationOf reads it.
func text(c *config.Config, fleet string) string {
	return `{version: 1, fleets: [{name: web, queue: "` + c.Fleets[0].Queues[0].URL + `", max: 9, ` +
		`objective: {latency: 300s}, policy: {name: dynamic-backlog, processing: 25s}, ` + fleet + `}]}`
}

// questions are payloads of each function.
func questions(t *testing.T) map[kind.Mode][]string {
	t.Helper()
	ask, err := json.Marshal(groupapi.TerminationRequest{AutoScalingGroupName: "web"})
	if err != nil {
		t.Fatal(err)
	}
	return map[kind.Mode][]string{
		kind.ModeStep: {`{}`}, kind.ModeEvent: {`{"fleet": "web"}`}, kind.ModePublishMetric: {`{}`},
		kind.ModeSetTarget: {`{}`}, kind.ModeTerminate: {string(ask)}, kind.ModeSend: {`{}`},
		kind.ModeHook: {`{"serviceArn": "arn:aws:ecs:eu-west-1:000000000000:service/prod/web"}`,
			`{"serviceArn": "arn:aws:ecs:eu-west-1:000000000000:service/prod/hosted"}`,
			`{"detail": {"LifecycleHookName": "finish", "AutoScalingGroupName": "web", "EC2InstanceId": "busy"}}`,
			`{"detail": {"LifecycleHookName": "finish", "AutoScalingGroupName": "web", "EC2InstanceId": "left"}}`},
	}
}

// leave puts the last reports of a busy and of a stopped worker into the table of reports.
func leave(t *testing.T, r *recorder) {
	t.Helper()
	account, err := awsapi.Open(t.Context(), awsapi.Options{HTTP: mustertest.InProcess{Handler: r}})
	if err != nil {
		t.Fatal(err)
	}
	cfg, err := account.Region(region)
	if err != nil {
		t.Fatal(err)
	}
	table, err := dynamoreport.New(dynamodb.NewFromConfig(cfg), "reports")
	if err != nil {
		t.Fatal(err)
	}
	for _, report := range []protocol.Report{
		{Member: "busy", State: protocol.Receiving, Busy: 1}, {Member: "left", State: protocol.Leaving},
	} {
		report.Fleet, report.Worker, report.Seq, report.Slots, report.SentAt = "web", report.Member, 1, 1, time.Now()
		if err := table.Take(t.Context(), worker.Digest{Report: report, Started: time.Now()}); err != nil {
			t.Fatal(err)
		}
	}
	clear(r.called)
}

func TestThePoliciesOfFunctionsAllowTheirCallsAndNoMore(t *testing.T) {
	for _, mode := range kind.FunctionModes() {
		t.Run(string(mode), func(t *testing.T) {
			all, o := newTally(mode), iam.Options{History: "dynamodb:history"}
			fleets := answerless
			if mode == kind.ModeStep || mode == kind.ModeEvent {
				fleets = maps.Clone(configurations)
				maps.Copy(fleets, answerless)
			}
			for _, what := range slices.Sorted(maps.Keys(fleets)) {
				mustertest.AWSEnvironment(t)
				synctest.Test(t, func(t *testing.T) {
					server := fakeaws.New(iamWorld(t, time.Now().Add(-10*time.Minute)))
					server.Follow(time.Now)
					r := services(t, server)
					leave(t, r)
					if mode == kind.ModeSend {
						server.Messages(messages(t))
					}
					for _, q := range questions(t)[mode] {
						call(t, string(mode), fleets[what], r, q)
					}
					c := configurationOf(t, fleets[what])
					if mode == kind.ModeStep || mode == kind.ModeEvent {
						// The effects that one invocation does not need.
						live(t, c, server, kind.NewHost(kind.HostOptions{AWS: c.AWS,
							HTTP: mustertest.InProcess{Handler: r}}))
					}
					if len(r.called) > 0 {
						all.add(t, what, c, o, r)
					}
				})
			}
			all.unused(t)
		})
	}
}

// messages returns an SQS endpoint with the queue work, in the region of the tests.
func messages(t *testing.T) http.Handler {
	t.Helper()
	q, err := queue.Open(queue.Options{Ephemeral: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = q.Close() })
	err = q.CreateQueue(t.Context(), queue.Scoped(region, "000000000000", "work"), nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	return sqsapi.New(sqsapi.Options{Queues: q, AnyCredentials: true,
		Hosts: []string{"sqs." + region + ".amazonaws.com"}})
}
