package endtoend_test

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/muster-scale/muster"
	"github.com/muster-scale/muster/controller"
	"github.com/muster-scale/muster/controller/audit"
	"github.com/muster-scale/muster/controller/loop"
	"github.com/muster-scale/muster/history"
	"github.com/muster-scale/muster/internal/awsapi"
	"github.com/muster-scale/muster/internal/awsmetrics"
	"github.com/muster-scale/muster/mustertest"
	"github.com/muster-scale/muster/mustertest/fakeaws"
	model "github.com/muster-scale/muster/sim/cloud"
	"github.com/muster-scale/muster/sim/cloud/containers"
	"github.com/muster-scale/muster/sim/cloud/groupapi"
	"github.com/muster-scale/muster/sim/cloud/queues"
	"github.com/muster-scale/muster/source/sqs"
	"github.com/muster-scale/muster/worker"
)

const region = "eu-west-1"

// stage is a world with the queue work, and the workers of the fleet that serves it.
type stage struct {
	t       *testing.T
	cloud   *fakeaws.Server
	account *awsapi.Account
	line    *line
	loop    *loop.Loop
	history muster.History
	// poll is the time between two polls; zero means 5 s.
	poll time.Duration
	// idle is how long a worker waits before it offers to leave; takes is what a message takes.
	idle, takes time.Duration
	// notices returns what tells the worker of a member that its machine ends; nil for workers that learn nothing.
	notices func(member string) worker.Notices
	// members are those on which a worker shall run now, and exits tells what is done when a worker has left by itself.
	members func(w *model.World) []string
	exits   func(w *model.World, member string)
	began   time.Time
	// reports is a table of DynamoDB; destinations are where workers report instead of to the loop, nil for those that
	// report to it.
	reports      *mustertest.ReportTable
	destinations []worker.Destination
	// measured puts something in front of the source of the queue; nil for nothing.
	measured func(base muster.Source) muster.Source
	// services answer for all services of AWS.
	services http.Handler
	// unrecorded is true for a test without a history.
	unrecorded bool
	// spared is true where AWS decides who ends, busy or not.
	spared bool
	// stop ends everything of the stage, which running waits for.
	stop    context.CancelFunc
	running sync.WaitGroup

	mu      sync.Mutex
	workers map[string]context.CancelCauseFunc
	killed  []string
}

// onAWS runs a test in a world.
func onAWS(t *testing.T, test func(s *stage)) {
	t.Helper()
	mustertest.AWSEnvironment(t)
	synctest.Test(t, func(t *testing.T) {
		server := fakeaws.New(model.New(model.Settings{Start: time.Now(), Region: region, Seed: 1}))
		server.Follow(time.Now)
		reports := mustertest.NewReportTable("reports", 3)
		services := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if strings.HasPrefix(r.Header.Get("X-Amz-Target"), "DynamoDB_") {
				reports.ServeHTTP(w, r)
				return
			}
			server.ServeHTTP(w, r)
		})
		account, err := awsapi.Open(t.Context(), awsapi.Options{HTTP: mustertest.InProcess{Handler: services}})
		if err != nil {
			t.Fatal(err)
		}
		s := &stage{t: t, cloud: server, services: services, reports: reports, account: account,
			takes: 25 * time.Second, began: time.Now(),
			workers: map[string]context.CancelCauseFunc{}}
		s.line = &line{s: s, held: map[string]worker.Message{}}
		s.do(func(w *model.World) error {
			_, err := w.SQS().CreateQueue(queues.CreateQueueInput{QueueName: "work"})
			return err
		})
		test(s)
		s.stop()
		s.running.Wait()
		if !s.unrecorded {
			s.verify()
		}
		if len(s.killed) > 0 && !s.spared {
			t.Errorf("busy workers were ended: %s", strings.Join(s.killed, ", "))
		}
	})
}

