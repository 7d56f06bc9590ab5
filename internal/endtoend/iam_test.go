package endtoend_test

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	awsautoscaling "github.com/aws/aws-sdk-go-v2/service/autoscaling"
	awscloudwatch "github.com/aws/aws-sdk-go-v2/service/cloudwatch"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	awssqs "github.com/aws/aws-sdk-go-v2/service/sqs"

	"github.com/muster-scale/muster"
	"github.com/muster-scale/muster/app/advise"
	"github.com/muster-scale/muster/app/doctor"
	"github.com/muster-scale/muster/app/handover"
	"github.com/muster-scale/muster/app/plan"
	"github.com/muster-scale/muster/app/publish"
	"github.com/muster-scale/muster/config"
	"github.com/muster-scale/muster/deploy/iam"
	"github.com/muster-scale/muster/event"
	"github.com/muster-scale/muster/event/receiver"
	"github.com/muster-scale/muster/history"
	"github.com/muster-scale/muster/incident"
	"github.com/muster-scale/muster/internal/awsapi"
	"github.com/muster-scale/muster/kind"
	"github.com/muster-scale/muster/kinds"
	"github.com/muster-scale/muster/mustertest"
	"github.com/muster-scale/muster/mustertest/fakeaws"
	"github.com/muster-scale/muster/queue"
	"github.com/muster-scale/muster/series"
	model "github.com/muster-scale/muster/sim/cloud"
	"github.com/muster-scale/muster/sim/cloud/account"
	"github.com/muster-scale/muster/sim/cloud/containers"
	"github.com/muster-scale/muster/sim/cloud/groupapi"
	"github.com/muster-scale/muster/sim/cloud/queues"
	"github.com/muster-scale/muster/sim/cloud/scaling"
	"github.com/muster-scale/muster/sqsapi"
	"github.com/muster-scale/muster/worker"
	"github.com/muster-scale/muster/worker/autoscaling"
	"github.com/muster-scale/muster/worker/cloudwatch"
	"github.com/muster-scale/muster/worker/dynamoreport"
	"github.com/muster-scale/muster/worker/protocol"
	"github.com/muster-scale/muster/worker/sqsqueue"
)

// This file holds the policies of muster iam to the calls: in each mode every configuration makes its calls on a fake
// AWS. A call that its policy does not allow fails the test, and so does an allowed action that no configuration calls.

// recorder notes the actions that arrive, by their names in IAM.
type recorder struct {
	next http.Handler

	mu     sync.Mutex
	called map[string]bool
}

// ServeHTTP implements [http.Handler].
func (r *recorder) ServeHTTP(w http.ResponseWriter, q *http.Request) {
	body, err := io.ReadAll(q.Body)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	q.Body = io.NopCloser(bytes.NewReader(body))
	r.mu.Lock()
	r.called[actionOf(q, body)] = true
	r.mu.Unlock()
	r.next.ServeHTTP(w, q)
}

// actionOf returns the action of a request: the service is in the scope of the signature, and each protocol has its own
// place for the name.
func actionOf(q *http.Request, body []byte) string {
	_, scope, _ := strings.Cut(q.Header.Get("Authorization"), "Credential=")
	service := append(strings.Split(scope, "/"), "", "", "", "")[3]
	name := q.Header.Get("X-Amz-Target")
	if name = name[strings.LastIndexByte(name, '.')+1:]; name == "" {
		name = q.URL.Path[strings.LastIndexByte(q.URL.Path, '/')+1:]
	}
	if form, err := url.ParseQuery(string(body)); err == nil && form.Get("Action") != "" {
		name = form.Get("Action")
	}
	if service == "sqs" {
		name = strings.TrimSuffix(name, "Batch") // IAM has no action for batches
	}
	return cmp.Or(map[string]string{"monitoring": "cloudwatch"}[service], service) + ":" + name
}

