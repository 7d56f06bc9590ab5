package asg_test

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/muster-scale/muster"
	"github.com/muster-scale/muster/controller"
	"github.com/muster-scale/muster/controller/loop"
	"github.com/muster-scale/muster/fleet/asg"
	"github.com/muster-scale/muster/history"
	"github.com/muster-scale/muster/internal/awsapi"
	"github.com/muster-scale/muster/mustertest"
	"github.com/muster-scale/muster/mustertest/fakeaws"
	"github.com/muster-scale/muster/policy"
	"github.com/muster-scale/muster/series"
	model "github.com/muster-scale/muster/sim/cloud"
	"github.com/muster-scale/muster/sim/cloud/account"
	"github.com/muster-scale/muster/sim/cloud/groupapi"
	"github.com/muster-scale/muster/sim/cloud/groups"
	"github.com/muster-scale/muster/sim/cloud/queues"
	"github.com/muster-scale/muster/source/sqs"
	"github.com/muster-scale/muster/worker/protocol"
)

// plant is a queue on SQS, a group and the workers on its instances, in virtual time. The controller sees them through
// the real clients alone.
type plant struct {
	t     *testing.T
	cloud *fakeaws.Server
	loop  *loop.Loop
	fleet *asg.Fleet
	boot  time.Duration
	mpd   time.Duration

	mu                 sync.Mutex
	waiting, busy      int
	sent, deleted      int
	peak               int
	started, ended     map[string]bool
	finishedAt, lastAt time.Time
	workers            sync.WaitGroup
}

// changed tells the world what is in the queue. The caller holds the lock.
func (p *plant) changed(since queues.Traffic) {
	p.cloud.Until(time.Now())
	p.cloud.Do(func(w *model.World) {
		if err := w.SQS().SetQueue("work", queues.QueueCounts{Visible: p.waiting, NotVisible: p.busy},
			since); err != nil {
			p.t.Error(err)
		}
	})
}

func (p *plant) send(n int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.waiting, p.sent = p.waiting+n, p.sent+n
	p.changed(queues.Traffic{Sent: n})
}

func (p *plant) receive() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.waiting == 0 {
		return false
	}
	p.waiting, p.busy = p.waiting-1, p.busy+1
	p.changed(queues.Traffic{Received: 1})
	return true
}

func (p *plant) finish() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.busy, p.deleted = p.busy-1, p.deleted+1
	p.changed(queues.Traffic{Deleted: 1})
	if p.deleted == p.sent {
		p.finishedAt = time.Now()
	}
}

// watch starts a worker on each instance that comes into service, and notes those that end.
func (p *plant) watch(ctx context.Context) {
	for ctx.Err() == nil {
		p.cloud.Until(time.Now())
		serving, there := map[string]bool{}, 0
		p.cloud.Do(func(w *model.World) {
			l,
				err := w.AutoScaling().DescribeAutoScalingGroups(groupapi.DescribeGroups{
				AutoScalingGroupNames: []string{"web"}})
			if err != nil {
				p.t.Error(err)
				return
			}
			for _, i := range l.AutoScalingGroups[0].Instances {
				serving[i.InstanceId] = i.LifecycleState == groupapi.InService
				if serving[i.InstanceId] || i.LifecycleState == groupapi.Pending {
					there++
				}
			}
		})
		p.mu.Lock()
		p.peak = max(p.peak, there)
		for id, in := range serving {
			if in && !p.started[id] {
				p.started[id] = true
				p.workers.Go(func() { p.work(ctx, id) })
			}
		}
		for id := range p.started {
			p.ended[id] = !serving[id]
		}
		p.mu.Unlock()
		time.Sleep(time.Second)
	}
}

