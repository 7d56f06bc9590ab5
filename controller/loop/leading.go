package loop

import (
	"context"
	"time"
)

// lastCalls is how long calls that act may go on after the loop was told to stop, as long as this controller leads. A
// call that is cut off in the middle may still reach the fleet later, when another controller has taken over.
const lastCalls = 2 * time.Second

// acting returns the context for a call that acts for the fleet. It ends when the lease ends; each renewal of the lease
// prolongs it. With a lease it outlives ctx by up to lastCalls, so that calls end in order. stop releases it.
func (l *Loop) acting(ctx context.Context) (acting context.Context, stop context.CancelFunc) {
	if l.o.Leads == nil {
		return ctx, func() {}
	}
	acting, stop = context.WithCancel(context.WithoutCancel(ctx))
	l.running.Go(func() {
		stopping := ctx.Done()
		var last <-chan time.Time
		for {
			until, ok := l.o.Leads()
			if !ok {
				stop()
				return
			}
			timer := time.NewTimer(time.Until(until))
			select {
			case <-timer.C:
			case <-stopping:
				stopping, last = nil, time.After(lastCalls)
			case <-last:
				stop()
			case <-acting.Done():
			}
			timer.Stop()
			if acting.Err() != nil {
				return
			}
		}
	})
	return acting, stop
}