// configurations are fleets that together make every call. Each begins after the name, queue and objective.
var configurations = map[string]string{
	"a group":                "asg: {group: web}",
	"a group by size":        "asg: {group: web, launch: size}",
	"a group by name":        "asg: {group: web, launch: name}",
	"a group without a pool": "asg: {group: web, warm_pool: {size: 0}}",
	"a group with a pool":    "asg: {group: web, warm_pool: {size: 2}}",
	"a group and a table":    "asg: {group: web, reports: none}, reports_from: dynamodb:reports",
	"a delegated group":      "asg: {group: web}, delegate: {}",
	"a service":              "ecs: {cluster: prod, service: web}",
	"a service on instances": "ecs: {cluster: prod, service: hosted, capacity: {group: hosts, tasks_per_instance: 2}}",
	"a delegated service":    "ecs: {cluster: prod, service: web}, delegate: {}",
	"tasks": "ecs: {cluster: prod, task_definition: work, launch_type: fargate, " +
		"network: {subnets: [subnet-1]}}",
	"a measured group": "asg: {group: web}, metrics: {processing: {namespace: App, metric: MPD}}",
}

// configurationOf parses the configuration of one fleet.
func configurationOf(t *testing.T, fleet string) *config.Config {
	t.Helper()
	policy := "{name: dynamic-backlog, processing: 25s}"
	if strings.Contains(fleet, "task_definition") {
		policy = "exact"
	}
	text := fmt.Sprintf("version: 1\ndata: %s\nevents: [{queue: %q}]\nnotify: [{sns: {topic: %q}}]\n"+
		"fleets: [{name: web, queue: %q, max: 9, objective: {latency: 300s}, policy: %s, %s}]",
		filepath.Join(t.TempDir(), "none"), eventsURL, topicARN, queueURL, policy, fleet)
	c, err := kinds.Parse("m.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// iamWorld makes what the configurations name.
func iamWorld(t *testing.T, start time.Time) *model.World {
	t.Helper()
	w := model.New(model.Settings{Start: start, Region: region, Seed: 1, WarmPoolsMayMix: true})
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"web", "hosts"} {
		_, err := w.AutoScaling().CreateAutoScalingGroup(groupapi.CreateGroup{GroupSettings: groupapi.GroupSettings{
			AutoScalingGroupName: name, MinSize: num(0), MaxSize: num(10), DesiredCapacity: num(2),
			AvailabilityZones: []string{region + "a"},
			LaunchTemplate:    &groupapi.LaunchTemplate{LaunchTemplateName: name},
		}})
		must(err)
	}
	_, err := w.AutoScaling().PutWarmPool(groupapi.PutWarm{AutoScalingGroupName: "web", MinSize: num(1)})
	must(err)
	_, err = w.SQS().CreateQueue(queues.CreateQueueInput{QueueName: "work"})
	must(err)
	_, err = w.ECS().CreateCluster(containers.CreateClusterInput{ClusterName: "prod",
		CapacityProviders: []string{containers.Fargate}})
	must(err)
	for _, family := range []string{"work", "half"} {
		d := containers.TaskDefinition{Family: family, Cpu: "1024", Memory: "2048", NetworkMode: "awsvpc",
			RequiresCompatibilities: []string{"FARGATE", "EC2"},
			ContainerDefinitions:    []containers.ContainerDefinition{{Name: "work", Image: "work:1"}}}
		if family == "half" {
			d.NetworkMode, d.Memory, d.RequiresCompatibilities = "bridge", "1024", []string{"EC2"}
		}
		_, err = w.ECS().RegisterTaskDefinition(d)
		must(err)
	}
	_, err = w.ECS().CreateCapacityProvider(containers.CreateProvider{Name: "hosts",
		AutoScalingGroupProvider: &containers.GroupProvider{AutoScalingGroupArn: "hosts",
			ManagedScaling:               &containers.ManagedScaling{Status: "DISABLED", TargetCapacity: num(100)},
			ManagedTerminationProtection: "DISABLED"}})
	must(err)
	_, err = w.ECS().PutClusterCapacityProviders(containers.ClusterProviders{Cluster: "prod",
		CapacityProviders: []string{"hosts", containers.Fargate}})
	must(err)
	_, err = w.ECS().CreateService(containers.CreateServiceInput{Cluster: "prod", ServiceName: "web",
		TaskDefinition: "work", DesiredCount: num(2), LaunchType: containers.Fargate, NetworkConfiguration: network})
	must(err)
	_, err = w.ECS().CreateService(containers.CreateServiceInput{Cluster: "prod", ServiceName: "hosted",
		TaskDefinition: "half", DesiredCount: num(1),
		CapacityProviderStrategy: []containers.StrategyPart{{CapacityProvider: "hosts", Weight: 1}}})
	must(err)
	_, err = w.ApplicationScaling().RegisterScalableTarget(scaling.RegisterTarget{ServiceNamespace: "ecs",
		ResourceId: "service/prod/hosted", ScalableDimension: "ecs:service:DesiredCount", MinCapacity: num(0),
		MaxCapacity: num(9)})
	must(err)
	w.Advance(start.Add(10 * time.Minute))
	must(w.SQS().SetQueue("work", queues.QueueCounts{Visible: 48}, queues.Traffic{Sent: 48}))
	return w
}

// services are all services that the configurations call, and what arrived.
func services(t *testing.T, server *fakeaws.Server) *recorder {
	t.Helper()
	reports := mustertest.NewReportTable("reports", 3)
	return &recorder{called: map[string]bool{}, next: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasPrefix(r.Header.Get("X-Amz-Target"), "DynamoDB_") {
			reports.ServeHTTP(w, r)
			return
		}
		server.ServeHTTP(w, r)
	})}
}

