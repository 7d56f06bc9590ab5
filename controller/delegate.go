package controller

import (
	"fmt"
	"time"

	"github.com/muster-scale/muster"
	"github.com/muster-scale/muster/policy"
)

// handEvery is how often a fleet is handed over where nothing else is configured.
const handEvery = time.Minute

// handed is what was last handed over.
type handed struct {
	at     time.Time
	target float64
}

// tracked takes the size from the fleet's own service, which a cloud's target tracking sets.
func (s *Settings) tracked(st *State) {
	if s.Spec.Delegate != nil && st.listed.Service != nil {
		st.desired, st.adopted = st.listed.Service.Desired, true
	}
}

// handOver tells a cloud's target tracking what it needs, at every period and when the target moves.
func (w *write) handOver() {
	target := policy.TargetOf(w.out.Decision)
	every := w.settings.HandEvery
	if every <= 0 {
		every = handEvery
	}
	last := w.state.handed
	if age := w.now().Sub(last.at); target == last.target && age >= 0 && age < every {
		return
	}
	w.state.handed = handed{w.now(), target}
	id := fmt.Sprintf("%s.handover.%d", w.settings.Fleet, w.now().UnixMilli())
	w.out.Effects = append(w.out.Effects, HandOver{muster.HandoverOf(id, w.out.Observation, target)})
}
