package muster

import (
	"fmt"
	"time"

	"github.com/muster-scale/muster/internal/render"
)

// Drift lists the sizes of a fleet's own service that a person or a program other than Muster has set, between two
// writes of Muster. [Drift.Contested] tells when a second controller is the likely cause.
type Drift struct {
	// Changes are the newest ones, oldest first, at most [ContestedBy] within [DriftWindow].
	Changes []DriftChange `json:"changes"`
}

// DriftChange is one size that Muster did not set.
type DriftChange struct {
	// At is the time of the first listing that showed it.
	At time.Time `json:"at"`
	// From is the size before, To the size that was set, both in the units of the service.
	From int `json:"from"`
	To   int `json:"to"`
}

// A fleet is contested once its size was set ContestedBy times within DriftWindow. A person sets a size once or twice;
// a second controller repeats it.
const (
	ContestedBy = 3
	DriftWindow = 30 * time.Minute
)

// With returns the drift after one more change. d may be nil and is not changed.
func (d *Drift) With(c DriftChange) *Drift {
	next := &Drift{}
	if d = d.Since(c.At.Add(-DriftWindow)); d != nil {
		next.Changes = append(next.Changes, d.Changes[max(0, len(d.Changes)-ContestedBy+1):]...)
	}
	next.Changes = append(next.Changes, c)
	return next
}

// Since returns the changes at or after from; nil if there are none. d may be nil and is not changed.
func (d *Drift) Since(from time.Time) *Drift {
	if d == nil {
		return nil
	}
	for i, c := range d.Changes {
		if !c.At.Before(from) {
			if i == 0 {
				return d
			}
			return &Drift{Changes: d.Changes[i:]}
		}
	}
	return nil
}

// Contested tells whether another controller sizes the fleet. d may be nil.
func (d *Drift) Contested() bool { return d != nil && len(d.Changes) >= ContestedBy }

// Last returns the newest change, or the zero DriftChange if there is none. d may be nil.
func (d *Drift) Last() DriftChange {
	if d == nil || len(d.Changes) == 0 {
		return DriftChange{}
	}
	return d.Changes[len(d.Changes)-1]
}

// String renders the drift for a decision's trail; "none" for no drift. d may be nil.
func (d *Drift) String() string {
	if d == nil || len(d.Changes) == 0 {
		return "none"
	}
	c := d.Last()
	times := "once"
	if n := len(d.Changes); n > 1 {
		times = fmt.Sprintf("%d times", n)
	}
	return fmt.Sprintf(
		"something else has set the size %s within %s, at %s from %d to %d",
		times,
		render.Seconds(DriftWindow.Seconds()),
		c.At.UTC().Format("15:04:05"),
		c.From,
		c.To,
	)
}
