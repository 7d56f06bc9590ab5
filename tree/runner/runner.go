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

// settleTime bounds the recording of an attempt's end after the worker was told to stop.
const settleTime = 30 * time.Second

// Sender puts messages into queues. It is safe for use by several goroutines.
type Sender interface {
	// Send returns once all bodies are in the queue with the given URL. After an error, any of them may be in the
	// queue.
	Send(ctx context.Context, queue string, bodies []string) error
}

// Options configure a runner.
type Options struct {
	// Store keeps the account. It must be safe for use by several goroutines.
	Store tree.Store
	// Sender sends children and final messages.
	Sender Sender
	// Do is the work. For a message that names a node, its body is the node's body, or the node's key if that is empty,
	// and its context has the node for [Of]. Other messages are passed unchanged.
	Do func(ctx context.Context, m worker.Message) error
	// DoBatch is work on several messages at once, in place of Do: see worker.Options. A message that names a node has
	// the same body, and its Node. A node whose children are refused has failed, whatever its result; the call
	// continues for the others.
	DoBatch func(ctx context.Context, batch []worker.Message) []error
	// Announce is called with each completion, after the final message was sent; it may be nil. It is called at least
	// once for each, possibly by several workers at once.
	Announce func(ctx context.Context, c tree.Completion) error
	// Logger may be nil.
	Logger *slog.Logger
}

// Runner works on nodes. It is safe for use by several goroutines.
type Runner struct {
	executor
	do      func(ctx context.Context, m worker.Message) error
	doBatch func(ctx context.Context, batch []worker.Message) []error
}

// New returns a runner, or an error if an option is missing.
func New(o Options) (*Runner, error) {
	if o.Store == nil || o.Sender == nil || (o.Do == nil) == (o.DoBatch == nil) {
		return nil, errors.New("make a runner for trees: Store, Sender and exactly one of Do and DoBatch must be set")
	}
	return &Runner{newExecutor(o.Store, o.Sender, o.Announce, o.Logger), o.Do, o.DoBatch}, nil
}

// Do works on one message. Use it as worker.Options.Do if Options.Do is set. It returns nil once the message may be
// deleted.
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

// DoBatch works on several messages. Use it as worker.Options.DoBatch if Options.DoBatch is set. A result is nil once
// its message may be deleted. Settled and parked nodes are answered without a call of the work.
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

// attempt is one attempt at a node, in progress.
type attempt struct {
	*Node
	// message is the one that the work gets.
	message worker.Message
	working context.Context
	began   time.Time
}

// begin counts an attempt at the node of a message. If there is nothing to work on, the attempt is nil; the message may
// be deleted if the error is nil too.
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
		return nil, r.carryOut(ctx, named.Node, o)
	}
	working, stop := context.WithCancelCause(ctx)
	n := &Node{executor: r.executor, root: o.Root, node: o.Node, stop: stop}
	m.Body = cmp.Or(o.Node.Body, o.Node.Key)
	if r.doBatch != nil {
		m.Attempt = n.Attempt()
		m.Node = &worker.Node{Root: n.Root(), ID: n.ID().String(), Key: n.Key(), Depth: n.Depth(),
			DepthLeft: n.DepthLeft(), Name: n.Name, Flush: n.Flush}
	}
	return &attempt{Node: n, message: m, working: working, began: time.Now()}, nil
}

// end records the end of an attempt and carries out the outcome. err is the result of the work. end returns nil once
// the message may be deleted.
func (r *Runner) end(ctx context.Context, a *attempt, err error) error {
	if err == nil {
		err = a.Flush(a.working)
	}
	verdict, sent, refused := a.close()
	if cause := context.Cause(ctx); errors.Is(cause, worker.ErrLeaseLost) {
		return cmp.Or(err, cause) // another worker has the message: its account counts
	}
	// The end is recorded even if the worker was told to stop.
	settling, end := context.WithTimeout(context.WithoutCancel(ctx), settleTime)
	defer end()
	switch verdict {
	case tree.Parked:
		return nil
	case tree.Settled:
		// The worker that settled the node may have crashed before it sent everything. This message answers for that.
		owed, err := r.step(settling, tree.BeginWant(a.root.ID, a.node.ID), tree.Owed)
		if errors.Is(err, tree.ErrRemoved) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("read what node %s of the tree %s has still to send: %w", a.node.ID, a.root.ID, err)
		}
		return r.carryOut(settling, a.node.ID, owed)
	}
	return r.settle(ctx, settling, a, sent, cmp.Or(refused, err))
}

// settle records the end of an attempt in the store, in the context settling. ctx is the one of the work: an attempt
// whose ctx has ended was interrupted and does not count.
func (r *Runner) settle(ctx, settling context.Context, a *attempt, sent []tree.ID, err error) error {
	// Exceeding the time limit is a failure, not an interruption: otherwise such work would be started for ever.
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
	return r.carryOut(settling, a.node.ID, settled)
}

// idsOf returns the IDs of nodes.
func idsOf(nodes []tree.Node) []tree.ID {
	ids := make([]tree.ID, 0, len(nodes))
	for _, n := range nodes {
		ids = append(ids, n.ID)
	}
	return ids
}
