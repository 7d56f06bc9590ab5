package work

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/muster-scale/muster/app"
	"github.com/muster-scale/muster/internal/misuse"
	"github.com/muster-scale/muster/tree"
	"github.com/muster-scale/muster/tree/runner"
	"github.com/muster-scale/muster/worker"
	"github.com/muster-scale/muster/worker/execution"
)

// whenCompleteLimit bounds the run of the --when-complete program.
const whenCompleteLimit = 5 * time.Minute

// Trees locates the trees whose nodes are worked on. A file is opened for the first message that is a node.
type Trees struct {
	// Path is the file of the trees, or dynamodb:TABLE. WhenComplete is a program that runs for each completed tree.
	// Both may be empty.
	Path, WhenComplete string
}

// nodeWork works on tree nodes and on all other messages. A message that is not a node goes to the command as it is, so
// that one worker can serve both.
type nodeWork struct {
	Trees

	// Either command or batch does the work; batch gets several messages at once.
	command execution.Command
	batch   func(context.Context, []worker.Message) []error
	logger  *slog.Logger
	// mu guards store and runner, which the first node opens.
	mu     sync.Mutex
	store  app.TreeStore
	runner *runner.Runner
}

// do works on one message.
func (w *nodeWork) do(ctx context.Context, m worker.Message) error {
	if _, isNode, _ := tree.Decode(m.Body); !isNode {
		return w.command.Run(ctx, m)
	}
	r, err := w.open(ctx)
	if err != nil {
		return err
	}
	return r.Do(ctx, m)
}

// doBatch works on several messages at once.
func (w *nodeWork) doBatch(ctx context.Context, batch []worker.Message) []error {
	if !slices.ContainsFunc(batch, func(m worker.Message) bool { _, isNode, _ := tree.Decode(m.Body); return isNode }) {
		return w.batch(ctx, batch)
	}
	r, err := w.open(ctx)
	if err == nil {
		return r.DoBatch(ctx, batch)
	}
	// Without a store, nodes fail, but other messages do not wait for them.
	return withoutNodes(w.batch, err)(ctx, batch)
}

// openTable opens the trees if they are in a table. It must run while the environment still has the keys of AWS, before
// those of an embedded queue replace them.
func (w *nodeWork) openTable(ctx context.Context) (err error) {
	if strings.HasPrefix(w.Path, app.TablePrefix) {
		w.store, err = app.OpenTrees(ctx, w.Path, false)
	}
	if errors.Is(err, app.ErrTreesPlace) {
		return misuse.Setting("trees", "found %q, %w", w.Path, app.ErrTreesPlace)
	}
	return err
}

// open opens the trees for the first node, and returns the runner that works on nodes. A failure is not kept: the file
// may appear later, and the node is retried until then.
func (w *nodeWork) open(ctx context.Context) (*runner.Runner, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.runner != nil {
		return w.runner, nil
	}
	if w.Path == "" {
		return nil, fmt.Errorf("the message names a node of a tree, and nothing says where the trees are; give "+
			"--trees or set %s", app.TreesVariable)
	}
	// A missing file is not created: it would be empty, and the tree is elsewhere.
	store, err := w.store, error(nil)
	if store == nil {
		// The store outlives the message that opened it.
		store, err = app.OpenTrees(context.WithoutCancel(ctx), w.Path, false)
	}
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("the message names a node of a tree, and --trees names no file of trees: %w", err)
	}
	if err != nil {
		return nil, err
	}
	options := runner.Options{Store: store, Sender: &runner.SQSSender{}, Logger: w.logger}
	if options.DoBatch = w.batch; w.batch == nil {
		options.Do = runner.Command(w.command)
	}
	if w.WhenComplete != "" {
		options.Announce = w.announce
	}
	r, err := runner.New(options)
	if err != nil {
		return nil, errors.Join(err, store.Close())
	}
	w.store, w.runner = store, r
	return r, nil
}

// announce runs the --when-complete program with a completion as JSON on its standard input. It may run more than once
// for a completion; the id is then the same.
func (w *nodeWork) announce(ctx context.Context, c tree.Completion) error {
	told, err := json.Marshal(c)
	if err != nil {
		return err
	}
	ctx, stop := context.WithTimeout(ctx, whenCompleteLimit)
	defer stop()
	program := w.command
	program.Argv = []string{w.WhenComplete}
	program.Set = []string{
		"MUSTER_TREE_ROOT=" + c.Root, "MUSTER_TREE_STATE=" + string(c.State),
		"MUSTER_TREE_DONE=" + strconv.FormatInt(c.Done, 10), "MUSTER_TREE_FAILED=" + strconv.FormatInt(c.Failed, 10),
	}
	if err := program.Run(ctx, worker.Message{ID: c.ID, Body: string(told)}); err != nil {
		return fmt.Errorf("--when-complete: %w", err)
	}
	return nil
}

// close closes the store, if it was opened.
func (w *nodeWork) close() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.store != nil {
		w.store.Close()
	}
}

// withoutNodes fails messages that are tree nodes, and works on the others.
func withoutNodes(do func(context.Context, []worker.Message) []error, failure error) func(context.Context,
	[]worker.Message) []error {
	return func(ctx context.Context, batch []worker.Message) []error {
		// The results must stand in the order of the batch.
		errs := make([]error, len(batch))
		var others []worker.Message
		var places []int
		for i, m := range batch {
			if _, isNode, _ := tree.Decode(m.Body); isNode {
				errs[i] = failure
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
