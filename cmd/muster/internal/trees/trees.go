package trees

import (
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/muster-scale/muster/app"
	"github.com/muster-scale/muster/app/treetool"
	"github.com/muster-scale/muster/cmd/muster/internal/command"
	"github.com/muster-scale/muster/internal/render"
	"github.com/muster-scale/muster/tree"
	"github.com/muster-scale/muster/tree/runner"
)

// New makes muster tree and its subcommands. None needs a running muster up: workers and commands open the same
// store.
func New(g *command.Global) *cobra.Command {
	f := &treeCommand{Global: g, Trees: treetool.Trees{Place: g.Place}}
	cmd := &cobra.Command{
		Use: "tree", Short: "Recursive work: submit trees, watch them, retry failures",
		Long: `Tree is for work that finds more work. A message names one node. The command that works on the node prints the
node's children, which become messages of their own. Muster counts them exactly and says when the last one is done.
docs/trees.md explains it.

The trees are in one file, trees.db in the data directory. Workers and these commands open it directly and need no
running muster up. With --trees dynamodb:TABLE the trees are in a table of Amazon DynamoDB, for workers on several
machines; submit creates the table.`,
	}
	cmd.PersistentFlags().StringVar(&f.Path, "trees", os.Getenv(app.TreesVariable),
		"the file that holds the trees, or dynamodb:TABLE (default: trees.db in the data directory)")
	cmd.AddCommand(newSubmit(f), newList(f), newStatus(f), newWatch(f), newRetry(f),
		newPause(f), newResume(f), newCancel(f), newRemove(f))
	return cmd
}

// treeCommand is what the subcommands of muster tree share: the global flags, and where the trees are.
// [treetool.Trees.With] opens the trees, runs one operation and closes them, so that no subcommand keeps the file open.
type treeCommand struct {
	*command.Global
	treetool.Trees
}

// newPause makes muster tree pause. It changes the state in the store and stops no worker: a worker finishes its node,
// and reads the state before the next one.
func newPause(f *treeCommand) *cobra.Command {
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
	cmd.Flags().StringVar(&reason, "reason", "the operator paused it", "why it is paused, for muster tree status")
	return cmd
}