// tally gathers over all configurations of a mode what is granted and what is called.
type tally struct {
	mode            kind.Mode
	granted, called map[string]bool
}

func newTally(mode kind.Mode) *tally {
	return &tally{mode, map[string]bool{}, map[string]bool{}}
}

// add holds the calls of one configuration to its policy.
func (x *tally) add(t *testing.T, what string, c *config.Config, o iam.Options, r *recorder) {
	t.Helper()
	o.Mode = x.mode
	p, err := iam.Make(c, kinds.Table(), o)
	if err != nil {
		t.Fatal(err)
	}
	allowed := map[string]bool{}
	for _, s := range p.Statement {
		for _, a := range s.Action {
			allowed[a] = true
			// What AWS checks on behalf of another action is no call.
			if !strings.Contains(s.Sid, "For") {
				x.granted[a] = true
			}
		}
	}
	for _, a := range slices.Sorted(maps.Keys(r.called)) {
		x.called[a] = true
		if !allowed[a] {
			t.Errorf("%s, %s: %s is called and the policy does not allow it", x.mode, what, a)
		}
	}
}

// unused holds that every granted action was called.
func (x *tally) unused(t *testing.T) {
	t.Helper()
	if len(x.called) == 0 {
		t.Errorf("%s: nothing was called", x.mode)
	}
	for _, a := range slices.Sorted(maps.Keys(x.granted)) {
		if !x.called[a] {
			t.Errorf("%s: the policies allow %s, and no configuration calls it", x.mode, a)
		}
	}
}

