package controller

import (
	"encoding/json"
	"time"

	"github.com/muster-scale/muster"
	"github.com/muster-scale/muster/roster"
)

// follow takes the size of a fleet that another system sizes as it is: that is what it asked for, as far as anybody
// here knows.
func (s *Settings) follow(st *State, now time.Time, rules roster.Rules) {
	st.roster.Forgive()
	st.desired, st.adopted = st.roster.Capacity(now, rules, s.Slots).Live(), true
	st.order, st.again = nil, false
}

// keepAll keeps every worker: they are not Muster's to let go. One that offers to leave is told to go on.
func (w *write) keepAll(why string) {
	for _, id := range w.state.roster.KeepAll() {
		w.changed(id, roster.Kept, why)
	}
}

// supposed takes the slots of members that do not report to be busy with the messages in flight that no other worker
// can hold, as far as it is known how many those are.
func supposed(o muster.Observation) muster.Capacity {
	c := o.Capacity
	if n, known := o.InFlight().Count(); known && c.SlotsPerWorker > 0 && n < c.BusySlots {
		idle := min(c.Busy, int(float64(c.BusySlots-n)/c.SlotsPerWorker))
		c.BusySlots, c.Busy, c.Idle = n, c.Busy-idle, c.Idle+idle
	}
	return c
}

// watched tells whether a recorded decision was made for a fleet that another system sized.
func watched(r muster.Record) bool {
	var spec struct {
		Shadow bool `json:"shadow"`
	}
	return json.Unmarshal(r.Shared, &spec) == nil && spec.Shadow
}
