package main

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	awssqs "github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/muster-scale/muster"
	"github.com/muster-scale/muster/app"
	"github.com/muster-scale/muster/tree"
	"github.com/muster-scale/muster/tree/dynamotree"
	"github.com/muster-scale/muster/tree/runner"
)

func newTree(g *global) *cobra.Command {
	f := &forest{global: g}
	cmd := &cobra.Command{
		Use: "tree", Short: "Recursive work: submit trees, watch them, retry failures",
		Long: `Tree is for work that finds more work: a message names one node, and what works on it prints the node's
children, which become messages of their own. Muster counts them exactly and says when the last one is done.
docs/trees.md explains it.

The trees are in one file, trees.db in the data directory, which workers and these commands open directly.
They need no running muster up. With --trees dynamodb:TABLE they are in a table of Amazon DynamoDB, for workers on
several machines; submit makes the table.`,
	}
	cmd.PersistentFlags().StringVar(&f.path, "trees", os.Getenv(app.TreesVariable), "the file that holds the trees, or dynamodb:TABLE (default: trees.db in the data directory)")
	cmd.AddCommand(newTreeSubmit(f), newTreeList(f), newTreeStatus(f), newTreeWatch(f), newTreeRetry(f), newTreePause(f), newTreeResume(f), newTreeCancel(f), newTreeRemove(f))
	return cmd
}

// forest is where the trees of a command are.
type forest struct {
	*global
	path string
}

// open opens the trees; make makes what they are kept in when it is not there.
func (f *forest) open(ctx context.Context, make bool) (app.TreeStore, error) {
	path := f.path
	if path == "" {
		c, err := f.place()
		if err != nil {
			return nil, err
		}
		path = filepath.Join(c.Data, app.TreesFile)
	}
	s, err := app.OpenTrees(ctx, path, make)
	if errors.Is(err, fs.ErrNotExist) {
		err = usage(fmt.Errorf("there are no trees in %s; submit one, or name the file with --trees or the configuration with -f", path))
	}
	return s, err
}

// with does something with the trees.
func (f *forest) with(ctx context.Context, make bool, do func(tree.Store, *runner.Operator) error) error {
	store, err := f.open(ctx, make)
	if err != nil {
		return err
	}
	sender := &runner.SQSSender{Client: func(ctx context.Context, queue string) (*awssqs.Client, error) { return f.sqsClient(ctx, queue) }}
	err = do(store, runner.NewOperator(store, sender, nil, slog.New(slog.DiscardHandler)))
	return errors.Join(explainTree(err), store.Close())
}

// explainTree says what a person can do about what trees refuse.
func explainTree(err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, tree.ErrNoRoot):
		return usage(fmt.Errorf("%w; muster tree status lists those that there are", err))
	case errors.Is(err, tree.ErrState), dynamotree.Is(err):
		return err
	}
	return explainSQS(err)
}

// limitFlags gives a command the flags for the limits of a tree.
func limitFlags(f *pflag.FlagSet, l *tree.Limits) {
	f.IntVar(&l.Depth, "depth", 0, "how deep nodes may lie below the root node, where work goes on sequentially; -1 allows no children (default 100)")
	f.Int64Var(&l.FanOut, "fan-out", 0, "the most children of one node (default 100000)")
	f.Int64Var(&l.Nodes, "nodes", 0, "the most nodes (default 1000000)")
	f.IntVar(&l.Attempts, "attempts", 0, "how often the work on a node is tried before the node counts as failed (default 5)")
	f.Int64Var(&l.Parallel, "parallel", 0, "the most nodes in the queue or in work at once; 0 is no limit")
	f.DurationVar(&l.SlotTime, "slot-time", 0, "the most time of slots to spend on the tree; 0 is no limit")
}

