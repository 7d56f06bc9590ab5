package ecs

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ecs"
	"github.com/aws/aws-sdk-go-v2/service/ecs/types"

	"github.com/muster-scale/muster"
	"github.com/muster-scale/muster/internal/awsapi"
	"github.com/muster-scale/muster/internal/render"
)

// This file sizes the tasks of a service. A rise is one call: the desired count. A fall is three, in this order, so
// that a crash between any two of them leaves no busy task unprotected:
//
//	protect   all running tasks that stay
//	expose    the released tasks, by lifting their protection
//	lower     the desired count by the number of released tasks
//
// A deployment changes the rules: tasks of the old and the new definition live at once, and ECS stops the old ones, so
// the count is not lowered until it is over.

// ServiceOptions describe the fleet of a service. Cluster and Service are required.
type ServiceOptions struct {
	// Cluster and Service are names or ARNs. Region is their region; empty means that of the SDK's configuration.
	Cluster, Service, Region string
	// Protect says that the controller protects tasks; otherwise their protection is not read.
	Protect bool
	// Capacity is the group on whose instances the tasks run; nil on Fargate, and where only ECS sizes it.
	Capacity *Capacity
	// Owner is the scaling policy that Muster delegates the size to; empty if it does not.
	Owner string
	// Every is the interval between readings while the service changes; zero means 5 s.
	Every time.Duration
}

// Service is the fleet of a service's tasks. It implements [muster.Fleet], [muster.Releaser], [muster.Protector],
// [muster.Trimmer] and [muster.Expecter]. Several goroutines may use it.
type Service struct {
	o ServiceOptions
	place
	reader *taskReader

	mu sync.Mutex
	// order is the newest order that launched a task.
	order ordered
	// owners are the scaling policies that change the count, too, as read at ownersAt.
	owners   []string
	ownersAt time.Time
	// providers are the service's capacity providers, as read at providersAt.
	providers   []types.CapacityProvider
	providersAt time.Time
}

// ordered is the newest order with launches, while its tasks are awaited. ECS does not tell which task belongs to which
// order, so tasks are counted: the oldest names are placed first.
type ordered struct {
	at    time.Time
	names []string
	// failed is why the last short names have no task.
	failed string
	short  int
}

var (
	_ muster.Fleet     = (*Service)(nil)
	_ muster.Releaser  = (*Service)(nil)
	_ muster.Protector = (*Service)(nil)
	_ muster.Trimmer   = (*Service)(nil)
	_ muster.Expecter  = (*Service)(nil)
)

// Service returns the fleet of a service. It makes no call.
func (c *Clusters) Service(o ServiceOptions) (*Service, error) {
	what := "the service " + last(o.Service)
	if o.Cluster == "" || o.Service == "" {
		return nil, fmt.Errorf("size an ECS service: found the cluster %q and the service %q, both are needed",
			o.Cluster, o.Service)
	}
	if o.Capacity != nil && (o.Capacity.TasksPerInstance < 1 || o.Capacity.Group == nil) {
		return nil, fmt.Errorf("size %s: found %d tasks for each instance, allowed are 1 and more, with a group", what,
			o.Capacity.TasksPerInstance)
	}
	r, err := c.region(o.Region)
	if err != nil {
		return nil, fmt.Errorf("size %s: %w", what, err)
	}
	return &Service{o: o, place: newPlace(r, o.Cluster, what), reader: newTaskReader(cmp.Or(o.Every, awsapi.Fast))}, nil
}

// Expect implements [muster.Expecter].
func (f *Service) Expect() {
	f.reader.expect()
	if f.o.Capacity != nil {
		f.o.Capacity.expect()
	}
}