// newResume makes muster tree resume. A limit that stopped the tree can be raised at the same time: only the given
// limit flags change, the others keep the values of the tree.
func newResume(f *treeCommand) *cobra.Command {
	var l tree.Limits
	cmd := &cobra.Command{
		Use: "resume ID", Short: "Resume a paused tree, optionally with other limits", Args: cobra.ExactArgs(1),
		ValidArgsFunction: f.complete,
		Example:           "  muster tree resume photos --nodes 5000000",
		RunE: func(cmd *cobra.Command, args []string) error {
			// This checks the ranges of the given limits; the defaults it fills in are not used.
			if _, err := l.WithDefaults(); err != nil {
				return command.Usage(err)
			}
			return f.With(cmd.Context(), false, func(_ tree.Store, p *runner.Operator) error {
				if err := p.Resume(cmd.Context(), args[0], func(old tree.Limits) tree.Limits {
					return changedLimits(cmd.Flags(),
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

// changedLimits returns the old limits, with those replaced whose flags were given. A flag's value alone cannot tell: 0
// means the default.
func changedLimits(f *pflag.FlagSet, old, l tree.Limits) tree.Limits {
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

// newRetry makes muster tree retry. --lost is another operation: it changes no state and only sends messages again.
func newRetry(f *treeCommand) *cobra.Command {
	var lost bool
	cmd := &cobra.Command{
		Use: "retry ID", Short: "Retry the failed nodes of a tree", Args: cobra.ExactArgs(1),
		ValidArgsFunction: f.complete,
		Long: `Retry opens the failed nodes of a tree again, with all their attempts. Finished nodes stay finished. A complete
tree begins another round, and its end is announced by another completion.

With --lost it sends the open nodes again, because their messages were lost from the queue: purged, expired or moved to
a dead-letter queue. Messages that are still in the queue then arrive twice, which does no harm.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			return f.With(cmd.Context(), false, func(_ tree.Store, p *runner.Operator) error {
				// Retry opens failed nodes; Resend sends open ones again. Both return how many.
				what, again := "retried", p.Retry
				if lost {
					what, again = "sent again", p.Resend
				}
				n, err := again(cmd.Context(), args[0])
				if err != nil {
					return err
				}
				if f.JSON() {
					return command.PrintJSON(cmd.OutOrStdout(), map[string]any{"id": args[0], "nodes": n})
				}
				_, err = fmt.Fprintf(cmd.OutOrStdout(), "%s: %s %s\n", args[0], render.Plural(n, "node"), what)
				return err
			})
		},
	}
	cmd.Flags().BoolVar(&lost, "lost", false, "send the open nodes again: their messages were lost")
	return cmd
}

// newCancel makes muster tree cancel. It cannot recall messages, so workers delete them when they receive them.
func newCancel(f *treeCommand) *cobra.Command {
	return &cobra.Command{
		Use: "cancel ID", Short: "End a tree: open nodes count as failed",
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

// newRemove makes muster tree rm. It removes the trees one after the other and stops at the first that it cannot
// remove; those before it stay removed.
func newRemove(f *treeCommand) *cobra.Command {
	var force bool
	cmd := &cobra.Command{
		Use: "rm ID...", Short: "Delete trees that have ended", Args: cobra.MinimumNArgs(1),
		ValidArgsFunction: f.complete,
		Long: `Rm deletes trees that have ended, with all their nodes, so that their store stays small. It refuses a running or
paused tree; with --force it cancels the tree first. Its messages are deleted when received. The name can be used again.`,
		Example: "  muster tree rm photos",
		RunE: func(cmd *cobra.Command, args []string) error {
			return f.With(cmd.Context(), false, func(_ tree.Store, p *runner.Operator) error {
				for _, id := range args {
					if err := p.Remove(cmd.Context(), id, force); err != nil {
						return explainRemoval(err)
					}
					if !f.JSON() {
						fmt.Fprintf(cmd.OutOrStdout(), "%s: removed\n", id)
					}
				}
				if f.JSON() {
					return command.PrintJSON(cmd.OutOrStdout(), map[string]any{"removed": args})
				}
				return nil
			})
		},
	}
	cmd.Flags().BoolVar(&force, "force", false, "cancel a tree that has not ended, and remove it")
	return cmd
}

// report prints the state of a tree after an operation on it.
func (f *treeCommand) report(cmd *cobra.Command, p *runner.Operator, id, what string) error {
	// The tree is read again: the state after the operation is what counts.
	r, err := p.Root(cmd.Context(), id)
	if err != nil {
		return err
	}
	if f.JSON() {
		return command.PrintJSON(cmd.OutOrStdout(), treetool.StatusOf(r, nil, time.Now().UTC()))
	}
	_, err = fmt.Fprintf(cmd.OutOrStdout(), "%s: %s; it is %s\n", id, what, r.State)
	return err
}

// explainRemoval says what to do about a tree that cannot be removed.
func explainRemoval(err error) error {
	if errors.Is(err, tree.ErrState) {
		return fmt.Errorf("%w; wait for its end, or use --force", err)
	}
	return err
}

// complete completes a tree's name.
func (f *treeCommand) complete(cmd *cobra.Command, args []string, _ string) (
	names []string, _ cobra.ShellCompDirective,
) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	// An error completes nothing: completion has no place to print it.
	f.With(cmd.Context(), false, func(store tree.Store, _ *runner.Operator) error {
		roots, err := store.Roots(cmd.Context())
		for _, r := range roots {
			names = append(names, r.ID)
		}
		return err
	})
	return names, cobra.ShellCompDirectiveNoFileComp
}
