package main

import (
	"context"
	"fmt"
	"log/slog"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/muster-scale/muster"
	"github.com/muster-scale/muster/app"
	"github.com/muster-scale/muster/app/plan"
	"github.com/muster-scale/muster/config"
	"github.com/muster-scale/muster/controller"
	"github.com/muster-scale/muster/kinds"
	"github.com/muster-scale/muster/mustertest"
	"github.com/muster-scale/muster/mustertest/fakeaws"
	"github.com/muster-scale/muster/server"
	model "github.com/muster-scale/muster/sim/cloud"
	"github.com/muster-scale/muster/sim/cloud/groupapi"
	"github.com/muster-scale/muster/sim/cloud/monitoring"
	"github.com/muster-scale/muster/sim/cloud/queues"
)

// onFakeAWS starts a world with the queue work, which holds so many messages, and the empty group web, and returns a
// configuration of a fleet there.
func onFakeAWS(t *testing.T, backlog int, asg string) (*fakeaws.Server, *config.Config) {
	t.Helper()
	mustertest.AWSEnvironment(t)
	world := model.New(model.Settings{Start: time.Now().Add(-time.Hour), Region: "eu-west-1"})
	size := 10
	_, err := world.AutoScaling().CreateAutoScalingGroup(groupapi.CreateGroup{GroupSettings: groupapi.GroupSettings{
		AutoScalingGroupName: "web", MinSize: new(int), MaxSize: &size, AvailabilityZones: []string{"eu-west-1a"},
		LaunchTemplate: &groupapi.LaunchTemplate{LaunchTemplateName: "web"},
	}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := world.SQS().CreateQueue(queues.CreateQueueInput{QueueName: "work"}); err != nil {
		t.Fatal(err)
	}
	if err := world.SQS().SetQueue("work", queues.QueueCounts{Visible: backlog},
		queues.Traffic{Sent: backlog}); err != nil {
		t.Fatal(err)
	}
	server := fakeaws.New(world)
	server.Follow(time.Now)
	web := httptest.NewServer(server)
	t.Cleanup(web.Close)
	t.Cleanup(server.Close)
	t.Setenv("AWS_ENDPOINT_URL", web.URL)
	text := fmt.Sprintf("version: 1\ndata: %s\nfleets: [{name: web, queue: "+
		"\"https://sqs.eu-west-1.amazonaws.com/000000000000/work\", max: 10, objective: {latency: 300s}, policy: "+
		"{name: dynamic-backlog, processing: 25s}, asg: %s}]",
		filepath.Join(t.TempDir(), "none"), asg)
	c, err := kinds.Parse("muster.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return server, c
}

func TestPlanShowsWhatAGroupWouldBeSetToAndSetsNothing(t *testing.T) {
	server, c := onFakeAWS(t, 48, "{group: web}")
	plans, _, err := plan.Make(t.Context(), c, nil)
	if err != nil {
		t.Fatal(err)
	}
	if len(plans) != 1 || plans[0].Current != 0 || plans[0].Desired != 4 {
		t.Errorf("found %+v, want 4 instances for 48 messages at 12 for each", plans)
	}
	if notes := strings.Join(plans[0].Observation.Notes, "\n"); strings.Contains(notes, "not protected") {
		t.Errorf("the notes are %q, although the controller would protect instances", notes)
	}
	for _, action := range []string{"SetDesiredCapacity", "LaunchInstances", "SetInstanceProtection"} {
		if n := server.Calls(action); n != 0 {
			t.Errorf("plan called %s %d times", action, n)
		}
	}
}

// The mission's first example has workers that publish how long a message takes and never report.
func TestPlanGoesByWhatWorkersPublish(t *testing.T) {
	server, c := onFakeAWS(t, 48, "{group: web, reports: none}, metrics: {processing: {namespace: App, metric: MPD}}")
	server.Do(func(w *model.World) {
		w.Advance(time.Now().Add(-90 * time.Second))
		value := 50.0
		_, err := w.CloudWatch().PutMetricData(monitoring.PutMetrics{Namespace: "App",
			MetricData: []monitoring.MetricDatum{{MetricName: "MPD", Value: &value,
				Timestamp: time.Now().Add(-3 * time.Minute)}}})
		if err != nil {
			t.Fatal(err)
		}
	})
	plans, _, err := plan.Make(t.Context(), c, nil)
	if err != nil {
		t.Fatal(err)
	}
	if p := plans[0]; p.Desired != 8 || p.Observation.Processing.MeanSeconds != 50 {
		t.Errorf("found %d with %+v, want 8 instances for 48 messages of 50 s within 300 s", p.Desired,
			p.Observation.Processing)
	}
}

func TestTheTokenOfAFleetOfInstancesIsKeptForItsOwnerAlone(t *testing.T) {
	_, c := onFakeAWS(t, 0, "{group: web}")
	c.Listen = config.Listen{Queue: "127.0.0.1:0", API: "127.0.0.1:0"}
	for range 2 { // and found again
		a, err := app.Open(t.Context(), c, app.Options{Logger: slog.New(slog.DiscardHandler)})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := a.Preview(t.Context(), c.Fleets[0]); err != nil {
			t.Fatal(err)
		}
		path := a.FleetTokenFile("web")
		token, err := server.LoadOrCreateToken(filepath.Join(c.Data, app.TokenFile))
		if err != nil {
			t.Fatal(err)
		}
		text, err := os.ReadFile(path)
		if err != nil || strings.TrimSpace(string(text)) != token.Fleet("web").Reveal() {
			t.Errorf("found %d bytes, %v; want the token of the fleet", len(text), err)
		}
		if stat, err := os.Stat(path); err != nil || stat.Mode().Perm() != 0o600 {
			t.Errorf("its mode is %v, %v; want 0600", stat.Mode(), err)
		}
		a.Close()
	}
}

// upUntil runs what `muster up` runs until an outcome is as asked for, and ends it; what says in words what that is.
func upUntil(t *testing.T, c *config.Config, shadow bool, what string, seen func(controller.Outcome) bool) {
	t.Helper()
	found, once, last := make(chan struct{}), sync.Once{}, controller.Outcome{}
	a, err := app.Open(t.Context(), c, app.Options{Logger: slog.New(slog.DiscardHandler), Ephemeral: true,
		Shadow: shadow, Notify: func(o controller.Outcome) {
			if last = o; seen(o) {
				once.Do(func() { close(found) })
			}
		}})
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- a.Run(ctx) }()
	missing := false
	select {
	case <-found:
	case <-time.After(30 * time.Second):
		missing = true
	}
	stop()
	if err := <-ended; err != nil || missing {
		t.Errorf("run: %v; %s missing after half a minute: %t; the capacity was %+v", err, what, missing,
			last.Observation.Capacity)
	}
}

func TestUpSizesAGroupAndLeavesItsInstancesWhenItEnds(t *testing.T) {
	server, c := onFakeAWS(t, 48, "{group: web, warm_pool: {size: 0}}")
	c.Listen = config.Listen{Queue: "127.0.0.1:0", API: "127.0.0.1:0"}
	upUntil(t, c, false, "an instance that boots",
		func(o controller.Outcome) bool { return o.Observation.Capacity.Booting > 0 })
	server.Do(func(w *model.World) {
		g, err := w.AutoScaling().DescribeAutoScalingGroups(groupapi.DescribeGroups{})
		if err != nil || g.AutoScalingGroups[0].DesiredCapacity != 4 {
			t.Errorf("found %+v, %v; want a group of 4 although up has ended", g.AutoScalingGroups[0], err)
		}
	})
}

// The group has two instances of its own; a shadow would ask for four, and must not touch it.
func TestUpInShadowCallsNothingThatWritesToAGroup(t *testing.T) {
	for name, asg := range map[string]string{
		"sized by Muster":                     "{group: web, warm_pool: {size: 3}}",
		"whose size is left to AWS otherwise": "{group: web}, delegate: {}",
	} {
		t.Run(name, func(t *testing.T) { writesNothingInShadow(t, asg) })
	}
}

func writesNothingInShadow(t *testing.T, asg string) {
	server, c := onFakeAWS(t, 48, asg)
	c.Listen = config.Listen{Queue: "127.0.0.1:0", API: "127.0.0.1:0"}
	server.Do(func(w *model.World) {
		if _, err := w.AutoScaling().SetDesiredCapacity(groupapi.SetDesired{AutoScalingGroupName: "web",
			DesiredCapacity: new(2)}); err != nil {
			t.Fatal(err)
		}
	})
	followed := make(chan muster.Decision, 1)
	o := app.Options{Logger: slog.New(slog.DiscardHandler), Ephemeral: true, Shadow: true,
		Notify: func(o controller.Outcome) {
			if d := o.Decision; d.Verdict == muster.Shadow && d.Previous == 2 {
				select {
				case followed <- d:
				default:
				}
			}
		}}
	a, err := app.Open(t.Context(), c, o)
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- a.Run(ctx) }()
	select {
	case d := <-followed:
		if d.Desired != 4 {
			t.Errorf("found %s", d.Sentence())
		}
	case <-time.After(30 * time.Second):
		t.Error("the two instances were not followed within half a minute")
	}
	stop()
	if err := <-ended; err != nil {
		t.Errorf("run: %v", err)
	}
	for _, action := range []string{"SetDesiredCapacity", "LaunchInstances", "SetInstanceProtection", "PutWarmPool",
		"DeleteWarmPool", "TerminateInstanceInAutoScalingGroup", "PutScalingPolicy", "PutMetricData"} {
		if n := server.Calls(action); n != 0 {
			t.Errorf("a shadow called %s %d times", action, n)
		}
	}
	if server.Calls("DescribeAutoScalingGroups") == 0 {
		t.Error("nobody looked at the group: the test proves nothing")
	}
}

func TestPlanSaysThatThereIsNoSuchGroup(t *testing.T) {
	_, c := onFakeAWS(t, 48, "{group: wep}")
	plans, _, err := plan.Make(t.Context(), c, nil)
	if err != nil {
		t.Fatal(err)
	}
	if c := plans[0].Observation.Capacity; c.Known || !strings.Contains(c.Reason, "Auto Scaling group wep") {
		t.Errorf("the capacity is %+v, want unknown because there is no such group", c)
	}
}
