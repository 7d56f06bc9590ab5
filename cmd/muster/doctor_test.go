package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/muster-scale/muster/app/doctor"
	"github.com/muster-scale/muster/cmd/muster/internal/command"
	"github.com/muster-scale/muster/mustertest"
	"github.com/muster-scale/muster/mustertest/fakeaws"
	model "github.com/muster-scale/muster/sim/cloud"
	"github.com/muster-scale/muster/sim/cloud/account"
	"github.com/muster-scale/muster/sim/cloud/containers"
	"github.com/muster-scale/muster/sim/cloud/groupapi"
	"github.com/muster-scale/muster/sim/cloud/monitoring"
	"github.com/muster-scale/muster/sim/cloud/queues"
	"github.com/muster-scale/muster/sim/cloud/scaling"
)

// onFakeECS starts a world with the queue work, which holds 48 messages, the group web of three instances and the
// service web of two tasks, and writes a configuration of the fleets.
func onFakeECS(t *testing.T, prepare func(w *model.World), fleets string) (server *fakeaws.Server, file string) {
	t.Helper()
	mustertest.AWSEnvironment(t)
	world := model.New(model.Settings{Start: time.Now().Add(-10 * time.Minute), Region: "eu-west-1"})
	ten, three, two := 10, 3, 2
	for _, err := range []error{
		second(world.AutoScaling().CreateAutoScalingGroup(groupapi.CreateGroup{GroupSettings: groupapi.GroupSettings{
			AutoScalingGroupName: "web", MinSize: new(int), MaxSize: &ten, DesiredCapacity: &three,
			AvailabilityZones: []string{"eu-west-1a"},
			LaunchTemplate:    &groupapi.LaunchTemplate{LaunchTemplateName: "web"},
		}})),
		second(world.SQS().CreateQueue(queues.CreateQueueInput{QueueName: "work"})),
		second(world.ECS().CreateCluster(containers.CreateClusterInput{ClusterName: "prod",
			CapacityProviders: []string{containers.Fargate}})),
		second(world.ECS().RegisterTaskDefinition(containers.TaskDefinition{
			Family: "work", Cpu: "512", Memory: "1024", NetworkMode: "awsvpc",
			RequiresCompatibilities: []string{"FARGATE"},
			ContainerDefinitions:    []containers.ContainerDefinition{{Name: "work", Image: "work:1"}},
		})),
		second(world.ECS().CreateService(containers.CreateServiceInput{
			Cluster: "prod", ServiceName: "web", TaskDefinition: "work", DesiredCount: &two,
			LaunchType: containers.Fargate,
			NetworkConfiguration: &containers.NetworkConfiguration{
				AwsvpcConfiguration: &containers.AwsvpcConfiguration{Subnets: []string{"subnet-1"}},
			},
		})),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	world.Advance(time.Now())
	if err := world.SQS().SetQueue("work", queues.QueueCounts{Visible: 48}, queues.Traffic{Sent: 48}); err != nil {
		t.Fatal(err)
	}
	if prepare != nil {
		prepare(world)
	}
	server = fakeaws.New(world)
	server.Follow(time.Now)
	web := httptest.NewServer(server)
	t.Cleanup(web.Close)
	t.Cleanup(server.Close)
	t.Setenv("AWS_ENDPOINT_URL", web.URL)
	dir := t.TempDir()
	file = filepath.Join(dir, "muster.yaml")
	text := fmt.Sprintf("version: 1\ndata: %s\nlisten: {queue: \"127.0.0.1:0\", api: \"127.0.0.1:0\"}\nfleets:\n%s",
		filepath.Join(dir, "none"), fleets)
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return server, file
}

func second[T any](_ T, err error) error { return err }

// muster runs a command and returns its exit code and what it printed.
func runMuster(t *testing.T, args ...string) (code int, out, errOut string) {
	t.Helper()
	var o, e bytes.Buffer
	code = execute(t.Context(), args, strings.NewReader(""), &o, &e)
	return code, o.String(), e.String()
}

const (
	onWork   = "queue: \"https://sqs.eu-west-1.amazonaws.com/000000000000/work\", objective: {latency: 300s}"
	groupWeb = "  - {name: web, " + onWork + ", max: 10, policy: {name: dynamic-backlog, processing: 25s}, asg: " +
		"{group: web}}\n"
	delegated = "  - {name: web, " + onWork + ", max: 10, policy: {name: dynamic-backlog, processing: 25s}, asg: " +
		"{group: web}, delegate: {}}\n"
	taskWeb = "  - {name: tasks, " + onWork + ", max: 9, ecs: {cluster: prod, service: web}}\n"
)

// changed are the actions that change something.
var changed = []string{
	"SetDesiredCapacity", "LaunchInstances", "TerminateInstanceInAutoScalingGroup", "SetInstanceProtection",
	"PutScalingPolicy", "UpdateService", "RunTask", "StopTask",
	"UpdateTaskProtection", "RegisterScalableTarget", "PutMetricData", "PutWarmPool",
}

func TestDoctorChecksByLookingAlone(t *testing.T) {
	cpu := func(w *model.World) {
		_, err := w.GroupPolicies().PutScalingPolicy(scaling.PutPolicy{
			AutoScalingGroupName: "web", PolicyName: "cpu50", PolicyType: "TargetTrackingScaling",
			TargetTrackingConfiguration: &scaling.TargetTracking{TargetValue: new(50.0),
				PredefinedMetricSpecification: &scaling.PredefinedMetric{
					PredefinedMetricType: "ASGAverageCPUUtilization"}},
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	// ours is the policy that CloudFormation made of the fleet's template, under a name of its own.
	ours := func(w *model.World) {
		_, err := w.GroupPolicies().PutScalingPolicy(scaling.PutPolicy{
			AutoScalingGroupName: "web", PolicyName: "web-ScalingPolicy-1A2B3C", PolicyType: "TargetTrackingScaling",
			TargetTrackingConfiguration: &scaling.TargetTracking{TargetValue: new(12.0), DisableScaleIn: new(bool),
				CustomizedMetricSpecification: &scaling.CustomizedMetric{Namespace: "Muster",
					MetricName: "BacklogPerWorker", Statistic: "Average", Period: new(60),
					Dimensions: []monitoring.Dimension{{Name: "Fleet", Value: "web"}}}},
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	denied := func(action string) func(w *model.World) {
		return func(w *model.World) { w.Inject(account.Injection{Trouble: account.AccessDenied, Action: action}) }
	}
	trouble := func(kind account.Trouble) func(w *model.World) {
		return func(w *model.World) { w.Inject(account.Injection{Trouble: kind}) }
	}
	rows := []struct {
		name, fleets string
		prepare      func(w *model.World)
		code         int
		says         []string
	}{
		{"a group", groupWeb, nil, 0, []string{
			"ok         credentials: found by", "ok         region: eu-west-1", "ok         web queue: work has a " +
				"backlog of 48", "ok         web members: the Auto Scaling group web",
			"ok         web members: 3 there", "Releaser, Protector, WarmPool, Expecter", "nothing else sizes it",
			"unchecked  web permissions: autoscaling:SetDesiredCapacity",
		}},
		{"a service", taskWeb, nil, 0, []string{"tasks members: the service web of the cluster prod",
			"tasks members: 2 there", "Trimmer", "ecs:UpdateService, ecs:UpdateTaskProtection"}},
		{"tasks", "  - {name: t, " + onWork + ", max: 9, policy: exact, ecs: {cluster: prod, task_definition: work, " +
			"launch_type: fargate, network: {subnets: [subnet-1]}}}\n", nil, 0,
			[]string{"tasks of work in the cluster prod", "ecs:RunTask, ecs:StopTask, iam:PassRole"}},
		{"a group that does not exist", strings.Replace(groupWeb, "group: web", "group: wep", 1), nil, 1,
			[]string{"wrong      web members: find the Auto Scaling group wep: there is none in the region eu-west-1"}},
		{"a service that does not exist", strings.Replace(taskWeb, "service: web", "service: wep", 1), nil, 1,
			[]string{"wrong      tasks members: find the service wep"}},
		{"a cluster that does not exist", strings.Replace(taskWeb, "cluster: prod", "cluster: dev", 1), nil, 1,
			[]string{"wrong      tasks members: ", "cluster dev", "create it"}},
		{"a queue that does not exist", strings.Replace(groupWeb, "/work", "/wrok", 1), nil, 1,
			[]string{"wrong      web queue: measure the queue", "create it"}},
		{"more than the maximum", strings.Replace(groupWeb, "max: 10", "max: 2", 1), nil, 1,
			[]string{"wrong      web max: 3 are there and max is 2"}},
		{"another scaling policy", groupWeb, cpu, 1,
			[]string{"wrong      web owners: the scaling policy cpu50 sizes it too"}},
		{"another scaling policy beside a delegated one", delegated, cpu, 0,
			[]string{"note       web owners: the scaling policy cpu50", "Delegator", "cloudwatch:PutMetricData"}},
		{"the scaling policy of the fleet's own template", delegated, ours, 0,
			[]string{"ok         web owners: nothing else sizes it"}},
		{"that policy, and the fleet no longer leaves its size to it", groupWeb, ours, 1,
			[]string{"wrong      web owners: the scaling policy web-ScalingPolicy-1A2B3C sizes it too"}},
		{"expired credentials", groupWeb, trouble(account.ExpiredToken), 1,
			[]string{"wrong      web queue: measure the queue", "wrong      web members: ", "renew the credentials"}},
		{"another region", strings.Replace(groupWeb, "{group: web}", "{group: web, region: us-east-1}", 1), nil, 1,
			[]string{"wrong      web members: ", "region us-east-1"}},
		{"another operator", strings.Replace(groupWeb, "group: web", "group: owned", 1), func(w *model.World) {
			_, err := w.AutoScaling().CreateAutoScalingGroup(groupapi.CreateGroup{GroupSettings: groupapi.GroupSettings{
				AutoScalingGroupName: "owned", MinSize: new(int), MaxSize: new(9),
				AvailabilityZones: []string{"eu-west-1a"},
				LaunchTemplate:    &groupapi.LaunchTemplate{LaunchTemplateName: "web"},
				Operator:          &groupapi.Operator{Principal: "eks.amazonaws.com"},
			}})
			if err != nil {
				t.Fatal(err)
			}
		}, 1, []string{"wrong      web note: ", "eks.amazonaws.com operates the group"}},
		{"a metric that never comes",
			strings.Replace(groupWeb, "asg:", "metrics: {backlog: {namespace: App, metric: Waiting, stat: Maximum}}, "+
				"asg:", 1), nil, 0,
			[]string{"note       web metrics: the signal backlog is unknown: ", "whether anything publishes it"}},
		{"a metric of the policy that never comes",
			strings.Replace(groupWeb, "policy: {name: dynamic-backlog, processing: 25s}",
				"policy: {name: metric-math, target: 1, Metrics: [{Id: m, MetricStat: {Metric: {Namespace: App, "+
					"MetricName: Busyness}, Stat: Average}, ReturnData: true}]}", 1), nil, 0,
			[]string{"the policy reads 1 metric from CloudWatch", "note       web metrics: the metric App Busyness " +
				"is unknown: it has no datapoint"}},
		{"no permission to look", groupWeb, denied("DescribeAutoScalingGroups"), 1,
			[]string{"wrong      web members: ", "allow autoscaling:DescribeAutoScalingGroups"}},
		{"no permission to see who else sizes", groupWeb, denied("DescribePolicies"), 0,
			[]string{"unchecked  web owners: ", "allow autoscaling:DescribePolicies"}},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			server, file := onFakeECS(t, row.prepare, row.fleets)
			code, out, errOut := runMuster(t, "doctor", "-f", file)
			if code != row.code {
				t.Errorf("ended with %d, want %d: %s", code, row.code, errOut)
			}
			for _, says := range row.says {
				if !strings.Contains(out, says) {
					t.Errorf("does not say %q:\n%s", says, out)
				}
			}
			for _, action := range changed {
				if n := server.Calls(action); n != 0 {
					t.Errorf("doctor called %s %d times", action, n)
				}
			}
			code, out, _ = runMuster(t, "doctor", "-f", file, "-o", "json")
			var found struct {
				Findings []doctor.Finding
				Wrong    int
			}
			if err := json.Unmarshal([]byte(out), &found); err != nil || code != row.code ||
				(found.Wrong > 0) != (row.code == 1) || len(found.Findings) == 0 {
				t.Errorf("as JSON: %v, code %d:\n%s", err, code, out)
			}
		})
	}
}

func TestDoctorSaysThatThereAreNoCredentials(t *testing.T) {
	_, file := onFakeECS(t, nil, groupWeb)
	t.Setenv("AWS_ACCESS_KEY_ID", "")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "")
	code, out, _ := runMuster(t, "doctor", "-f", file)
	if code != 1 || !strings.Contains(out, "wrong      credentials: found no AWS credentials") {
		t.Errorf("ended with %d:\n%s", code, out)
	}
}

func TestPublishDoesOneRound(t *testing.T) {
	value := func(server *fakeaws.Server, name string) (v float64) {
		server.Do(func(w *model.World) {
			out, err := w.CloudWatch().GetMetricData(monitoring.GetMetrics{
				StartTime: time.Now().Add(-10 * time.Minute).Truncate(time.Minute),
				EndTime:   time.Now().Add(2 * time.Minute),
				MetricDataQueries: []monitoring.MetricQuery{{Id: "m", MetricStat: &monitoring.MetricStat{
					Metric: monitoring.MetricName{Namespace: "Muster", MetricName: name,
						Dimensions: []monitoring.Dimension{{Name: "Fleet", Value: "web"}}}, Period: new(60),
					Stat: "Maximum",
				}}},
			})
			if err != nil || len(out.MetricDataResults) != 1 || len(out.MetricDataResults[0].Values) == 0 {
				t.Errorf("%s was not published: %v %+v", name, err, out)
				return
			}
			v = out.MetricDataResults[0].Values[0]
		})
		return v
	}
	for _, row := range []struct {
		name, fleets string
		puts         int
	}{{"metrics alone", groupWeb, 0}, {"delegated", delegated, 1}} {
		t.Run(row.name, func(t *testing.T) {
			server, file := onFakeECS(t, nil, row.fleets)
			for range 2 {
				if code, out, errOut := runMuster(t, "publish", "-f", file); code != 0 ||
					!strings.Contains(out, "web: backlog 48") {
					t.Fatalf("ended with %d: %s %s", code, out, errOut)
				}
			}
			if n := server.Calls("PutScalingPolicy"); n != row.puts || server.Calls("PutMetricData") != 2 {
				t.Errorf("two rounds put the policy %d times and metrics %d times, want %d and 2", n,
					server.Calls("PutMetricData"), row.puts)
			}
			if v := value(server, delegate48); v < 48 {
				t.Errorf("a backlog per worker of %g was published, want 48 and more while no worker has reported", v)
			}
			code, out, errOut := runMuster(t, "publish", "-f", file, "--emf", "web")
			if code != 0 || !strings.Contains(out, `"CloudWatchMetrics":[{"Dimensions":[["Fleet"]]`) ||
				!strings.Contains(out, `"Fleet":"web"`) || server.Calls("PutMetricData") != 2 {
				t.Errorf("with --emf: ended with %d: %s %s", code, out, errOut)
			}
		})
	}
	_, file := onFakeECS(t, nil, groupWeb)
	if code, _, errOut := runMuster(t, "publish", "-f", file, "nothing"); code != command.ExitUsage ||
		!strings.Contains(errOut, `no fleet "nothing"`) {
		t.Errorf("an unknown fleet ended with %d: %s", code, errOut)
	}
}

const delegate48 = "BacklogPerWorker"

func TestPublishSaysWhatFailed(t *testing.T) {
	_, file := onFakeECS(t, func(w *model.World) {
		w.Inject(account.Injection{Trouble: account.AccessDenied,
			Action: "PutMetricData"})
	}, groupWeb)
	code, out, errOut := runMuster(t, "publish", "-f", file)
	if code != 1 || !strings.Contains(out, "allow cloudwatch:PutMetricData") ||
		!strings.Contains(errOut, "1 fleet of 1 failed") {
		t.Errorf("ended with %d: %s %s", code, out, errOut)
	}
}
