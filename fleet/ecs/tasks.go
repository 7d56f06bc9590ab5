package ecs

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ecs"
	"github.com/aws/aws-sdk-go-v2/service/ecs/types"

	"github.com/muster-scale/muster"
	"github.com/muster-scale/muster/internal/awsapi"
)

// maxRun is how many tasks one call starts.
const maxRun = 10

// TaskOptions describe a fleet of tasks without a service. Fleet, Cluster and Definition are required.
type TaskOptions struct {
	// Fleet names the fleet: its tasks are known by it, as what started them.
	Fleet string
	// Cluster is a cluster's name or ARN, Region where it is; empty means that of the SDK's configuration.
	Cluster, Region string
	// Definition is the task definition: FAMILY, FAMILY:REVISION or an ARN.
	Definition string
	// LaunchType is FARGATE, EC2 or EXTERNAL, Providers a strategy of capacity providers. At most one of them is
	// stated; with neither, the cluster's own strategy holds.
	LaunchType string
	Providers  []Provider
	// Network is where tasks of the network mode awsvpc are, which those on Fargate all are.
	Network Network
	// Every is the time between looks while something changes; zero means 5 s.
	Every time.Duration
}

// Provider is one capacity provider of a strategy: the first Base tasks are its own, and of the others it gets its
// share by Weight.
type Provider struct {
	Name         string
	Base, Weight int
}

// Network is where tasks are.
type Network struct {
	Subnets, SecurityGroups []string
	// PublicIP gives each task a public address.
	PublicIP bool
}

// Tasks is a fleet of tasks without a service. It implements [muster.Fleet], [muster.Releaser] and [muster.Expecter],
// and is safe for use by several goroutines.
type Tasks struct {
	o TaskOptions
	place
	look *lookout
	// startedBy is the mark that the fleet's tasks bear.
	startedBy string
}

var (
	_ muster.Fleet    = (*Tasks)(nil)
	_ muster.Releaser = (*Tasks)(nil)
	_ muster.Expecter = (*Tasks)(nil)
)

// Tasks returns a fleet of tasks without a service. Nothing is called.
func (c *Clusters) Tasks(o TaskOptions) (*Tasks, error) {
	what := "the tasks of the fleet " + o.Fleet
	if o.Fleet == "" || o.Cluster == "" || o.Definition == "" {
		return nil, fmt.Errorf("start %s: found the cluster %q and the task definition %q, both are needed", what,
			o.Cluster, o.Definition)
	}
	if o.LaunchType != "" && len(o.Providers) > 0 {
		return nil, fmt.Errorf("start %s: found a launch type and capacity providers, allowed is one of them", what)
	}
	r, err := c.region(o.Region)
	if err != nil {
		return nil, fmt.Errorf("start %s: %w", what, err)
	}
	return &Tasks{
		o: o, place: newPlace(r, o.Cluster, what), look: newLookout(cmp.Or(o.Every, awsapi.Fast)),
		startedBy: mark(o.Fleet),
	}, nil
}

// mark is what the tasks of a fleet bear as startedBy, which allows letters, digits, hyphens, slashes and underscores:
// a name with others gets them replaced, and a sum, so that no two fleets have the same.
func mark(fleet string) string {
	plain := strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '-' || r == '_' {
			return r
		}
		return '_'
	}, fleet)
	if plain != fleet || len(plain) > 100 {
		plain = plain[:min(len(plain), 80)] + "-" + token(fleet, 0)[:8]
	}
	return "muster/" + plain
}

// token is a client token of at most 64 characters.
func token(order string, part int) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%s/%d", order, part))
	return hex.EncodeToString(sum[:16])
}

// Expect implements [muster.Expecter].
func (f *Tasks) Expect() { f.look.expect() }

