package runner

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"

	"github.com/muster-scale/muster/tree"
)

// executor carries out the outcomes of steps: it sends nodes, announces completions and records both in the store.
// Runner and Operator embed it.
type executor struct {
	store  tree.Store
	sender Sender
	notify func(context.Context, tree.Completion) error // is called with each completion; may be nil
	log    *slog.Logger
	// batch is how many nodes the store accepts in one step.
	batch int
}

// newExecutor returns an executor. notify and log may be nil.
func newExecutor(store tree.Store, sender Sender, notify func(context.Context, tree.Completion) error,
	log *slog.Logger) executor {
	d := executor{store, sender, notify, cmp.Or(log, slog.New(slog.DiscardHandler)), tree.MaxBatch}
	if bounded, ok := store.(tree.Bounded); ok {
		d.batch = bounded.Batch()
	}
	return d
}

// carryOut sends the nodes and announces the completion of an outcome. The claimer is the node whose message must stay
// until this has succeeded, or the zero ID for the operator.
func (d executor) carryOut(ctx context.Context, claimer tree.ID, o tree.Outcome) error {
	if err := d.sendAll(ctx, claimer, o.Root, o.Send); err != nil {
		return err
	}
	for _, c := range o.Announce {
		if err := d.announce(ctx, o.Root, c); err != nil {
			return fmt.Errorf("announce the end of the tree %s: %w", c.Root, err)
		}
	}
	return nil
}

// sendAll sends nodes and records that, until the claimer has nothing more to send.
func (d executor) sendAll(ctx context.Context, claimer tree.ID, root tree.Root, nodes []tree.Node) error {
	for len(nodes) > 0 {
		if err := d.send(ctx, root, nodes); err != nil {
			return err
		}
		o, err := d.step(ctx, tree.SentWant(root.ID, claimer, idsOf(nodes)), tree.MarkSent)
		if err != nil {
			return fmt.Errorf("record the sent nodes of the tree %s: %w", root.ID, err)
		}
		nodes = o.Send
	}
	return nil
}

// send puts the messages of nodes into the root's queue. It records nothing.
func (d executor) send(ctx context.Context, root tree.Root, nodes []tree.Node) error {
	if len(nodes) == 0 {
		return nil
	}
	bodies := make([]string, 0, len(nodes))
	for _, n := range nodes {
		body, err := tree.NewMessage(root, n).Encode()
		if err != nil {
			return fmt.Errorf("send node %s of the tree %s: %w", n.ID, root.ID, err)
		}
		bodies = append(bodies, body)
	}
	if err := d.sender.Send(ctx, root.Queue, bodies); err != nil {
		return fmt.Errorf("send nodes of the tree %s: %w", root.ID, err)
	}
	return nil
}

// FinalMessage is the body of the message that announces a completion.
type FinalMessage struct {
	Completion tree.Completion `json:"muster_completion"`
	// Body is the text that the submitter chose.
	Body string `json:"body,omitzero"`
}

// announce sends the final message, calls notify and records both. A crash in between repeats all of it: the receiver
// sees the same completion ID twice.
func (d executor) announce(ctx context.Context, root tree.Root, c tree.Completion) error {
	if root.Final.Queue != "" {
		body, err := json.Marshal(FinalMessage{c, root.Final.Body})
		if err == nil {
			err = d.sender.Send(ctx, root.Final.Queue, []string{string(body)})
		}
		if err != nil {
			return err
		}
	}
	if d.notify != nil {
		if err := d.notify(ctx, c); err != nil {
			return err
		}
	}
	d.log.Info("a tree has ended", "root", c.Root, "state", c.State, "done", c.Done, "failed", c.Failed, "completion",
		c.ID)
	return d.store.Step(ctx, tree.Want{Root: c.Root},
		func(v tree.View) (tree.Change, error) { return tree.Announced(v, c.ID) })
}

// step makes one step and returns its outcome. The store may call step several times; the last call counts.
func (d executor) step(ctx context.Context, want tree.Want,
	step func(tree.View) (tree.Change, tree.Outcome, error)) (o tree.Outcome, err error) {
	err = d.store.Step(ctx, want, func(v tree.View) (c tree.Change, err error) {
		c, o, err = step(v)
		return c, err
	})
	return o, err
}
