package main

import (
	"cmp"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/muster-scale/muster/app/treetool"
	"github.com/muster-scale/muster/tree"
	"github.com/muster-scale/muster/tree/runner"
)

func newTreeStatus(f *forest) *cobra.Command {
	var most int
	cmd := &cobra.Command{
		Use: "status [ID]", Short: "Show all trees, or one by depth with its failed nodes", Args: cobra.MaximumNArgs(1),
		ValidArgsFunction: f.complete,
		RunE: func(cmd *cobra.Command, args []string) error {
			if most < 1 || most > tree.MaxBatch {
				return usage(fmt.Errorf("--failed: found %d, allowed is 1 to %d", most, tree.MaxBatch))
			}
			return f.With(cmd.Context(), false, func(store tree.Store, p *runner.Operator) error {
				if len(args) == 0 {
					return f.all(cmd, store)
				}
				s, err := treetool.Look(cmd.Context(), store, p, args[0], most)
				if err != nil {
					return err
				}
				if f.json() {
					return printJSON(cmd.OutOrStdout(), s)
				}
				return s.Print(cmd.OutOrStdout(), time.Now())
			})
		},
	}
	cmd.Flags().IntVar(&most, "failed", 20, "how many failed nodes to show at most")
	return cmd
}

func newTreeList(f *forest) *cobra.Command {
	return &cobra.Command{
		Use: "ls", Short: "Show all trees, a line each",
		RunE: func(cmd *cobra.Command, _ []string) error {
			return f.With(cmd.Context(), false, func(store tree.Store,
				_ *runner.Operator) error {
				return f.all(cmd, store)
			})
		},
	}
}

// all prints a line for each tree.
func (f *forest) all(cmd *cobra.Command, store tree.Store) error {
	rows, err := treetool.All(cmd.Context(), store)
	if err != nil {
		return err
	}
	if f.json() {
		return printJSON(cmd.OutOrStdout(), map[string]any{"trees": rows})
	}
	return treetool.PrintTable(cmd.OutOrStdout(), rows)
}

func newTreeWatch(f *forest) *cobra.Command {
	var every, timeout time.Duration
	cmd := &cobra.Command{
		Use: "watch ID", Short: "Show the progress of a tree until it ends", Args: cobra.ExactArgs(1),
		Long: `Watch shows the progress of a tree, its speed and the remaining time, until the tree ends. It ends with exit code
0 when all nodes are done, and with 1 when some failed or the tree was cancelled. With --timeout it ends with 4 when the
tree has not ended by then; the tree goes on. Elsewhere than on a terminal it prints a line every ten seconds and when
the state changes.`,
		ValidArgsFunction: f.complete,
		RunE: func(cmd *cobra.Command, args []string) error {
			if every < 50*time.Millisecond {
				return usage(fmt.Errorf("--every: found %s, allowed is 50ms or more", every))
			}
			if timeout < 0 {
				return usage(fmt.Errorf("--timeout: found %s, allowed is 0s (none) or more", timeout))
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

// watch shows a tree until it ends or the timeout, if above 0, is over, and prints its final state.
func (f *forest) watch(
	cmd *cobra.Command, store tree.Store, p *runner.Operator, id string, every, timeout time.Duration,
) error {
	s, err := treetool.Watch(cmd.Context(), store, p, id, every, timeout, cmd.ErrOrStderr())
	if _, late := errors.AsType[*treetool.UnfinishedError](err); late {
		return &exitError{exitThreshold, err}
	}
	if err != nil {
		return err
	}
	if f.json() {
		err = printJSON(cmd.OutOrStdout(), s)
	} else {
		err = s.Print(cmd.OutOrStdout(), s.FinishedAt)
	}
	return cmp.Or(err, s.Unsuccessful())
}