func TestThePoliciesOfCommandsAllowTheirCallsAndNoMore(t *testing.T) {
	for mode, run := range map[kind.Mode]func(*config.Config) error{
		kind.ModeDoctor: func(c *config.Config) error {
			for _, f := range doctor.Examine(t.Context(), c) {
				if f.Level == doctor.Wrong && f.Check != "max" {
					return fmt.Errorf("%s: %s", f.Check, f.Text)
				}
			}
			return nil
		},
		kind.ModePlan: func(c *config.Config) error {
			_, _, err := plan.Make(t.Context(), c, nil)
			return err
		},
		kind.ModeAdvise: func(c *config.Config) error {
			metrics, err := advise.MetricsOf(t.Context(), c)
			if err != nil {
				return err
			}
			_, err = advise.Make(t.Context(), history.NewMemory(), advise.Request{Config: c, Metrics: metrics,
				From: time.Now().Add(-time.Hour), To: time.Now()})
			return err
		},
		kind.ModePublish: func(c *config.Config) error {
			all, err := publish.Once(t.Context(), c, nil, nil)
			return cmp.Or(err, handover.Failed(all))
		},
	} {
		all := newTally(mode)
		for _, what := range slices.Sorted(maps.Keys(configurations)) {
			if mode == kind.ModeAdvise && what == "tasks" {
				continue // CloudWatch has no CPUUtilization of them
			}
			mustertest.AWSEnvironment(t)
			server := fakeaws.New(iamWorld(t, time.Now().Add(-10*time.Minute)))
			server.Follow(time.Now)
			r := services(t, server)
			web := httptest.NewServer(r)
			t.Setenv("AWS_ENDPOINT_URL", web.URL)
			c := configurationOf(t, configurations[what])
			if err := run(c); err != nil {
				t.Errorf("%s, %s: %v", mode, what, err)
			}
			web.Close()
			server.Close()
			all.add(t, what, c, iam.Options{}, r)
		}
		all.unused(t)
	}
}

func TestThePolicyOfUpAllowsItsCallsAndNoMore(t *testing.T) {
	all := newTally(kind.ModeUp)
	for _, what := range slices.Sorted(maps.Keys(configurations)) {
		mustertest.AWSEnvironment(t)
		synctest.Test(t, func(t *testing.T) {
			server := fakeaws.New(iamWorld(t, time.Now().Add(-10*time.Minute)))
			server.Follow(time.Now)
			r := services(t, server)
			c := configurationOf(t, configurations[what])
			live(t, c, server, kind.NewHost(kind.HostOptions{AWS: c.AWS, HTTP: mustertest.InProcess{Handler: r}}))
			all.add(t, what, c, iam.Options{}, r)
		})
	}
	mustertest.AWSEnvironment(t)
	c := configurationOf(t, configurations["a group"])
	all.add(t, "events", c, iam.Options{}, receiveEvents(t, c))
	all.add(t, "notices", c, iam.Options{}, tellChannels(t, c))
	all.unused(t)
}

// tellChannels sends a notice to each channel of c, as muster up does, and returns what it called.
func tellChannels(t *testing.T, c *config.Config) *recorder {
	t.Helper()
	r := &recorder{called: map[string]bool{}, next: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		io.WriteString(w, "<PublishResponse><PublishResult><MessageId>1</MessageId></PublishResult></PublishResponse>")
	})}
	h := kind.NewHost(kind.HostOptions{AWS: c.AWS, HTTP: mustertest.InProcess{Handler: r}})
	for _, to := range kind.ChannelsOf(h, c) {
		if _, err := to.Channel.Send(t.Context(), incident.NewTest(time.Now())); err != nil {
			t.Errorf("tell %s: %v", to.Name, err)
		}
	}
	return r
}

// topicARN is the topic that every configuration tells of incidents.
const topicARN = "arn:aws:sns:" + region + ":000000000000:alarms"

// eventsURL is the queue of events of every configuration.
const eventsURL = "https://sqs." + region + ".amazonaws.com/000000000000/events"

