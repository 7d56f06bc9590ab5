package asg

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/autoscaling"
	"github.com/aws/aws-sdk-go-v2/service/autoscaling/types"

	"github.com/muster-scale/muster/internal/awsapi"
)

const (
	// maxProtect bounds the instances of one call.
	maxProtect = 50
	// maxEnd is how many instances are ended before a waiting launch gets its turn.
	maxEnd = 20
)

// End implements [muster.Releaser]. It ends the named living instances. Each call lowers the group's desired size by
// the instance's weight, so that the group does not replace it. If something else has lowered the size already, it is
// not lowered again. Instances return to a warm pool that reuses them.
func (f *Fleet) End(ctx context.Context, members []string) error {
	var failures []error
	for some := range slices.Chunk(members, maxEnd) {
		failures = append(failures, f.endSome(ctx, some))
	}
	return errors.Join(failures...)
}

// endSome ends up to maxEnd instances under the lock for changes. Its order matters: the group is read anew, so that an
// instance that has ended meanwhile is skipped and no size is lowered for it.
func (f *Fleet) endSome(ctx context.Context, members []string) error {
	s, done, err := f.hold(ctx)
	if err != nil {
		return err
	}
	defer done()
	var ids []string
	for _, id := range members {
		if _, lives := s.find(id); lives && !slices.Contains(ids, id) {
			ids = append(ids, id)
		}
	}
	if len(ids) == 0 {
		return nil
	}
	if err := s.mayChange(fmt.Sprintf("end instances of the Auto Scaling group %s", f.o.Group)); err != nil {
		return err
	}
	defer f.region.expect(f.o.Group, 0)
	if f.reuses(s, ids) {
		return f.returnToPool(ctx, s, ids)
	}
	var failures []error
	units, desired := s.units, s.desired()
	for _, id := range ids {
		i, _ := s.find(id)
		w := unitsOf(i)
		lower := desired > units-w
		if lower && desired-w < s.min() {
			failures = append(failures,
				fmt.Errorf("end the instance %s of the Auto Scaling group %s: found the group's minimum %d; lower it "+
					"to min of the fleet, or the group starts another in its place", id, f.o.Group, s.min()))
			continue
		}
		_, err := f.region.client.TerminateInstanceInAutoScalingGroup(ctx,
			&autoscaling.TerminateInstanceInAutoScalingGroupInput{
				InstanceId: aws.String(id), ShouldDecrementDesiredCapacity: aws.Bool(lower),
			})
		switch {
		case err == nil:
			units -= w
			if lower {
				desired -= w
			}
		case gone(err):
		default:
			failures = append(failures, f.explain("end the instance "+id+" of", err))
		}
	}
	return errors.Join(failures...)
}

// gone tells whether an instance has ended or is ending already.
func gone(err error) bool {
	_, going := errors.AsType[*types.ScalingActivityInProgressFault](err)
	return going || strings.Contains(err.Error(), "No managed instance found")
}

// reuses tells whether the group's own scale-in would move exactly these instances to its warm pool: all others must be
// protected.
func (f *Fleet) reuses(s survey, ids []string) bool {
	pool := s.WarmPoolConfiguration
	if pool == nil || pool.Status != "" || pool.InstanceReusePolicy == nil ||
		!aws.ToBool(pool.InstanceReusePolicy.ReuseOnScaleIn) || s.suspended("Terminate") {
		return false
	}
	units := s.units
	for _, i := range s.living {
		named := slices.Contains(ids, aws.ToString(i.InstanceId))
		if !named && !aws.ToBool(i.ProtectedFromScaleIn) || named && i.LifecycleState != types.LifecycleStateInService {
			return false
		}
		if named {
			units -= unitsOf(i)
		}
	}
	return units >= s.min() && s.desired() >= s.units
}

