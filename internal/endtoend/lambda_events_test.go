package endtoend_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/muster-scale/muster"
	"github.com/muster-scale/muster/app/function"
	model "github.com/muster-scale/muster/sim/cloud"
	"github.com/muster-scale/muster/sim/cloud/containers"
	"github.com/muster-scale/muster/sim/cloud/groupapi"
	"github.com/muster-scale/muster/worker"
)

// asJSON renders what a service of AWS sends.
func asJSON(s *stage, v any) string {
	s.t.Helper()
	text, err := json.Marshal(v)
	if err != nil {
		s.t.Fatal(err)
	}
	return string(text)
}

func TestTheTerminationPolicyNamesNoBusyInstance(t *testing.T) {
	onAWS(t, func(s *stage) {
		const arn = "arn:aws:lambda:eu-west-1:123456789012:function:terminate:1"
		s.unrecorded, s.takes = true, 20*time.Minute
		s.group("workers", 4)
		s.unanswered()
		l := lambda{s: s, env: map[string]string{function.VariableConfig: steppedGroup, "MUSTER_PROTECTED": "instance"}}
		f, asked, empty := l.open("terminate"), 0, 0
		size := func(n int) {
			s.do(func(w *model.World) error {
				_, err := w.AutoScaling().SetDesiredCapacity(groupapi.SetDesired{AutoScalingGroupName: "workers",
					DesiredCapacity: num(n)})
				return err
			})
		}
		s.do(func(w *model.World) error {
			// The function reads the table of reports alone, so it may run while the world does.
			w.AutoScaling().OfferTerminationPolicy(arn, func(q groupapi.TerminationRequest) groupapi.TerminationAnswer {
				a := invoke[function.Terminated](s, f, asJSON(s, q))
				if asked++; len(a.InstanceIDs) == 0 {
					empty++
				}
				return groupapi.TerminationAnswer{InstanceIDs: a.InstanceIDs}
			})
			_, err := w.AutoScaling().UpdateAutoScalingGroup(groupapi.GroupSettings{AutoScalingGroupName: "workers",
				TerminationPolicies: []string{arn}})
			return err
		})
		s.byItself()
		s.send(2)
		size(4)
		s.until("four instances at work", 10*time.Minute, func() bool {
			return s.serving() == 4 && s.line.inHand() == 2
		})
		pass(time.Minute)
		size(2)
		s.until("the two idle instances end", 5*time.Minute, func() bool { return s.serving() == 2 })
		size(0)
		pass(5 * time.Minute)
		if n := s.serving(); n != 2 || empty == 0 {
			s.t.Errorf("%d instances are left and the function named none in %d of %d answers, want the two busy ones",
				n, empty, asked)
		}
		s.until("every instance ends", 30*time.Minute, func() bool { return s.serving() == 0 })
		if s.line.left() != 0 {
			s.t.Errorf("%d messages are left, want none", s.line.left())
		}
		s.reports.Refuse("ThrottlingException")
		if a := invoke[function.Terminated](s, f, asJSON(s, groupapi.TerminationRequest{AutoScalingGroupName: "workers",
			Instances: []groupapi.TerminationCandidate{{InstanceId: "i-1"}}})); a.InstanceIDs == nil ||
			len(a.InstanceIDs) != 0 {
			s.t.Errorf("named %q although the reports cannot be read, want an empty list", a.InstanceIDs)
		}
	})
}

func TestAnEventStepsTheFleetsThatItConcerns(t *testing.T) {
	onAWS(t, func(s *stage) {
		s.spared = true
		s.group("workers", 20)
		s.byItself()
		l := lambda{s: s, env: map[string]string{function.VariableConfig: steppedGroup}, history: s.table()}
		f := l.open("event")
		of := func(id, queue string) string {
			return asJSON(s, map[string]any{"Records": []any{map[string]any{"eventSource": "aws:sqs", "messageId": "m",
				"body": fmt.Sprintf(`{"id": %q, "queue": %q}`, id, queue)}}})
		}
		s.send(40)
		if a := invoke[function.Evented](s, f, of("e1", "other")); a.Events != 1 || len(a.Fleets) != 0 {
			s.t.Errorf("found %+v for an event of another queue, want no step", a)
		}
		began := time.Now()
		if a := invoke[function.Evented](s, f, of("e2", "work")); len(a.Fleets) != 1 || a.Fleets[0].Desired == 0 {
			s.t.Errorf("found %+v, want a step that sizes the fleet", a)
		}
		if took := time.Since(began); took > 5*time.Second {
			s.t.Errorf("the step took %s, want less than 5 s", took)
		}
		if a := invoke[function.Evented](s, f, of("e2", "work")); a.Repeated != 1 || len(a.Fleets) != 0 {
			s.t.Errorf("found %+v for a repeated event, want no step", a)
		}
		if n := s.cloud.Calls("SetDesiredCapacity") + s.cloud.Calls("LaunchInstances"); n != 1 {
			s.t.Errorf("the group was sized %d times, want once", n)
		}
	})
}

