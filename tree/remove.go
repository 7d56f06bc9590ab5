package tree

import (
	"context"
	"fmt"
	"time"
)

// ErrRemoved says that the tree of a message was removed. Nobody waits for the work on its nodes, and their messages
// can go.
var ErrRemoved = fmt.Errorf("the tree was removed: %w", ErrSettled)

// Eraser is a [Store] that can forget nodes.
type Eraser interface {
	// Erase forgets the nodes of a root that was removed. What is broken off can be done again.
	Erase(ctx context.Context, root string) error
}

// Remove takes leave of a root that has ended. What stays is its name, so that messages that are still in a queue are
// known to be over; its nodes are then to be erased, and [Erased] says so. With force the end need not have been
// announced. Removing one that is removed changes nothing.
func Remove(v View, force bool, at time.Time) (Change, error) {
	switch r := v.Root; {
	case r.State == Removed:
		return Change{}, nil
	case r.ID == "":
		return Change{}, ErrNoRoot
	case !r.Ended():
		return Change{}, refuse(r, "remove")
	case r.Pending != "" && !force:
		return Change{}, fmt.Errorf("remove the tree %s: the end of its round %d was not announced yet: %w", r.ID,
			r.Round, ErrState)
	}
	r := v.Root
	left := Counts{Created: r.Counts.Created, Done: r.Counts.Created} // to be erased
	return Change{Root: Root{ID: r.ID, Queue: r.Queue, State: Removed, Counts: left, Round: r.Round,
		SubmittedAt: r.SubmittedAt, FinishedAt: at}}, nil
}

// Erased takes down that the nodes of a removed root are gone: its name is free again.
func Erased(v View) (Change, error) {
	if v.Root.State != Removed {
		return Change{}, refuse(v.Root, "forget")
	}
	v.Root.Counts = Counts{}
	return Change{Root: v.Root}, nil
}
