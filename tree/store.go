package tree

import (
	"context"
	"errors"
	"fmt"
)

// The reasons for which a step is refused.
var (
	// ErrNoRoot and ErrNoNode mean that the store does not have the root or node of a message.
	ErrNoRoot = errors.New("the tree is not in the store")
	ErrNoNode = errors.New("the node is not in the store")
	// ErrSettled means that a node is done, failed or cancelled: it accepts no children, and the work on it can stop.
	ErrSettled = errors.New("the node is settled already")
	// ErrDepth means that a node at the depth limit named children.
	ErrDepth = errors.New("the tree's limit of depth is reached: the work on this node must go on sequentially, " +
		"without naming children")
	// ErrState means that a root's state does not allow an operation.
	ErrState = errors.New("the state of the tree does not allow that")
)

// Want is the input that a step needs of one root.
type Want struct {
	Root string
	// IDs are the nodes to read, each once; at most 2 * [MaxBatch] + 1.
	IDs []ID
	// Waiting is the number of waiting nodes to read, at most [MaxBatch]. The order must pass over no node for ever.
	Waiting int
	// Claimer selects the nodes claimed by it, at most [MaxBatch]; nil selects none.
	Claimer *ID
}

// View is the input of a step, all read at one instant.
type View struct {
	// Root is the zero Root if there is none.
	Root Root
	// Nodes are the nodes of Want.IDs, in that order. A node that does not exist has its ID and the state [Absent].
	Nodes []Node
	// Waiting and Claimed are the nodes that Want selects. The order of claimed nodes does not matter.
	Waiting, Claimed []Node
}

// Change is what a step stores. A change whose root has no ID stores nothing.
type Change struct {
	Root Root
	// Nodes are new nodes and new values of nodes, each once; at most 3 * [MaxBatch] + 1.
	Nodes []Node
}

// Filter selects the nodes of a root to list.
type Filter struct {
	// States are the selected states; none means all.
	States []State
	// After is the ID after which the list continues; the zero ID starts it.
	After ID
	// Limit is the largest number of nodes: 1 to [MaxBatch].
	Limit int
}

// Bounded is a [Store] with a smaller bound on one step than [MaxBatch].
type Bounded interface {
	// Batch returns the most children in one registration, and the most nodes in other lists: 1 to [MaxBatch].
	Batch() int
}

// Store keeps roots and nodes. Implementations are safe for use by several goroutines, and by several processes where
// they say so, unless they say otherwise.
type Store interface {
	// Step calls step with the view of want and stores the change it returns: all of it or, after an error, nothing. No
	// other step changes the same root meanwhile; a store may instead call step again with a newer view. So step must
	// have no effect but its result. After a failure of the store itself the change may have been stored.
	Step(ctx context.Context, want Want, step func(View) (Change, error)) error
	// Roots returns all roots except the removed ones, sorted by ID.
	Roots(ctx context.Context) ([]Root, error)
	// Nodes lists nodes of a root, sorted by ID.
	Nodes(ctx context.Context, root string, f Filter) ([]Node, error)
}

// Check returns an error if want exceeds the bounds.
func (w Want) Check() error {
	if most := 2*MaxBatch + 1; len(w.IDs) > most || w.Waiting < 0 || w.Waiting > MaxBatch {
		return fmt.Errorf("read a tree: found %d nodes and %d waiting ones wanted, at most %d and %d are allowed",
			len(w.IDs), w.Waiting, most, MaxBatch)
	}
	return nil
}

// Check returns an error if the limit is out of range.
func (f Filter) Check() error {
	if f.Limit < 1 || f.Limit > MaxBatch {
		return fmt.Errorf("list nodes: found a limit of %d, allowed is 1 to %d", f.Limit, MaxBatch)
	}
	return nil
}