// receiveEvents receives from the queue of events of c, as muster up does, and returns what it called.
func receiveEvents(t *testing.T, c *config.Config) *recorder {
	t.Helper()
	server := fakeaws.New(iamWorld(t, time.Now().Add(-10*time.Minute)))
	defer server.Close()
	server.Follow(time.Now)
	q, err := queue.Open(queue.Options{Ephemeral: true})
	if err != nil {
		t.Fatal(err)
	}
	defer q.Close()
	server.Messages(sqsapi.New(sqsapi.Options{Queues: q, AnyCredentials: true}))
	r := services(t, server)
	web := httptest.NewServer(r)
	defer web.Close()
	t.Setenv("AWS_ENDPOINT_URL", web.URL)
	at := web.URL + "/000000000000/" + c.Events[0].Queue.Name
	client, err := receiver.Client(t.Context(), at, nil)
	if err != nil {
		t.Fatal(err)
	}
	_, err = client.CreateQueue(t.Context(), &awssqs.CreateQueueInput{QueueName: &c.Events[0].Queue.Name})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithTimeout(t.Context(), time.Minute)
	defer stop()
	woken, ended := make(chan struct{}, 10), make(chan struct{})
	go func() {
		defer close(ended)
		receiver.New(receiver.Options{URL: at, Queue: client,
			Wake: func(...event.Event) { woken <- struct{}{} }, Failed: func(err error) { t.Error(err) }}).Run(ctx)
	}()
	// The second event is received after the first one was deleted.
	for _, body := range []string{"one", "two"} {
		_, err := client.SendMessage(t.Context(), &awssqs.SendMessageInput{QueueUrl: &at, MessageBody: &body})
		if err != nil {
			t.Fatal(err)
		}
		select {
		case <-woken:
		case <-ctx.Done():
			t.Fatal("no event arrived within a minute")
		}
	}
	stop()
	<-ended
	// The test made the queue and sent the events.
	delete(r.called, "sqs:CreateQueue")
	delete(r.called, "sqs:SendMessage")
	return r
}

// live does with the ports of a fleet what a controller does over some hours: it reads, grows the fleet beyond what the
// cloud has, protects the members, ends one, and trims.
func live(t *testing.T, c *config.Config, server *fakeaws.Server, h *kind.Host) {
	t.Helper()
	ctx, f, table := t.Context(), c.Fleets[0], kinds.Table()
	fail := func(what string, err error) {
		t.Helper()
		if err != nil {
			t.Errorf("%s: %v", what, err)
		}
	}
	row, err := table.Queue(f.Queues[0])
	fail("find the queue", err)
	q, err := row.Open(ctx, h, f, 0)
	fail("open the queue", err)
	_, err = q.Source.Observe(ctx)
	fail("read the queue", err)
	for _, s := range kind.SignalsOf(f) {
		source, err := s.Open(ctx, h, f, q.Source)
		fail("open a signal", err)
		_, err = source.Observe(ctx)
		fail("read a signal", err)
	}
	if f.ReportsTable != "" {
		a, err := h.Account(ctx)
		fail("open the account", err)
		cfg, err := a.Region(region)
		fail("choose the region", err)
		reports, err := dynamoreport.New(dynamodb.NewFromConfig(cfg), f.ReportsTable)
		fail("open the table", err)
		_, err = dynamoreport.NewReader(reports, region).Follow(f.Name).Reports(ctx, time.Now())
		fail("read the reports", err)
	}
	members, err := table.MembersOf(f)
	fail("find the members", err)
	ports, err := members.Open(ctx, h, f, nil)
	fail("open the members", err)
	if ports.Prepare != nil {
		fail("prepare", ports.Prepare(ctx))
	}
	if sizer := kind.SizerOf(f); sizer != nil {
		d, err := sizer.Open(ctx, h, f, nil)
		fail("open the delegation", err)
		fail("hand over", d.HandOver(ctx, muster.Handover{ID: "x", At: time.Now(), Target: 12,
			Backlog: muster.Measured(time.Now(), 48), InFlight: muster.Measured(time.Now(), 0),
			Capacity: muster.Capacity{Known: true, Idle: 2, Slots: 2, SlotsPerWorker: 1}}))
		list(ctx, t, ports.Fleet)
		return
	}
	operate(ctx, t, server, ports, f)
}

