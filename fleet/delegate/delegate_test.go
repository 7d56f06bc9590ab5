package delegate_test

import (
	"bytes"
	"encoding/json"
	"math"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/muster-scale/muster"
	"github.com/muster-scale/muster/config"
	"github.com/muster-scale/muster/fleet/asg"
	"github.com/muster-scale/muster/fleet/delegate"
	"github.com/muster-scale/muster/fleet/ecs"
	"github.com/muster-scale/muster/internal/awsapi"
	"github.com/muster-scale/muster/kind"
	"github.com/muster-scale/muster/mustertest"
	"github.com/muster-scale/muster/mustertest/fakeaws"
	model "github.com/muster-scale/muster/sim/cloud"
	"github.com/muster-scale/muster/sim/cloud/account"
	"github.com/muster-scale/muster/sim/cloud/containers"
	"github.com/muster-scale/muster/sim/cloud/groupapi"
	"github.com/muster-scale/muster/sim/cloud/scaling"
)

// stage is a world with the group web and the service web of the cluster prod.
type stage struct {
	t       *testing.T
	cloud   *fakeaws.Server
	account *awsapi.Account
}

func inTime(t *testing.T, test func(s stage)) {
	t.Helper()
	mustertest.AWSEnvironment(t)
	synctest.Test(t, func(t *testing.T) {
		server := fakeaws.New(model.New(model.Settings{Start: time.Now(), Region: "eu-west-1", Seed: 1}))
		server.Follow(time.Now)
		account, err := awsapi.Open(t.Context(), awsapi.Options{HTTP: mustertest.InProcess{Handler: server}})
		if err != nil {
			t.Fatal(err)
		}
		s := stage{t, server, account}
		nine := 9
		s.do(func(w *model.World) error {
			_, err := w.AutoScaling().CreateAutoScalingGroup(groupapi.CreateGroup{GroupSettings: groupapi.GroupSettings{
				AutoScalingGroupName: "web", MinSize: new(int), MaxSize: &nine,
				AvailabilityZones: []string{"eu-west-1a"},
				LaunchTemplate:    &groupapi.LaunchTemplate{LaunchTemplateName: "web"},
			}})
			return err
		})
		s.do(func(w *model.World) error {
			_, err := w.ECS().CreateCluster(containers.CreateClusterInput{ClusterName: "prod",
				CapacityProviders: []string{containers.Fargate}})
			return err
		})
		s.do(func(w *model.World) error {
			_, err := w.ECS().RegisterTaskDefinition(containers.TaskDefinition{Family: "work", Cpu: "512",
				Memory:      "1024",
				NetworkMode: "awsvpc", RequiresCompatibilities: []string{"FARGATE"},
				ContainerDefinitions: []containers.ContainerDefinition{{Name: "work", Image: "work:1"}}})
			return err
		})
		s.do(func(w *model.World) error {
			_, err := w.ECS().CreateService(containers.CreateServiceInput{Cluster: "prod", ServiceName: "web",
				TaskDefinition: "work", DesiredCount: new(int), LaunchType: containers.Fargate,
				NetworkConfiguration: &containers.NetworkConfiguration{
					AwsvpcConfiguration: &containers.AwsvpcConfiguration{Subnets: []string{"subnet-1"}}}})
			return err
		})
		test(s)
		permitted(t, server)
	})
}

// permitted holds that the policies of a delegated group or service allow each call that arrived.
func permitted(t *testing.T, server *fakeaws.Server) {
	t.Helper()
	allowed := map[string]bool{}
	for _, members := range []config.Members{&asg.Config{Group: "web"}, &ecs.Config{Cluster: "prod", Service: "web"}} {
		c := &delegate.Config{Namespace: "Muster"}
		for _, p := range c.Permissions(kind.Place{}, config.Fleet{Members: members}) {
			allowed[p.Action] = p.For == "" || allowed[p.Action]
		}
	}
	for _, action := range server.Called() {
		if !allowed[action] {
			t.Errorf("%s is called, and no policy of a delegated fleet allows it", action)
		}
	}
}

func (s stage) do(f func(w *model.World) error) {
	s.t.Helper()
	s.cloud.Until(time.Now())
	s.cloud.Do(func(w *model.World) {
		if err := f(w); err != nil {
			s.t.Fatal(err)
		}
	})
}

func (s stage) delegate(o delegate.Options) *delegate.Delegate {
	s.t.Helper()
	o.Account, o.Fleet, o.Queues = s.account, "web", []string{"work"}
	d, err := delegate.New(o)
	if err != nil {
		s.t.Fatal(err)
	}
	return d
}

