package runner

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"time"

	"github.com/muster-scale/muster/tree"
)

// Operator carries out the commands of a person on whole trees. Each method can be interrupted anywhere and called
// again. It is safe for use by several goroutines.
type Operator struct{ executor }

// NewOperator returns an operator. notify has the contract of [Options].Announce. notify and log may be nil.
func NewOperator(store tree.Store, sender Sender, notify func(context.Context, tree.Completion) error,
	log *slog.Logger) *Operator {
	return &Operator{newExecutor(store, sender, notify, log)}
}

// Submit starts a tree, or confirms that it was started. For a tree with a manifest, next returns the root node's
// children one by one and io.EOF after the last. If Submit was interrupted, the whole list must be given again.
func (p *Operator) Submit(ctx context.Context, s tree.Spec, next func() (tree.Child, error)) (tree.Root, error) {
	o, err := p.step(ctx, tree.SubmitWant(s), func(v tree.View) (tree.Change, tree.Outcome, error) {
		return tree.Submit(v, s, time.Now().UTC())
	})
	if err != nil {
		return tree.Root{}, err
	}
	if !s.Manifest {
		return o.Root, p.carryOut(ctx, tree.ID{}, o)
	}
	if o.Node.State != tree.Done && !o.Root.Ended() { // otherwise the list was registered before
		if err := p.list(ctx, s, o, next); err != nil {
			return o.Root, err
		}
	}
	return p.Root(ctx, s.ID)
}

// list registers a manifest. It works on the root node like a worker, without a message.
func (p *Operator) list(ctx context.Context, s tree.Spec, o tree.Outcome, next func() (tree.Child, error)) error {
	n := &Node{executor: p.executor, root: o.Root, node: o.Node, stop: func(error) {}}
	for {
		c, err := next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err == nil {
			err = n.Name(ctx, c)
		}
		if err != nil {
			return manifestError(s.ID, err)
		}
	}
	if err := n.Flush(ctx); err != nil {
		return manifestError(s.ID, err)
	}
	_, sent, _ := n.close()
	end, err := p.step(ctx, tree.SettleWant(s.ID, o.Node.ID), func(v tree.View) (tree.Change, tree.Outcome, error) {
		return tree.Finish(v, tree.Result{Sent: sent, At: time.Now().UTC()})
	})
	if err != nil {
		return manifestError(s.ID, err)
	}
	return p.carryOut(ctx, o.Node.ID, end)
}

// manifestError explains an error of registering a manifest.
func manifestError(root string, err error) error {
	if errors.Is(err, ErrParked) {
		return fmt.Errorf("register the manifest of the tree %s: it would exceed a limit, so the tree is paused; "+
			"resume it with higher limits, then submit it again: %w", root, err)
	}
	return fmt.Errorf("register the manifest of the tree %s: %w; the registered part is kept, submit it again to "+
		"continue", root, err)
}

// Root returns the present account of a tree. It fails with [tree.ErrNoRoot] for a removed tree.
func (p *Operator) Root(ctx context.Context, id string) (r tree.Root, err error) {
	err = p.store.Step(ctx, tree.Want{Root: id}, func(v tree.View) (tree.Change, error) {
		if r = v.Root; r.ID == "" || r.State == tree.Removed {
			return tree.Change{}, tree.ErrNoRoot
		}
		return tree.Change{}, nil
	})
	return r, err
}

// Pause pauses a tree: work in progress may finish, and nothing is started.
func (p *Operator) Pause(ctx context.Context, id, reason string) error {
	return p.store.Step(ctx, tree.Want{Root: id},
		func(v tree.View) (tree.Change, error) { return tree.Pause(v, reason) })
}

// Resume lets a paused tree continue. raise returns the new limits from the present ones.
func (p *Operator) Resume(ctx context.Context, id string, raise func(tree.Limits) tree.Limits) error {
	if err := p.store.Step(ctx, tree.Want{Root: id}, func(v tree.View) (tree.Change, error) {
		return tree.Resume(v, raise(v.Root.Limits))
	}); err != nil {
		return err
	}
	return p.release(ctx, id)
}

