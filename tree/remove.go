package tree

import (
	"context"
	"fmt"
	"time"
)

// ErrRemoved means that the tree of a message was removed: the message can be deleted without work.
var ErrRemoved = fmt.Errorf("the tree was removed: %w", ErrSettled)

// Eraser is a [Store] that can delete nodes.
type Eraser interface {
	// Erase deletes the nodes of a removed root. An interrupted call can be repeated.
	Erase(ctx context.Context, root string) error
}

// Remove marks an ended root as removed. Its name stays, so that messages still in a queue are recognised; the caller
// then erases the nodes and calls [Erased]. Without force, the end must have been announced. Removing a removed root
// changes nothing.
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
	left := Counts{Created: r.Counts.Created, Done: r.Counts.Created} // not zero until Erased: the name is still taken
	return Change{Root: Root{ID: r.ID, Queue: r.Queue, State: Removed, Counts: left, Round: r.Round,
		SubmittedAt: r.SubmittedAt, FinishedAt: at}}, nil
}

// Erased records that the nodes of a removed root are gone: its name is free again.
func Erased(v View) (Change, error) {
	if v.Root.State != Removed {
		return Change{}, refuse(v.Root, "forget")
	}
	v.Root.Counts = Counts{}
	return Change{Root: v.Root}, nil
}
