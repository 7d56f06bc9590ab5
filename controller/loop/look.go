package loop

import (
	"context"
	"sync"

	"github.com/muster-scale/muster"
	"github.com/muster-scale/muster/controller"
	"github.com/muster-scale/muster/worker/protocol"
)

// look starts a look at the queues and the fleet, if the shell says so.
func (l *Loop) look(ctx context.Context, now bool) {
	if !now {
		return
	}
	o := l.o // a copy: the settings may change meanwhile
	if l.shell.Full() {
		o.Stored = nil // read again once what waits can be taken
	}
	l.running.Go(func() {
		in := see(ctx, o)
		select {
		case l.looked <- in:
		case <-ctx.Done():
		}
	})
}

// see measures every queue, lists the fleet and reads what there is beside, side by side and within a time that is
// shorter than what is seen stays fresh.
func see(ctx context.Context, o Options) []controller.Input {
	ctx, stop := context.WithTimeout(ctx, o.Settings.LookTimeout())
	defer stop()
	in := make([]controller.Input, len(o.Sources)+1, len(o.Sources)+3)
	var all sync.WaitGroup
	beside := o.beside(ctx, &all)
	for i, source := range o.Sources {
		all.Go(func() {
			q, err := source.Observe(ctx)
			if err != nil {
				lost := muster.Unknown(clock(), err.Error())
				q = muster.QueueObservation{Backlog: lost, InFlight: lost, Delayed: lost, OldestAge: lost}
			}
			q.Queue = o.Settings.Queues[i]
			in[i] = controller.Measured{QueueObservation: q}
		})
	}
	listing, err := o.Fleet.Members(ctx)
	listed := controller.Listed{Listing: listing}
	if err != nil {
		listed.Failure = err.Error()
	}
	in[len(in)-1] = listed
	all.Wait()
	return append(in, beside()...)
}

// beside begins to read what there is beside queues and fleet, as one of all: the trees, the reports that workers keep
// elsewhere, and the metrics that others keep if the policy needs any. The function that it returns tells what came of
// it once all are done.
func (o Options) beside(ctx context.Context, all *sync.WaitGroup) func() []controller.Input {
	var expected muster.Expected
	if o.Trees != nil {
		all.Go(func() { expected = o.Trees(ctx) })
	}
	var metered controller.Metered
	queries := o.Settings.Reads()
	meters := o.Meter != nil && len(queries) > 0
	if meters {
		all.Go(func() {
			series, err := o.Meter.Metrics(ctx, queries)
			if metered = (controller.Metered{At: clock(), Series: series}); err != nil {
				metered.Failure = err.Error()
			}
		})
	}
	stored := func() []controller.Input { return nil }
	if o.Stored != nil {
		stored = o.stored(ctx, all)
	}
	return func() (in []controller.Input) {
		in = stored()
		if o.Trees != nil {
			in = append(in, controller.Expected{Expected: expected})
		}
		if meters {
			in = append(in, metered)
		}
		return in
	}
}

// stored begins to read the reports that workers keep, as one of all. The function that it returns tells what came of
// it once all are done.
func (o Options) stored(ctx context.Context, all *sync.WaitGroup) func() []controller.Input {
	var reports []protocol.Report
	var unread controller.Unread
	all.Go(func() {
		var err error
		if reports, err = o.Stored(ctx); err != nil {
			unread.Failure = err.Error()
		}
	})
	return func() []controller.Input {
		in := []controller.Input{unread}
		for _, r := range reports {
			in = append(in, controller.Stored{Report: r})
		}
		return in
	}
}
