package ecs_test

import (
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/muster-scale/muster"
	"github.com/muster-scale/muster/config"
	"github.com/muster-scale/muster/fleet/asg"
	"github.com/muster-scale/muster/fleet/ecs"
	"github.com/muster-scale/muster/internal/awsapi"
	"github.com/muster-scale/muster/kind"
	"github.com/muster-scale/muster/mustertest"
	"github.com/muster-scale/muster/mustertest/fakeaws"
	model "github.com/muster-scale/muster/sim/cloud"
	"github.com/muster-scale/muster/sim/cloud/containers"
	"github.com/muster-scale/muster/sim/cloud/groupapi"
)

// stage is a world with the cluster prod and the task definition work:1, in virtual time.
type stage struct {
	t       *testing.T
	cloud   *fakeaws.Server
	account *awsapi.Account
}

func num(n int) *int { return &n }

var network = &containers.NetworkConfiguration{AwsvpcConfiguration: &containers.AwsvpcConfiguration{Subnets: []string{
	"subnet-1"},
	SecurityGroups: []string{"sg-1"}}}

func inTime(t *testing.T, s model.Settings, test func(s stage)) {
	t.Helper()
	mustertest.AWSEnvironment(t)
	synctest.Test(t, func(t *testing.T) {
		s.Start, s.Region, s.Seed = time.Now(), "eu-west-1", 1
		server := fakeaws.New(model.New(s))
		server.Follow(time.Now)
		account, err := awsapi.Open(t.Context(),
			awsapi.Options{PerSecond: 10_000, Burst: 10_000, HTTP: mustertest.InProcess{Handler: server}})
		if err != nil {
			t.Fatal(err)
		}
		st := stage{t, server, account}
		st.do(func(w *model.World) error {
			_, err := w.ECS().CreateCluster(containers.CreateClusterInput{ClusterName: "prod",
				CapacityProviders: []string{containers.Fargate}})
			return err
		})
		st.do(func(w *model.World) error {
			_, err := w.ECS().RegisterTaskDefinition(containers.TaskDefinition{
				Family: "work", Cpu: "512", Memory: "1024", NetworkMode: "awsvpc",
				RequiresCompatibilities: []string{"FARGATE", "EC2"},
				ContainerDefinitions:    []containers.ContainerDefinition{{Name: "work", Image: "work:1"}},
			})
			return err
		})
		test(st)
		permitted(t, server)
	})
}

// permitted holds that the policies of muster up allow each call that arrived.
func permitted(t *testing.T, server *fakeaws.Server) {
	t.Helper()
	allowed := map[string]bool{}
	for _, c := range []*ecs.Config{
		{Cluster: "prod", Service: "web", Under: &ecs.Under{Group: "hosts", TasksPerInstance: 2}},
		{Cluster: "prod", TaskDefinition: "work"},
	} {
		for _, p := range c.Permissions(kind.Place{}, config.Fleet{Members: c}) {
			if slices.Contains(p.Modes, kind.ModeUp) {
				allowed[p.Action] = true
			}
		}
	}
	for _, action := range server.Called() {
		if !allowed[action] {
			t.Errorf("%s is called, and no policy of a service or of tasks allows it", action)
		}
	}
}

func (s stage) must(err error) {
	s.t.Helper()
	if err != nil {
		s.t.Fatal(err)
	}
}

func (s stage) do(f func(w *model.World) error) {
	s.t.Helper()
	s.cloud.Until(time.Now())
	s.cloud.Do(func(w *model.World) { s.must(f(w)) })
}

// service makes the service web of so many tasks on Fargate, waits until they run, and returns its fleet.
func (s stage) service(tasks int, o ecs.ServiceOptions) *ecs.Service {
	s.t.Helper()
	s.do(func(w *model.World) error {
		_, err := w.ECS().CreateService(containers.CreateServiceInput{
			Cluster: "prod", ServiceName: "web", TaskDefinition: "work", DesiredCount: num(tasks),
			LaunchType: containers.Fargate, NetworkConfiguration: network,
		})
		return err
	})
	time.Sleep(2 * time.Minute)
	o.Cluster, o.Service = "prod", "web"
	f, err := ecs.NewClusters(s.account).Service(o)
	s.must(err)
	return f
}

// shown is the service as it is.
func (s stage) shown() (v containers.Service) {
	s.t.Helper()
	s.do(func(w *model.World) error {
		out, err := w.ECS().DescribeServices(containers.DescribeServicesInput{Cluster: "prod",
			Services: []string{"web"}})
		if err == nil {
			v = out.Services[0]
		}
		return err
	})
	return v
}

func (s stage) list(f muster.Fleet) muster.Listing {
	s.t.Helper()
	f.(muster.Expecter).Expect()
	l, err := f.Members(s.t.Context())
	s.must(err)
	return l
}

