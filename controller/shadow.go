package controller

import (
	"encoding/json"
	"time"

	"github.com/muster-scale/muster"
	"github.com/muster-scale/muster/roster"
)

// Shadow mode: another system sizes the fleet, and Muster only records what it would do.

// adoptSize takes the present size of a fleet in shadow mode as its desired size. The desired size of the other system
// is not known in any other way.
func (s *Settings) adoptSize(st *State, now time.Time, rules roster.Rules) {
	st.roster.Forgive()
	st.desired, st.adopted = st.roster.Capacity(now, rules, s.Slots).Live(), true
	st.order, st.orderRecalled = nil, false
}

// keepAll keeps every worker, because Muster does not size this fleet. A worker that is ready to stop is told to work.
func (w *write) keepAll(why string) {
	for _, id := range w.state.roster.KeepAll() {
		w.changed(id, roster.Kept, why)
	}
}

// estimateBusy estimates the busy slots of members that do not report. Until now all their slots count as busy; the
// number of messages in flight bounds that, if it is known.
func estimateBusy(o muster.Observation) muster.Capacity {
	c := o.Capacity
	if n, known := o.InFlight().Count(); known && c.SlotsPerWorker > 0 && n < c.BusySlots {
		idle := min(c.Busy, int(float64(c.BusySlots-n)/c.SlotsPerWorker))
		c.BusySlots, c.Busy, c.Idle = n, c.Busy-idle, c.Idle+idle
	}
	return c
}

// inShadow tells whether a recorded decision was made in shadow mode.
func inShadow(r muster.Record) bool {
	var spec struct {
		Shadow bool `json:"shadow"`
	}
	return json.Unmarshal(r.Shared, &spec) == nil && spec.Shadow
}
