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
	// Do is the work. Of a message that names a node it gets the node's body, or its key when that is empty, and a
	// context that [Of] knows. Messages that name no node come as they are.
	Do func(ctx context.Context, m worker.Message) error
	// DoBatch is work on several messages at once, in place of Do: see worker.Options. Of a message that names a node
	// it gets the same, and its Node. A node whose children are refused has failed, whatever the result says; the call
	// goes on for the others.
	DoBatch func(ctx context.Context, batch []worker.Message) []error
	// Announce tells of completions, after the final message was sent; nil tells nobody else. It is called at least
	// once for each, perhaps by several workers at once.
	Announce func(ctx context.Context, c tree.Completion) error
	// Logger may be nil.
	Logger *slog.Logger
}

// Runner works on nodes. It is safe for use by several goroutines.
type Runner struct {
	desk
	do      func(ctx context.Context, m worker.Message) error
	doBatch func(ctx context.Context, batch []worker.Message) []error
}

// New returns a runner.
func New(o Options) (*Runner, error) {
	if o.Store == nil || o.Sender == nil || (o.Do == nil) == (o.DoBatch == nil) {
		return nil, errors.New("make a runner for trees: a store, a sender and the work are needed, Do or DoBatch")
	}
	return &Runner{newDesk(o.Store, o.Sender, o.Announce, o.Logger), o.Do, o.DoBatch}, nil
}

// Do works on one message; it is meant for worker.Options.Do, where Options.Do is set. It returns nil once the message
// may be deleted.
func (r *Runner) Do(ctx context.Context, m worker.Message) error {
	if _, isNode, _ := tree.Decode(m.Body); !isNode {
		return r.do(ctx, m)
	}
	a, err := r.begin(ctx, m)
	if a == nil {
		return err
	}
	defer a.stop(nil)
	err = r.do(context.WithValue(a.working, nodeKey{}, a.Node), a.message)
	return r.end(ctx, a, err)
}

// DoBatch works on several messages; it is meant for worker.Options.DoBatch, where Options.DoBatch is set. A result is
// nil once its message may be deleted.
func (r *Runner) DoBatch(ctx context.Context, batch []worker.Message) []error {
	errs := make([]error, len(batch))
	var messages []worker.Message
	var places []int
	attempts := make([]*attempt, len(batch))
	for i, m := range batch {
		if _, isNode, _ := tree.Decode(m.Body); isNode {
			a, err := r.begin(ctx, m)
			if errs[i] = err; a == nil {
				continue
			}
			defer a.stop(nil)
			attempts[i], m = a, a.message
		}
		messages, places = append(messages, m), append(places, i)
	}
	if len(messages) == 0 {
		return errs
	}
	results := r.doBatch(ctx, messages)
	for k, i := range places {
		var err error
		if k < len(results) {
			err = results[k]
		} else if results != nil {
			err = fmt.Errorf("work on %d messages: found %d results, one for each or nil is allowed", len(messages),
				len(results))
		}
		if attempts[i] != nil {
			err = r.end(ctx, attempts[i], err)
		}
		errs[i] = err
	}
	return errs
}

// attempt is one attempt at a node, under way.
type attempt struct {
	*Node
	// message is what the work gets.
	message worker.Message
	working context.Context
	began   time.Time
}

// begin counts an attempt at the node that a message names. Without an attempt, the message may be deleted when the
// error is nil.
func (r *Runner) begin(ctx context.Context, m worker.Message) (*attempt, error) {
	named, _, err := tree.Decode(m.Body)
	if err != nil {
		return nil, err
	}
	o, err := r.step(ctx, tree.BeginWant(named.Root, named.Node), func(v tree.View) (tree.Change, tree.Outcome, error) {
		return tree.Begin(v, time.Now().UTC())
	})
	if errors.Is(err, tree.ErrRemoved) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("begin the work on node %s of the tree %s: %w", named.Node, named.Root, err)
	}
	if o.Verdict != tree.Work {
		return nil, r.see(ctx, named.Node, o)
	}
	working, stop := context.WithCancelCause(ctx)
	n := &Node{desk: r.desk, root: o.Root, node: o.Node, stop: stop}
	m.Body = cmp.Or(o.Node.Body, o.Node.Key)
	if r.doBatch != nil {
		m.Attempt = n.Attempt()
		m.Node = &worker.Node{Root: n.Root(), ID: n.ID().String(), Key: n.Key(), Depth: n.Depth(),
			DepthLeft: n.DepthLeft(), Name: n.Name, Flush: n.Flush}
	}
	return &attempt{Node: n, message: m, working: working, began: time.Now()}, nil
}

// end takes down how an attempt ended, err by its own account, and does what is then to be done. It returns nil once
// the message may be deleted.
func (r *Runner) end(ctx context.Context, a *attempt, err error) error {
	if err == nil {
		err = a.Flush(a.working)
	}
	verdict, sent, refused := a.close()
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
		owed, err := r.step(settling, tree.BeginWant(a.root.ID, a.node.ID), tree.Owed)
		if errors.Is(err, tree.ErrRemoved) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("see what node %s of the tree %s left: %w", a.node.ID, a.root.ID, err)
		}
		return r.see(settling, a.node.ID, owed)
	}
	return r.settle(ctx, settling, a, sent, cmp.Or(refused, err))
}

// settle brings an attempt to its end in the store, within the context settling.
func (r *Runner) settle(ctx, settling context.Context, a *attempt, sent []tree.ID, err error) error {
	// Work that takes longer than it may is no interruption: it would be begun for ever.
	interrupted := err != nil && (ctx.Err() != nil && !errors.Is(context.Cause(ctx), worker.ErrTimeLimit) ||
		errors.Is(err, worker.ErrNotBegun))
	settled, failed := r.step(settling, tree.SettleWant(a.root.ID, a.node.ID),
		func(v tree.View) (tree.Change, tree.Outcome, error) {
			now := time.Now()
			result := tree.Result{Sent: sent, Took: now.Sub(a.began), At: now.UTC()}
			switch {
			case err == nil:
				return tree.Finish(v, result)
			case interrupted:
				return tree.GiveBack(v, result)
			}
			return tree.Fail(v, result, err.Error())
		})
	if errors.Is(failed, tree.ErrRemoved) {
		return nil
	}
	if failed != nil {
		return fmt.Errorf("end the work on node %s of the tree %s: %w", a.node.ID, a.root.ID, errors.Join(failed, err))
	}
	if settled.Verdict == tree.Again {
		return err
	}
	if err != nil {
		r.log.Error("a node failed for good", "root", a.root.ID, "node", a.node.ID, "attempts", settled.Node.Attempts,
			"err", err)
	}
	return r.see(settling, a.node.ID, settled)
}

func idsOf(nodes []tree.Node) []tree.ID {
	ids := make([]tree.ID, 0, len(nodes))
	for _, n := range nodes {
		ids = append(ids, n.ID)
	}
	return ids
}
