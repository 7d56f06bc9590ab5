package main

import (
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/muster-scale/muster/app"
	"github.com/muster-scale/muster/app/treetool"
	"github.com/muster-scale/muster/internal/render"
	"github.com/muster-scale/muster/tree"
	"github.com/muster-scale/muster/tree/runner"
)

func newTree(g *global) *cobra.Command {
	f := &forest{global: g, Trees: treetool.Trees{Place: g.place}}
	cmd := &cobra.Command{
		Use: "tree", Short: "Recursive work: submit trees, watch them, retry failures",
		Long: `Tree is for work that finds more work: a message names one node, and what works on it prints the node's
children, which become messages of their own. Muster counts them exactly and says when the last one is done.
docs/trees.md explains it.

The trees are in one file, trees.db in the data directory, which workers and these commands open directly.
They need no running muster up. With --trees dynamodb:TABLE they are in a table of Amazon DynamoDB, for workers on
several machines; submit makes the table.`,
	}
	cmd.PersistentFlags().StringVar(&f.Path, "trees", os.Getenv(app.TreesVariable),
		"the file that holds the trees, or dynamodb:TABLE (default: trees.db in the data directory)")
	cmd.AddCommand(newTreeSubmit(f), newTreeList(f), newTreeStatus(f), newTreeWatch(f), newTreeRetry(f),
		newTreePause(f), newTreeResume(f), newTreeCancel(f), newTreeRemove(f))
	return cmd
}

// forest locates the trees of a command.
type forest struct {
	*global
	treetool.Trees
}

func newTreePause(f *forest) *cobra.Command {
	var reason string
	cmd := &cobra.Command{
		Use: "pause ID", Short: "Pause a tree; work in progress finishes", Args: cobra.ExactArgs(1),
		ValidArgsFunction: f.complete,
		RunE: func(cmd *cobra.Command, args []string) error {
			return f.With(cmd.Context(), false, func(_ tree.Store, p *runner.Operator) error {
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
		Use: "resume ID", Short: "Resume a paused tree, optionally with other limits", Args: cobra.ExactArgs(1),
		ValidArgsFunction: f.complete,
		Example:           "  muster tree resume photos --nodes 5000000",
		RunE: func(cmd *cobra.Command, args []string) error {
			if _, err := l.WithDefaults(); err != nil {
				return usage(err)
			}
			return f.With(cmd.Context(), false, func(_ tree.Store, p *runner.Operator) error {
				if err := p.Resume(cmd.Context(), args[0], func(old tree.Limits) tree.Limits {
					return given(cmd.Flags(),
						old, l)
				}); err != nil {
					return err
				}
				return f.report(cmd, p, args[0], "resumed")
			})
		},
	}
	limitFlags(cmd.Flags(), &l)
	return cmd
}

// given returns the old limits, changed by the flags.
func given(f *pflag.FlagSet, old, l tree.Limits) tree.Limits {
	for name, set := range map[string]func(){
		"depth": func() { old.Depth = l.Depth }, "fan-out": func() { old.FanOut = l.FanOut },
		"nodes":    func() { old.Nodes = l.Nodes },
		"attempts": func() { old.Attempts = l.Attempts }, "parallel": func() { old.Parallel = l.Parallel },
		"slot-time": func() { old.SlotTime = l.SlotTime },
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
		Long: `Retry opens the failed nodes of a tree again, with all their attempts, and nothing else: finished nodes stay
finished. A tree that was complete begins another round, whose end is announced by another completion.

With --lost it sends the open nodes once more, for messages that were lost from the queue: purged, expired or moved to a
dead-letter queue. Messages that are still there then come twice, which does no harm.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			return f.With(cmd.Context(), false, func(_ tree.Store, p *runner.Operator) error {
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
				_, err = fmt.Fprintf(cmd.OutOrStdout(), "%s: %s %s\n", args[0], render.Plural(n, "node"), what)
				return err
			})
		},
	}
	cmd.Flags().BoolVar(&lost, "lost", false, "send open nodes again, whose messages were lost")
	return cmd
}

func newTreeCancel(f *forest) *cobra.Command {
	return &cobra.Command{
		Use: "cancel ID", Short: "End a tree: open nodes count as failed, and their messages are deleted when received",
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: f.complete,
		RunE: func(cmd *cobra.Command, args []string) error {
			return f.With(cmd.Context(), false, func(_ tree.Store, p *runner.Operator) error {
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
		Long: `Rm deletes trees that have ended, with all their nodes, so that their store stays small. It refuses a running or
paused tree; with --force it cancels the tree first. Its messages are deleted when received. The name is free again.`,
		Example: "  muster tree rm photos",
		RunE: func(cmd *cobra.Command, args []string) error {
			return f.With(cmd.Context(), false, func(_ tree.Store, p *runner.Operator) error {
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

// report prints the result of an operation on a tree.
func (f *forest) report(cmd *cobra.Command, p *runner.Operator, id, what string) error {
	r, err := p.Root(cmd.Context(), id)
	if err != nil {
		return err
	}
	if f.json() {
		return printJSON(cmd.OutOrStdout(), treetool.StatusOf(r, nil, time.Now().UTC()))
	}
	_, err = fmt.Fprintf(cmd.OutOrStdout(), "%s: %s; it is %s\n", id, what, r.State)
	return err
}

// removal says what to do about a tree that cannot be removed.
func removal(err error) error {
	if errors.Is(err, tree.ErrState) {
		return fmt.Errorf("%w; wait for its end, or use --force", err)
	}
	return err
}

// complete completes a tree's name.
func (f *forest) complete(cmd *cobra.Command, args []string, _ string) (names []string, _ cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	f.With(cmd.Context(), false, func(store tree.Store, _ *runner.Operator) error {
		roots, err := store.Roots(cmd.Context())
		for _, r := range roots {
			names = append(names, r.ID)
		}
		return err
	})
	return names, cobra.ShellCompDirectiveNoFileComp
}