// overtaken is a history in which another writer begins before the first append.
type overtaken struct {
	muster.History
	first *sync.Once
}

func (h overtaken) Append(ctx context.Context, fleet string, after muster.Position,
	records ...muster.Record) (muster.Position, error) {
	h.first.Do(func() { h.History.Begin(ctx, fleet) })
	return h.History.Append(ctx, fleet, after, records...)
}

// Another step may have read the queue before the message came that an event tells of.
func TestAnEventDuringAStepElsewhereStepsAfterIt(t *testing.T) {
	onAWS(t, func(s *stage) {
		s.spared = true
		s.group("workers", 20)
		s.byItself()
		s.send(40)
		l := lambda{s: s, env: map[string]string{function.VariableConfig: steppedGroup},
			history: overtaken{s.table(), &sync.Once{}}}
		a := invoke[function.Evented](s, l.open("event"), `{"queue": "work"}`)
		if len(a.Fleets) != 1 || a.Fleets[0].Elsewhere || a.Fleets[0].Desired == 0 {
			s.t.Errorf("found %+v, want the step after that of the other", a)
		}
	})
}

const deployedService = `
version: 1
fleets:
  - name: work
    queue: ` + queueURL + `
    objective: {latency: 300s}
    max: 4
    policy: {name: backlog-per-worker, acceptable: 5}
    ecs: {cluster: prod, service: web, reports: none}
`

func TestADeploymentWaitsForAQuietFleet(t *testing.T) {
	onAWS(t, func(s *stage) {
		s.unrecorded, s.spared = true, true
		s.cluster()
		s.service(containers.CreateServiceInput{LaunchType: containers.Fargate})
		l := lambda{s: s, env: map[string]string{function.VariableConfig: deployedService,
			function.VariableWait: "10m"}}
		s.byItself()
		s.members = tasks
		f := l.open("hook")
		ask := func(details map[string]any) function.Deployment {
			return invoke[function.Deployment](s, f, asJSON(s, map[string]any{"lifecycleStage": "PRE_SCALE_UP",
				"serviceArn": "arn:aws:ecs:eu-west-1:123456789012:service/prod/web", "hookDetails": details}))
		}
		for range 3 { // an empty queue of SQS is believed at the third reading
			ask(nil)
			pass(30 * time.Second)
		}
		if a := ask(nil); a.Status != "SUCCEEDED" {
			s.t.Errorf("found %+v, want a deployment of a quiet fleet", a)
		}
		s.send(3)
		pass(time.Minute) // until SQS counts them
		first := ask(nil)
		if first.Status != "IN_PROGRESS" || first.AskAgain != 30 || first.Details["muster_since"] == nil {
			s.t.Errorf("found %+v while messages wait, want to be asked again", first)
		}
		pass(9 * time.Minute)
		if a := ask(first.Details); a.Status != "IN_PROGRESS" {
			s.t.Errorf("found %+v after 9 min, want to be asked again", a)
		}
		pass(2 * time.Minute)
		if a := ask(first.Details); a.Status != "FAILED" {
			s.t.Errorf("found %+v after 11 min, want the end of the deployment", a)
		}
	})
}

