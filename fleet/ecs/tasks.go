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

// This file starts tasks without a service. ECS replaces none of them, so a worker may exit by itself, and the number
// of living tasks is the size. The controller keeps the desired size in its history.

// maxRun bounds the tasks of one call.
const maxRun = 10

// TaskOptions describe a fleet of tasks without a service. Fleet, Cluster and Definition are required.
type TaskOptions struct {
	// Fleet is the fleet's name, which marks its tasks.
	Fleet string
	// Cluster is a cluster's name or ARN, Region its region; empty means that of the SDK's configuration.
	Cluster, Region string
	// Definition is the task definition: FAMILY, FAMILY:REVISION or an ARN.
	Definition string
	// LaunchType is FARGATE, EC2 or EXTERNAL, Providers a strategy of capacity providers. At most one is set; with
	// neither, the cluster's own strategy applies.
	LaunchType string
	Providers  []Provider
	// Network is the network of tasks in the mode awsvpc, which is the only one on Fargate.
	Network Network
	// Every is the interval between readings while something changes; zero means 5 s.
	Every time.Duration
}

// Provider is one capacity provider of a strategy. It gets the first Base tasks, and a share by Weight of the others.
type Provider struct {
	Name         string
	Base, Weight int
}

// Network is the network of tasks.
type Network struct {
	Subnets, SecurityGroups []string
	// PublicIP gives each task a public address.
	PublicIP bool
}

// Tasks is a fleet of tasks without a service. It implements [muster.Fleet], [muster.Releaser] and [muster.Expecter].
// Several goroutines may use it.
type Tasks struct {
	o TaskOptions
	place
	reader *taskReader
	// startedBy is the mark of the fleet's tasks in ECS, by which a restarted controller finds them.
	startedBy string
}

var (
	_ muster.Fleet    = (*Tasks)(nil)
	_ muster.Releaser = (*Tasks)(nil)
	_ muster.Expecter = (*Tasks)(nil)
)

// Tasks returns a fleet of tasks without a service. It makes no call.
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
		o: o, place: newPlace(r, o.Cluster, what), reader: newTaskReader(cmp.Or(o.Every, awsapi.Fast)),
		startedBy: mark(o.Fleet),
	}, nil
}

// mark returns the startedBy of a fleet's tasks. It allows letters, digits, hyphens, slashes and underscores. In other
// names the characters are replaced and a hash is added, so that no two fleets share a mark.
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

// token returns a client token of at most 64 characters.
func token(order string, part int) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%s/%d", order, part))
	return hex.EncodeToString(sum[:16])
}

// Expect implements [muster.Expecter].
func (f *Tasks) Expect() { f.reader.expect() }

// Members implements [muster.Fleet]: the tasks with the fleet's mark, and recently ended ones.
func (f *Tasks) Members(ctx context.Context) (muster.Listing, error) {
	return f.reader.members(ctx, func(ctx context.Context) (muster.Listing, error) {
		at := time.Now().UTC().Round(0)
		arns, err := f.list(ctx, ecs.ListTasksInput{StartedBy: aws.String(f.startedBy)})
		if err != nil {
			return muster.Listing{}, err
		}
		if l, same := f.reader.same(at, quietTasks(arns)); same {
			return l, nil
		}
		f.reader.begin()
		s, err := f.reader.sort(ctx, f.place, at, arns)
		if err != nil {
			return muster.Listing{}, err
		}
		living := 0
		for _, m := range s.members {
			if !m.Ended {
				living++
			}
		}
		// ECS names the tasks, as it does for a service. The desired count is the number of living ones.
		return f.reader.whole(muster.Listing{At: at, Members: s.members, Service: &muster.Service{Desired: living}},
			quietTasks(arns)), nil
	})
}

// SetDesired implements [muster.Fleet]. It starts as many tasks as the order has names to launch, ten in a call. The
// client tokens derive from the order, so that a repeated order starts them once. Without names it makes no call.
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
			f.reader.started(time.Now().UTC().Round(0), aws.ToString(t.TaskArn))
		}
		if failures = append(failures, out.Failures...); len(failures) > 0 {
			break // if some find no place, others will not either
		}
	}
	if started == len(order.Launch) {
		return nil
	}
	return fmt.Errorf("start %s: %d of %d started: %s", f.what, started, len(order.Launch),
		cmp.Or(refused(failures), "ECS does not say why"))
}

// run returns the request that starts n tasks, the part-th of an order. Its client token makes ECS answer a repeated
// request with the tasks that it has started already.
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

// End implements [muster.Releaser]: it stops the named living tasks. Nothing replaces them.
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
			Reason: aws.String("released: it has no message in progress and receives no more")})
		failures = append(failures, f.explain("end the task "+lastOf(t.TaskArn)+" of", err))
	}
	return errors.Join(failures...)
}
