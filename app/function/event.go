package function

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/muster-scale/muster/app/opening"
	"github.com/muster-scale/muster/event"
)

// Evented is the answer of the function event.
type Evented struct {
	// Events counts the events of the payload, Repeated those among them that were seen before.
	Events   int `json:"events"`
	Repeated int `json:"repeated"`
	// Steps are the steps of the fleets that the events concern; none if they concern none.
	Steps
}

// events steps fleets for events.
type events struct {
	*stepper
	named []event.Fleet
	mu    sync.Mutex
	seen  event.Seen
}

// openEvent opens the function event. Its payload is what EventBridge, S3, SNS, or an SQS queue with such messages
// sends. An event carries no number: the step reads everything itself.
func openEvent(ctx context.Context, e environment) (invocation, error) {
	s, err := newStepper(ctx, e)
	if err != nil {
		return nil, err
	}
	x := &events{stepper: s}
	for _, f := range s.fleets {
		x.named = append(x.named, opening.Named(f.config))
	}
	return func(ctx context.Context, payload []byte) (any, error) { return x.take(ctx, payload) }, nil
}

// take steps the fleets that the new events of a payload concern. After a failure all events count as new, so that the
// repetition by Lambda steps again.
func (x *events) take(ctx context.Context, payload []byte) (Evented, error) {
	all := event.Read(payload)
	out := Evented{Events: len(all), Steps: Steps{Fleets: []Stepped{}}}
	now := time.Now()
	x.mu.Lock()
	all = slices.DeleteFunc(all, func(e event.Event) bool { return !x.seen.First(e.Key(), now) })
	x.mu.Unlock()
	out.Repeated = out.Events - len(all)
	names := event.Wakes(x.named, all...)
	for _, e := range all {
		x.env.Logger.Info("event", "kind", e.Kind, "id", e.ID, "subject", e.Subject, "wakes", len(names))
	}
	if len(names) == 0 {
		return out, nil
	}
	var err error
	out.Steps, err = x.step(ctx, func(f *sized) bool { return slices.Contains(names, f.config.Name) })
	if err == nil {
		err = x.afterOthers(ctx, out.Steps)
	}
	if err != nil {
		x.mu.Lock()
		x.seen = event.Seen{}
		x.mu.Unlock()
	}
	return out, err
}

// afterOthers steps the fleets again that another invocation was stepping: that one may have read the queues before the
// message came that the event tells of. A fleet that is stepped elsewhere once more has been read since.
func (x *events) afterOthers(ctx context.Context, done Steps) error {
	elsewhere := func(f *sized) bool {
		return slices.ContainsFunc(done.Fleets, func(s Stepped) bool { return s.Elsewhere && s.Fleet == f.config.Name })
	}
	if !slices.ContainsFunc(x.fleets, elsewhere) {
		return nil
	}
	again, err := x.step(ctx, elsewhere)
	for _, s := range again.Fleets {
		i := slices.IndexFunc(done.Fleets, func(d Stepped) bool { return d.Fleet == s.Fleet })
		done.Fleets[i] = s
	}
	return err
}