// handover is one of 1500 messages, ten members in service with a slot each, and 25 s for a message.
func handover(target float64) muster.Handover {
	now := time.Now().UTC()
	return muster.Handover{
		ID: "x", At: now, Target: target, Backlog: muster.Measured(now, 1500), InFlight: muster.Measured(now, 10),
		Capacity:   muster.Capacity{Known: true, Idle: 10, Slots: 10, SlotsPerWorker: 1},
		Processing: muster.Estimate{Known: true, MeanSeconds: 25},
	}
}

// both are a group and a service.
var both = map[string]delegate.Options{
	"a group": {Group: "web", Formula: delegate.BacklogPerWorker},
	"a group with utilization by metric math": {Group: "web", Formula: delegate.Utilization, Math: true},
	"a group with metric math":                {Group: "web", Formula: delegate.BacklogPerWorker, Math: true},
	"a service":                               {Cluster: "prod", Service: "web", Max: 9, Formula: delegate.Utilization},
	"a service with a cooldown": {Cluster: "prod", Service: "web", Max: 9, Formula: delegate.Utilization,
		Cooldown: 10 * time.Minute},
	"a service with metric math": {Cluster: "prod", Service: "web", Max: 9, Formula: delegate.Utilization, Math: true},
}

func TestAPolicyIsPutOnlyWhenItDiffers(t *testing.T) {
	for name, o := range both {
		t.Run(name, func(t *testing.T) {
			inTime(t, func(s stage) {
				puts := func() int { return s.cloud.Calls("PutScalingPolicy") }
				hand := func(d *delegate.Delegate, target float64, want int, when string) {
					if err := d.HandOver(s.t.Context(), handover(target)); err != nil || puts() != want {
						s.t.Errorf("%s: the policy was put %d times, want %d; %v", when, puts(), want, err)
					}
				}
				d := s.delegate(o)
				hand(d, 0.5, 1, "the first time")
				hand(d, 0.5, 1, "again")
				time.Sleep(10 * time.Minute)
				hand(d, 0.5, 1, "when it is looked at again")
				hand(d, 0.6, 2, "with another target")
				hand(s.delegate(o), 0.6, 2, "after a restart")
				if o.Cooldown > 0 {
					s.do(func(w *model.World) error {
						l,
							err := w.ApplicationScaling().DescribeScalingPolicies(scaling.TargetNames{
							ServiceNamespace: "ecs"})
						if err == nil && *l.ScalingPolicies[0].TargetTrackingScalingPolicyConfiguration.ScaleOutCooldown != 600 {
							s.t.Errorf("the policy is %+v, want a cooldown of 600 s", l.ScalingPolicies[0])
						}
						return err
					})
				}
				forgetful := o
				forgetful.ChangePercent = 20
				hand(s.delegate(forgetful), 0.7, 2, "with a target that is near, in a round that remembers nothing")
				hand(s.delegate(forgetful), 0.8, 3, "with one that is not")
				s.do(func(w *model.World) error { // somebody deletes it
					if o.Group != "" {
						_, err := w.GroupPolicies().DeletePolicy(scaling.PolicyName{AutoScalingGroupName: "web",
							PolicyName: "muster-web"})
						return err
					}
					_,
						err := w.ApplicationScaling().DeleteScalingPolicy(scaling.TargetPolicyName{
						ServiceNamespace: "ecs",
						ResourceId:       "service/prod/web", ScalableDimension: "ecs:service:DesiredCount",
						PolicyName: "muster-web"})
					return err
				})
				d = s.delegate(o)
				hand(d, 0.8, 4, "after somebody has deleted it")
				if odd := s.cloud.Unmodelled(); len(odd) > 0 {
					s.t.Errorf("members that the service does not know were sent: %v", odd)
				}
			})
		})
	}
}