// operate sizes a fleet that nothing else sizes.
func operate(ctx context.Context, t *testing.T, server *fakeaws.Server, ports *kind.Ports, f config.Fleet) {
	t.Helper()
	size := func(id string, n int, launch ...string) {
		t.Helper()
		if err := ports.Fleet.SetDesired(ctx, muster.Order{ID: id, Desired: n, Launch: launch}); err != nil {
			t.Logf("size %s: %v", id, err) // a lack of capacity is an answer too
		}
		time.Sleep(time.Minute)
		list(ctx, t, ports.Fleet)
		time.Sleep(10 * time.Minute)
	}
	list(ctx, t, ports.Fleet)
	size("one", 4, "m1", "m2")
	server.Do(func(w *model.World) {
		groups, err := w.AutoScaling().DescribeAutoScalingGroups(groupapi.DescribeGroups{})
		if err != nil {
			t.Fatal(err)
		}
		// Nothing more of the only type is to be had, so the next launch fails.
		for _, g := range groups.AutoScalingGroups {
			for _, i := range g.Instances {
				w.LimitCapacity(account.Pool{InstanceType: i.InstanceType, AvailabilityZone: region + "a",
					Market: account.OnDemand}, 1)
			}
		}
	})
	size("two", 6, "m3", "m4")
	members := list(ctx, t, ports.Fleet)
	if ports.Protector != nil {
		if err := ports.Protector.Protect(ctx, members); err != nil {
			t.Errorf("protect: %v", err)
		}
	}
	time.Sleep(time.Minute)
	members = list(ctx, t, ports.Fleet)
	if len(members) == 0 {
		t.Fatalf("found no member of %s to end", f.Name)
	}
	if err := ports.Releaser.End(ctx, members[:1]); err != nil {
		t.Errorf("end a member: %v", err)
	}
	time.Sleep(10 * time.Minute)
	if ports.Trimmer != nil {
		if err := ports.Trimmer.Trim(ctx); err != nil {
			t.Errorf("trim: %v", err)
		}
	}
	for range 12 { // what is read rarely
		time.Sleep(10 * time.Minute)
		list(ctx, t, ports.Fleet)
	}
}

// list returns the members in service.
func list(ctx context.Context, t *testing.T, f muster.Fleet) (ids []string) {
	t.Helper()
	l, err := f.Members(ctx)
	if err != nil {
		t.Errorf("list the members: %v", err)
	}
	for _, m := range l.Members {
		if !m.Ended {
			ids = append(ids, m.ID)
		}
	}
	return ids
}

func TestThePolicyOfWorkersAllowsTheirCallsAndNoMore(t *testing.T) {
	mustertest.AWSEnvironment(t)
	all := newTally(kind.ModeWork)
	world := iamWorld(t, time.Now().Add(-10*time.Minute))
	instance, err := waitingInstance(world)
	if err != nil {
		t.Fatal(err)
	}
	server := fakeaws.New(world)
	defer server.Close()
	server.Follow(time.Now)
	q, err := queue.Open(queue.Options{Ephemeral: true})
	if err != nil {
		t.Fatal(err)
	}
	defer q.Close()
	server.Messages(sqsapi.New(sqsapi.Options{Queues: q, AnyCredentials: true}))
	r := services(t, server)
	web := httptest.NewServer(r)
	defer web.Close()
	t.Setenv("AWS_ENDPOINT_URL", web.URL)
	c := configurationOf(t, "asg: {group: web, reports: none}, reports_from: dynamodb:reports")
	c.Fleets[0].Workers.DeadLetter = config.QueueRef{Name: "dead", Region: region, Remote: true,
		URL: strings.Replace(queueURL, "/work", "/dead", 1)}
	for _, name := range []string{"work", "dead"} {
		client, err := sqsqueue.SQSClient(t.Context(), web.URL+"/000000000000/"+name)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := client.CreateQueue(t.Context(), &awssqs.CreateQueueInput{QueueName: &name}); err != nil {
			t.Fatal(err)
		}
	}
	clear(r.called) // workers make no queues
	handle(t, web.URL+"/000000000000/")
	reportAll(t, instance)
	all.add(t, "a group", c, iam.Options{Workers: iam.Flags{Reports: []string{"cloudwatch", "dynamodb:reports"},
		LifecycleHook: true, Protection: true}}, r)
	all.unused(t)
}