// returnToPool makes the group's scale-in move the released instances to the warm pool: it lifts their protection alone
// and lowers the size by their weight. It is idempotent, because the size is absolute.
func (f *Fleet) returnToPool(ctx context.Context, s survey, ids []string) error {
	if err := f.setProtection(ctx, ids, false); err != nil {
		return err
	}
	want := s.units
	for _, id := range ids {
		i, _ := s.find(id)
		want -= unitsOf(i)
	}
	_, err := f.region.client.SetDesiredCapacity(ctx, &autoscaling.SetDesiredCapacityInput{
		AutoScalingGroupName: aws.String(f.o.Group), DesiredCapacity: aws.Int32(int32(want)),
		HonorCooldown: aws.Bool(false),
	})
	return f.explain("return instances to the warm pool of", err)
}

// Protect implements [muster.Protector]. It skips instances that are not in service, which AWS cannot protect yet.
func (f *Fleet) Protect(ctx context.Context, members []string) error {
	s, done, err := f.hold(ctx)
	if err != nil {
		return err
	}
	defer done()
	var ids []string
	for _, id := range members {
		if i, lives := s.find(id); lives && i.LifecycleState == types.LifecycleStateInService &&
			!aws.ToBool(i.ProtectedFromScaleIn) {
			ids = append(ids, id)
		}
	}
	defer f.region.expect(f.o.Group, 0)
	return f.setProtection(ctx, ids, true)
}

// setProtection protects instances from scale-in, or lifts their protection, 50 in a call.
func (f *Fleet) setProtection(ctx context.Context, ids []string, protected bool) error {
	var failures []error
	for batch := range slices.Chunk(ids, maxProtect) {
		_, err := f.region.client.SetInstanceProtection(ctx, &autoscaling.SetInstanceProtectionInput{
			AutoScalingGroupName: aws.String(f.o.Group), InstanceIds: batch, ProtectedFromScaleIn: aws.Bool(protected),
		})
		failures = append(failures, f.explain("change the scale-in protection of instances of", err))
	}
	return errors.Join(failures...)
}

// Warm configures a warm pool.
type Warm struct {
	// State is Stopped, Running or Hibernated; Stopped when empty.
	State string
	// Reuse returns released instances to the pool.
	Reuse bool
}

// SetWarm implements [muster.WarmPool]: the group keeps that many instances prepared, at any size. It makes no call if
// the pool is configured so already.
func (f *Fleet) SetWarm(ctx context.Context, members int) error {
	s, done, err := f.hold(ctx)
	if err != nil {
		return err
	}
	defer done()
	defer f.region.expect(f.o.Group, 0)
	pool := s.WarmPoolConfiguration
	if members <= 0 {
		if pool == nil || pool.Status != "" {
			return nil
		}
		_, err := f.region.client.DeleteWarmPool(ctx,
			&autoscaling.DeleteWarmPoolInput{AutoScalingGroupName: aws.String(f.o.Group)})
		return f.explain("remove the warm pool of", err)
	}
	if err := s.mayChange("prepare instances of the group " + s.name); err != nil {
		return err
	}
	state := types.WarmPoolState(f.o.Warm.State)
	if state == "" {
		state = types.WarmPoolStateStopped
	}
	n := int32(members)
	same := pool != nil && pool.Status == "" && pool.PoolState == state && aws.ToInt32(pool.MinSize) == n &&
		aws.ToInt32(pool.MaxGroupPreparedCapacity) == n &&
		(pool.InstanceReusePolicy != nil && aws.ToBool(pool.InstanceReusePolicy.ReuseOnScaleIn)) == f.o.Warm.Reuse
	if same {
		return nil
	}
	_, err = f.region.client.PutWarmPool(ctx, &autoscaling.PutWarmPoolInput{
		// The pool holds the prepared capacity beyond the size, and at least MinSize. With both equal it holds that
		// many at any size.
		AutoScalingGroupName: aws.String(f.o.Group), MinSize: aws.Int32(n), MaxGroupPreparedCapacity: aws.Int32(n),
		PoolState:           state,
		InstanceReusePolicy: &types.InstanceReusePolicy{ReuseOnScaleIn: aws.Bool(f.o.Warm.Reuse)},
	})
	err = f.explain("prepare instances in the warm pool of", err)
	if awsapi.KindOf(err) == awsapi.Refused && s.MixedInstancesPolicy != nil {
		err = fmt.Errorf("%w; a group with a mixed instances policy may not have a warm pool in this region", err)
	}
	return err
}
