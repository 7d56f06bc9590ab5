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
	// hookPatience is how long a worker that was released waits for the end of its machine, to complete the hook then.
	hookPatience = 15 * time.Minute
)

// ErrOthersWork means that other workers of the machine have not finished, so that it may not end yet.
var ErrOthersWork = errors.New("other workers of the machine have not finished")

// Hook is what keeps a machine that is to end until its worker has finished: the lifecycle hook of an Auto Scaling
// group. Package worker/autoscaling has one for a machine with one worker, and one for several that share it.
type Hook interface {
	// Extend keeps the machine for longer, and returns for how long from now on; 0 when that is not known. A machine
	// cannot be kept for ever: the calls then fail.
	Extend(ctx context.Context) (time.Duration, error)
	// Complete lets the machine end: this worker has finished, and needs it no more. It succeeds when nothing keeps the
	// machine any more. While other workers need it the error matches [ErrOthersWork], and it is called again every few
	// seconds: they may crash.
	Complete(ctx context.Context) error
}

// hooked is the hook of a run. It belongs to the goroutine of the run's loop.
type hooked struct {
	Hook
	log *slog.Logger
	// waiting is true once the machine waits for the worker.
	waiting bool
	calling bool
	// nextAt is when the next extension is due, until how long the last one keeps the machine; zero while unknown.
	nextAt, until time.Time
	fault         trouble.Trouble
}

// noticed begins to extend, when a machine waits for the worker.
func (h *hooked) noticed(n Notice) {
	if n.Waits && h.Hook != nil {
		h.waiting = true
	}
}

// advance makes the extension that is due, and stops the work when the machine will not be kept for longer.
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

// extended takes in how the extension ended that began at begun.
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

// last lets the machine end that waits for the worker. A worker that was released waits for that first, as long as
// hookPatience: the machine is ended because of it, and would wait in vain.
func (h *hooked) last(base, stop context.Context, r *runner) {
	if h.Hook == nil || !h.waiting && !r.awaitEnd(base, stop) {
		return
	}
	var err error
	for try := 1; try <= completeTries; try++ {
		err = h.complete(base, stop)
		switch {
		case err == nil:
			h.log.Info("the machine was told that it may end")
			return
		case errors.Is(err, ErrOthersWork):
			h.log.Info("the end of the machine is left to its other workers")
			return
		}
		if try < completeTries {
			<-time.After(hookPause)
		}
	}
	h.log.Error("the machine could not be told that it may end: it waits until its lifecycle hook times out", "err",
		err)
}

// complete lets the machine end once its other workers have finished or crashed; when stop ends, it waits for them no
// longer.
func (h *hooked) complete(base, stop context.Context) error {
	for waited := false; ; waited = true {
		ctx, cancel := context.WithTimeout(base, hookTimeout)
		err := h.Complete(ctx)
		cancel()
		if !errors.Is(err, ErrOthersWork) {
			return err
		}
		if !waited {
			h.log.Info("worker has finished, and waits for the others to let their machine end")
		}
		select {
		case <-stop.Done():
			return err
		case <-time.After(hookPause):
		}
	}
}

// awaitEnd waits until the machine waits for the worker; false when it does not, or when stop ends.
func (r *runner) awaitEnd(base, stop context.Context) bool {
	if stop.Err() != nil || len(r.Notices) == 0 || r.Reporter == nil || r.MachineShared {
		return false
	}
	r.log.Info("worker has left, and waits to let its machine end", "at_most", hookPatience)
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
