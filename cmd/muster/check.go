package main

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/muster-scale/muster/app"
	"github.com/muster-scale/muster/config"
	"github.com/muster-scale/muster/internal/host"
	"github.com/muster-scale/muster/internal/render"
	"github.com/muster-scale/muster/kinds"
	"github.com/muster-scale/muster/policy"
)

func newCheck(g *global) *cobra.Command {
	return &cobra.Command{
		Use: "check -f FILE", Short: "Check a configuration, and show every fault at once",
		RunE: func(cmd *cobra.Command, _ []string) error {
			path, err := g.needFile("check")
			if err != nil {
				return err
			}
			c, err := kinds.Load(path)
			if err == nil {
				err = app.CheckCommands(c)
			}
			faults, isFaults := errors.AsType[config.Faults](err)
			if err != nil && !isFaults {
				return usage(err)
			}
			var remarks []config.Fault
			if err == nil {
				remarks = allRemarks(c, host.Cores())
			}
			if g.json() {
				if err := printJSON(cmd.OutOrStdout(),
					map[string]any{"valid": err == nil, "faults": append([]config.Fault{}, faults...),
						"remarks": append([]config.Fault{}, remarks...)}); err != nil {
					return err
				}
				if isFaults {
					return &exitError{code: exitUsage}
				}
				return nil
			}
			if err != nil {
				return usage(err)
			}
			fmt.Fprintf(cmd.OutOrStdout(), "%s: no faults, %s\n", path, render.Plural(len(c.Fleets), "fleet"))
			for _, f := range c.Fleets {
				watched := ""
				if f.Policy.Shadow {
					watched = ", in shadow mode: another system sizes it"
				}
				fmt.Fprintf(cmd.OutOrStdout(), "  %s: %d to %d workers for %s, %s (%s)%s\n", f.Name, f.Limits.Min,
					f.Limits.Max,
					fleetQueue(f), f.Policy.Name, policy.Describe(f.Policy.Name), watched)
			}
			for _, r := range remarks {
				fmt.Fprintln(cmd.OutOrStdout(), r.String())
			}
			return nil
		},
	}
}

// allRemarks returns the remarks on the configuration and on its use on this machine, sorted by place.
func allRemarks(c *config.Config, cores int) []config.Fault {
	remarks := append(c.Remarks(), c.CoreRemarks(cores)...)
	slices.SortStableFunc(remarks, func(a, b config.Fault) int {
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
	})
	return remarks
}

func fleetQueue(f config.Fleet) string {
	var names []string
	for _, q := range f.Queues {
		names = append(names, cmp.Or(q.URL, q.Name))
	}
	switch len(names) {
	case 0:
		return "no queue"
	case 1:
		return "queue " + names[0]
	}
	return "queues " + strings.Join(names, ", ")
}
