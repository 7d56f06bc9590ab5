package loop

import (
	"context"
	"errors"

	"github.com/muster-scale/muster/controller"
)

// execute carries out an effect beside the loop. Ending members has its own lane, so that a slow release never delays a
// launch.
func (l *Loop) execute(ctx context.Context, e controller.Effect) {
	l.running.Go(func() {
		limited, stop := context.WithTimeout(ctx, controller.OrderTimeout)
		defer stop()
		err := l.carryOut(limited, e)
		if _, quiet := e.(controller.HandOver); quiet && err == nil {
			return
		}
		result := controller.Resulted{At: clock(), Effect: e.EffectID()}
		if err != nil {
			result.Failure = err.Error()
		}
		select {
		case l.results <- result:
		case <-ctx.Done():
		}
	})
}

// carryOut does what an effect says.
func (l *Loop) carryOut(ctx context.Context, e controller.Effect) error {
	switch e := e.(type) {
	case controller.SetDesired:
		return l.o.Fleet.SetDesired(ctx, e.Order)
	case controller.End:
		return l.end(ctx, e)
	case controller.Protect:
		return l.protect(ctx, e)
	case controller.Trim:
		return l.trim(ctx)
	case controller.HandOver:
		return l.handOver(ctx, e)
	}
	return nil
}

func (l *Loop) end(ctx context.Context, e controller.End) error {
	if l.o.Releaser == nil {
		return errors.New("this fleet cannot end members; they have to leave by themselves")
	}
	if !l.ending.CompareAndSwap(false, true) {
		return errors.New("the members ended before are still ending")
	}
	defer l.ending.Store(false)
	return l.o.Releaser.End(ctx, e.Members)
}

func (l *Loop) protect(ctx context.Context, e controller.Protect) error {
	if l.o.Protector == nil {
		return errors.New("this fleet cannot protect members")
	}
	return l.o.Protector.Protect(ctx, e.Members)
}

func (l *Loop) trim(ctx context.Context) error {
	if l.o.Trimmer == nil {
		return errors.New("this fleet cannot end machines")
	}
	return l.o.Trimmer.Trim(ctx)
}

// handOver says what went wrong, because nothing else shows it.
func (l *Loop) handOver(ctx context.Context, e controller.HandOver) error {
	err := errors.New("nothing here can hand a fleet over")
	if l.o.Delegator != nil {
		err = l.o.Delegator.HandOver(ctx, e.Handover)
	}
	if err != nil && ctx.Err() == nil {
		l.o.Logger.Warn("handing the fleet over to target tracking failed, and is tried again", "fleet",
			l.o.Settings.Fleet, "error", err)
	}
	return err
}
