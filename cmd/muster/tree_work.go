package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"strconv"
	"sync"
	"time"

	"github.com/muster-scale/muster/tree"
	"github.com/muster-scale/muster/tree/runner"
	"github.com/muster-scale/muster/worker"
)

// whenCompleteLimit bounds the program that is told of a completion.
const whenCompleteLimit = 5 * time.Minute

// treeWork lets a command for each message work on the nodes of trees too. The file is opened for the first message that
// names a node.
type treeWork struct {
	// path is the file of the trees, whenComplete a program that is told of completions; both may be empty.
	path, whenComplete string

	command worker.Command
	logger  *slog.Logger
	mu      sync.Mutex
	store   treeStore
	runner  *runner.Runner
}

// do works on any message.
func (w *treeWork) do(ctx context.Context, m worker.Message) error {
	if _, isNode, _ := tree.Decode(m.Body); !isNode {
		return w.command.Run(ctx, m)
	}
	r, err := w.open(ctx)
	if err != nil {
		return err
	}
	return r.Do(ctx, m)
}

func (w *treeWork) open(ctx context.Context) (*runner.Runner, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.runner != nil {
		return w.runner, nil
	}
	if w.path == "" {
		return nil, fmt.Errorf("the message names a node of a tree, and nothing says where the trees are; give --trees or set %s", treesVariable)
	}
	// A file made here would be empty: the tree is elsewhere.
	store, err := openTrees(context.WithoutCancel(ctx), w.path, false)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("the message names a node of a tree, and --trees names no file of trees: %w", err)
	}
	if err != nil {
		return nil, err
	}
	options := runner.Options{Store: store, Sender: &runner.SQSSender{}, Do: runner.Command(w.command), Logger: w.logger}
	if w.whenComplete != "" {
		options.Announce = w.announce
	}
	r, err := runner.New(options)
	if err != nil {
		return nil, errors.Join(err, store.Close())
	}
	w.store, w.runner = store, r
	return r, nil
}

// announce runs the program that is told of completions: the completion in JSON on its standard input.
func (w *treeWork) announce(ctx context.Context, c tree.Completion) error {
	told, err := json.Marshal(c)
	if err != nil {
		return err
	}
	ctx, stop := context.WithTimeout(ctx, whenCompleteLimit)
	defer stop()
	program := w.command
	program.Argv = []string{w.whenComplete}
	program.Set = []string{
		"MUSTER_TREE_ROOT=" + c.Root, "MUSTER_TREE_STATE=" + string(c.State),
		"MUSTER_TREE_DONE=" + strconv.FormatInt(c.Done, 10), "MUSTER_TREE_FAILED=" + strconv.FormatInt(c.Failed, 10),
	}
	if err := program.Run(ctx, worker.Message{ID: c.ID, Body: string(told)}); err != nil {
		return fmt.Errorf("--when-complete: %w", err)
	}
	return nil
}

// close closes the file, if it was opened.
func (w *treeWork) close() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.store != nil {
		w.store.Close()
	}
}

// withoutNodes gives back messages that name nodes of trees: what does batches cannot name children, and would take them for
// work of another kind.
func withoutNodes(do func(context.Context, []worker.Message) []error) func(context.Context, []worker.Message) []error {
	return func(ctx context.Context, batch []worker.Message) []error {
		errs := make([]error, len(batch))
		var others []worker.Message
		var places []int
		for i, m := range batch {
			if _, isNode, _ := tree.Decode(m.Body); isNode {
				errs[i] = errors.New("the message names a node of a tree, which neither --json-lines nor --http can work on; run a command for each message")
				continue
			}
			others, places = append(others, m), append(places, i)
		}
		if len(others) > 0 {
			for i, err := range do(ctx, others) {
				errs[places[i]] = err
			}
		}
		return errs
	}
}