// Members implements [muster.Fleet]: the tasks that the fleet started, by their mark, and those that ended lately.
func (f *Tasks) Members(ctx context.Context) (muster.Listing, error) {
	return f.look.members(ctx, func(ctx context.Context) (muster.Listing, error) {
		at := time.Now().UTC().Round(0)
		arns, err := f.list(ctx, ecs.ListTasksInput{StartedBy: aws.String(f.startedBy)})
		if err != nil {
			return muster.Listing{}, err
		}
		if l, same := f.look.same(at, calmTasks(arns)); same {
			return l, nil
		}
		f.look.begin()
		s, err := f.look.sort(ctx, f.place, at, arns)
		if err != nil {
			return muster.Listing{}, err
		}
		living := 0
		for _, m := range s.members {
			if !m.Ended {
				living++
			}
		}
		// ECS names the tasks, so they are members of a service as far as names go; it aims at what lives.
		return f.look.whole(muster.Listing{At: at, Members: s.members, Service: &muster.Service{Desired: living}},
			calmTasks(arns)), nil
	})
}

// SetDesired implements [muster.Fleet]: it starts as many tasks as the order has names to launch, ten in a call. The
// client tokens of the calls derive from the order, so that an order given twice starts them once. A size without
// launches calls nothing.
func (f *Tasks) SetDesired(ctx context.Context, order muster.Order) error {
	if len(order.Launch) == 0 {
		return nil
	}
	done, err := f.take(ctx)
	if err != nil {
		return err
	}
	defer done()
	defer f.Expect()
	var failures []types.Failure
	started := 0
	for part, n := 0, len(order.Launch); n > 0; part, n = part+1, n-maxRun {
		out, err := f.ecs.RunTask(ctx, f.run(order, part, min(n, maxRun)))
		if err != nil {
			err = withRemedy(f.explain("start", err))
			if started > 0 {
				err = fmt.Errorf("%w; %d of %d started", err, started, len(order.Launch))
			}
			return err
		}
		started += len(out.Tasks)
		for _, t := range out.Tasks {
			f.look.started(time.Now().UTC().Round(0), aws.ToString(t.TaskArn))
		}
		if failures = append(failures, out.Failures...); len(failures) > 0 {
			break // where some find no place the others will not either
		}
	}
	if started == len(order.Launch) {
		return nil
	}
	return fmt.Errorf("start %s: %d of %d started: %s", f.what, started, len(order.Launch),
		cmp.Or(refused(failures), "ECS does not say why"))
}

// run is the call that starts n tasks, the part-th of an order.
func (f *Tasks) run(order muster.Order, part, n int) *ecs.RunTaskInput {
	in := &ecs.RunTaskInput{
		Cluster: aws.String(f.cluster), TaskDefinition: aws.String(f.o.Definition), Count: aws.Int32(int32(n)),
		ClientToken: aws.String(token(order.ID, part)), StartedBy: aws.String(f.startedBy),
		LaunchType: types.LaunchType(f.o.LaunchType), EnableECSManagedTags: true,
		PropagateTags: types.PropagateTagsTaskDefinition,
	}
	for _, p := range f.o.Providers {
		in.CapacityProviderStrategy = append(in.CapacityProviderStrategy, types.CapacityProviderStrategyItem{
			CapacityProvider: aws.String(p.Name), Base: int32(p.Base), Weight: int32(p.Weight),
		})
	}
	if len(f.o.Network.Subnets) > 0 {
		vpc := &types.AwsVpcConfiguration{
			Subnets: f.o.Network.Subnets, SecurityGroups: f.o.Network.SecurityGroups,
			AssignPublicIp: types.AssignPublicIpDisabled,
		}
		if f.o.Network.PublicIP {
			vpc.AssignPublicIp = types.AssignPublicIpEnabled
		}
		in.NetworkConfiguration = &types.NetworkConfiguration{AwsvpcConfiguration: vpc}
	}
	return in
}

// End implements [muster.Releaser]: it stops the named tasks that still live. Nothing starts others in their place.
func (f *Tasks) End(ctx context.Context, members []string) error {
	done, err := f.take(ctx)
	if err != nil {
		return err
	}
	defer done()
	tasks, err := f.describe(ctx, members)
	if err != nil {
		return err
	}
	defer f.Expect()
	var failures []error
	for _, t := range tasks {
		if !lives(t) {
			continue
		}
		_, err := f.ecs.StopTask(ctx, &ecs.StopTaskInput{Cluster: aws.String(f.cluster), Task: t.TaskArn,
			Reason: aws.String("released: it holds no message and takes no more")})
		failures = append(failures, f.explain("end the task "+lastOf(t.TaskArn)+" of", err))
	}
	return errors.Join(failures...)
}