// release sends the waiting nodes, as many as the limits allow.
func (p *Operator) release(ctx context.Context, id string) error {
	for {
		o, err := p.step(ctx, tree.ReleaseWant(id), tree.Release)
		if err != nil || len(o.Send) == 0 {
			return err
		}
		if err := p.sendAll(ctx, tree.ID{}, o.Root, o.Send); err != nil {
			return err
		}
	}
}

// Retry opens all failed nodes of a tree again, sends them, and returns how many there were. A complete tree starts
// another round. It reads a page ahead of the one it opens, so that the last call of [tree.Retry] is known to be the
// last.
func (p *Operator) Retry(ctx context.Context, id string) (retried int, err error) {
	r, err := p.Root(ctx, id)
	if err != nil {
		return 0, err
	}
	for _, c := range r.Owing() {
		if err := p.announce(ctx, r, c); err != nil {
			return 0, err
		}
	}
	filter := tree.Filter{States: []tree.State{tree.Failed}, Limit: p.batch}
	page, err := p.store.Nodes(ctx, id, filter)
	for more := true; more; {
		if err != nil {
			return retried, err
		}
		var next []tree.Node
		if more = len(page) == p.batch; more {
			filter.After = page[len(page)-1].ID
			next, err = p.store.Nodes(ctx, id, filter)
			if more = len(next) > 0; err != nil {
				return retried, err
			}
		}
		o, failed := p.step(ctx, tree.Want{Root: id, IDs: idsOf(page)},
			func(v tree.View) (tree.Change, tree.Outcome, error) {
				return tree.Retry(v, more, time.Now().UTC())
			})
		if failed == nil {
			failed = p.carryOut(ctx, tree.ID{}, o)
		}
		if failed != nil {
			return retried, failed
		}
		retried, page = retried+len(page), next
	}
	return retried, p.release(ctx, id)
}

// Resend sends the messages of all nodes that are out again, for messages that were lost: purged, expired or moved to a
// dead-letter queue. It returns how many were sent. A message that was not lost arrives twice, at the cost of one read
// of the store.
func (p *Operator) Resend(ctx context.Context, id string) (sent int, err error) {
	r, err := p.Root(ctx, id)
	if err != nil {
		return 0, err
	}
	if r.State != tree.Running {
		return 0, fmt.Errorf("send the open nodes of the tree %s again: it is %s: %w", id, r.State, tree.ErrState)
	}
	for filter := (tree.Filter{States: []tree.State{tree.Claimed, tree.Sent}, Limit: tree.MaxBatch}); ; {
		page, err := p.store.Nodes(ctx, id, filter)
		if err != nil || len(page) == 0 {
			return sent, errors.Join(err, p.release(ctx, id))
		}
		out := page[:0:0]
		for _, n := range page {
			if !r.Manifest || n.Depth > 0 { // the root node of a manifest has no message
				out = append(out, n)
			}
		}
		if err := p.send(ctx, r, out); err != nil {
			return sent, err
		}
		sent, filter.After = sent+len(out), page[len(page)-1].ID
	}
}

// Cancel ends a tree: its open nodes count as failed.
func (p *Operator) Cancel(ctx context.Context, id string) error {
	o, err := p.step(ctx, tree.Want{Root: id}, func(v tree.View) (tree.Change, tree.Outcome, error) {
		return tree.Cancel(v, time.Now().UTC())
	})
	if err != nil {
		return err
	}
	return p.carryOut(ctx, tree.ID{}, o)
}

// Remove deletes the account of a tree that has ended. With force it cancels a running tree first and does not wait
// until its end is announced. Messages still in the queue are deleted when received.
func (p *Operator) Remove(ctx context.Context, id string, force bool) error {
	eraser, ok := p.store.(tree.Eraser)
	if !ok {
		return fmt.Errorf("remove the tree %s: this store cannot forget nodes", id)
	}
	if force {
		if err := p.Cancel(ctx, id); err != nil && !errors.Is(err, tree.ErrRemoved) {
			return err
		}
	}
	want := tree.Want{Root: id}
	if err := p.store.Step(ctx, want,
		func(v tree.View) (tree.Change, error) { return tree.Remove(v, force, time.Now().UTC()) }); err != nil {
		return err
	}
	if err := eraser.Erase(ctx, id); err != nil {
		return err
	}
	return p.store.Step(ctx, want, tree.Erased)
}
