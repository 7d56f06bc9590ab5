package override

import (
	"fmt"
	"strings"
	"time"

	"github.com/muster-scale/muster/internal/render"
)

// Room is what a fleet can offer to a reservation, at the time when it is asked for.
type Room struct {
	At time.Time
	// Min and Max are the limits of the configuration. Affordable is how many workers its budget pays for; 0 for a
	// fleet without a budget.
	Min, Max, Affordable int
	// LaunchesPerHour bounds launches, and LastHour counts those of the past hour.
	LaunchesPerHour, LastHour int
	// Active counts the workers that exist and do not stop. Lead is how long before its begin a reservation launches.
	// InService counts those of them that take messages.
	Active, InService int
	Lead              time.Duration
	// Others are the present overrides.
	Others List
}

// Grant is what a reservation gets. Its numbers are a forecast: they hold if launches succeed and boot as they did.
type Grant struct {
	// Workers is how many workers the reservation holds, at most those asked for.
	Workers int `json:"workers"`
	// AtBegin is how many of them are in service when it begins.
	AtBegin int `json:"at_begin"`
	// LaunchAt is when launching begins. InServiceAt is when all Workers are in service.
	LaunchAt    time.Time `json:"launch_at"`
	InServiceAt time.Time `json:"in_service_at"`
	// Why says what reduced or delays the reservation; empty for one that is granted in full and in time.
	Why []string `json:"why,omitzero"`
}

// Grant computes what the reservation o gets. It is within the limits and the budget of the fleet, beside the
// reservations that overlap, and within the launches of an hour. The error matches [ErrRefused] if that is nothing.
func (r Room) Grant(o Override) (Grant, error) {
	due := later(r.At, o.Begin.Add(-r.Lead))
	g := Grant{LaunchAt: due}
	others, launching := r.overlapping(o, due)
	most := r.most(o, due)
	g.Workers = max(0, min(o.Workers, most-others))
	switch {
	case g.Workers == o.Workers:
	case r.Affordable > 0 && r.Affordable <= most:
		g.Why = append(g.Why, fmt.Sprintf("the budget pays for %d workers", r.Affordable))
	default:
		g.Why = append(g.Why, fmt.Sprintf("the maximum is %d", most))
	}
	if others > 0 && g.Workers < o.Workers {
		g.Why = append(g.Why, fmt.Sprintf("other reservations hold %d", others))
	}
	// The workers that exist now may be gone by a later begin; the minimum stays. Of those that exist, some still boot.
	there, serve := r.Min, r.Min
	if !due.After(r.At) {
		there, serve = r.Active, r.InService
	}
	there, serve = min(g.Workers, max(0, there-others)), min(g.Workers, max(0, serve-others))
	budget := r.LaunchesPerHour - launching
	if g.LaunchAt.Before(r.At.Add(time.Hour)) {
		budget -= r.LastHour
	}
	budget = max(0, budget)
	missing := g.Workers - there
	if missing > 0 { // a pause holds no launch back that is not needed
		g.LaunchAt = r.Others.unpaused(due)
	}
	ready := later(o.Begin, g.LaunchAt.Add(r.Lead))
	if g.LaunchAt.After(due) && ready.After(o.Begin) {
		g.Why = append(g.Why, "the fleet is paused until "+Clock(r.At, g.LaunchAt))
	}
	g.AtBegin, g.InServiceAt = serve, ready
	if missing > budget {
		// The rest is launched as the hours pass, as far as it comes before the end.
		hours := (missing - budget + r.LaunchesPerHour - 1) / r.LaunchesPerHour
		if left := int(o.End.Sub(ready) / time.Hour); hours > left {
			hours = max(0, left)
			g.Workers = min(g.Workers, there+budget+hours*r.LaunchesPerHour)
		}
		g.InServiceAt = ready.Add(time.Duration(hours) * time.Hour)
		g.Why = append(g.Why, fmt.Sprintf("%d launches an hour are allowed, %d are free", r.LaunchesPerHour, budget))
	}
	switch {
	case !ready.Before(o.End):
		g.Workers, g.InServiceAt = there, later(r.At, o.Begin)
		g.Why = append(g.Why, r.boots()+", and the end is sooner")
	case ready.After(o.Begin) && serve >= g.Workers:
		g.InServiceAt = later(r.At, o.Begin)
	case ready.After(o.Begin):
		g.Why = append(g.Why, r.boots()+", and the begin is sooner")
	default:
		g.AtBegin = min(g.Workers, there+budget)
	}
	if g.Workers == 0 {
		return g, fmt.Errorf("%w: no worker can be reserved: %s", ErrRefused, strings.Join(g.Why, "; "))
	}
	return g, nil
}

// unpaused returns the first instant from at on at which no pause holds the size.
func (l List) unpaused(at time.Time) time.Time {
	for range l { // each pause delays once at most
		for _, o := range l {
			if o.Kind == Pause && o.ActiveAt(at) {
				at = o.End
			}
		}
	}
	return at
}

// overlapping returns how many workers the other reservations hold during o, and how many of them are launched within
// an hour of the given time.
func (r Room) overlapping(o Override, launchAt time.Time) (workers, launching int) {
	for _, other := range r.Others {
		n := other.Granted()
		if n == 0 || other.ID == o.ID || !other.End.After(launchAt) || !o.End.After(other.Begin.Add(-r.Lead)) {
			continue
		}
		workers += n
		if at := later(r.At, other.Begin.Add(-r.Lead)); at.After(r.At) && at.Sub(launchAt).Abs() < time.Hour {
			launching += n
		}
	}
	return workers, launching
}

// most returns how many workers the fleet may have during o, which launches from the given time on.
func (r Room) most(o Override, from time.Time) int {
	high := r.Max
	for _, other := range r.Others {
		if other.Kind == Limits && other.End.After(from) && o.End.After(other.Begin) {
			_, h := List{other}.Limits(later(from, other.Begin), r.Min, r.Max)
			high = min(high, h)
		}
	}
	if r.Affordable > 0 {
		high = min(high, r.Affordable)
	}
	return high
}

// boots says how long a launch takes.
func (r Room) boots() string {
	return "a worker is in service " + render.Seconds(r.Lead.Round(time.Second).Seconds()) + " after its launch"
}

// later returns the later of two times.
func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}
