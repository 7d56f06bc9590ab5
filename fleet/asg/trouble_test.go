package asg_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/muster-scale/muster"
	"github.com/muster-scale/muster/policy"
	model "github.com/muster-scale/muster/sim/cloud"
	"github.com/muster-scale/muster/sim/cloud/account"
	"github.com/muster-scale/muster/sim/cloud/groupapi"
)

// While AWS does not let anybody look, or change anything, nobody is let go, although all have become idle; once it
// does, they go. What was wrong is told by the decision and by its notes.
func TestTroubleWithAWSLetsNobodyGo(t *testing.T) {
	all := func(trouble account.Trouble, actions ...string) (in []account.Injection) {
		for _, a := range actions {
			in = append(in, account.Injection{Trouble: trouble, Action: a})
		}
		return in
	}
	for _, row := range []struct {
		name    string
		trouble []account.Injection
		reason  muster.Reason
	}{
		{"no permission to measure the queue", all(account.AccessDenied, "GetQueueAttributes"), muster.UnknownBacklog},
		{"the queue is throttled", all(account.Throttled, "GetQueueAttributes"), muster.UnknownBacklog},
		{"the queue does not answer", all(account.Timeout, "GetQueueAttributes"), muster.UnknownBacklog},
		{"no permission to look at the group", all(account.AccessDenied, "DescribeAutoScalingGroups"),
			muster.UnknownCapacity},
		{"the group cannot be described", all(account.InternalFailure, "DescribeAutoScalingGroups"),
			muster.UnknownCapacity},
		{"expired credentials", all(account.ExpiredToken, ""), muster.UnknownBacklog},
		{"nothing may be changed", all(account.AccessDenied, "TerminateInstanceInAutoScalingGroup",
			"SetDesiredCapacity",
			"LaunchInstances"), ""},
	} {
		t.Run(row.name, func(t *testing.T) {
			spec := policy.Spec{Name: "dynamic-backlog", Processing: 25 * time.Second,
				In: policy.Shape{Stabilization: time.Minute}}
			runPlant(t, day{spec: spec, messages: 1, mpd: 25 * time.Second}, func(p *plant) {
				p.send(60)
				time.Sleep(4 * time.Minute)
				p.cloud.Do(func(w *model.World) {
					for _, i := range row.trouble {
						w.Inject(i)
					}
				})
				time.Sleep(2 * time.Minute) // what was seen until then still counts
				before := living(p)
				if before < 3 {
					p.t.Fatalf("%d instances work on 60 messages, want some to let go", before)
				}
				time.Sleep(13 * time.Minute)
				if after := living(p); after < before {
					p.t.Errorf("%d of %d instances are left after fifteen minutes of trouble", after, before)
				}
				if o, _ := p.loop.Last(); o.Decision.Reason != row.reason && row.reason != "" {
					p.t.Errorf("the decision is %q, want it held because of %s", o.Decision.Sentence(), row.reason)
				}
				p.cloud.Do(func(w *model.World) { w.ClearInjections() })
				time.Sleep(20 * time.Minute)
				synctest.Wait()
				if after := living(p); after != 1 {
					p.t.Errorf("%d instances are left once the trouble is over, want the minimum of 1", after)
				}
			})
		})
	}
}

// living is how many instances of the group have not begun to end.
func living(p *plant) (n int) {
	for _, i := range p.group().Instances {
		if i.LifecycleState == groupapi.InService || i.LifecycleState == groupapi.Pending {
			n++
		}
	}
	return n
}