// work is a worker with one slot: it reports every second, takes messages, and goes when it is asked and holds none.
func (p *plant) work(ctx context.Context, id string) {
	r := protocol.Report{Fleet: "web", Member: id, Worker: id, Slots: 1, State: protocol.Receiving}
	var until time.Time
	for ctx.Err() == nil {
		p.mu.Lock()
		gone := p.ended[id]
		p.mu.Unlock()
		if gone {
			if r.Busy > 0 {
				p.t.Errorf("the instance %s was ended with a message in hand", id)
			}
			return
		}
		now := time.Now()
		if r.Busy > 0 && !now.Before(until) {
			p.finish()
			r.Busy, r.Finished, r.HeldSeconds = 0, 1, 0
			r.Processing = series.Add(series.Durations{}, p.mpd)
		}
		if r.Busy == 0 && r.State == protocol.Receiving && p.receive() {
			r.Busy, until = 1, now.Add(p.mpd)
		}
		if r.Busy > 0 {
			r.HeldSeconds = p.mpd.Seconds() - until.Sub(now).Seconds()
		}
		if r.State == protocol.Draining && r.Busy == 0 {
			r.State, r.Token = protocol.Idle, fmt.Sprintf("%s.%d", id, r.Epoch)
		}
		r.Seq++
		p.mu.Lock()
		loop := p.loop
		p.mu.Unlock()
		d, err := loop.Report(ctx, r)
		if err == nil {
			r.Finished, r.Processing, r.Challenge = 0, series.Durations{}, d.Challenge
			switch {
			case d.Ask == protocol.Drain && r.State == protocol.Receiving:
				r.State, r.Cause = protocol.Draining, protocol.Asked
			case d.Ask == protocol.Work && r.State != protocol.Receiving:
				r.State, r.Cause, r.Token, r.Epoch = protocol.Receiving, "", "", r.Epoch+1
			}
		}
		time.Sleep(time.Second)
	}
}

// day is what happens to a plant.
type day struct {
	spec     policy.Spec
	messages int
	// mpd is how long a message takes.
	mpd time.Duration
	// restart has the controller end and begin anew every so often; zero never.
	restart time.Duration
	// launch is how instances are launched, capacity how many the cloud has; zero is enough.
	launch   asg.Launching
	capacity int
	// pool is how many instances the group's warm pool holds.
	pool int
}

