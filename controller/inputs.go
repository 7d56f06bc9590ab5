package controller

import (
	"time"

	"github.com/muster-scale/muster"
)

// Input is something that happened, with its instant: [Measured], [Listed], [Expected], [Reported], a pointer to one, or
// [Resulted].
type Input interface{ input() }

// Measured is a queue measurement. Its samples carry their instants.
type Measured struct{ muster.QueueObservation }

// Listed is a listing of the fleet's members, or the reason why there is none.
type Listed struct {
	muster.Listing
	// Failure is empty when the listing succeeded.
	Failure string
}

// Expected is what running trees are expected to send to the fleet's queues, as a look at the trees found it. It is known and
// of no tree while none runs.
type Expected struct{ muster.Expected }

// Reported is a worker's report.
type Reported struct{ muster.Report }

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
func (Reported) input() {}
func (Resulted) input() {}

// Effect is something to do to the fleet: [SetDesired], [End] or [Protect]. What workers are told is no effect of its own: it is read
// from the state, as the answer to their reports.
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
