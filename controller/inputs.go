package controller

import (
	"time"

	"github.com/muster-scale/muster"
	"github.com/muster-scale/muster/metrics"
	"github.com/muster-scale/muster/worker/protocol"
)

// Input is something that happened, with its instant: [Measured], [Listed], [Expected], [Metered], [Reported], a
// pointer to one, [Stored], [Unread] or [Resulted].
type Input interface{ input() }

// Measured is a queue measurement. Its samples carry their instants.
type Measured struct{ muster.QueueObservation }

// Listed is a listing of the fleet's members, or the reason why there is none.
type Listed struct {
	muster.Listing
	// Failure is empty when the listing succeeded.
	Failure string
}

// Expected is what running trees are expected to send to the fleet's queues, as a look at the trees found it. It is
// known and of no tree while none runs.
type Expected struct{ muster.Expected }

// Metered is what was read of metrics that others keep: those of [Settings.Reads].
type Metered struct {
	At time.Time
	// Series are sorted by key.
	Series []metrics.Series
	// Failure is empty when anything could be read.
	Failure string
}

// Reported is a worker's report.
type Reported struct{ protocol.Report }

// Stored is a worker's report that was read from where the worker keeps it. It counts like any other, but nobody
// answers it: so it never says that its worker may be ended.
type Stored struct{ protocol.Report }

// Unread says that stored reports could not be read, or not all, and why; with an empty Failure that they were.
type Unread struct{ Failure string }

// Resulted is how an effect ended.
type Resulted struct {
	At time.Time
	// Effect is the effect's id.
	Effect string
	// Failure is empty when it succeeded.
	Failure string
}

func (Measured) input() {}
func (Listed) input()   {}
func (Expected) input() {}
func (Metered) input()  {}
func (Reported) input() {}
func (Stored) input()   {}
func (Unread) input()   {}
func (Resulted) input() {}

// Effect is something to do to the fleet: [SetDesired], [End], [Protect], [Trim] or [HandOver]. What workers are told
// is no effect of its own: it is read from the state, as the answer to their reports.
type Effect interface {
	// EffectID names the effect within the history; its [Resulted] carries the same.
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

// Trim ends machines of the fleet that hold no member.
type Trim struct {
	ID string `json:"id"`
}

// EffectID implements [Effect].
func (e Trim) EffectID() string { return e.ID }

// HandOver tells a cloud's target tracking what it needs. It changes no size, so that its intent is not recorded; it is
// given again at every period. Only one that fails has a [Resulted].
type HandOver struct{ muster.Handover }

// EffectID implements [Effect].
func (e HandOver) EffectID() string { return e.ID }
