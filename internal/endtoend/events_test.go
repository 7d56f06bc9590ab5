package endtoend_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"github.com/muster-scale/muster"
	"github.com/muster-scale/muster/controller"
	"github.com/muster-scale/muster/controller/loop"
	"github.com/muster-scale/muster/event"
	"github.com/muster-scale/muster/event/receiver"
	"github.com/muster-scale/muster/fleet/asg"
	"github.com/muster-scale/muster/policy"
	model "github.com/muster-scale/muster/sim/cloud"
	"github.com/muster-scale/muster/sim/cloud/account"
	"github.com/muster-scale/muster/sim/cloud/containers"
	"github.com/muster-scale/muster/sim/cloud/groupapi"
	"github.com/muster-scale/muster/worker"
)

// This file has the scenario of an ECS service that is scaled by events alone: polls are an hour apart, so every change
// of the desired count within minutes follows from an event.

// bus is a rule of EventBridge that feeds a queue of events. It delivers as EventBridge and SQS may: twice, and in
// another order; with lost also not at all.
type bus struct {
	// lost tells whether the next event is lost.
	lost func(chance *rand.Rand) bool

	mu       sync.Mutex
	chance   *rand.Rand
	n        int
	messages []types.Message
	deleted  map[string]bool
	sent     map[event.Kind]int
}

func newBus(lost func(*rand.Rand) bool) *bus {
	return &bus{lost: lost, chance: rand.New(rand.NewPCG(1, 2)), deleted: map[string]bool{}, sent: map[event.Kind]int{}}
}

// put sends an event.
func (b *bus) put(kind event.Kind, body string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.sent[kind]++
	if b.lost(b.chance) {
		return
	}
	for range 1 + b.chance.IntN(2) {
		b.n++
		id := fmt.Sprint("message-", b.n)
		at := b.chance.IntN(len(b.messages) + 1)
		b.messages = slices.Insert(b.messages, at, types.Message{MessageId: &id, ReceiptHandle: &id, Body: &body})
	}
}