// runPlant sizes a group of one instance for a batch of messages with the real clients until an hour has passed, and
// returns the most instances there were and how long all messages took.
func runPlant(t *testing.T, d day, then func(p *plant)) (peak int, took time.Duration) {
	t.Helper()
	mustertest.AWSEnvironment(t)
	synctest.Test(t, func(t *testing.T) {
		world := model.New(model.Settings{Start: time.Now(), Region: "eu-west-1", Seed: 1,
			Counts: queues.Counts{Stale: 3 * time.Second}})
		server := fakeaws.New(world)
		server.Follow(time.Now)
		p := &plant{t: t, cloud: server, mpd: d.mpd, started: map[string]bool{}, ended: map[string]bool{}}
		server.Do(func(w *model.World) {
			_, err := w.AutoScaling().CreateAutoScalingGroup(groupapi.CreateGroup{GroupSettings: groupapi.GroupSettings{
				AutoScalingGroupName: "web", MinSize: num(1), MaxSize: num(20),
				AvailabilityZones: []string{"eu-west-1a"},
				LaunchTemplate:    &groupapi.LaunchTemplate{LaunchTemplateName: "web"},
			}})
			if err == nil {
				err = w.AutoScaling().ShapeGroup("web", groups.Machines{Boot: 90 * time.Second})
			}
			if err == nil {
				_, err = w.SQS().CreateQueue(queues.CreateQueueInput{QueueName: "work"})
			}
			if err != nil {
				t.Fatal(err)
			}
		})
		calls, err := awsapi.Open(t.Context(), awsapi.Options{HTTP: mustertest.InProcess{Handler: server}})
		if err != nil {
			t.Fatal(err)
		}
		source,
			err := sqs.NewQueues(sqs.Options{Account: calls}).Queue(
			"https://sqs.eu-west-1.amazonaws.com/000000000000/work",
			5*time.Second)
		if err != nil {
			t.Fatal(err)
		}
		if p.fleet, err = asg.NewGroups(calls).Fleet(asg.Options{Group: "web", Min: 1, Max: 20, Protect: true,
			Launch: d.launch}); err != nil {
			t.Fatal(err)
		}
		settings, err := controller.NewSettings(controller.Settings{
			Fleet: "web", Queues: []string{"work"}, Spec: d.spec,
			Objective: muster.Objective{Latency: 300 * time.Second, Quantile: 0.99},
			Limits:    muster.Limits{Min: 1, Max: 20, LaunchesPerHour: 200}, BootPrior: 90 * time.Second,
			Poll: 5 * time.Second, Stale: 90 * time.Second, Protect: true,
		})
		if err != nil {
			t.Fatal(err)
		}
		o := loop.Options{
			Settings: settings, Sources: []muster.Source{source}, Wakes: []muster.Notifier{source},
			Expecters: []muster.Expecter{source, p.fleet},
			Fleet:     p.fleet, Releaser: p.fleet, Protector: p.fleet, History: history.NewMemory(),
			Logger: slog.New(slog.DiscardHandler),
		}
		ctx, stop := context.WithCancel(t.Context())
		var all sync.WaitGroup
		begin := func() (end func()) {
			loop := loop.New(o)
			p.mu.Lock()
			p.loop = loop
			p.mu.Unlock()
			life, end := context.WithCancel(ctx)
			all.Go(func() {
				if err := loop.Run(life); err != nil {
					t.Error(err)
				}
			})
			return end
		}
		if d.pool > 0 {
			if err := p.fleet.SetWarm(ctx, d.pool); err != nil {
				t.Fatal(err)
			}
		}
		end := begin()
		all.Go(func() { p.watch(ctx) })
		time.Sleep(5 * time.Minute) // the first instance boots
		sent := time.Now()
		if g := p.group(); d.capacity > 0 {
			i := g.Instances[0]
			server.Do(func(w *model.World) {
				w.LimitCapacity(account.Pool{InstanceType: i.InstanceType, AvailabilityZone: i.AvailabilityZone,
					Market: account.OnDemand}, d.capacity)
			})
		}
		p.send(d.messages)
		for range restartsIn(time.Hour,
			d.restart) { // a controller that ends with all it knows but the history, again and again
			time.Sleep(d.restart)
			end()
			end = begin()
		}
		time.Sleep(time.Until(sent.Add(time.Hour)))
		p.mu.Lock()
		if p.finishedAt.IsZero() {
			t.Errorf("after an hour %d messages wait and %d are in hand", p.waiting, p.busy)
		}
		peak, took = p.peak, p.finishedAt.Sub(sent)
		p.mu.Unlock()
		if then != nil {
			then(p)
		}
		end()
		stop()
		all.Wait()
		p.workers.Wait()
		server.Close()
	})
	return peak, took
}

// restartsIn is how often a controller starts again within the first half of a time; never when every is 0.
func restartsIn(d, every time.Duration) int {
	if every == 0 {
		return 0
	}
	return int(d / 2 / every)
}

func TestRestartsOfTheControllerLaunchNothingTwiceAndEndNobodyBusy(t *testing.T) {
	spec := policy.Spec{Name: "dynamic-backlog", Processing: 25 * time.Second,
		In: policy.Shape{Stabilization: 5 * time.Minute}}
	calm, _ := runPlant(t, day{spec: spec, messages: 50, mpd: 25 * time.Second}, nil)
	for _, every := range []time.Duration{7 * time.Second, 40 * time.Second, 3 * time.Minute} {
		peak, took := runPlant(t, day{spec: spec, messages: 50, mpd: 25 * time.Second, restart: every}, func(p *plant) {
			if g := p.group(); g.DesiredCapacity != 1 {
				p.t.Errorf("an hour later %d are desired, want the minimum of 1", g.DesiredCapacity)
			}
		})
		if peak > calm {
			t.Errorf("with a restart every %v there were %d instances, want no more than %d; all was done after %v",
				every, peak, calm, took)
		}
	}
}