// TestAPolicyOfATemplateIsOurs holds that the policy which CloudFormation made under a name of its own is recognised,
// and changed instead of joined by a second one, also after the configuration has changed.
func TestAPolicyOfATemplateIsOurs(t *testing.T) {
	for name, o := range both {
		if o.Group == "" {
			continue // policies of services have the names that templates give them
		}
		t.Run(name, func(t *testing.T) {
			inTime(t, func(s stage) {
				const made = "images-ScalingPolicy-1A2B3C"
				if err := s.delegate(o).HandOver(s.t.Context(), handover(0.5)); err != nil {
					s.t.Fatal(err)
				}
				s.do(func(w *model.World) error { return renamed(w, made) })
				check := func(o delegate.Options, when string) {
					s.t.Helper()
					d := s.delegate(o)
					if got, err := d.Maintained(s.t.Context()); err != nil || len(got) != 1 || got[0] != made {
						s.t.Errorf("%s: maintains %q, %v; want %s", when, got, err, made)
					}
					if err := d.HandOver(s.t.Context(), handover(0.5)); err != nil {
						s.t.Errorf("%s: %v", when, err)
					}
					s.do(func(w *model.World) error {
						l, err := w.GroupPolicies().DescribePolicies(scaling.PolicyNames{AutoScalingGroupName: "web"})
						if n := len(l.ScalingPolicies); err == nil && n != 1 {
							s.t.Errorf("%s: the group has %d policies, want 1", when, n)
						}
						return err
					})
				}
				check(o, "as the template has it")
				o.KeepUp = true
				check(o, "when the group may no longer scale in")
			})
		})
	}
}

// renamed gives the policy of the group another name. Where the workers publish their slots, a template sums them.
func renamed(w *model.World, name string) error {
	l, err := w.GroupPolicies().DescribePolicies(scaling.PolicyNames{AutoScalingGroupName: "web"})
	if err != nil {
		return err
	}
	p := l.ScalingPolicies[0]
	for _, q := range p.TargetTrackingConfiguration.CustomizedMetricSpecification.Metrics {
		if q.MetricStat != nil && q.MetricStat.Metric.MetricName == delegate.MetricTotalWorkers {
			q.MetricStat.Stat = "Sum"
		}
	}
	if _, err := w.GroupPolicies().DeletePolicy(scaling.PolicyName{AutoScalingGroupName: "web",
		PolicyName: p.PolicyName}); err != nil {
		return err
	}
	_, err = w.GroupPolicies().PutScalingPolicy(scaling.PutPolicy{AutoScalingGroupName: "web", PolicyName: name,
		PolicyType: p.PolicyType, TargetTrackingConfiguration: p.TargetTrackingConfiguration})
	return err
}

func TestWhatIsUnknownIsNotPublished(t *testing.T) {
	rows := []struct {
		name   string
		change func(h *muster.Handover)
		want   map[string]float64
	}{
		{"all is known", func(*muster.Handover) {}, map[string]float64{
			"BacklogPerWorker": 150, "AcceptableBacklogPerWorker": 12, "MeanProcessingDuration": 25, "TotalWorkers": 10,
			"WorkersInService": 10, "WorkerUtilization": 151,
		}},
		{"the share in time too", func(h *muster.Handover) { h.InTime = muster.Measured(h.At, 0.875) },
			map[string]float64{
				"BacklogPerWorker": 150, "AcceptableBacklogPerWorker": 12, "MeanProcessingDuration": 25,
				"TotalWorkers": 10, "WorkersInService": 10, "WorkerUtilization": 151, "InTimeRatio": 0.875}},
		{"no backlog", func(h *muster.Handover) { h.Backlog = muster.Unknown(h.At, "no answer") },
			map[string]float64{"AcceptableBacklogPerWorker": 12, "MeanProcessingDuration": 25, "TotalWorkers": 10,
				"WorkersInService": 10}},
		{"no members", func(h *muster.Handover) { h.Capacity.Known = false },
			map[string]float64{"AcceptableBacklogPerWorker": 12, "MeanProcessingDuration": 25}},
		{"a duration that nobody measured", func(h *muster.Handover) {
			h.Processing.Prior, h.Capacity.Known = true,
				false
		}, map[string]float64{"AcceptableBacklogPerWorker": 12}},
		{"nobody in service and messages waiting is above the target", func(h *muster.Handover) {
			h.Capacity.Idle, h.Capacity.Slots, h.Backlog, h.InFlight, h.Processing.Known = 0, 0, muster.Measured(h.At,
				1), muster.Measured(h.At, 0), false
		}, map[string]float64{"BacklogPerWorker": 13, "AcceptableBacklogPerWorker": 12, "TotalWorkers": 0,
			"WorkersInService": 0, "WorkerUtilization": 1}},
		{"nobody in service and nothing waiting", func(h *muster.Handover) {
			h.Capacity.Idle, h.Capacity.Slots, h.Backlog, h.InFlight, h.Processing.Known = 0, 0, muster.Measured(h.At,
				0), muster.Measured(h.At, 0), false
		}, map[string]float64{"BacklogPerWorker": 0, "AcceptableBacklogPerWorker": 12, "TotalWorkers": 0,
			"WorkersInService": 0, "WorkerUtilization": 0}},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			inTime(t, func(s stage) {
				var lines bytes.Buffer
				h := handover(12)
				row.change(&h)
				if err := s.delegate(delegate.Options{Group: "web", Formula: delegate.BacklogPerWorker,
					Lines: &lines}).Publish(s.t.Context(), h); err != nil {
					s.t.Fatal(err)
				}
				var line map[string]any
				if err := json.Unmarshal(lines.Bytes(), &line); err != nil || strings.Count(lines.String(), "\n") != 1 {
					s.t.Fatalf("%v in %q", err, lines.String())
				}
				for name, want := range row.want {
					if got, ok := line[name].(float64); !ok || math.Abs(got-want) > 1e-9 {
						s.t.Errorf("%s is %v, want %g", name, line[name], want)
					}
				}
				if len(line) != len(row.want)+2 { // and the fleet, and what says which are metrics
					s.t.Errorf("the line has %v, want %v", line, row.want)
				}
			})
		})
	}
}

