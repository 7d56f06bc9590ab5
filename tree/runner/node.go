package runner

import (
	"context"
	"errors"
	"sync"

	"github.com/muster-scale/muster/tree"
)

// The reasons for which work on a node is stopped. They are causes of its context.
var (
	// ErrParked means that the root was paused, because a limit is reached. The work starts anew when the root
	// continues.
	ErrParked = errors.New("the tree is paused")
	// ErrOver means that the node was settled by another worker, or its tree was cancelled: the result of this work is
	// not needed.
	ErrOver = errors.New("the node is settled already")
)

// Node is a node in progress. It is safe for use by several goroutines.
type Node struct {
	executor
	root tree.Root
	node tree.Node
	stop context.CancelCauseFunc

	mu sync.Mutex
	// named are children that are not registered yet. sent are nodes that were sent and not recorded as sent yet: the
	// next step records them.
	named []tree.Child
	sent  []tree.ID
	// over is set once no more children may be named, and says why. verdict then says what to do with the message; it
	// is empty if the attempt just failed.
	over    error
	verdict tree.Verdict
}

// nodeKey is the key of a context's value for [Of].
type nodeKey struct{}

// Of returns the node that the work of a context is for. It is false if the message names no node.
func Of(ctx context.Context) (*Node, bool) {
	n, ok := ctx.Value(nodeKey{}).(*Node)
	return n, ok
}

// Root returns the name of the tree.
func (n *Node) Root() string { return n.root.ID }

// ID returns the node's ID. It is the same for every attempt and every delivery, so it can serve as idempotency key.
func (n *Node) ID() tree.ID { return n.node.ID }

// Key returns the name that the node's parent gave it.
func (n *Node) Key() string { return n.node.Key }

// Attempt returns the number of this attempt, from 1.
func (n *Node) Attempt() int { return int(n.node.Attempts) }

// Depth returns the depth, 0 for the root node.
func (n *Node) Depth() int { return int(n.node.Depth) }

// DepthLeft returns how many levels of children are allowed. At 0 the work may name none and must do everything itself.
func (n *Node) DepthLeft() int { return max(0, n.root.Limits.Depth-int(n.node.Depth)) }

// Name names children. Full batches are registered and sent at once, the rest on Flush and when the work succeeds.
// Naming a child again is harmless. After an error the work should end; its context ends too.
func (n *Node) Name(ctx context.Context, children ...tree.Child) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, c := range children {
		if n.over != nil {
			return n.over
		}
		if err := c.Check(); err != nil {
			return n.end(err, "")
		}
		if n.named = append(n.named, c); len(n.named) == n.batch {
			if err := n.register(ctx); err != nil {
				return err
			}
		}
	}
	return n.over
}

// Flush registers and sends the named children.
func (n *Node) Flush(ctx context.Context) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.over != nil || len(n.named) == 0 {
		return n.over
	}
	return n.register(ctx)
}

// register registers one batch in the store and sends its messages. A crash between the two is repaired by the next
// attempt, because the children stay claimed by this node.
func (n *Node) register(ctx context.Context) error {
	batch := tree.Registration{Root: n.root, Parent: n.node.ID, Children: n.named, Sent: n.sent}
	o, err := n.step(ctx, batch.Want(),
		func(v tree.View) (tree.Change, tree.Outcome, error) { return tree.Register(v, batch) })
	switch {
	case errors.Is(err, tree.ErrSettled):
		return n.end(ErrOver, tree.Settled)
	case err != nil:
		return n.end(err, "")
	case o.Verdict == tree.Parked:
		return n.end(ErrParked, tree.Parked)
	}
	n.named, n.sent = nil, nil
	if err := n.send(ctx, o.Root, o.Send); err != nil {
		return n.end(err, "")
	}
	n.sent = idsOf(o.Send)
	return nil
}

// end refuses further children, and stops the work.
func (n *Node) end(err error, v tree.Verdict) error {
	n.over, n.verdict = err, v
	n.stop(err)
	return err
}

// close ends the naming. It returns the verdict if the message needs no further attempt, the nodes sent last, and the
// error of naming.
func (n *Node) close() (tree.Verdict, []tree.ID, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	over := n.over
	if n.over == nil {
		n.over = errors.New("name a child: the work on the node has ended")
	}
	return n.verdict, n.sent, over
}
