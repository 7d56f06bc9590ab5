package incident

import (
	"slices"
	"time"
)

// maxGap bounds the time between two steps that counts, so that a machine that slept neither opens nor ends anything.
const maxGap = 10 * time.Second

// Tracker turns conditions into incidents. The zero Tracker has seen nothing. It is a value and can be stored as JSON;
// a step never changes the Tracker that it was given.
type Tracker struct {
	// At is the time of the last step.
	At time.Time `json:"at,omitzero"`
	// Standing are the conditions that are watched, sorted by fleet, kind and subject; at most [MaxStanding].
	Standing []Standing `json:"standing,omitzero"`
	// Recent are the incidents that have ended, oldest first; at most [MaxRecent].
	Recent []Incident `json:"recent,omitzero"`
}

// Standing is a condition that is watched: it may become an incident, or is one.
type Standing struct {
	Incident
	// Stood is how long it was present, less how long it was not, before it opened. Away is for how long it has been
	// away without a break.
	Stood time.Duration `json:"stood_ns"`
	Away  time.Duration `json:"away_ns,omitzero"`
	// LastAt is when it was last present.
	LastAt time.Time `json:"last_at"`
}

// opened tells whether the condition became an incident.
func (s Standing) opened() bool { return !s.OpenedAt.IsZero() }

// Step returns the tracker after the view v, and the notices of what opened and ended, in the order of fleets. A clock
// that was set back counts as no time. Conditions of a fleet that is in v and not observed stay as they are, if they
// are about what is observed.
func (t Tracker) Step(v View) (Tracker, []Notice) {
	gap := min(max(0, v.At.Sub(t.At)), maxGap)
	if t.At.IsZero() {
		gap = 0
	}
	next := Tracker{At: v.At, Recent: t.Recent}
	rules, present := Rules(), v.Conditions()
	var notices []Notice
	for _, s := range t.Standing {
		i, found := slices.BinarySearchFunc(present, s.key(),
			func(c Condition, k key) int { return c.key().compare(k) })
		switch {
		case found:
			s.Condition = present[i]
			s.Stood, s.Away, s.LastAt = s.Stood+gap, 0, v.At
			present = slices.Delete(present, i, i+1)
		case v.unknown(s.Condition):
		case s.opened():
			s.Away += gap
		default:
			s.Stood -= gap
		}
		rule := ruleOf(rules, s.Kind)
		switch {
		case s.opened() && s.Away > 0 && s.Away >= rule.Away:
			s.EndedAt = s.LastAt
			next.Recent = append(slices.Clip(next.Recent), s.Incident)
			notices = append(notices, newNotice(s.Incident, Ended, v.At))
			continue
		case !s.opened() && s.Stood <= 0 && !found && !v.unknown(s.Condition):
			continue
		}
		next.Standing = append(next.Standing, s)
	}
	for _, c := range present {
		if len(next.Standing) < MaxStanding {
			next.Standing = append(next.Standing, Standing{Incident: Incident{ID: idOf(c, v.At), Condition: c,
				BeganAt: v.At}, LastAt: v.At})
		}
	}
	for i := range next.Standing {
		s := &next.Standing[i]
		if !s.opened() && s.LastAt.Equal(v.At) && s.Stood >= ruleOf(rules, s.Kind).After {
			s.OpenedAt = v.At
			notices = append(notices, newNotice(s.Incident, Opened, v.At))
		}
	}
	slices.SortFunc(next.Standing, func(a, b Standing) int { return a.key().compare(b.key()) })
	if more := len(next.Recent) - MaxRecent; more > 0 {
		next.Recent = slices.Clone(next.Recent[more:])
	}
	return next, notices
}

// unknown tells whether v cannot say if a condition is present: its fleet is not observed, and the condition is about
// what is observed.
func (v View) unknown(c Condition) bool {
	if c.Kind == FleetStopped || c.Kind == HistoryStuck {
		return false
	}
	return c.Fleet != "" && slices.ContainsFunc(v.Fleets,
		func(f Fleet) bool { return f.Name == c.Fleet && !f.Observed })
}

// Open returns the open incidents, by fleet, kind and subject.
func (t Tracker) Open() []Incident {
	open := []Incident{}
	for _, s := range t.Standing {
		if s.opened() {
			open = append(open, s.Incident)
		}
	}
	return open
}

// Restored returns the tracker that a restart continues with: open incidents stay open and are not told again, recent
// ones stay, and conditions that had not opened are forgotten.
func (t Tracker) Restored() Tracker {
	t.At = time.Time{}
	t.Standing = slices.DeleteFunc(slices.Clone(t.Standing), func(s Standing) bool { return !s.opened() })
	slices.SortFunc(t.Standing, func(a, b Standing) int { return a.key().compare(b.key()) })
	t.Standing = slices.CompactFunc(t.Standing, func(a, b Standing) bool { return a.key() == b.key() })
	for i := range t.Standing {
		t.Standing[i].Away = 0
	}
	return t
}