// waitingInstance returns an instance of the group web whose end waits for its lifecycle hook.
func waitingInstance(w *model.World) (string, error) {
	_, err := w.AutoScaling().PutLifecycleHook(groupapi.LifecycleHook{
		AutoScalingGroupName: "web", LifecycleHookName: "finish",
		LifecycleTransition: "autoscaling:EC2_INSTANCE_TERMINATING"})
	if err != nil {
		return "", err
	}
	ids := instances(w, "web")
	if len(ids) == 0 {
		return "", fmt.Errorf("found no instance in service")
	}
	yes := true
	_, err = w.AutoScaling().TerminateInstanceInAutoScalingGroup(groupapi.EndInstance{InstanceId: ids[0],
		ShouldDecrementDesiredCapacity: &yes})
	w.Advance(time.Now())
	return ids[0], err
}

// handle does with a message what a worker does.
func handle(t *testing.T, queues string) {
	t.Helper()
	work, err := sqsqueue.NewSQS(t.Context(), queues+"work")
	if err != nil {
		t.Fatal(err)
	}
	dead, err := sqsqueue.NewSQS(t.Context(), queues+"dead")
	if err != nil {
		t.Fatal(err)
	}
	message := worker.Message{ID: "m1", Body: "x"}
	if err := dead.Keep(t.Context(), message); err != nil {
		t.Error(err)
	}
	// The dead letter is received again: from then on it has a receipt.
	got, err := dead.Receive(t.Context(), 1, 0, time.Minute)
	if err != nil || len(got) != 1 {
		t.Fatalf("received %d messages: %v", len(got), err)
	}
	if _, err := work.Receive(t.Context(), 1, 0, time.Minute); err != nil {
		t.Error(err)
	}
	if err := dead.ChangeVisibility(t.Context(), got[0], time.Minute); err != nil {
		t.Error(err)
	}
	if err := dead.Delete(t.Context(), got[0]); err != nil {
		t.Error(err)
	}
}

// reportAll reports to every destination, and uses the lifecycle hook and the protection of an instance.
func reportAll(t *testing.T, instance string) {
	t.Helper()
	cfg, err := awsapi.At(t.Context(), "", nil)
	if err != nil {
		t.Fatal(err)
	}
	d := worker.Digest{Period: time.Now(), Every: time.Minute, Started: time.Now(), Report: protocol.Report{
		Fleet: "web", Member: "m", Worker: "w", Seq: 1, State: protocol.Receiving, Slots: 1, Finished: 1,
		Processing: series.Add(series.Durations{}, time.Second)}}
	metrics, err := cloudwatch.New(awscloudwatch.NewFromConfig(cfg), cloudwatch.Options{Fleet: "web"})
	if err != nil {
		t.Fatal(err)
	}
	table, err := dynamoreport.New(dynamodb.NewFromConfig(cfg), "reports")
	if err != nil {
		t.Fatal(err)
	}
	for _, sink := range []worker.Sink{metrics, table} {
		if err := sink.Take(t.Context(), d); err != nil {
			t.Error(err)
		}
	}
	client := awsautoscaling.NewFromConfig(cfg)
	hook, err := autoscaling.New(client, autoscaling.Options{Instance: instance})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := hook.Extend(t.Context()); err != nil {
		t.Error(err)
	}
	if err := hook.Complete(t.Context()); err != nil {
		t.Error(err)
	}
	p, err := autoscaling.NewProtection(client, autoscaling.Options{Instance: instance},
		filepath.Join(t.TempDir(), "protection"))
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Protect(t.Context(), time.Minute); err != nil {
		t.Logf("protect: %v", err) // the instance ends
	}
}
