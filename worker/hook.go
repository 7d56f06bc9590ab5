package worker

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/muster-scale/muster/worker/internal/trouble"
	"github.com/muster-scale/muster/worker/protocol"
)

const (
	// hookTimeout bounds one call of a hook.
	hookTimeout = 10 * time.Second
	// hookPause is the pause after a call that failed.
	hookPause = 5 * time.Second
	// completeTries bounds the attempts to complete a hook.
	completeTries = 3
	// hookPatience is how long a released worker waits for its machine to terminate, to complete the hook then.
	hookPatience = 15 * time.Minute
)

// ErrOthersWork means that other workers of the machine have not finished, so that it must not terminate yet.
var ErrOthersWork = errors.New("other workers of the machine have not finished")

// Hook delays the end of a machine until its worker has finished: the lifecycle hook of an Auto Scaling group. Package
// worker/autoscaling has one for a machine with one worker, and one for several workers that share it.
type Hook interface {
	// Extend keeps the machine for longer and returns for how long from now; 0 if unknown. Extensions have a limit,
	// from which on they fail.
	Extend(ctx context.Context) (time.Duration, error)
	// Complete says that this worker has finished and the machine may end. It succeeds, too, when nothing keeps the
	// machine any more. While other workers need it, the error matches [ErrOthersWork]; Complete is then called again
	// every few seconds, because those workers may crash.
	Complete(ctx context.Context) error
}

// hooked is the hook of a run. Only the goroutine of the run's loop uses it.
type hooked struct {
	Hook
	log *slog.Logger
	// waiting is true once the machine waits for the worker.
	waiting bool
	calling bool
	// nextAt is when the next extension is due. until is how long the last one keeps the machine; zero if unknown.
	nextAt, until time.Time
	fault         trouble.Trouble
}

// noticed starts the extensions when a machine waits for the worker.
func (h *hooked) noticed(n Notice) {
	if n.Waits && h.Hook != nil {
		h.waiting = true
	}
}

// advance makes an extension that is due, and stops the work when the machine will not be kept any longer.
func (h *hooked) advance(now time.Time, next *alarm, r *runner) {
	if !h.waiting {
		return
	}
	if !h.until.IsZero() && next.due(now, h.until.Add(-handBackWithin)) {
		r.stopWorkAt(now)
	}
	if h.calling || r.lease.State() == protocol.Leaving || !next.due(now, h.nextAt) {
		return
	}
	h.calling = true
	r.start(func() event {
		ctx, cancel := context.WithTimeout(r.base, hookTimeout)
		defer cancel()
		kept, err := h.Extend(ctx)
		return func(ended time.Time) {
			if err != nil {
				r.lease.Incident(protocol.HookFailed, err.Error())
			}
			h.extended(now, ended, kept, err)
		}
	})
}

// extended handles the result of the extension that began at begun.
func (h *hooked) extended(begun, now time.Time, kept time.Duration, err error) {
	h.calling = false
	h.fault.What = "keeping the machine"
	h.fault.See(h.log, now, err)
	switch {
	case err != nil:
		h.nextAt = now.Add(hookPause)
	case kept <= 0:
		h.nextAt, h.until = begun.Add(2*handBackWithin), time.Time{}
	default:
		h.nextAt, h.until = begun.Add(kept/2), begun.Add(kept)
	}
}

// last completes the hook, so that the waiting machine may end. A released worker first waits up to hookPatience for
// the termination of its machine, which would otherwise wait for the worker in vain.
func (h *hooked) last(base, stop context.Context, r *runner) {
	if h.Hook == nil || !h.waiting && !r.awaitEnd(base, stop) {
		return
	}
	var err error
	for try := 1; try <= completeTries; try++ {
		err = h.complete(base, stop)
		switch {
		case err == nil:
			h.log.Info("the hook is completed: the machine may end")
			return
		case errors.Is(err, ErrOthersWork):
			h.log.Info("the machine's other workers will complete the hook")
			return
		}
		if try < completeTries {
			<-time.After(hookPause)
		}
	}
	h.log.Error("completing the hook failed: the machine waits until the hook times out", "err",
		err)
}

// complete completes the hook once the machine's other workers have finished or crashed. It stops waiting for them when
// stop ends.
func (h *hooked) complete(base, stop context.Context) error {
	for waited := false; ; waited = true {
		ctx, cancel := context.WithTimeout(base, hookTimeout)
		err := h.Complete(ctx)
		cancel()
		if !errors.Is(err, ErrOthersWork) {
			return err
		}
		if !waited {
			h.log.Info("worker has finished; waiting for the machine's other workers")
		}
		select {
		case <-stop.Done():
			return err
		case <-time.After(hookPause):
		}
	}
}

// awaitEnd waits until the machine waits for the worker. It returns false when no such notice can come, or when stop
// ends.
func (r *runner) awaitEnd(base, stop context.Context) bool {
	if stop.Err() != nil || len(r.Notices) == 0 || r.Reporter == nil || r.MachineShared {
		return false
	}
	r.log.Info("worker has left; waiting for its machine to end", "at_most", hookPatience)
	ctx, cancel := context.WithTimeout(base, hookPatience)
	defer cancel()
	defer context.AfterFunc(stop, cancel)()
	waits := make(chan struct{}, 1)
	for _, place := range r.Notices {
		r.wg.Go(func() {
			place.Watch(ctx, func(n Notice, err error) {
				if err == nil && n.Waits {
					select {
					case waits <- struct{}{}:
					default:
					}
				}
			})
		})
	}
	defer r.wg.Wait()
	defer cancel()
	select {
	case <-waits:
		return true
	case <-ctx.Done():
		return false
	}
}