// ReceiveMessage implements [receiver.Queue].
func (b *bus) ReceiveMessage(ctx context.Context, in *sqs.ReceiveMessageInput,
	_ ...func(*sqs.Options)) (*sqs.ReceiveMessageOutput, error) {
	for end := time.Now().Add(time.Duration(in.WaitTimeSeconds) * time.Second); ; {
		b.mu.Lock()
		n := min(len(b.messages), int(in.MaxNumberOfMessages))
		got := slices.Clone(b.messages[:n])
		b.messages = b.messages[n:]
		b.mu.Unlock()
		if n > 0 || !time.Now().Before(end) {
			return &sqs.ReceiveMessageOutput{Messages: got}, nil
		}
		select {
		case <-time.After(100 * time.Millisecond):
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// DeleteMessageBatch implements [receiver.Queue].
func (b *bus) DeleteMessageBatch(_ context.Context, in *sqs.DeleteMessageBatchInput,
	_ ...func(*sqs.Options)) (*sqs.DeleteMessageBatchOutput, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, e := range in.Entries {
		b.deleted[*e.ReceiptHandle] = true
	}
	return &sqs.DeleteMessageBatchOutput{}, nil
}

// hear receives the events of the bus and wakes the fleet for those that concern it, as muster up does. subject is what
// the fleet has.
func (s *stage) hear(b *bus, subject event.Fleet) {
	r := receiver.New(receiver.Options{URL: queueURL + "-events", Queue: b,
		Failed: func(err error) { s.t.Error(err) },
		Wake: func(all ...event.Event) {
			f := subject
			f.Name, f.Queues = "work", []string{"work"}
			if o, ok := s.loop.Last(); ok {
				f.Has = o.Next.Has
			}
			if len(event.Wakes([]event.Fleet{f}, all...)) > 0 {
				s.loop.Wake()
			}
		}})
	ctx, stop := context.WithCancel(context.Background())
	ended := s.stop
	s.stop = func() { stop(); ended() }
	s.running.Go(func() { r.Run(ctx) })
	s.running.Go(func() { s.tell(ctx, b) })
}

// tell puts the events of the modelled AWS on the bus, of tasks and of everything else.
func (s *stage) tell(ctx context.Context, b *bus) {
	for ctx.Err() == nil {
		s.do(func(w *model.World) error {
			for _, e := range w.TakeEvents() {
				kind := event.TaskState
				if e.Source == "aws.ec2" {
					kind = event.SpotInterruption
				}
				b.put(kind, envelope(e))
			}
			return nil
		})
		select {
		case <-time.After(time.Second):
		case <-ctx.Done():
		}
	}
}

// envelope is an event in the envelope of EventBridge. Its detail names the service as ECS does.
func envelope(e account.Event) string {
	if e.Source == "aws.ec2" {
		return fmt.Sprintf(`{"version": "0", "id": "%s-%d", "detail-type": %q, "source": %q, "region": %q,
			"resources": ["arn:aws:ec2:%sa:instance/%s"], "detail": {"instance-id": %q, "instance-action": %q}}`,
			e.Resource, e.At.UnixNano(), e.DetailType, e.Source, region, region, e.Resource, e.Resource, e.Detail)
	}
	return fmt.Sprintf(`{"version": "0", "id": "%s-%d", "detail-type": %q, "source": %q, "account": "000000000000",
		"region": %q, "resources": [%q], "detail": {"taskArn": %q, "lastStatus": %q, "group": "service:web",
		"clusterArn": "arn:aws:ecs:%s:000000000000:cluster/prod"}}`, e.Resource, e.At.UnixNano(), e.DetailType, e.Source,
		region, e.Resource, e.Resource, e.Detail, region)
}

// request sends messages and then the event of the program that received the request.
func (s *stage) request(b *bus, n int) {
	s.send(n)
	b.put(event.ScaleUp, fmt.Sprintf(`{"id": "request-%d", "source": "my.app", "detail-type": "_scale_up",
		"detail": {}, "resources": []}`, time.Now().UnixNano()))
}

// onEvents runs a test with a service whose polls are an hour apart.
func onEvents(t *testing.T, lost func(*rand.Rand) bool, test func(s *stage, b *bus)) {
	onAWS(t, func(s *stage) {
		s.poll, s.idle, s.takes = time.Hour, 30*time.Second, 3*time.Minute
		s.cluster()
		s.service(containers.CreateServiceInput{LaunchType: containers.Fargate})
		s.driveService(20, nil)
		b := newBus(lost)
		s.hear(b, event.Fleet{Cluster: "prod", Service: "web"})
		pass(7 * time.Minute)
		before, _ := s.loop.Last()
		pass(30 * time.Minute)
		if after, _ := s.loop.Last(); !after.Decision.At.Equal(before.Decision.At) {
			t.Errorf("a decision was made at %s without an event: the polls are not an hour apart", after.Decision.At)
		}
		test(s, b)
		if s.line.left() != 0 {
			t.Errorf("%d messages are left", s.line.left())
		}
	})
}

// TestAServiceIsScaledByEventsAlone follows a service from its first message to its last: events alone
// scale the service up and down, every message is processed, and no busy task is stopped, which onAWS checks.
func TestAServiceIsScaledByEventsAlone(t *testing.T) {
	onEvents(t, func(*rand.Rand) bool { return false }, func(s *stage, b *bus) {
		s.request(b, 12)
		up := s.until("12 tasks at work", 3*time.Minute, func() bool { return s.serving() == 12 })
		pass(time.Minute)
		s.takeFromNow(20 * time.Minute)
		s.request(b, 3) // three of the fifteen are busy for long, the others become idle
		s.until("three tasks left", 10*time.Minute, func() bool { return s.serving() == 3 })
		s.until("no task left", 25*time.Minute, func() bool { return s.serving() == 0 })
		if s.line.finished != 15 {
			t.Errorf("%d of 15 messages finished", s.line.finished)
		}
		if b.sent[event.ScaleUp] != 2 || b.sent[event.TaskState] < 24 {
			t.Errorf("the events were %v, want two requests, and two of each task at least", b.sent)
		}
		t.Logf("12 tasks worked %s after the event", up)
	})
}

// A lost event costs at most one poll, and no busy task.
func TestLostEventsDelayWorkByAtMostOnePoll(t *testing.T) {
	for _, c := range []struct {
		what string
		lost func(*rand.Rand) bool
	}{
		{"every third", func(chance *rand.Rand) bool { return chance.IntN(3) == 0 }},
		{"all", func(*rand.Rand) bool { return true }},
	} {
		t.Run(c.what, func(t *testing.T) {
			onEvents(t, c.lost, func(s *stage, b *bus) {
				for range 6 {
					s.request(b, 4)
					pass(7 * time.Minute)
				}
				s.until("everything finished", time.Hour+10*time.Minute, func() bool { return s.line.left() == 0 })
				s.until("no task left", time.Hour, func() bool { return s.serving() == 0 })
				if s.line.finished != 24 {
					t.Errorf("%d of 24 messages finished", s.line.finished)
				}
			})
		})
	}
}

// reclaimed tells the worker of an instance that Spot takes the instance back, as the instance metadata do.
type reclaimed struct {
	s  *stage
	id string
}

// Watch implements [worker.Notices].
func (r reclaimed) Watch(ctx context.Context, tell func(worker.Notice, error)) {
	tell(worker.Notice{}, nil)
	for by := (time.Time{}); by.IsZero(); {
		select {
		case <-time.After(worker.NoticeEvery):
		case <-ctx.Done():
			return
		}
		r.s.do(func(w *model.World) error {
			if by = w.AutoScaling().Reclaim(r.id); !by.IsZero() {
				tell(worker.Notice{Kind: worker.Interrupted, By: by, Why: "Spot takes the instance back"}, nil)
			}
			return nil
		})
	}
}

// TestASpotWarningIsFollowedByAReplacementBeforeTheInstanceEnds holds with polls an hour apart, also where the event of
// the warning is lost: the worker on the instance reports the same warning.
func TestASpotWarningIsFollowedByAReplacementBeforeTheInstanceEnds(t *testing.T) {
	for what, lost := range map[string]bool{"with its event": false, "without its event": true} {
		t.Run(what, func(t *testing.T) { replaced(t, lost) })
	}
}

// replaced runs a group in which Spot takes a busy instance back.
func replaced(t *testing.T, lost bool) {
	onAWS(t, func(s *stage) {
		s.poll, s.idle, s.takes = time.Hour, 30*time.Second, 20*time.Minute
		s.notices = func(member string) worker.Notices { return reclaimed{s, member} }
		s.group("workers", 8)
		s.members = func(w *model.World) []string { return instances(w, "workers") }
		f, err := asg.NewGroups(s.account).Fleet(asg.Options{Group: "workers", Max: 8, Protect: true})
		if err != nil {
			t.Fatal(err)
		}
		s.start(controller.Settings{Spec: policy.Spec{Name: "exact"}, Limits: muster.Limits{Max: 8}, Protect: true,
			BootPrior: time.Minute}, loop.Options{Fleet: f, Releaser: f, Protector: f,
			Expecters: []muster.Expecter{f}, Listing: f})
		b := newBus(func(*rand.Rand) bool { return lost && s.line.inHand() > 0 })
		s.hear(b, event.Fleet{Group: "workers"})
		pass(2 * time.Minute)
		s.request(b, 4)
		s.until("4 busy instances", 5*time.Minute, func() bool { return s.line.inHand() == 4 })
		pass(2 * time.Minute)
		var ids []string
		var ends time.Time
		s.do(func(w *model.World) error {
			ids = instances(w, "workers")
			err := w.AutoScaling().InterruptSpot(ids[0])
			ends = w.AutoScaling().Reclaim(ids[0])
			return err
		})
		took := s.until("a replacement is ordered", time.Minute, func() bool { return s.launched("workers") == 5 })
		if left := time.Until(ends); left < 90*time.Second {
			t.Errorf("the replacement was ordered %s before the instance ended, want 90 s at least", left)
		}
		s.until("the replacement works", 5*time.Minute, func() bool {
			return s.line.inHand() == 4 && time.Now().After(ends)
		})
		s.until("everything finished", 30*time.Minute, func() bool { return s.line.left() == 0 })
		s.until("no instance left", 70*time.Minute, func() bool { return s.serving() == 0 })
		// AWS may end the instance before Muster lowers the desired capacity by it. Then the group launches one more.
		if n := s.launched("workers"); n > 6 || s.line.finished != 4 {
			t.Errorf("%d instances were launched, and %d messages finished; want 5 or 6, and 4", n, s.line.finished)
		}
		if b.sent[event.SpotInterruption] != 1 {
			t.Errorf("the events were %v, want one warning", b.sent)
		}
		t.Logf("the replacement was ordered %s after the warning", took)
	})
}

// launched counts the instances that a group has launched.
func (s *stage) launched(group string) (n int) {
	s.do(func(w *model.World) error {
		l, err := w.AutoScaling().DescribeScalingActivities(groupapi.DescribeActivities{AutoScalingGroupName: group})
		for _, a := range l.Activities {
			if strings.HasPrefix(a.Description, "Launching") {
				n++
			}
		}
		return err
	})
	return n
}