// verify recomputes every decision from its record.
func (s *stage) verify() {
	s.t.Helper()
	var records []muster.Record
	err := s.history.Read(context.Background(), "work", time.Time{},
		func(r muster.Record) bool { records = append(records, r); return true })
	if err != nil {
		s.t.Fatal(err)
	}
	if checked, skipped, err := audit.Verify(records); err != nil || checked == 0 || skipped > 0 {
		s.t.Errorf("%d decisions recompute, %d were skipped: %v", checked, skipped, err)
	}
}

func (s *stage) do(f func(w *model.World) error) {
	s.t.Helper()
	s.cloud.Until(time.Now())
	s.cloud.Do(func(w *model.World) {
		if err := f(w); err != nil {
			s.t.Error(err)
		}
	})
}

const queueURL = "https://sqs." + region + ".amazonaws.com/000000000000/work"

// start begins to drive a fleet, and lets workers run on its members.
func (s *stage) start(settings controller.Settings, o loop.Options) {
	s.t.Helper()
	poll := cmp.Or(s.poll, 5*time.Second)
	settings.Fleet, settings.Queues, settings.Poll, settings.Stale = "work", []string{"work"}, poll,
		3*max(awsapi.Slow, poll)
	if settings.Objective.Latency == 0 {
		settings.Objective = muster.Objective{Latency: 300 * time.Second, Quantile: 0.99}
	}
	settings.Limits.LaunchesPerHour = 600
	settings, err := controller.NewSettings(settings)
	if err != nil {
		s.t.Fatal(err)
	}
	source, err := sqs.NewQueues(sqs.Options{Account: s.account,
		Metrics: awsmetrics.NewReader(s.account)}).Queue(queueURL, poll)
	if err != nil {
		s.t.Fatal(err)
	}
	o.Settings, o.Sources, o.Wakes, o.Expecters = settings, []muster.Source{source}, []muster.Notifier{source},
		append(o.Expecters, source)
	if s.measured != nil {
		o.Sources[0] = s.measured(source)
	}
	s.history = history.NewMemory()
	o.History, o.Logger = s.history, slog.New(slog.DiscardHandler)
	s.loop = loop.New(o)
	ctx, stop := context.WithCancel(context.Background())
	s.stop = stop
	s.running.Go(func() {
		if err := s.loop.Run(ctx); err != nil {
			s.t.Error(err)
		}
	})
	s.running.Go(func() { s.attend(ctx) })
}

// attend has a worker on each member that is ready for one.
func (s *stage) attend(ctx context.Context) {
	for {
		var now []string
		s.do(func(w *model.World) error { now = s.members(w); return nil })
		s.mu.Lock()
		for _, m := range now {
			if s.workers[m] == nil {
				s.work(ctx, m)
			}
		}
		for m, end := range s.workers {
			if end != nil && !slices.Contains(now, m) {
				end(worker.ErrStopped)
				s.workers[m] = nil
				if s.line.holds(m) {
					s.killed = append(s.killed, m)
				}
			}
		}
		s.mu.Unlock()
		select {
		case <-time.After(time.Second):
		case <-ctx.Done():
			return
		}
	}
}

// work starts the worker of a member. The caller holds the lock.
func (s *stage) work(ctx context.Context, member string) {
	ctx, end := context.WithCancelCause(ctx)
	s.workers[member] = end
	s.running.Go(func() {
		o := worker.Options{
			Queue: &hand{s.line, member}, Fleet: "work", Member: member, IdleStop: s.idle, Reporter: s.loop,
			Grace: time.Second, ReportEvery: 5 * time.Second,
			Do: func(ctx context.Context, m worker.Message) error {
				select {
				case <-time.After(s.duration()):
					return nil
				case <-ctx.Done():
					return context.Cause(ctx)
				}
			},
		}
		if s.notices != nil {
			o.Notices, o.Grace = []worker.Notices{s.notices(member)}, 0
		}
		if s.destinations != nil {
			o.Reporter, o.Destinations = nil, s.destinations
		}
		if err := worker.Run(ctx, o); err != nil {
			s.t.Error(err)
		}
		if ctx.Err() == nil && s.exits != nil {
			s.do(func(w *model.World) error { s.exits(w, member); return nil })
		}
	})
}