// living returns the members that have not ended.
func (s stage) living(f muster.Fleet) (ids []string) {
	s.t.Helper()
	for _, m := range s.list(f).Members {
		if !m.Ended {
			ids = append(ids, m.ID)
		}
	}
	return ids
}

// ended returns why members ended.
func ended(l muster.Listing) (why []string) {
	for _, m := range l.Members {
		if m.Ended {
			why = append(why, m.Failure)
		}
	}
	return why
}

func order(total int, launch ...string) muster.Order {
	return muster.Order{ID: fmt.Sprint("web.1.", total, launch), Desired: total, Total: total, Launch: launch}
}

// called tells how often any of the actions was called.
func (s stage) called(actions ...string) (n int) {
	for _, a := range actions {
		n += s.cloud.Calls(a)
	}
	return n
}

// hosted makes the group hosts with a capacity provider, and the service web on it; a task fills half an instance.
func (s stage) hosted(tasks int, managed string) (*ecs.Service, *asg.Fleet) {
	s.t.Helper()
	s.do(func(w *model.World) error {
		_, err := w.AutoScaling().CreateAutoScalingGroup(groupapi.CreateGroup{GroupSettings: groupapi.GroupSettings{
			AutoScalingGroupName: "hosts", MinSize: num(0), MaxSize: num(4), DesiredCapacity: num((tasks + 1) / 2),
			AvailabilityZones: []string{"eu-west-1a"},
			LaunchTemplate:    &groupapi.LaunchTemplate{LaunchTemplateName: "hosts"},
		}})
		return err
	})
	s.do(func(w *model.World) error {
		_, err := w.ECS().RegisterTaskDefinition(containers.TaskDefinition{
			Family: "half", Cpu: "1024", Memory: "1024", NetworkMode: "bridge",
			RequiresCompatibilities: []string{"EC2"},
			ContainerDefinitions:    []containers.ContainerDefinition{{Name: "work", Image: "work:1"}},
		})
		return err
	})
	s.do(func(w *model.World) error {
		_, err := w.ECS().CreateCapacityProvider(containers.CreateProvider{Name: "hosts",
			AutoScalingGroupProvider: &containers.GroupProvider{
				AutoScalingGroupArn:          "hosts",
				ManagedScaling:               &containers.ManagedScaling{Status: managed, TargetCapacity: num(100)},
				ManagedTerminationProtection: "DISABLED",
			}})
		return err
	})
	s.do(func(w *model.World) error {
		_, err := w.ECS().PutClusterCapacityProviders(containers.ClusterProviders{Cluster: "prod",
			CapacityProviders: []string{"hosts"}})
		return err
	})
	s.do(func(w *model.World) error {
		_, err := w.ECS().CreateService(containers.CreateServiceInput{
			Cluster: "prod", ServiceName: "web", TaskDefinition: "half", DesiredCount: num(tasks),
			CapacityProviderStrategy: []containers.StrategyPart{{CapacityProvider: "hosts", Weight: 1}},
			PlacementStrategy:        []containers.PlacementStrategy{{Type: "binpack", Field: "cpu"}},
		})
		return err
	})
	time.Sleep(5 * time.Minute)
	group, err := asg.NewGroups(s.account).Fleet(asg.Options{Group: "hosts", Max: 4, Launch: asg.BySize})
	s.must(err)
	f, err := ecs.NewClusters(s.account).Service(ecs.ServiceOptions{
		Cluster: "prod", Service: "web", Capacity: &ecs.Capacity{TasksPerInstance: 2, Group: group, Ender: group,
			Name: "hosts"},
	})
	s.must(err)
	return f, group
}

// where tells the instance of each running task.
func (s stage) where() map[string]string {
	s.t.Helper()
	at := map[string]string{}
	s.do(func(w *model.World) error {
		arns, err := w.ECS().ListTasks(containers.ListTasksInput{Cluster: "prod", ServiceName: "web"})
		if err != nil || len(arns.TaskArns) == 0 {
			return err
		}
		hosts, err := w.ECS().ListContainerInstances(containers.ListHosts{Cluster: "prod"})
		if err != nil {
			return err
		}
		named := map[string]string{}
		described, err := w.ECS().DescribeContainerInstances(containers.HostNames{Cluster: "prod",
			ContainerInstances: hosts.ContainerInstanceArns})
		for _, h := range described.ContainerInstances {
			named[h.ContainerInstanceArn] = h.Ec2InstanceId
		}
		if err != nil {
			return err
		}
		tasks, err := w.ECS().DescribeTasks(containers.DescribeTasksInput{Cluster: "prod", Tasks: arns.TaskArns})
		for _, t := range tasks.Tasks {
			at[t.TaskArn[len(t.TaskArn)-32:]] = named[t.ContainerInstanceArn]
		}
		return err
	})
	return at
}

func without(all []string, gone ...string) []string {
	return slices.DeleteFunc(slices.Clone(all), func(id string) bool { return slices.Contains(gone, id) })
}

// pass lets virtual time pass.
func pass(d time.Duration) { time.Sleep(d) }