func TestAnInstanceEndsWhenItsWorkIsDone(t *testing.T) {
	onAWS(t, func(s *stage) {
		s.unrecorded, s.spared, s.takes = true, true, 10*time.Minute
		s.notices = func(member string) worker.Notices { return ending{s, member} }
		s.group("workers", 4)
		s.unanswered()
		s.byItself()
		l := lambda{s: s, env: map[string]string{function.VariableConfig: steppedGroup}}
		f := l.open("hook")
		s.do(func(w *model.World) error {
			_, err := w.AutoScaling().PutLifecycleHook(groupapi.LifecycleHook{AutoScalingGroupName: "workers",
				LifecycleHookName: "finish", LifecycleTransition: "autoscaling:EC2_INSTANCE_TERMINATING"})
			return err
		})
		s.members = func(w *model.World) []string { return standing(w, "workers") }
		s.send(1)
		s.do(func(w *model.World) error {
			_, err := w.AutoScaling().SetDesiredCapacity(groupapi.SetDesired{AutoScalingGroupName: "workers",
				DesiredCapacity: num(1)})
			return err
		})
		s.until("a busy instance", 10*time.Minute, func() bool { return s.line.inHand() == 1 })
		pass(time.Minute)
		id := ""
		s.do(func(w *model.World) error { id = instances(w, "workers")[0]; return nil })
		s.do(func(w *model.World) error {
			yes := true
			_, err := w.AutoScaling().TerminateInstanceInAutoScalingGroup(groupapi.EndInstance{InstanceId: id,
				ShouldDecrementDesiredCapacity: &yes})
			return err
		})
		batch := asJSON(s, map[string]any{"Records": []any{map[string]any{"eventSource": "aws:sqs", "messageId": "m1",
			"body": asJSON(s, map[string]any{"detail-type": "EC2 Instance-terminate Lifecycle Action",
				"detail": map[string]string{"AutoScalingGroupName": "workers", "LifecycleHookName": "finish",
					"EC2InstanceId": id, "LifecycleTransition": "autoscaling:EC2_INSTANCE_TERMINATING"}})}}})
		if a := invoke[function.Batch](s, f, batch); len(a.Failures) != 1 || a.Failures[0].ID != "m1" {
			s.t.Errorf("found %+v for a busy instance, want the message again", a)
		}
		if n := s.cloud.Calls("RecordLifecycleActionHeartbeat"); n != 1 {
			s.t.Errorf("the hook was extended %d times, want once", n)
		}
		s.until("the message finishes", 15*time.Minute, func() bool { return s.line.left() == 0 })
		pass(time.Minute)
		if a := invoke[function.Batch](s, f, batch); len(a.Failures) != 0 {
			s.t.Errorf("found %+v for an idle instance, want no message again", a)
		}
		if n := s.cloud.Calls("CompleteLifecycleAction"); n != 1 {
			s.t.Errorf("the hook was completed %d times, want once", n)
		}
		// The queue may deliver the message again. Then nothing waits any more.
		pass(5 * time.Minute)
		if a := invoke[function.Batch](s, f, batch); len(a.Failures) != 0 {
			s.t.Errorf("found %+v for an instance that is gone, want no message again", a)
		}
	})
}

// ending tells the worker of an instance that the instance has left service, as the instance metadata do.
type ending struct {
	s  *stage
	id string
}

// Watch implements [worker.Notices].
func (e ending) Watch(ctx context.Context, tell func(worker.Notice, error)) {
	tell(worker.Notice{}, nil)
	for serves := true; serves; {
		select {
		case <-time.After(worker.NoticeEvery):
		case <-ctx.Done():
			return
		}
		e.s.do(func(w *model.World) error { serves = slices.Contains(instances(w, "workers"), e.id); return nil })
	}
	tell(worker.Notice{Kind: worker.Ending, Why: "its group ends it"}, nil)
}

// standing are the instances of a group on which workers still run: in service, or waiting for their end.
func standing(w *model.World, name string) (ids []string) {
	l, err := w.AutoScaling().DescribeAutoScalingGroups(groupapi.DescribeGroups{AutoScalingGroupNames: []string{name}})
	if err != nil || len(l.AutoScalingGroups) == 0 {
		return nil
	}
	for _, i := range l.AutoScalingGroups[0].Instances {
		if i.LifecycleState == "InService" || i.LifecycleState == "Terminating:Wait" {
			ids = append(ids, i.InstanceId)
		}
	}
	return ids
}

// inHand counts the messages in progress.
func (l *line) inHand() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.held)
}