// takeFromNow changes how long messages take while workers run.
func (s *stage) takeFromNow(d time.Duration) {
	s.line.mu.Lock()
	defer s.line.mu.Unlock()
	s.takes = d
}

// duration returns how long a message takes.
func (s *stage) duration() time.Duration {
	s.line.mu.Lock()
	defer s.line.mu.Unlock()
	return s.takes
}

// send puts messages into the queue.
func (s *stage) send(n int) {
	s.line.mu.Lock()
	defer s.line.mu.Unlock()
	for range n {
		s.line.n++
		s.line.waiting = append(s.line.waiting, worker.Message{ID: fmt.Sprint("m", s.line.n), Queue: "work",
			SentAt: time.Now()})
	}
	s.line.tell(queues.Traffic{Sent: n})
}

// until lets time pass until what is awaited has come, and tells how long that took; it gives up after a while.
func (s *stage) until(what string, within time.Duration, is func() bool) time.Duration {
	s.t.Helper()
	began := time.Now()
	for !is() {
		if time.Since(began) > within {
			if s.loop == nil {
				s.t.Fatalf("not %s within %s", what, within)
			}
			o, _ := s.loop.Last()
			s.t.Fatalf("not %s within %s; the last decision: %s; notes %q", what, within, o.Decision.Sentence(),
				o.Observation.Notes)
		}
		time.Sleep(time.Second)
	}
	return time.Since(began)
}

// pass lets time pass.
func pass(d time.Duration) { time.Sleep(d) }

// line is a queue whose counts the world knows.
type line struct {
	s *stage

	mu       sync.Mutex
	n        int
	waiting  []worker.Message
	held     map[string]worker.Message
	holders  map[string]int
	finished int
}

// tell shows the counts to the world. The caller holds the lock.
func (l *line) tell(since queues.Traffic) {
	c := queues.QueueCounts{Visible: len(l.waiting), NotVisible: len(l.held)}
	l.s.cloud.Until(time.Now())
	l.s.cloud.Do(func(w *model.World) {
		if err := w.SQS().SetQueue("work", c, since); err != nil {
			l.s.t.Error(err)
		}
	})
}

func (l *line) holds(member string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.holders[member] > 0
}

func (l *line) left() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.waiting) + len(l.held)
}

// hand is the line in the hands of one worker.
type hand struct {
	*line
	member string
}

// Receive implements [worker.Queue].
func (h *hand) Receive(ctx context.Context, most int, wait, _ time.Duration) ([]worker.Message, error) {
	for end := time.Now().Add(wait); ; {
		if got := h.take(most); len(got) > 0 || !time.Now().Before(end) {
			return got, nil
		}
		select {
		case <-time.After(time.Second):
		case <-ctx.Done():
			return nil, nil
		}
	}
}

func (h *hand) take(most int) []worker.Message {
	h.mu.Lock()
	defer h.mu.Unlock()
	n := min(most, len(h.waiting))
	got := slices.Clone(h.waiting[:n])
	h.waiting = h.waiting[n:]
	for i := range got {
		got[i].Handle, got[i].ReceiveCount, got[i].FirstReceivedAt = got[i].ID, 1, time.Now()
		h.held[got[i].ID] = got[i]
	}
	if n > 0 {
		if h.holders == nil {
			h.holders = map[string]int{}
		}
		h.holders[h.member] += n
		h.tell(queues.Traffic{Received: n})
	}
	return got
}

// Delete implements [worker.Queue].
func (h *hand) Delete(_ context.Context, m worker.Message) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if _, ok := h.held[m.ID]; ok {
		delete(h.held, m.ID)
		h.holders[h.member]--
		h.finished++
		h.tell(queues.Traffic{Deleted: 1})
	}
	return nil
}

// ChangeVisibility implements [worker.Queue]: 0 gives a message back.
func (h *hand) ChangeVisibility(_ context.Context, m worker.Message, d time.Duration) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if held, ok := h.held[m.ID]; ok && d == 0 {
		delete(h.held, m.ID)
		h.holders[h.member]--
		h.waiting = append(h.waiting, held)
		h.tell(queues.Traffic{})
	}
	return nil
}

