package tree

import (
	"context"
	"errors"
	"fmt"
)

// The reasons for which a step is refused.
var (
	// ErrNoRoot and ErrNoNode say that the store does not know what a message names.
	ErrNoRoot = errors.New("the tree is not in the store")
	ErrNoNode = errors.New("the node is not in the store")
	// ErrSettled says that a node is done, failed or cancelled, so that nothing may be added to it. The work on it can
	// stop.
	ErrSettled = errors.New("the node is settled already")
	// ErrDepth says that a node named children where the depth is used up.
	ErrDepth = errors.New("the depth is used up: this node is to go on sequentially, by itself")
	// ErrState says that a root's state does not allow what was asked.
	ErrState = errors.New("the state of the tree does not allow that")
)

// Want says what a step reads of one root.
type Want struct {
	Root string
	// IDs are the nodes wanted, each once; at most 2 * [MaxBatch] + 1.
	IDs []ID
	// Waiting asks for at most so many waiting nodes, in an order that passes none over for ever.
	Waiting int
	// Claimer asks for the nodes claimed by it, at most [MaxBatch]; nil for none.
	Claimer *ID
}

// View is what a step reads, all of one instant.
type View struct {
	// Root is the zero Root when there is none.
	Root Root
	// Nodes are those of Want.IDs, in that order. One that is not there has its ID and is [Absent].
	Nodes []Node
	// Waiting and Claimed are what Want asks for. Which claimed nodes come first does not matter.
	Waiting, Claimed []Node
}

// Change is what a step wants kept. One whose root has no ID changes nothing.
type Change struct {
	Root Root
	// Nodes are new nodes and new values of nodes, each once; at most 3 * [MaxBatch] + 1.
	Nodes []Node
}

// Filter says which nodes of a root to list.
type Filter struct {
	// States are the states wanted; none means all.
	States []State
	// After is the node that the list goes on after; the zero ID begins it.
	After ID
	// Limit is the largest number of nodes: 1 to [MaxBatch].
	Limit int
}

// Bounded is a [Store] that keeps less in one step than others can.
type Bounded interface {
	// Batch returns the most children in one registration, and the most nodes in other lists: 1 to [MaxBatch].
	Batch() int
}

// Store keeps roots and nodes. Implementations are safe for use by several goroutines, and by several processes where
// they say so, unless they say otherwise.
type Store interface {
	// Step calls step with what is wanted and keeps the change it returns: all of it or, after an error, nothing of it.
	// Nobody else changes the same root meanwhile, or step is called again with what is there then; so step has no
	// effect but its result. After a failure of the store itself the change may have been kept.
	Step(ctx context.Context, want Want, step func(View) (Change, error)) error
	// Roots returns all roots but those that are removed, sorted by ID.
	Roots(ctx context.Context) ([]Root, error)
	// Nodes lists nodes of a root, sorted by ID.
	Nodes(ctx context.Context, root string, f Filter) ([]Node, error)
}

// Check says what is wrong with what is wanted.
func (w Want) Check() error {
	if most := 2*MaxBatch + 1; len(w.IDs) > most || w.Waiting < 0 || w.Waiting > MaxBatch {
		return fmt.Errorf("read a tree: found %d nodes and %d waiting ones wanted, at most %d and %d are allowed",
			len(w.IDs), w.Waiting, most, MaxBatch)
	}
	return nil
}

// Check says what is wrong with the filter.
func (f Filter) Check() error {
	if f.Limit < 1 || f.Limit > MaxBatch {
		return fmt.Errorf("list nodes: found a limit of %d, allowed is 1 to %d", f.Limit, MaxBatch)
	}
	return nil
}