func newTreeSubmit(f *forest) *cobra.Command {
	var (
		s     tree.Spec
		list  string
		like  string
		watch bool
	)
	cmd := &cobra.Command{
		Use: "submit --queue NAME|URL [KEY]", Short: "Begin a tree with its root node",
		Long: `Submit begins a tree: it sends a message that names the root node KEY. Submitting the same tree again under
the same --id changes nothing, so it may be repeated after any failure.

With --manifest the children of the root node are listed in a file, one JSON object a line like
{"key":"a","body":"b"}, and no worker works on the root node itself. KEY is then only a name, and may be left out.`,
		Example: `  muster tree submit --queue jobs --id photos /srv/photos
  muster tree submit --queue URL --id contacts --visited --depth 6 alice
  muster tree submit --queue URL --id list --manifest nodes.jsonl --watch`,
		Args: func(cmd *cobra.Command, args []string) error {
			if list != "" {
				return cobra.MaximumNArgs(1)(cmd, args)
			}
			return cobra.ExactArgs(1)(cmd, args)
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			s.ID, s.Manifest = cmp.Or(s.ID, newTreeID(time.Now())), list != ""
			if s.Node.Key = s.ID; len(args) > 0 {
				s.Node.Key = args[0]
			}
			if err := f.targets(&s); err != nil {
				return err
			}
			if _, err := s.Check(); err != nil {
				return usage(err)
			}
			m, err := openManifest(list, cmd.InOrStdin())
			if err != nil {
				return usage(err)
			}
			defer m.close()
			return f.with(cmd.Context(), true, func(store tree.Store, p *runner.Operator) error {
				if like != "" {
					earlier, err := p.Root(cmd.Context(), like)
					if err != nil {
						return fmt.Errorf("--like %s: %w", like, err)
					}
					s.Before = earlier.Levels
				}
				r, err := p.Submit(cmd.Context(), s, m.next)
				if err != nil {
					return err
				}
				if watch {
					return f.watch(cmd, store, p, s.ID, time.Second, 0)
				}
				if f.json() {
					return printJSON(cmd.OutOrStdout(), statusOf(r, nil, time.Now().UTC()))
				}
				_, err = fmt.Fprintf(cmd.OutOrStdout(), "%s\n", s.ID)
				return err
			})
		},
	}
	fl := cmd.Flags()
	fl.StringVar(&s.Queue, "queue", "", "the name or URL of the queue for the tree's messages, not a FIFO queue")
	fl.StringVar(&s.ID, "id", "", "the tree's name (default: one with the time)")
	fl.StringVar(&s.Node.Body, "body", "", "what the work on the root node reads; the key when empty")
	fl.BoolVar(&s.Visited, "visited", false, "a key names one node of the whole tree: entities of a graph are visited once")
	fl.StringVar(&list, "manifest", "", "a file with the children of the root node, - for standard input")
	fl.StringVar(&s.Final.Queue, "final-queue", "", "the name or URL of a queue that gets a message when the tree is complete")
	fl.StringVar(&s.Final.Body, "final-body", "", "the body member of that message")
	fl.StringVar(&like, "like", "", "the name of an earlier tree that this one is like: workers are launched for its levels before anything is known of this one's")
	fl.BoolVar(&watch, "watch", false, "then watch the tree to its end")
	limitFlags(fl, &s.Limits)
	cmd.MarkFlagRequired("queue")
	return cmd
}

// targets puts URLs in the place of the names of queues.
func (f *forest) targets(s *tree.Spec) (err error) {
	if s.Queue, err = f.queueURL(s.Queue); err == nil {
		s.Final.Queue, err = f.queueURL(s.Final.Queue)
	}
	return err
}

// newTreeID names a tree by the time, and by chance where two begin together.
func newTreeID(at time.Time) string {
	var chance [4]byte
	rand.Read(chance[:]) // never fails
	return at.UTC().Format("20060102-150405-") + hex.EncodeToString(chance[:])
}

func newTreePause(f *forest) *cobra.Command {
	var reason string
	cmd := &cobra.Command{
		Use: "pause ID", Short: "Keep a tree from going on; work in hand finishes", Args: cobra.ExactArgs(1),
		ValidArgsFunction: f.complete,
		RunE: func(cmd *cobra.Command, args []string) error {
			return f.with(cmd.Context(), false, func(_ tree.Store, p *runner.Operator) error {
				if err := p.Pause(cmd.Context(), args[0], reason); err != nil {
					return err
				}
				return f.report(cmd, p, args[0], "paused")
			})
		},
	}
	cmd.Flags().StringVar(&reason, "reason", "the operator paused it", "why, for who looks at it")
	return cmd
}

func newTreeResume(f *forest) *cobra.Command {
	var l tree.Limits
	cmd := &cobra.Command{
		Use: "resume ID", Short: "Let a paused tree go on, with other limits perhaps", Args: cobra.ExactArgs(1),
		ValidArgsFunction: f.complete,
		Example:           "  muster tree resume photos --nodes 5000000",
		RunE: func(cmd *cobra.Command, args []string) error {
			if _, err := l.WithDefaults(); err != nil {
				return usage(err)
			}
			return f.with(cmd.Context(), false, func(_ tree.Store, p *runner.Operator) error {
				if err := p.Resume(cmd.Context(), args[0], func(old tree.Limits) tree.Limits { return given(cmd.Flags(), old, l) }); err != nil {
					return err
				}
				return f.report(cmd, p, args[0], "resumed")
			})
		},
	}
	limitFlags(cmd.Flags(), &l)
	return cmd
}