func TestALineIsInTheEmbeddedMetricFormat(t *testing.T) {
	inTime(t, func(s stage) {
		for period, want := range map[time.Duration]string{
			time.Minute: `{"BacklogPerWorker":150,"Fleet":"web","TotalWorkers":10,"WorkerUtilization":151,"WorkersInService":10,"_aws":{"CloudWatchMetrics":[{"Dimensions":[["Fleet"]],"Metrics":[` +
				`{"Name":"TotalWorkers","Unit":"Count"},{"Name":"WorkersInService","Unit":"Count"},{"Name":"BacklogPerWorker","Unit":"Count"},{"Name":"WorkerUtilization","Unit":"None"}],"Namespace":"Own"}],"Timestamp":946684800000}}`,
			10 * time.Second: `{"Name":"TotalWorkers","Unit":"Count","StorageResolution":1}`,
		} {
			var lines bytes.Buffer
			h := handover(12)
			h.Processing.Known = false
			d := s.delegate(delegate.Options{Group: "web", Formula: delegate.Utilization, Lines: &lines,
				Namespace: "Own", Period: period})
			if err := d.Publish(s.t.Context(), h); err != nil || !strings.Contains(lines.String(), want) {
				s.t.Errorf("%v; got\n%swant\n%s", err, lines.String(), want)
			}
		}
	})
}

func TestMetricsThatAreRefusedDoNotKeepThePolicyBack(t *testing.T) {
	inTime(t, func(s stage) {
		s.do(func(w *model.World) error {
			w.Inject(account.Injection{Trouble: account.AccessDenied, Action: "PutMetricData"})
			return nil
		})
		err := s.delegate(delegate.Options{Group: "web", Formula: delegate.BacklogPerWorker}).HandOver(s.t.Context(),
			handover(12))
		if err == nil || !strings.Contains(err.Error(), "allow cloudwatch:PutMetricData") ||
			s.cloud.Calls("PutScalingPolicy") != 1 {
			s.t.Errorf("got %v, and the policy was put %d times, want the missing permission and once", err,
				s.cloud.Calls("PutScalingPolicy"))
		}
	})
}

func TestAPolicyThatFailsIsPutAgain(t *testing.T) {
	inTime(t, func(s stage) {
		s.do(func(w *model.World) error {
			w.Inject(account.Injection{Trouble: account.AccessDenied, Action: "PutScalingPolicy", Times: 1})
			return nil
		})
		d := s.delegate(delegate.Options{Group: "web", Formula: delegate.BacklogPerWorker})
		if err := d.HandOver(s.t.Context(), handover(12)); err == nil ||
			!strings.Contains(err.Error(), "autoscaling:PutScalingPolicy") {
			s.t.Errorf("got %v", err)
		}
		if err := d.HandOver(s.t.Context(), handover(12)); err != nil || s.cloud.Calls("PutScalingPolicy") != 2 {
			s.t.Errorf("got %v after %d tries, want it put at the second", err, s.cloud.Calls("PutScalingPolicy"))
		}
		if err := d.HandOver(s.t.Context(), handover(0)); err != nil || s.cloud.Calls("PutScalingPolicy") != 2 {
			s.t.Errorf("a target that is unknown was put: %v", err)
		}
	})
}

func TestAGroupOrAServiceIsNeeded(t *testing.T) {
	inTime(t, func(s stage) {
		for _, o := range []delegate.Options{{}, {Cluster: "prod"}, {Group: "web", Cluster: "prod", Service: "web"}} {
			o.Account, o.Fleet = s.account, "web"
			if _, err := delegate.New(o); err == nil {
				s.t.Errorf("%+v is allowed", o)
			}
		}
	})
}
