package app

import (
	"context"
	"slices"
	"sync"

	"github.com/muster-scale/muster/app/opening"
	"github.com/muster-scale/muster/event"
	"github.com/muster-scale/muster/event/receiver"
	"github.com/muster-scale/muster/server"
)

// This file receives the events of the queues in the configuration, and wakes the fleets that they concern. A failure
// of a queue never stops the sizing of a fleet.

// receiveEvents receives from the queues of events until ctx ends. It never fails: a queue that cannot be received is a
// fault, and is tried again.
func (a *App) receiveEvents(ctx context.Context) {
	failures := &eventFailures{faults: &a.faults, texts: make([]string, len(a.config.Events))}
	var all sync.WaitGroup
	for i, e := range a.config.Events {
		url := e.Queue.URL
		client, err := receiver.Client(ctx, url, nil)
		if err != nil {
			failures.set(i, err)
			continue
		}
		r := receiver.New(receiver.Options{URL: url, Queue: client, Wake: a.wakeFor, Logger: a.options.Logger,
			Repeated: func(e event.Event) { a.metrics.CountEvent(e.Kind, server.EventRepeated) },
			Failed:   func(err error) { failures.set(i, err) }})
		all.Go(func() { r.Run(ctx) })
	}
	all.Wait()
}

// eventRoute takes events in the forms of AWS by HTTP.
func (a *App) eventRoute() server.Route {
	h := receiver.NewEndpoint(a.wakeFor, func(e event.Event) { a.metrics.CountEvent(e.Kind, server.EventRepeated) })
	return server.Route{Pattern: "POST /v1/events/aws", Serve: h.ServeHTTP}
}

// wakeFor wakes the fleets that events concern.
func (a *App) wakeFor(events ...event.Event) {
	fleets, served := a.fleets.named(), a.fleets.served()
	for _, name := range event.Wakes(fleets, events...) {
		served[name].Wake()
	}
	for _, e := range events {
		result := server.EventWoke
		if len(event.Wakes(fleets, e)) == 0 {
			result = server.EventConcernsNone
		}
		a.metrics.CountEvent(e.Kind, result)
	}
}

// named returns the fleets by the names that events use, sorted by name.
func (f *fleets) named() (all []event.Fleet) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, p := range f.phases {
		own := f.all[p.Name]
		if own == nil || own.serves == nil {
			continue // it polls when it starts
		}
		one := opening.Named(p.InForce)
		if last, ok := own.serves.Last(); ok {
			one.Has = last.Next.Has
		}
		all = append(all, one)
	}
	return all
}

// eventFailures joins the failures of several queues of events to one fault.
type eventFailures struct {
	faults *faults
	mu     sync.Mutex
	texts  []string
}

// set records the failure of the i-th queue; nil removes it.
func (x *eventFailures) set(i int, err error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.texts[i] = ""; err != nil {
		x.texts[i] = err.Error() + "; fleets are polled at their intervals meanwhile"
	}
	first := slices.IndexFunc(x.texts, func(t string) bool { return t != "" })
	if first < 0 {
		x.faults.set(eventFault, "")
		return
	}
	x.faults.set(eventFault, x.texts[first])
}