// Where the cloud has too few instances, those that there are do the work, and nobody goes on asking for more than was
// ever wanted.
func TestALackOfCapacityIsLivedWith(t *testing.T) {
	for _, launch := range []asg.Launching{asg.BySize, asg.ByName} {
		t.Run(string(launch), func(t *testing.T) {
			spec := policy.Spec{Name: "dynamic-backlog", Processing: 25 * time.Second,
				In: policy.Shape{Stabilization: 5 * time.Minute}}
			peak, took := runPlant(t, day{spec: spec, messages: 50, mpd: 25 * time.Second, launch: launch, capacity: 3},
				func(p *plant) {
					if g := p.group(); g.DesiredCapacity != 1 {
						p.t.Errorf("an hour later %d are desired, want the minimum of 1", g.DesiredCapacity)
					}
					if n := p.cloud.Calls("SetDesiredCapacity") + p.cloud.Calls("LaunchInstances"); n > 60 {
						p.t.Errorf("the group was told %d times to grow or to shrink, want ever more rarely", n)
					}
				})
			if peak != 3 || took > 12*time.Minute {
				t.Errorf("with three instances to be had there were %d, and it took %v", peak, took)
			}
			t.Logf("%d instances, %v", peak, took)
		})
	}
}

// The mission's first example: 50 messages, a latency target of 300 s, one instance at the start. With 25 s of work for
// each, 12 are acceptable for an instance; with 50 s a dynamic target makes that 6 and needs twice the instances and
// the same time, and a static one of 12 the same instances and twice the time.
func TestADynamicTargetKeepsTheTimeAndAStaticOneTheInstances(t *testing.T) {
	dynamic := policy.Spec{Name: "dynamic-backlog", Processing: 25 * time.Second,
		In: policy.Shape{Stabilization: 5 * time.Minute}}
	static := policy.Spec{Name: "backlog-per-worker", Acceptable: 12, In: policy.Shape{Stabilization: 5 * time.Minute}}
	settled := func(p *plant) {
		if g := p.group(); g.DesiredCapacity != 1 {
			p.t.Errorf("an hour later %d are desired, want the minimum of 1", g.DesiredCapacity)
		}
		if n := p.cloud.Calls("SetDesiredCapacity"); n != 0 {
			p.t.Errorf("the size was set %d times although instances are launched and ended by name", n)
		}
	}
	firstPeak, firstTook := runPlant(t, day{spec: dynamic, messages: 50, mpd: 25 * time.Second}, settled)
	secondPeak, secondTook := runPlant(t, day{spec: dynamic, messages: 50, mpd: 50 * time.Second}, settled)
	staticPeak, staticTook := runPlant(t, day{spec: static, messages: 50, mpd: 50 * time.Second}, settled)
	t.Logf("dynamic, 25 s: %d instances, %v; dynamic, 50 s: %d instances, %v; static, 50 s: %d instances, %v",
		firstPeak, firstTook, secondPeak, secondTook, staticPeak, staticTook)
	if firstPeak < 4 || firstPeak > 5 {
		t.Errorf("50 messages of 25 s had %d instances, want the 50 / 12 that the target asks for", firstPeak)
	}
	if secondPeak < 2*firstPeak-2 || secondPeak > 2*firstPeak+1 {
		t.Errorf("with twice the work a dynamic target had %d instances, want about twice %d", secondPeak, firstPeak)
	}
	if secondTook > firstTook*13/10 {
		t.Errorf("with twice the work a dynamic target took %v, want about the %v of before", secondTook, firstTook)
	}
	if staticPeak > firstPeak {
		t.Errorf("a static target had %d instances, want no more than %d", staticPeak, firstPeak)
	}
	if staticTook < secondTook*3/2 {
		t.Errorf("a static target took %v, want far longer than the %v of a dynamic one", staticTook, secondTook)
	}
}

func (p *plant) group() (g groupapi.Group) {
	p.cloud.Until(time.Now())
	p.cloud.Do(func(w *model.World) {
		l,
			err := w.AutoScaling().DescribeAutoScalingGroups(groupapi.DescribeGroups{AutoScalingGroupNames: []string{
			"web"}})
		if err != nil {
			p.t.Error(err)
			return
		}
		g = l.AutoScalingGroups[0]
	})
	return g
}

// pass lets virtual time pass.
func (s stage) pass(d time.Duration) { time.Sleep(d) }