// Members implements [muster.Fleet]: the tasks of the service in all its deployments, and recently ended ones.
func (f *Service) Members(ctx context.Context) (muster.Listing, error) {
	return f.reader.members(ctx, func(ctx context.Context) (muster.Listing, error) {
		at := time.Now().UTC().Round(0)
		svc, err := f.now(ctx)
		if err != nil {
			return muster.Listing{}, err
		}
		if l, same := f.reader.same(at, quietService(svc)); same {
			return l, nil
		}
		f.reader.begin()
		s, err := f.tasks(ctx, at, svc)
		if err != nil {
			return muster.Listing{}, err
		}
		if err := f.expose(ctx, at, s); err != nil {
			return muster.Listing{}, err
		}
		l := muster.Listing{At: at, Members: s.members, Service: &muster.Service{Desired: int(svc.DesiredCount),
			Set: aws.Int(int(svc.DesiredCount))}}
		l.Members = append(l.Members, f.unplaced(at, svc, len(s.living))...)
		var notes notes
		notes.service(svc, f.o, f.scaledBy(ctx))
		if c := f.o.Capacity; c != nil {
			hosts, err := c.hosts(ctx, f.place)
			if err != nil {
				return muster.Listing{}, err
			}
			l.Service.Spare = len(c.spare(hosts, svc, len(s.living)))
			notes.capacity(c, svc, f.providedBy(ctx, svc))
		}
		l.Service.Notes = notes
		return f.reader.whole(l, quietService(svc)), nil
	})
}

// survey reads the service and its tasks, without regard to the last reading: a change must not rest on old data.
func (f *Service) survey(ctx context.Context, at time.Time) (types.Service, seen, error) {
	svc, err := f.now(ctx)
	if err != nil {
		return svc, seen{}, err
	}
	s, err := f.tasks(ctx, at, svc)
	return svc, s, err
}

// tasks reads the tasks of the service.
func (f *Service) tasks(ctx context.Context, at time.Time, svc types.Service) (seen, error) {
	arns, err := f.list(ctx, ecs.ListTasksInput{ServiceName: aws.String(f.o.Service)})
	if err != nil {
		return seen{}, err
	}
	if int(svc.RunningCount+svc.PendingCount) < int(svc.DesiredCount) {
		// Tasks that ended between two readings say why others are missing. Up to one call of descriptions is enough
		// for that.
		ended, err := f.list(ctx, ecs.ListTasksInput{ServiceName: aws.String(f.o.Service),
			DesiredStatus: types.DesiredStatusStopped})
		if err != nil {
			return seen{}, err
		}
		arns = append(arns, ended[:min(len(ended), maxDescribed)]...)
	}
	return f.reader.sort(ctx, f.place, at, arns)
}

// now describes the service.
func (f *Service) now(ctx context.Context) (types.Service, error) {
	out, err := f.ecs.DescribeServices(ctx, &ecs.DescribeServicesInput{Cluster: aws.String(f.cluster),
		Services: []string{f.o.Service}})
	if err != nil {
		return types.Service{}, f.explain("describe", err)
	}
	if len(out.Services) == 0 || aws.ToString(out.Services[0].Status) == "INACTIVE" {
		return types.Service{}, fmt.Errorf("find %s: there is none in the region %s and the account of these "+
			"credentials; create it, or put ecs.cluster, ecs.service and ecs.region right", f.what, f.name)
	}
	return out.Services[0], nil
}

// mayChange returns an error if the count of a service cannot be set.
func (f *Service) mayChange(svc types.Service) error {
	switch status := aws.ToString(svc.Status); {
	case status != "ACTIVE":
		return fmt.Errorf("size %s: found it in the state %s, allowed is ACTIVE", f.what, status)
	case svc.SchedulingStrategy == types.SchedulingStrategyDaemon:
		return fmt.Errorf("size %s: found a DAEMON service, which has one task on each instance, allowed is a "+
			"REPLICA service", f.what)
	}
	return nil
}

// deploying tells whether tasks of two deployments exist.
func deploying(svc types.Service) bool { return len(svc.Deployments) > 1 }

// hold takes the lock as [Service.take] does, and surveys the current service, if it may be changed. done releases it.
func (f *Service) hold(ctx context.Context) (svc types.Service, s seen, done func(), err error) {
	if done, err = f.take(ctx); err != nil {
		return svc, s, nil, err
	}
	if svc, s, err = f.survey(ctx, time.Now().UTC().Round(0)); err == nil {
		err = f.mayChange(svc)
	}
	if err != nil {
		done()
		return svc, s, nil, err
	}
	return svc, s, done, nil
}