// The groups and services of the tests.

func num(n int) *int { return &n }

// group makes an empty Auto Scaling group whose instances work when they are in service.
func (s *stage) group(name string, most int) {
	s.t.Helper()
	s.do(func(w *model.World) error {
		_, err := w.AutoScaling().CreateAutoScalingGroup(groupapi.CreateGroup{GroupSettings: groupapi.GroupSettings{
			AutoScalingGroupName: name, MinSize: num(0), MaxSize: num(most), DesiredCapacity: num(0),
			AvailabilityZones: []string{region + "a"},
			LaunchTemplate:    &groupapi.LaunchTemplate{LaunchTemplateName: name}, DefaultInstanceWarmup: num(60),
		}})
		if err != nil {
			return err
		}
		_, err = w.AutoScaling().EnableMetricsCollection(groupapi.GroupMetrics{AutoScalingGroupName: name,
			Granularity: "1Minute"})
		return err
	})
}

// instances are the ids of a group's instances in service.
func instances(w *model.World, name string) (ids []string) {
	l, err := w.AutoScaling().DescribeAutoScalingGroups(groupapi.DescribeGroups{AutoScalingGroupNames: []string{name}})
	if err != nil || len(l.AutoScalingGroups) == 0 {
		return nil
	}
	for _, i := range l.AutoScalingGroups[0].Instances {
		if i.LifecycleState == "InService" {
			ids = append(ids, i.InstanceId)
		}
	}
	return ids
}

// serving is how many members work.
func (s *stage) serving() (n int) {
	s.do(func(w *model.World) error { n = len(s.members(w)); return nil })
	return n
}

// tasks are the ids of the running tasks of the cluster prod.
func tasks(w *model.World) (ids []string) {
	arns, err := w.ECS().ListTasks(containers.ListTasksInput{Cluster: "prod"})
	if err != nil || len(arns.TaskArns) == 0 {
		return nil
	}
	described, err := w.ECS().DescribeTasks(containers.DescribeTasksInput{Cluster: "prod",
		Tasks: arns.TaskArns[:min(100, len(arns.TaskArns))]})
	if err != nil {
		return nil
	}
	for _, t := range described.Tasks {
		if t.LastStatus == "RUNNING" && t.DesiredStatus == "RUNNING" {
			ids = append(ids, t.TaskArn[strings.LastIndexByte(t.TaskArn, '/')+1:])
		}
	}
	return ids
}

// cluster makes the cluster prod with a definition of tasks that fill half an instance.
func (s *stage) cluster() {
	s.t.Helper()
	s.do(func(w *model.World) error {
		_, err := w.ECS().CreateCluster(containers.CreateClusterInput{ClusterName: "prod",
			CapacityProviders: []string{containers.Fargate},
			Settings: []containers.ClusterSetting{{Name: "containerInsights",
				Value: "enabled"}}})
		return err
	})
	s.do(func(w *model.World) error {
		_, err := w.ECS().RegisterTaskDefinition(containers.TaskDefinition{
			Family: "work", Cpu: "1024", Memory: "2048", NetworkMode: "awsvpc",
			RequiresCompatibilities: []string{"FARGATE", "EC2"},
			ContainerDefinitions:    []containers.ContainerDefinition{{Name: "work", Image: "work:1"}},
		})
		return err
	})
	s.members = tasks
}

var network = &containers.NetworkConfiguration{AwsvpcConfiguration: &containers.AwsvpcConfiguration{Subnets: []string{
	"subnet-1"},
	SecurityGroups: []string{"sg-1"}}}

// service makes the empty service web.
func (s *stage) service(in containers.CreateServiceInput) {
	s.t.Helper()
	in.Cluster, in.ServiceName, in.TaskDefinition, in.DesiredCount, in.NetworkConfiguration = "prod", "web", "work",
		num(0), network
	s.do(func(w *model.World) error {
		_, err := w.ECS().CreateService(in)
		return err
	})
}
