package autoscaling

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsautoscaling "github.com/aws/aws-sdk-go-v2/service/autoscaling"
	"github.com/aws/aws-sdk-go-v2/service/autoscaling/types"
	"github.com/aws/smithy-go"
)

const (
	// terminating is the transition of the hooks that are used.
	terminating = "autoscaling:EC2_INSTANCE_TERMINATING"
	// proceed is the result that completes the action. For a terminating instance, ABANDON would do the same.
	proceed = "CONTINUE"
)

// Actions are the calls that act on a lifecycle hook. [*awsautoscaling.Client] implements them.
type Actions interface {
	CompleteLifecycleAction(context.Context, *awsautoscaling.CompleteLifecycleActionInput,
		...func(*awsautoscaling.Options)) (*awsautoscaling.CompleteLifecycleActionOutput, error)
	RecordLifecycleActionHeartbeat(context.Context, *awsautoscaling.RecordLifecycleActionHeartbeatInput,
		...func(*awsautoscaling.Options)) (*awsautoscaling.RecordLifecycleActionHeartbeatOutput, error)
}

// groupAPI is the call that finds the group of an instance.
type groupAPI interface {
	DescribeAutoScalingInstances(context.Context, *awsautoscaling.DescribeAutoScalingInstancesInput,
		...func(*awsautoscaling.Options)) (*awsautoscaling.DescribeAutoScalingInstancesOutput, error)
}

// Descriptions are the calls that find a lifecycle hook. [*awsautoscaling.Client] implements them.
type Descriptions interface {
	groupAPI
	DescribeLifecycleHooks(context.Context, *awsautoscaling.DescribeLifecycleHooksInput,
		...func(*awsautoscaling.Options)) (*awsautoscaling.DescribeLifecycleHooksOutput, error)
}

// API is what a [Hook] needs of the client.
type API interface {
	Actions
	Descriptions
}

// Options identify a lifecycle hook.
type Options struct {
	// Instance is the id of this instance.
	Instance string
	// Group is the name of the instance's group; when empty, it is read from AWS.
	Group string
	// Name is the name of the hook; when it is empty, the group must have exactly one for terminating instances.
	Name string
}

// check checks the forms of the names; whether they exist shows in the first call.
func (o Options) check() error {
	if !strings.HasPrefix(o.Instance, "i-") || len(o.Instance) > 19 || len(o.Group) > 255 || len(o.Name) > 255 {
		return fmt.Errorf("found the instance %.40q, the group %.40q and the hook %.40q; allowed are an id as in "+
			"i-0123456789abcdef0 and names of at most 255 characters", o.Instance, o.Group, o.Name)
	}
	return nil
}

// Hook is a [worker.Hook]. The role of the instance needs autoscaling:CompleteLifecycleAction,
// autoscaling:RecordLifecycleActionHeartbeat, autoscaling:DescribeLifecycleHooks and, unless the group is named,
// autoscaling:DescribeAutoScalingInstances. Several goroutines may use it.
type Hook struct {
	api API
	o   Options

	mu sync.Mutex
	// found is the hook, once it was read.
	found *types.LifecycleHook
}

// New returns the hook. It makes no call yet: a hook that does not exist shows in the first call.
func New(api API, o Options) (*Hook, error) {
	if err := o.check(); err != nil {
		return nil, fmt.Errorf("use a lifecycle hook: %w", err)
	}
	return &Hook{api: api, o: o}, nil
}

// Extend implements [worker.Hook]. It sends a heartbeat, which restarts the hook's timeout. AWS terminates the instance
// anyway after 48 hours, or after 100 timeouts if that is earlier.
func (h *Hook) Extend(ctx context.Context) (time.Duration, error) {
	hook, err := h.find(ctx)
	if err != nil {
		return 0, err
	}
	_, err = h.api.RecordLifecycleActionHeartbeat(ctx, &awsautoscaling.RecordLifecycleActionHeartbeatInput{
		AutoScalingGroupName: hook.AutoScalingGroupName, LifecycleHookName: hook.LifecycleHookName,
		InstanceId: &h.o.Instance,
	})
	if err != nil {
		return 0, fmt.Errorf("send a heartbeat for the lifecycle hook %s of the group %s: %w",
			aws.ToString(hook.LifecycleHookName), aws.ToString(hook.AutoScalingGroupName), err)
	}
	return time.Duration(aws.ToInt32(hook.HeartbeatTimeout)) * time.Second, nil
}

