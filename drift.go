package muster

import (
	"fmt"
	"time"

	"github.com/muster-scale/muster/internal/render"
)

// Drift is what others have made of the size of a fleet's own service: sizes that were set there between the writes of
// Muster, and that Muster did not set.
type Drift struct {
	// Changes are the newest of them, oldest first, at most [ContestedBy] within [DriftWindow].
	Changes []DriftChange `json:"changes"`
}

// DriftChange is one size that was set by others.
type DriftChange struct {
	// At is when the service was first seen with it.
	At time.Time `json:"at"`
	// From is the size before, To the one that was set, both in the units of the service.
	From int `json:"from"`
	To   int `json:"to"`
}

// A fleet is contested while its size was set by others so many times within the window. A person who sets a size does
// so once or twice; a second controller goes on.
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

// Since returns the drift from an instant on; nil for none. d may be nil and is not changed.
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

// Last returns the newest change; a zero one for none. d may be nil.
func (d *Drift) Last() DriftChange {
	if d == nil || len(d.Changes) == 0 {
		return DriftChange{}
	}
	return d.Changes[len(d.Changes)-1]
}

// String says the drift in words.
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
