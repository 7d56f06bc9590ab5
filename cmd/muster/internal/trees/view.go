package trees

import (
	"cmp"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/muster-scale/muster/app/treetool"
	"github.com/muster-scale/muster/cmd/muster/internal/command"
	"github.com/muster-scale/muster/tree"
	"github.com/muster-scale/muster/tree/runner"
)

// newStatus makes muster tree status. Without an ID it is muster tree ls.
func newStatus(f *treeCommand) *cobra.Command {
	var most int
	cmd := &cobra.Command{
		Use: "status [ID]", Short: "Show all trees, or one by depth with its failed nodes", Args: cobra.MaximumNArgs(1),
		ValidArgsFunction: f.complete,
		RunE: func(cmd *cobra.Command, args []string) error {
			if most < 1 || most > tree.MaxBatch {
				return command.Usage(fmt.Errorf("--failed: found %d, allowed is 1 to %d", most, tree.MaxBatch))
			}
			return f.With(cmd.Context(), false, func(store tree.Store, p *runner.Operator) error {
				if len(args) == 0 {
					return f.printAll(cmd, store)
				}
				s, err := treetool.Look(cmd.Context(), store, p, args[0], most)
				if err != nil {
					return err
				}
				if f.JSON() {
					return command.PrintJSON(cmd.OutOrStdout(), s)
				}
				return s.Print(cmd.OutOrStdout(), time.Now())
			})
		},
	}
	cmd.Flags().IntVar(&most, "failed", 20, "how many failed nodes to show at most")
	return cmd
}

// newList makes muster tree ls.
func newList(f *treeCommand) *cobra.Command {
	return &cobra.Command{
		Use: "ls", Short: "Show all trees, a line each",
		RunE: func(cmd *cobra.Command, _ []string) error {
			return f.With(cmd.Context(), false, func(store tree.Store,
				_ *runner.Operator) error {
				return f.printAll(cmd, store)
			})
		},
	}
}

// printAll prints a line for each tree.
func (f *treeCommand) printAll(cmd *cobra.Command, store tree.Store) error {
	rows, err := treetool.All(cmd.Context(), store)
	if err != nil {
		return err
	}
	if f.JSON() {
		return command.PrintJSON(cmd.OutOrStdout(), map[string]any{"trees": rows})
	}
	return treetool.PrintTable(cmd.OutOrStdout(), rows)
}

// newWatch makes muster tree watch. Its exit code tells a script how the tree ended; a timeout has a code of its
// own, because the tree is still running then.
func newWatch(f *treeCommand) *cobra.Command {
	var every, timeout time.Duration
	cmd := &cobra.Command{
		Use: "watch ID", Short: "Show the progress of a tree until it ends", Args: cobra.ExactArgs(1),
		Long: `Watch shows the progress of a tree, its speed and the remaining time, until the tree ends. On a terminal it
redraws one line; elsewhere it prints a line every ten seconds and when the state changes.

Exit codes: 0 all nodes are done, 1 some failed or the tree was cancelled, 4 the tree has not ended within --timeout (it
goes on).`,
		ValidArgsFunction: f.complete,
		RunE: func(cmd *cobra.Command, args []string) error {
			// Each reading queries the store that workers write to.
			if every < 50*time.Millisecond {
				return command.Usage(fmt.Errorf("--every: found %s, allowed is 50ms or more", every))
			}
			// 0 means no timeout, so a negative one would be read as none.
			if timeout < 0 {
				return command.Usage(fmt.Errorf("--timeout: found %s, allowed is 0s (none) or more", timeout))
			}
			return f.With(cmd.Context(), false, func(store tree.Store, p *runner.Operator) error {
				return f.watch(cmd, store, p, args[0], every, timeout)
			})
		},
	}
	cmd.Flags().DurationVar(&every, "every", time.Second, "the interval between two readings")
	cmd.Flags().DurationVar(&timeout, "timeout", 0, "how long to watch at most; 0 is until the tree ends")
	return cmd
}

// watch shows a tree until it ends or the timeout, if above 0, is over, and prints its final state. submit --watch uses
// it too. Progress goes to standard error, the final state to standard output.
func (f *treeCommand) watch(
	cmd *cobra.Command, store tree.Store, p *runner.Operator, id string, every, timeout time.Duration,
) error {
	s, err := treetool.Watch(cmd.Context(), store, p, id, every, timeout, cmd.ErrOrStderr())
	// A threshold in the sense of the exit codes: the time that the user stated.
	if _, late := errors.AsType[*treetool.UnfinishedError](err); late {
		return &command.Exit{Code: command.ExitThreshold, Err: err}
	}
	if err != nil {
		return err
	}
	if f.JSON() {
		err = command.PrintJSON(cmd.OutOrStdout(), s)
	} else {
		err = s.Print(cmd.OutOrStdout(), s.FinishedAt)
	}
	return cmp.Or(err, s.Unsuccessful())
}
