package main

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/muster-scale/muster/app/plan"
	"github.com/muster-scale/muster/cmd/muster/internal/command"
)

// newPlan makes muster plan. A file with a fault is no reason to fail while muster up runs: [plan.Make] then plans with
// the configuration in force, and the fault is printed. Without --detailed-exitcode the exit code is 0 whether or not a
// size changes, so that scripts can print plans.
func newPlan(g *command.Global) *cobra.Command {
	var detailed bool
	cmd := &cobra.Command{
		Use:   "plan -f FILE [FLEET]",
		Short: "Show what a configuration would set now, with the arithmetic",
		Long: `Plan applies the configuration to the current state and shows the decision, without changing anything. It reads
the state from the running muster up. If none runs, it reads the data directory, the queues and the fleets itself. If
the file has a fault, it plans with the configuration in force. A fleet that another controller leads is planned there.

A table shows what to expect for the objective at the decided size, with one worker fewer and with one more.

Exit codes: 0 done, 1 failed, 2 wrong usage or configuration, 3 with --detailed-exitcode: a size would change.`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if _, err := g.NeedFile("plan"); err != nil {
				return err
			}
			// place and not load: a fault in the file is handed to Make, which decides whether it matters.
			c, err := g.Place()
			if err != nil {
				return err
			}
			plans, others, err := plan.Make(cmd.Context(), c, g.Fault())
			if err != nil {
				return err
			}
			g.PrintFault(cmd.ErrOrStderr())
			// All fleets are planned first, and one is chosen then, so that an unknown name lists the known ones.
			if len(args) == 1 {
				if plans, err = plan.Of(plans, others, args[0]); err != nil {
					return err
				}
				others = nil
			}
			for _, text := range others.Sentences() {
				fmt.Fprintln(cmd.ErrOrStderr(), text)
			}
			return showPlans(cmd.OutOrStdout(), g, plans, detailed)
		},
	}
	cmd.Flags().BoolVar(&detailed, "detailed-exitcode", false, "end with exit code 3 when a size would change")
	return cmd
}

// showPlans prints the plans, and returns exit code 3 without a message when a size changes and detailed is true.
func showPlans(out io.Writer, g *command.Global, plans []plan.Fleet, detailed bool) error {
	changes := false
	for _, p := range plans {
		changes = changes || p.Changes
		if !g.JSON() {
			if err := p.Print(out); err != nil {
				return err
			}
		}
	}
	if g.JSON() {
		if err := command.PrintJSON(out, map[string]any{"fleets": plans}); err != nil {
			return err
		}
	}
	// No text: the plans are printed, and this is no failure.
	if changes && detailed {
		return &command.Exit{Code: command.ExitChanges}
	}
	return nil
}