// SetDesired implements [muster.Fleet]. It sets the service's count to order.Total, and never below the living tasks;
// it makes no call if that is the count already. With order.Shrink the count may be lower, and ECS stops unprotected
// tasks. During a deployment, tasks of both kinds live, and the count becomes order.Desired or stays. Instances are
// ordered first. Too few of them are an error after the count is set, because ECS places the missing tasks when there
// is room.
func (f *Service) SetDesired(ctx context.Context, order muster.Order) error {
	svc, s, done, err := f.hold(ctx)
	if err != nil {
		return err
	}
	defer done()
	// Living tasks count even when the order has fewer: only End stops tasks.
	want := max(order.Total, order.Desired, len(s.living))
	if order.Shrink && order.Total < len(s.living) {
		want = order.Total
	}
	if deploying(svc) {
		want = max(order.Desired, int(svc.DesiredCount))
	}
	f.await(order)
	defer f.Expect()
	// Instances first, because they boot for minutes and tasks can wait for them.
	short := error(nil)
	if f.o.Capacity != nil && want > 0 {
		short = f.o.Capacity.raise(ctx, f.place, order.ID, want)
	}
	return errors.Join(f.set(ctx, svc, want), short)
}

// set sets the service's count.
func (f *Service) set(ctx context.Context, svc types.Service, want int) error {
	if want == int(svc.DesiredCount) {
		return nil
	}
	_, err := f.ecs.UpdateService(ctx, &ecs.UpdateServiceInput{Cluster: aws.String(f.cluster),
		Service: aws.String(f.o.Service), DesiredCount: aws.Int32(int32(want))})
	return f.explain(fmt.Sprintf("set the count %d of", want), err)
}

// await remembers an order with launches, so that a task that ECS cannot place is reported under the name of the order.
func (f *Service) await(order muster.Order) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(order.Launch) > 0 {
		f.order = ordered{at: time.Now(), names: order.Launch}
	}
}

// End implements [muster.Releaser]: it makes ECS stop exactly the named living tasks. It first protects all other
// running tasks; if that fails it does nothing, because ECS could stop a busy one. Then it lifts the protection of the
// named ones and lowers the count by as many. A count that was lowered already, by an earlier identical call, stays.
// During a deployment it only lifts the protection: the deployment stops unprotected old tasks, and new ones end after
// it.
func (f *Service) End(ctx context.Context, members []string) error {
	svc, s, done, err := f.hold(ctx)
	if err != nil {
		return err
	}
	defer done()
	var going, staying []string
	for _, t := range s.living {
		id := lastOf(t.TaskArn)
		if slices.Contains(members, id) {
			going = append(going, id)
		} else if aws.ToString(t.LastStatus) == "RUNNING" {
			staying = append(staying, id)
		}
	}
	if len(going) == 0 {
		return nil
	}
	defer f.Expect()
	if deploying(svc) {
		return f.protection(ctx, going, false)
	}
	if err := f.shield(ctx, staying); err != nil {
		return fmt.Errorf("end %s of %s: the others must be protected first, or ECS may stop a busy one: %w",
			render.Plural(len(going), "task"), f.what, err)
	}
	if err := f.protection(ctx, going, false); err != nil {
		return err
	}
	return f.set(ctx, svc, lowered(int(svc.DesiredCount), len(s.living), len(going)))
}

// lowered returns the count that makes ECS stop exactly going of the living tasks. A count at or above the living ones
// is lowered by going. A count below them was lowered before, for some of the same tasks, and must not be lowered
// twice.
func lowered(desired, living, going int) int {
	if desired >= living {
		return desired - going
	}
	return min(desired, living-going)
}

// Trim implements [muster.Trimmer]: it ends instances without a task that the service does not need.
func (f *Service) Trim(ctx context.Context) error {
	if f.o.Capacity == nil {
		return nil
	}
	done, err := f.take(ctx)
	if err != nil {
		return err
	}
	defer done()
	svc, s, err := f.survey(ctx, time.Now().UTC().Round(0))
	if err != nil {
		return err
	}
	defer f.Expect()
	f.o.Capacity.expect()
	hosts, err := f.o.Capacity.hosts(ctx, f.place)
	if err != nil {
		return err
	}
	return f.o.Capacity.Ender.End(ctx, f.o.Capacity.spare(hosts, svc, len(s.living)))
}
