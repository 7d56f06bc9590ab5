package runner

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/muster-scale/muster/tree"
	"github.com/muster-scale/muster/worker"
)

// settleTime bounds what is done for a node after its work, when the worker is told to stop.
const settleTime = 30 * time.Second

// Sender puts messages into queues. It is safe for use by several goroutines.
type Sender interface {
	// Send returns once all bodies are in the queue with the given URL. After an error any of them may be.
	Send(ctx context.Context, queue string, bodies []string) error
}

// Options are what a runner works with.
type Options struct {
	// Store keeps the account; it must be safe for use by several goroutines.
	Store tree.Store
	// Sender sends children and final messages.
	Sender Sender
	// Do is the work. Of a message that names a node it gets the node's body, or its key when that is empty, and a context
	// that [Of] knows. Messages that name no node come as they are.
	Do func(ctx context.Context, m worker.Message) error
	// Announce tells of completions, after the final message was sent; nil tells nobody else. It is called at least once for
	// each, perhaps by several workers at once.
	Announce func(ctx context.Context, c tree.Completion) error
	// Logger may be nil.
	Logger *slog.Logger
}

// Runner works on nodes. It is safe for use by several goroutines.
type Runner struct {
	desk
	do func(ctx context.Context, m worker.Message) error
}

// New returns a runner.
func New(o Options) (*Runner, error) {
	if o.Store == nil || o.Sender == nil || o.Do == nil {
		return nil, errors.New("make a runner for trees: a store, a sender and the work are needed")
	}
	return &Runner{newDesk(o.Store, o.Sender, o.Announce, o.Logger), o.Do}, nil
}

// Do works on one message; it is meant for worker.Options.Do. It returns nil once the message may be deleted.
func (r *Runner) Do(ctx context.Context, m worker.Message) error {
	named, isNode, err := tree.Decode(m.Body)
	if !isNode {
		return r.do(ctx, m)
	}
	if err != nil {
		return err
	}
	o, err := r.step(ctx, tree.BeginWant(named.Root, named.Node), func(v tree.View) (tree.Change, tree.Outcome, error) {
		return tree.Begin(v, time.Now().UTC())
	})
	if err != nil {
		return fmt.Errorf("begin the work on node %s of the tree %s: %w", named.Node, named.Root, err)
	}
	if o.Verdict != tree.Work {
		return r.see(ctx, named.Node, o)
	}
	return r.work(ctx, m, o)
}

// work does one attempt at a node.
func (r *Runner) work(ctx context.Context, m worker.Message, o tree.Outcome) error {
	working, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	n := &Node{desk: r.desk, root: o.Root, node: o.Node, stop: stop}
	m.Body = cmp.Or(o.Node.Body, o.Node.Key)
	began := time.Now()
	err := r.do(context.WithValue(working, nodeKey{}, n), m)
	if err == nil {
		err = n.Flush(working)
	}
	verdict, sent, refused := n.close()
	if cause := context.Cause(ctx); errors.Is(cause, worker.ErrLeaseLost) {
		return cmp.Or(err, cause) // somebody else has the message
	}
	// The account is kept even when the worker is told to stop.
	settling, end := context.WithTimeout(context.WithoutCancel(ctx), settleTime)
	defer end()
	switch verdict {
	case tree.Parked:
		return nil
	case tree.Settled:
		// Whoever settled it may have crashed right then, and this message answers for what it left.
		owed, err := r.step(settling, tree.BeginWant(o.Root.ID, o.Node.ID), tree.Owed)
		if err != nil {
			return fmt.Errorf("see what node %s of the tree %s left: %w", o.Node.ID, o.Root.ID, err)
		}
		return r.see(settling, o.Node.ID, owed)
	}
	err = cmp.Or(refused, err)
	// Work that takes longer than it may is no interruption: it would be begun for ever.
	interrupted := err != nil && (ctx.Err() != nil && !errors.Is(context.Cause(ctx), worker.ErrTimeLimit) || errors.Is(err, worker.ErrNotBegun))
	settled, failed := r.step(settling, tree.SettleWant(o.Root.ID, o.Node.ID), func(v tree.View) (tree.Change, tree.Outcome, error) {
		now := time.Now()
		result := tree.Result{Sent: sent, Took: now.Sub(began), At: now.UTC()}
		switch {
		case err == nil:
			return tree.Finish(v, result)
		case interrupted:
			return tree.GiveBack(v, result)
		}
		return tree.Fail(v, result, err.Error())
	})
	if failed != nil {
		return fmt.Errorf("end the work on node %s of the tree %s: %w", o.Node.ID, o.Root.ID, errors.Join(failed, err))
	}
	if settled.Verdict == tree.Again {
		return err
	}
	if err != nil {
		r.log.Error("a node failed for good", "root", o.Root.ID, "node", o.Node.ID, "attempts", settled.Node.Attempts, "err", err)
	}
	return r.see(settling, o.Node.ID, settled)
}

func idsOf(nodes []tree.Node) []tree.ID {
	ids := make([]tree.ID, 0, len(nodes))
	for _, n := range nodes {
		ids = append(ids, n.ID)
	}
	return ids
}
