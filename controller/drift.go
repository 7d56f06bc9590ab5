package controller

import (
	"slices"
	"time"

	"github.com/muster-scale/muster"
)

// written takes in that an effect has ended. A size that it has set is known, if the service takes it as it is stated.
func (st *State) written(x Resulted) {
	a := &st.aim
	a.resulted(x)
	a.known = false
	a.open = without(a.open, x.Effect)
	service := st.listed.Service
	if st.order == nil || st.order.ID != x.Effect || x.Failure != "" || service == nil || service.Set == nil ||
		*service.Set != service.Desired {
		return
	}
	if o := st.order; o.Total >= o.Desired && !o.Shrink {
		a.set, a.known = max(o.Total, service.Least), true
	}
}

// issued notes the effects of a step, until they have a result.
func (a *aim) issued(now time.Time, effects []Effect) {
	if len(a.open) > 0 && now.Sub(a.openAt) > OrderTimeout {
		a.open = nil
	}
	if len(effects) == 0 {
		return
	}
	a.open, a.openAt = slices.Clone(a.open), now
	for _, e := range effects {
		a.open = append(a.open, e.EffectID())
	}
}

func without(ids []string, id string) []string {
	if i := slices.Index(ids, id); i >= 0 {
		return slices.Delete(slices.Clone(ids), i, i+1)
	}
	return ids
}

// contest looks for sizes that others have set: the size of the fleet's own service changes while no effect of Muster
// is under way.
func (s *Settings) contest(st *State, now time.Time) {
	st.drift = st.drift.Since(now.Add(-muster.DriftWindow))
	l, a := &st.listed, &st.aim
	if s.Spec.Shadow || s.Spec.Delegate != nil || l.Service == nil || l.Service.Set == nil || l.Failure != "" {
		return
	}
	if len(a.open) > 0 || st.order != nil || l.At.Sub(a.changedAt) < settles || !l.At.After(a.seenAt) {
		return
	}
	set := *l.Service.Set
	if a.known && set != a.set {
		st.drift = st.drift.With(muster.DriftChange{At: l.At, From: a.set, To: set})
	}
	a.set, a.known, a.seenAt = set, true, l.At
}