// Complete implements [worker.Hook].
func (h *Hook) Complete(ctx context.Context) error {
	hook, err := h.find(ctx)
	if err != nil {
		return err
	}
	_, err = h.api.CompleteLifecycleAction(ctx, &awsautoscaling.CompleteLifecycleActionInput{
		AutoScalingGroupName: hook.AutoScalingGroupName, LifecycleHookName: hook.LifecycleHookName,
		InstanceId:            &h.o.Instance,
		LifecycleActionResult: aws.String(proceed),
	})
	if err != nil && !over(err) {
		return fmt.Errorf("complete the lifecycle hook %s of the group %s: %w", aws.ToString(hook.LifecycleHookName),
			aws.ToString(hook.AutoScalingGroupName), err)
	}
	return nil
}

// over tells whether no action is pending: it was completed before, or has timed out.
func over(err error) bool {
	refused, ok := errors.AsType[smithy.APIError](err)
	return ok && refused.ErrorCode() == "ValidationError" &&
		strings.Contains(refused.ErrorMessage(), "No active Lifecycle Action")
}

// find returns the hook. The first success is kept, because a hook does not change.
func (h *Hook) find(ctx context.Context) (*types.LifecycleHook, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.found != nil {
		return h.found, nil
	}
	group, err := h.group(ctx)
	if err != nil {
		return nil, err
	}
	in := &awsautoscaling.DescribeLifecycleHooksInput{AutoScalingGroupName: &group}
	if h.o.Name != "" {
		in.LifecycleHookNames = []string{h.o.Name}
	}
	out, err := h.api.DescribeLifecycleHooks(ctx, in)
	if err != nil {
		return nil, fmt.Errorf("find the lifecycle hook of the group %s: %w", group, err)
	}
	var hooks []types.LifecycleHook
	var names []string
	for _, hook := range out.LifecycleHooks {
		if aws.ToString(hook.LifecycleTransition) == terminating {
			hooks, names = append(hooks, hook), append(names, aws.ToString(hook.LifecycleHookName))
		}
	}
	if len(hooks) != 1 {
		return nil, fmt.Errorf("find the lifecycle hook of the group %s: found %d for terminating instances (%s), "+
			"exactly one is allowed unless one is named; name it, or make it",
			group, len(hooks), strings.Join(names, ", "))
	}
	hooks[0].AutoScalingGroupName = &group
	h.found = &hooks[0]
	return h.found, nil
}

// group returns the name of the instance's group.
func (h *Hook) group(ctx context.Context) (string, error) {
	if h.o.Group != "" {
		return h.o.Group, nil
	}
	group, err := groupOf(ctx, h.api, h.o.Instance)
	if err == nil && group == "" {
		err = fmt.Errorf("find the Auto Scaling group of %s: found none, a lifecycle hook needs one", h.o.Instance)
	}
	return group, err
}

// groupOf returns the name of an instance's group; empty when the instance is in none.
func groupOf(ctx context.Context, api groupAPI, instance string) (string, error) {
	out, err := api.DescribeAutoScalingInstances(ctx, &awsautoscaling.DescribeAutoScalingInstancesInput{
		InstanceIds: []string{instance},
	})
	switch {
	case err != nil:
		return "", fmt.Errorf("find the Auto Scaling group of %s: %w", instance, err)
	case len(out.AutoScalingInstances) == 0:
		return "", nil
	}
	return aws.ToString(out.AutoScalingInstances[0].AutoScalingGroupName), nil
}
