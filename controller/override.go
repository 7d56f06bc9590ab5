package controller

import (
	"fmt"
	"time"

	"github.com/muster-scale/muster"
	"github.com/muster-scale/muster/override"
	"github.com/muster-scale/muster/policy"
	"github.com/muster-scale/muster/policy/instructed"
	"github.com/muster-scale/muster/roster"
)

// Instructed is a request of an operator about an override or, if Dismiss is set, to let one member finish and go.
type Instructed struct {
	At time.Time
	override.Request
	// Dismiss is the name of a member. It is replaced if the work needs it. Why is the operator's reason, or empty.
	Dismiss, Why string
}

func (Instructed) input() {}

// Overrides returns the overrides after the last step, also those that have not begun. The caller must not change them.
func (st *State) Overrides() override.List { return st.overrides }

// overridden changes an override and notes the change for the records.
func (st *State) overridden(seen *findings, c override.Change, now time.Time) {
	st.overrides, st.past = st.overrides.After(c), st.past.After(c, now)
	seen.overrides = append(seen.overrides, c)
}

// instruct ends the overrides whose time has come, and carries out the requests of the inputs in their order.
func (s *Settings) instruct(st *State, now time.Time, rules roster.Rules, boot muster.Estimate, seen *findings) {
	for _, o := range st.overrides.Ended(now) {
		st.overridden(seen, override.Change{What: override.Ended, Override: o}, now)
	}
	lead := instructed.Lead(muster.Observation{Poll: s.Poll, Boot: boot})
	for _, c := range st.overrides.Due(now, lead) {
		st.overridden(seen, c, now)
	}
	for i, in := range seen.instructed {
		a := override.Answer{}
		switch {
		case !s.ready(st):
			a.Err = fmt.Errorf("%w: the fleet was not read yet; ask again in a moment", override.ErrRefused)
		case s.Spec.Delegate != nil:
			a.Err = fmt.Errorf("%w: target tracking of the cloud sizes this fleet, and knows no overrides",
				override.ErrRefused)
		case in.Dismiss != "":
			a.Err = s.dismiss(st, now, rules, in.Dismiss)
			if a.Err == nil {
				seen.dismissed = append(seen.dismissed, in)
			}
		default:
			if answer, known := st.past.Answer(in.Request, now); known {
				a = answer
				break
			}
			room := s.room(st, now, rules, lead)
			// The position makes the id unique: every accepted override is a record.
			id := fmt.Sprintf("%s-%d", in.Add.Kind, st.Position.Seq+1+int64(i))
			c, changed, answer := st.overrides.CarryOut(in.Request, room, id)
			if a = answer; changed {
				st.overridden(seen, c, now)
			}
		}
		seen.answers = append(seen.answers, a)
	}
}

// dismiss asks a member to finish and go. The error matches [override.ErrUnknown] or [override.ErrRefused].
func (s *Settings) dismiss(st *State, now time.Time, rules roster.Rules, member string) error {
	if s.Unreported || s.Spec.Shadow {
		return fmt.Errorf("%w: Muster does not choose which members of this fleet end", override.ErrRefused)
	}
	switch refused, there := st.roster.Dismiss(member, now, rules); {
	case !there:
		return fmt.Errorf("%w: there is no member %.100q", override.ErrUnknown, member)
	case refused != "":
		return fmt.Errorf("%w: %s cannot be asked to finish: %s", override.ErrRefused, member, refused)
	}
	return nil
}

// dismissedBy names the members and reasons of requests for an observation.
func dismissedBy(requests []Instructed) (all []string) {
	for _, in := range requests {
		all = append(all, in.because(in.Dismiss))
	}
	return all
}

// because returns a text with the operator's reason behind it, if there is one.
func (in Instructed) because(text string) string {
	if in.Why == "" {
		return text
	}
	return text + ": " + in.Why
}

// dismissals lowers the desired size by the members that operators asked to go, as far as they are not needed.
func (w *write) dismissals(requests []Instructed) {
	for _, in := range requests {
		if !w.unsure() && w.state.desired > max(w.out.Observation.Limits.Min, w.out.Decision.Floor) {
			w.state.desired--
		}
		w.changed(in.Dismiss, roster.Dismissed, in.because("an operator asked it to finish and go"))
	}
}

// room returns what the fleet can offer to a reservation.
func (s *Settings) room(st *State, now time.Time, rules roster.Rules, lead time.Duration) override.Room {
	r := override.Room{At: now, Min: s.Limits.Min, Max: s.Limits.Max,
		LaunchesPerHour: s.Limits.LaunchesPerHour, LastHour: st.roster.Launches().LastHour,
		Others: st.overrides, Lead: lead}
	c := st.roster.Capacity(now, rules, s.Slots)
	r.Active, r.InService = c.Active(), c.InService()
	if s.Spec.BudgetPerHour > 0 && s.Spec.PricePerHour > 0 {
		r.Affordable = max(1, policy.Affordable(s.Spec.BudgetPerHour, s.Spec.PricePerHour))
	}
	return r
}

// useUp ends the reservations whose workers became busy, and completes the observation with the overrides.
func (s *Settings) useUp(st *State, now time.Time, o *muster.Observation, seen *findings) {
	if o.Capacity.Known {
		for _, used := range st.overrides.UsedUp(now, o.Capacity.Busy, o.Limits.Max) {
			st.overridden(seen, override.Change{What: override.UsedUp, Override: used}, now)
		}
	}
	o.Overrides = st.overrides
}

// limits returns the limits in force at now: those of the configuration, narrowed by overrides.
func (s *Settings) limits(st *State, now time.Time) muster.Limits {
	l := s.Limits
	l.Min, l.Max = st.overrides.Limits(now, l.Min, l.Max)
	return l
}
