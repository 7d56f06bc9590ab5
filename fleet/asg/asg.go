package asg

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/autoscaling"
	"github.com/aws/aws-sdk-go-v2/service/autoscaling/types"

	"github.com/muster-scale/muster"
	"github.com/muster-scale/muster/internal/awsapi"
)

// Launching says how instances are launched.
type Launching string

// The ways of launching.
const (
	// Auto launches by name if the group allows that, and by size otherwise.
	Auto Launching = "auto"
	// BySize sets the group's desired size.
	BySize Launching = "size"
	// ByName calls LaunchInstances. In a group with several zones it spreads instances over them, unless the options
	// name a zone.
	ByName Launching = "name"
)

// Options describe a fleet. Group is required.
type Options struct {
	// Group is the name of the Auto Scaling group, Region its region; empty means that of the SDK's configuration.
	Group, Region string
	// Min and Max are the fleet's limits, used only for notes about limits of the group that conflict.
	Min, Max int
	// Launch is [Auto] when empty. Zone is the zone for launches by name; empty means all zones of the group.
	Launch Launching
	Zone   string
	// Protect says that the controller protects instances; it only suppresses notes.
	Protect bool
	// Warm configures the warm pool, for [Fleet.SetWarm].
	Warm Warm
	// Every is the interval between readings while the group changes; zero means 5 s.
	Every time.Duration
}

// Fleet is a fleet of instances. It implements [muster.Fleet], [muster.Releaser], [muster.Protector], [muster.WarmPool]
// and [muster.Expecter]. Several goroutines may use it.
type Fleet struct {
	o      Options
	region *region
	// writing is a lock for changes of the group.
	writing chan struct{}

	mu sync.Mutex
	// launched is when each instance was first seen.
	launched map[string]time.Time
	// order is the newest order that launched an instance.
	order ordered
	// refreshing is the state of an instance refresh at refreshAt.
	refreshing string
	refreshAt  time.Time
	// prepared is the state of the warm pool; its contents are replaced, never changed.
	prepared prepared
	// sizeOnly is true once launching by name was refused for good. faults counts the orders in a row that met a fault
	// of the service.
	sizeOnly bool
	faults   int
}

var (
	_ muster.Fleet     = (*Fleet)(nil)
	_ muster.Releaser  = (*Fleet)(nil)
	_ muster.Protector = (*Fleet)(nil)
	_ muster.WarmPool  = (*Fleet)(nil)
	_ muster.Expecter  = (*Fleet)(nil)
)

// refreshEvery is how often to read whether an instance refresh runs. It is only for a note, so it may be late.
const refreshEvery = 10 * time.Minute

// Fleet returns the fleet of a group. It makes no call.
func (g *Groups) Fleet(o Options) (*Fleet, error) {
	if o.Group == "" {
		return nil, fmt.Errorf("size an Auto Scaling group: found no name, which is required")
	}
	r, err := g.region(o.Region)
	if err != nil {
		return nil, fmt.Errorf("size the Auto Scaling group %s: %w", o.Group, err)
	}
	o.Launch, o.Every = cmp.Or(o.Launch, Auto), cmp.Or(o.Every, awsapi.Fast)
	return &Fleet{o: o, region: r, writing: make(chan struct{}, 1), launched: map[string]time.Time{}}, nil
}

// expectEvery is the shortest interval between readings, however often Expect is called.
const expectEvery = 2 * time.Second

// Expect implements [muster.Expecter].
func (f *Fleet) Expect() { f.region.expect(f.o.Group, expectEvery) }

