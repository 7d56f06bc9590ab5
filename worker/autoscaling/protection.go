package autoscaling

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsautoscaling "github.com/aws/aws-sdk-go-v2/service/autoscaling"
	"github.com/aws/smithy-go"

	"github.com/muster-scale/muster/worker/lease"
)

const (
	// turnFile is the lock file of the worker that is changing the protection.
	turnFile = "turn"
	// unsureFile exists after a call to lift the protection that got neither success nor refusal.
	unsureFile = "unsure"
	// unsureFor is how long after such a call AWS may still carry it out.
	unsureFor = 30 * time.Second
	// turnPause is the interval between two tries to lock turnFile.
	turnPause = 20 * time.Millisecond
)

// ProtectionAPI is what a [Protection] needs of the client. [*awsautoscaling.Client] implements it.
type ProtectionAPI interface {
	groupAPI
	SetInstanceProtection(context.Context, *awsautoscaling.SetInstanceProtectionInput,
		...func(*awsautoscaling.Options)) (*awsautoscaling.SetInstanceProtectionOutput, error)
}

// Protection is scale-in protection of this instance in its Auto Scaling group. It implements [worker.Protection] for
// all workers of the instance. They share a directory, as those of a [Shared] hook do, and the last one to become idle
// lifts the protection. The protection never expires: if the only worker of an instance is killed, the instance stays
// protected until another worker becomes idle there.
//
// The role of the instance needs autoscaling:SetInstanceProtection and, unless the group is named,
// autoscaling:DescribeAutoScalingInstances. Several goroutines may use it.
type Protection struct {
	api ProtectionAPI
	o   Options
	dir string
	now func() time.Time

	mu sync.Mutex
	// lock is held while this worker needs the protection; nil otherwise.
	lock  *os.File
	group string
}

// NewProtection returns the protection of the instance in o; o.Name is not used. All workers of the instance give the
// same directory, which no hook may use; it is created if missing. NewProtection makes no call to AWS.
func NewProtection(api ProtectionAPI, o Options, dir string) (*Protection, error) {
	if err := o.check(); err != nil {
		return nil, fmt.Errorf("protect an instance: %w", err)
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("protect an instance: make the directory that its workers share: %w", err)
	}
	return &Protection{api: api, o: o, dir: dir, now: time.Now, group: o.Group}, nil
}

// Protect implements [worker.Protection]. It calls AWS each time, because something else may have lifted the
// protection. AWS refuses to protect an instance that is not in service yet.
func (p *Protection) Protect(ctx context.Context, term time.Duration) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if err := p.find(ctx); err != nil {
		return err
	}
	// One worker at a time: otherwise one worker could lift what another has just set.
	turn, err := p.turn(ctx)
	if err != nil {
		return fmt.Errorf("share the protection of this instance: %w", err)
	}
	defer turn.Close()
	if term > 0 {
		return p.raise(ctx)
	}
	return p.lift(ctx)
}

// find reads the group from AWS until it is known. An instance in no group cannot be protected, which is no failure.
func (p *Protection) find(ctx context.Context) (err error) {
	if p.group != "" {
		return nil
	}
	if p.group, err = groupOf(ctx, p.api, p.o.Instance); err == nil && p.group == "" {
		return fmt.Errorf("%s is in no Auto Scaling group: %w", p.o.Instance, lease.ErrUnprotectable)
	}
	return err
}

// turn waits for the right to change the protection. Closing the file ends the turn.
func (p *Protection) turn(ctx context.Context) (*os.File, error) {
	file, err := os.OpenFile(filepath.Join(p.dir, turnFile), os.O_RDWR|os.O_CREATE|syscall.O_NOFOLLOW, 0o600)
	if err != nil {
		return nil, err
	}
	for {
		err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if err == nil {
			return file, nil
		}
		if !errors.Is(err, syscall.EWOULDBLOCK) && !errors.Is(err, syscall.EINTR) {
			return nil, errors.Join(fmt.Errorf("lock %s: %w", file.Name(), err), file.Close())
		}
		select {
		case <-time.After(turnPause):
		case <-ctx.Done():
			return nil, errors.Join(fmt.Errorf("wait for the worker that changes it: %w", ctx.Err()), file.Close())
		}
	}
}

// raise locks the file of this worker and protects the instance. The lock comes first: another worker that becomes idle
// in between then sees that the instance is needed.
func (p *Protection) raise(ctx context.Context) (err error) {
	if p.lock == nil {
		if p.lock, err = join(p.dir); err != nil {
			return fmt.Errorf("share the protection of this instance: %w", err)
		}
	}
	if err := p.set(ctx, true); err != nil {
		return err
	}
	unsure, err := p.unsureUntil()
	if err != nil {
		return fmt.Errorf("share the protection of this instance: %w", err)
	}
	if p.now().Before(unsure) {
		return fmt.Errorf("protect %s: an earlier call to lift the protection had no answer and may be carried out "+
			"until %s",
			p.o.Instance, unsure.UTC().Format(time.TimeOnly))
	}
	return nil
}

// lift lifts the protection unless another worker needs it.
func (p *Protection) lift(ctx context.Context) error {
	if p.lock != nil {
		if err := p.lock.Close(); err != nil {
			return fmt.Errorf("share the protection of this instance: %w", err)
		}
		p.lock = nil
	}
	n, err := others(p.dir)
	if err != nil {
		return fmt.Errorf("find the other workers of this instance: %w", err)
	}
	if n > 0 {
		return nil // the last of them lifts it
	}
	err = p.set(ctx, false)
	refused, answered := errors.AsType[smithy.APIError](err)
	if err != nil && !(answered && refused.ErrorFault() == smithy.FaultClient) {
		note := os.WriteFile(filepath.Join(p.dir, unsureFile), nil, 0o600)
		if note == nil {
			at := p.now()
			note = os.Chtimes(filepath.Join(p.dir, unsureFile), at, at)
		}
		err = errors.Join(err, note)
	}
	return err
}

// unsureUntil returns until when AWS may still carry out a call to lift that got no answer; zero without such a call.
func (p *Protection) unsureUntil() (time.Time, error) {
	stat, err := os.Lstat(filepath.Join(p.dir, unsureFile))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return time.Time{}, nil
	case err != nil:
		return time.Time{}, err
	}
	return stat.ModTime().Add(unsureFor), nil
}

// set sets the protection of the instance in its group.
func (p *Protection) set(ctx context.Context, on bool) error {
	_, err := p.api.SetInstanceProtection(ctx, &awsautoscaling.SetInstanceProtectionInput{
		AutoScalingGroupName: &p.group, InstanceIds: []string{p.o.Instance}, ProtectedFromScaleIn: aws.Bool(on),
	})
	if err != nil {
		what := "lift the scale-in protection of %s in the group %s: %w"
		if on {
			what = "protect %s from scale-in in the group %s: %w"
		}
		return fmt.Errorf(what, p.o.Instance, p.group, err)
	}
	return nil
}