// given returns the old limits with those that the flags give.
func given(f *pflag.FlagSet, old, l tree.Limits) tree.Limits {
	for name, set := range map[string]func(){
		"depth": func() { old.Depth = l.Depth }, "fan-out": func() { old.FanOut = l.FanOut }, "nodes": func() { old.Nodes = l.Nodes },
		"attempts": func() { old.Attempts = l.Attempts }, "parallel": func() { old.Parallel = l.Parallel }, "slot-time": func() { old.SlotTime = l.SlotTime },
	} {
		if f.Changed(name) {
			set()
		}
	}
	return old
}

func newTreeRetry(f *forest) *cobra.Command {
	var lost bool
	cmd := &cobra.Command{
		Use: "retry ID", Short: "Work on the failed nodes of a tree again", Args: cobra.ExactArgs(1),
		ValidArgsFunction: f.complete,
		Long: `Retry opens the failed nodes of a tree again, with all their attempts, and nothing else: what is done stays done.
A tree that was complete begins another round, whose end is announced by a completion of its own.

With --lost it sends the open nodes once more, for messages that are not in the queue any more: purged, expired or
moved to a dead-letter queue. Those that are there come twice, which does no harm.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			return f.with(cmd.Context(), false, func(_ tree.Store, p *runner.Operator) error {
				what, again := "retried", p.Retry
				if lost {
					what, again = "sent again", p.Resend
				}
				n, err := again(cmd.Context(), args[0])
				if err != nil {
					return err
				}
				if f.json() {
					return printJSON(cmd.OutOrStdout(), map[string]any{"id": args[0], "nodes": n})
				}
				_, err = fmt.Fprintf(cmd.OutOrStdout(), "%s: %s %s\n", args[0], muster.Plural(n, "node"), what)
				return err
			})
		},
	}
	cmd.Flags().BoolVar(&lost, "lost", false, "send open nodes again, whose messages were lost")
	return cmd
}

func newTreeCancel(f *forest) *cobra.Command {
	return &cobra.Command{
		Use: "cancel ID", Short: "End a tree: open nodes count as failed, and their messages go when they are received", Args: cobra.ExactArgs(1),
		ValidArgsFunction: f.complete,
		RunE: func(cmd *cobra.Command, args []string) error {
			return f.with(cmd.Context(), false, func(_ tree.Store, p *runner.Operator) error {
				if err := p.Cancel(cmd.Context(), args[0]); err != nil {
					return err
				}
				return f.report(cmd, p, args[0], "cancelled")
			})
		},
	}
}

func newTreeRemove(f *forest) *cobra.Command {
	var force bool
	cmd := &cobra.Command{
		Use: "rm ID...", Short: "Forget trees that have ended", Args: cobra.MinimumNArgs(1),
		ValidArgsFunction: f.complete,
		Long: `Rm forgets trees that have ended, with all their nodes, so that what they are kept in stays small. One that runs or is
paused is refused; with --force it is cancelled first. Its messages go when they are received. The name is free again.`,
		Example: "  muster tree rm photos",
		RunE: func(cmd *cobra.Command, args []string) error {
			return f.with(cmd.Context(), false, func(_ tree.Store, p *runner.Operator) error {
				for _, id := range args {
					if err := p.Remove(cmd.Context(), id, force); err != nil {
						return removal(err)
					}
					if !f.json() {
						fmt.Fprintf(cmd.OutOrStdout(), "%s: removed\n", id)
					}
				}
				if f.json() {
					return printJSON(cmd.OutOrStdout(), map[string]any{"removed": args})
				}
				return nil
			})
		},
	}
	cmd.Flags().BoolVar(&force, "force", false, "cancel a tree that has not ended, and remove it")
	return cmd
}

// removal says what can be done about a tree that is not removed.
func removal(err error) error {
	if errors.Is(err, tree.ErrState) {
		return fmt.Errorf("%w; wait for its end, or use --force", err)
	}
	return err
}

// report prints what was done with a tree.
func (f *forest) report(cmd *cobra.Command, p *runner.Operator, id, what string) error {
	r, err := p.Root(cmd.Context(), id)
	if err != nil {
		return err
	}
	if f.json() {
		return printJSON(cmd.OutOrStdout(), statusOf(r, nil, time.Now().UTC()))
	}
	_, err = fmt.Fprintf(cmd.OutOrStdout(), "%s: %s; it is %s\n", id, what, r.State)
	return err
}

// complete completes a tree's name.
func (f *forest) complete(cmd *cobra.Command, args []string, _ string) (names []string, _ cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	f.with(cmd.Context(), false, func(store tree.Store, _ *runner.Operator) error {
		roots, err := store.Roots(cmd.Context())
		for _, r := range roots {
			names = append(names, r.ID)
		}
		return err
	})
	return names, cobra.ShellCompDirectiveNoFileComp
}