// Members implements [muster.Fleet]: the instances that count towards the group's size, and those that are ending.
func (f *Fleet) Members(ctx context.Context) (muster.Listing, error) {
	s := f.region.read(ctx, f.o.Group, f.o.Every)
	switch {
	case s.failure != nil:
		return muster.Listing{}, s.failure
	case s.group == nil:
		return muster.Listing{}, missing(f.o.Group, f.region.name)
	}
	v := surveyOf(s.group)
	refreshing := f.refresh(ctx)
	failed := f.failedLaunches(ctx, s.at, v)
	pool := f.pool(ctx, s, v)
	f.mu.Lock()
	defer f.mu.Unlock()
	at := s.at.UTC().Round(0)
	l := muster.Listing{At: at, Service: &muster.Service{Desired: v.aim(), Set: aws.Int(v.desired()),
		Least: (v.min() + v.weight - 1) / v.weight, Notes: pool.note(v.notes(f.o, refreshing))}, Ready: pool.ready}
	known := map[string]time.Time{}
	since := func(i types.Instance) time.Time {
		id := aws.ToString(i.InstanceId)
		known[id] = cmp.Or(f.launched[id], at)
		return known[id]
	}
	for _, i := range v.living {
		l.Members = append(l.Members, muster.Member{
			ID: aws.ToString(i.InstanceId), LaunchedAt: since(i),
			Serving: i.LifecycleState == types.LifecycleStateInService,
			Exposed: i.LifecycleState == types.LifecycleStateInService && !aws.ToBool(i.ProtectedFromScaleIn),
			Tier:    pool.tier(aws.ToString(i.InstanceId)),
		})
	}
	for _, i := range v.ending {
		l.Members = append(l.Members, muster.Member{
			ID: aws.ToString(i.InstanceId), LaunchedAt: since(i), Ended: true,
			Failure: fmt.Sprintf("the group is ending it (%s, %s)", i.LifecycleState, aws.ToString(i.HealthStatus)),
		})
	}
	l.Members = append(l.Members, failed...)
	f.launched = known
	return l, nil
}

// refresh returns the state of a running instance refresh, reading it rarely. It is empty when there is none, or when
// the credentials may not read it.
func (f *Fleet) refresh(ctx context.Context) string {
	f.mu.Lock()
	if f.refreshAt.IsZero() {
		// Many groups would otherwise read at the same moment.
		f.refreshAt = time.Now().Add(f.region.share(f.o.Group, refreshEvery) - refreshEvery)
	}
	state, due := f.refreshing, time.Since(f.refreshAt) >= refreshEvery
	if due {
		f.refreshAt = time.Now()
	}
	f.mu.Unlock()
	if !due {
		return state
	}
	out, err := f.region.client.DescribeInstanceRefreshes(ctx,
		&autoscaling.DescribeInstanceRefreshesInput{AutoScalingGroupName: aws.String(f.o.Group),
			MaxRecords: aws.Int32(10)})
	state = ""
	if err == nil {
		under := []types.InstanceRefreshStatus{
			types.InstanceRefreshStatusPending, types.InstanceRefreshStatusInProgress,
			types.InstanceRefreshStatusCancelling,
			types.InstanceRefreshStatusRollbackInProgress, types.InstanceRefreshStatusBaking,
		}
		for _, r := range out.InstanceRefreshes {
			if slices.Contains(under, r.Status) {
				state = string(r.Status)
			}
		}
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.refreshing = state
	return state
}

// take waits for the lock for changes, and returns its release.
func (f *Fleet) take(ctx context.Context) (func(), error) {
	select {
	case f.writing <- struct{}{}:
		return func() { <-f.writing }, nil
	case <-ctx.Done():
		return nil, fmt.Errorf("change the Auto Scaling group %s: %w", f.o.Group, ctx.Err())
	}
}

// hold takes the lock as [Fleet.take] does, and surveys the current group. done releases it.
func (f *Fleet) hold(ctx context.Context) (s survey, done func(), err error) {
	if done, err = f.take(ctx); err != nil {
		return s, nil, err
	}
	g, err := f.region.now(ctx, f.o.Group)
	if err != nil {
		done()
		return s, nil, err
	}
	return surveyOf(g), done, nil
}

// explain adds the attempted operation and the group to an error.
func (f *Fleet) explain(what string, err error) error {
	return awsapi.Explain(what+" the Auto Scaling group "+f.o.Group, f.region.name, err)
}

// Owners returns the names of the group's scaling policies: each of them changes its size, too.
func (f *Fleet) Owners(ctx context.Context) (owners []string, err error) {
	in := &autoscaling.DescribePoliciesInput{AutoScalingGroupName: aws.String(f.o.Group)}
	for more := true; more; more = in.NextToken != nil {
		out, err := f.region.client.DescribePolicies(ctx, in)
		if err != nil {
			return nil, f.explain("read what else sizes", err)
		}
		for _, p := range out.ScalingPolicies {
			if p.Enabled == nil || *p.Enabled {
				owners = append(owners, aws.ToString(p.PolicyName))
			}
		}
		in.NextToken = out.NextToken
	}
	slices.Sort(owners)
	return owners, nil
}
