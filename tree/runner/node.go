package runner

import (
	"context"
	"errors"
	"sync"

	"github.com/muster-scale/muster/tree"
)

// The reasons for which work on a node is stopped: they are causes of its context.
var (
	// ErrParked says that the root was paused, because a limit is reached. The work is begun anew when the root goes
	// on.
	ErrParked = errors.New("the tree is paused")
	// ErrOver says that the node was settled elsewhere, or its tree cancelled: nobody waits for this work.
	ErrOver = errors.New("the node is settled already")
)

// Node is a node in work. It is safe for use by several goroutines.
type Node struct {
	desk
	root tree.Root
	node tree.Node
	stop context.CancelCauseFunc

	mu sync.Mutex
	// named waits to be registered; sent was sent and nobody took it down yet.
	named []tree.Child
	sent  []tree.ID
	// over is why nothing more may be named, and verdict what then becomes of the message.
	over    error
	verdict tree.Verdict
}

type nodeKey struct{}

// Of returns the node that a context's work is for. It is false when the message names no node.
func Of(ctx context.Context) (*Node, bool) {
	n, ok := ctx.Value(nodeKey{}).(*Node)
	return n, ok
}

// Root returns the name of the tree.
func (n *Node) Root() string { return n.root.ID }

// ID returns the node's ID. It is the same for every attempt and every delivery, and so serves as idempotency key.
func (n *Node) ID() tree.ID { return n.node.ID }

// Key returns the name that the node's parent gave it.
func (n *Node) Key() string { return n.node.Key }

// Attempt counts from 1.
func (n *Node) Attempt() int { return int(n.node.Attempts) }

// Depth counts from 0, the root node's.
func (n *Node) Depth() int { return int(n.node.Depth) }

// DepthLeft returns how much deeper children may lie. At 0 the work may name none, and goes on sequentially by itself.
func (n *Node) DepthLeft() int { return max(0, n.root.Limits.Depth-int(n.node.Depth)) }

// Name names children. They are registered and sent when there are as many as the store takes at once, on Flush, and
// when the work ends well; naming them again is harmless. After an error the work should end: its context ends too.
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

// Flush registers and sends what was named.
func (n *Node) Flush(ctx context.Context) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.over != nil || len(n.named) == 0 {
		return n.over
	}
	return n.register(ctx)
}

// register takes one batch to the store and to the queue.
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

// end lets nothing more be named, and stops the work.
func (n *Node) end(err error, v tree.Verdict) error {
	n.over, n.verdict = err, v
	n.stop(err)
	return err
}

// close ends the naming. It returns the verdict when the message is done with, what was sent last, and why naming
// failed.
func (n *Node) close() (tree.Verdict, []tree.ID, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	over := n.over
	if n.over == nil {
		n.over = errors.New("name a child: the work on the node has ended")
	}
	return n.verdict, n.sent, over
}
