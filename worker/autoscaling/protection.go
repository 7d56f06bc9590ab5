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
	// turnFile is locked by the one worker of the instance that changes the protection.
	turnFile = "turn"
	// unsureFile was written when a call to lift the protection was neither carried out for sure nor refused.
	unsureFile = "unsure"
	// unsureFor is how long such a call may still be carried out.
	unsureFor = 30 * time.Second
	// turnPause is how often a worker looks whether it is its turn.
	turnPause = 20 * time.Millisecond
)

// ProtectionAPI is what a [Protection] needs of the client. [*awsautoscaling.Client] implements it.
type ProtectionAPI interface {
	groupAPI
	SetInstanceProtection(context.Context, *awsautoscaling.SetInstanceProtectionInput,
		...func(*awsautoscaling.Options)) (*awsautoscaling.SetInstanceProtectionOutput, error)
}

// Protection is scale-in protection of this instance in its Auto Scaling group. It is a [worker.Protection] that the
// workers of the instance share: they meet in a directory, as those of a [Shared] hook do, and the last of them that is
// not idle lifts it. It has no end: a worker that is killed, alone on its instance, leaves that protected until a
// worker is idle there again.
//
// The role of the instance needs autoscaling:SetInstanceProtection and, without the name of the group,
// autoscaling:DescribeAutoScalingInstances. It is safe for use by several goroutines.
type Protection struct {
	api ProtectionAPI
	o   Options
	dir string
	now func() time.Time

	mu sync.Mutex
	// lock says that this worker needs the protection; it is nil while it does not.
	lock  *os.File
	group string
}

// NewProtection returns the protection of the instance that o names; the name of a hook means nothing. All workers of
// the instance give the same directory, which is made if need be, and which no hook uses. It asks nothing yet.
func NewProtection(api ProtectionAPI, o Options, dir string) (*Protection, error) {
	if err := o.check(); err != nil {
		return nil, fmt.Errorf("protect an instance: %w", err)
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("protect an instance: make the directory where its workers meet: %w", err)
	}
	return &Protection{api: api, o: o, dir: dir, now: time.Now, group: o.Group}, nil
}

// Protect implements [worker.Protection]. Each call with a term asks AWS anew, because anybody may have lifted the
// protection. An instance that is not in service yet cannot be protected: the error is that of AWS.
func (p *Protection) Protect(ctx context.Context, term time.Duration) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if err := p.find(ctx); err != nil {
		return err
	}
	// One worker at a time: otherwise one that lifts could come behind another that has just protected.
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

// find asks for the group until it is known.
func (p *Protection) find(ctx context.Context) (err error) {
	if p.group != "" {
		return nil
	}
	if p.group, err = groupOf(ctx, p.api, p.o.Instance); err == nil && p.group == "" {
		return fmt.Errorf("%s is in no Auto Scaling group: %w", p.o.Instance, lease.ErrUnprotectable)
	}
	return err
}

// turn waits until no other worker of the instance changes the protection. Closing the file ends the turn.
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

// lift lifts the protection when no other worker needs it.
func (p *Protection) lift(ctx context.Context) error {
	if p.lock != nil {
		if err := p.lock.Close(); err != nil {
			return fmt.Errorf("share the protection of this instance: %w", err)
		}
		p.lock = nil
	}
	n, err := others(p.dir)
	if err != nil {
		return fmt.Errorf("look for the other workers of this instance: %w", err)
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

// unsureUntil returns until when a call to lift may be carried out that had no answer; it is zero when there is none.
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
