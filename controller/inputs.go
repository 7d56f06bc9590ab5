package controller

import (
	"time"

	"github.com/muster-scale/muster"
	"github.com/muster-scale/muster/metrics"
	"github.com/muster-scale/muster/worker/protocol"
)

// Input is an event with its instant: [Measured], [Listed], [Expected], [Metered], [Reported] or a pointer to one,
// [Stored], [Unread], [Resulted] or [Instructed].
type Input interface{ input() }

// Measured is a queue measurement. Its samples carry their instants.
type Measured struct{ muster.QueueObservation }

// Listed is a listing of the fleet's members, or the reason why the listing failed.
type Listed struct {
	muster.Listing
	// Failure is empty when the listing succeeded.
	Failure string
}

// Expected is the forecast of the messages that running trees will send, as read from the store of trees. While no tree
// runs, it is known and counts no tree.
type Expected struct{ muster.Expected }

// Metered holds the metrics of other systems that were read for the queries of [Settings.Reads].
type Metered struct {
	At time.Time
	// Series are sorted by key.
	Series []metrics.Series
	// Failure is empty if at least one could be read.
	Failure string
}

// Reported is a worker's report.
type Reported struct{ protocol.Report }

// Stored is a worker's report that was read from a store. It counts like any other but gets no answer. So it never
// permits its worker to be ended.
type Stored struct{ protocol.Report }

// Unread says why stored reports could not all be read; an empty Failure says that they were.
type Unread struct{ Failure string }

// Resulted is the result of an effect.
type Resulted struct {
	At time.Time
	// Effect is the effect's id.
	Effect string
	// Failure is empty when it succeeded.
	Failure string
}

// The marker methods keep other types out of a step: an unknown input would be ignored in silence.
func (Measured) input() {}
func (Listed) input()   {}
func (Expected) input() {}
func (Metered) input()  {}
func (Reported) input() {}
func (Stored) input()   {}
func (Unread) input()   {}
func (Resulted) input() {}

// Effect is an action on the fleet: [SetDesired], [End], [Protect], [Trim] or [HandOver]. Instructions to workers are
// no effects: they are read from the state as the answers to reports.
type Effect interface {
	// EffectID identifies the effect within the history; its [Resulted] has the same.
	EffectID() string
}

// SetDesired brings the fleet to a size.
type SetDesired struct{ muster.Order }

// EffectID implements [Effect].
func (e SetDesired) EffectID() string { return e.ID }

// End ends members that were released.
type End struct {
	ID      string   `json:"id"`
	Members []string `json:"members"`
}

// EffectID implements [Effect].
func (e End) EffectID() string { return e.ID }

// Protect protects members from the fleet's own service.
type Protect struct {
	ID      string   `json:"id"`
	Members []string `json:"members"`
}

// EffectID implements [Effect].
func (e Protect) EffectID() string { return e.ID }

// Trim ends machines of the fleet that host no member.
type Trim struct {
	ID string `json:"id"`
}

// EffectID implements [Effect].
func (e Trim) EffectID() string { return e.ID }

// HandOver gives a cloud's target tracking its metric and target. It changes no size, so its intent is not recorded. It
// is repeated every period. It has a [Resulted] only if it fails.
type HandOver struct{ muster.Handover }

// EffectID implements [Effect].
func (e HandOver) EffectID() string { return e.ID }
