package main

import (
	"io"

	"github.com/spf13/cobra"

	"github.com/muster-scale/muster/app/plan"
)

func newPlan(g *global) *cobra.Command {
	var detailed bool
	cmd := &cobra.Command{
		Use:   "plan -f FILE [FLEET]",
		Short: "Show what a configuration would set now, with the arithmetic",
		Long: `Plan applies the configuration to the current state and shows the decision, without changing anything. It reads
the state from the running muster up, so that a changed configuration can be tried before it is applied; when none runs,
it opens the data itself. While the file has a fault it plans with the configuration in force. A table shows what to
expect for the objective from that size, from one worker fewer and from one more.`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if _, err := g.needFile("plan"); err != nil {
				return err
			}
			c, err := g.place()
			if err != nil {
				return err
			}
			plans, err := plan.Make(cmd.Context(), c, g.fault)
			if err != nil {
				return err
			}
			g.noted(cmd.ErrOrStderr())
			if len(args) == 1 {
				if plans, err = plan.Of(plans, args[0]); err != nil {
					return err
				}
			}
			return showPlans(cmd.OutOrStdout(), g, plans, detailed)
		},
	}
	cmd.Flags().BoolVar(&detailed, "detailed-exitcode", false, "end with 3 when the plan changes a size")
	return cmd
}

func showPlans(out io.Writer, g *global, plans []plan.Fleet, detailed bool) error {
	changes := false
	for _, p := range plans {
		changes = changes || p.Changes
		if !g.json() {
			if err := p.Print(out); err != nil {
				return err
			}
		}
	}
	if g.json() {
		if err := printJSON(out, map[string]any{"fleets": plans}); err != nil {
			return err
		}
	}
	if changes && detailed {
		return &exitError{code: exitChanges}
	}
	return nil
}
