package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/muster-scale/muster/app"
	"github.com/muster-scale/muster/cmd/muster/internal/command"
	"github.com/muster-scale/muster/config"
	"github.com/muster-scale/muster/internal/host"
	"github.com/muster-scale/muster/internal/render"
	"github.com/muster-scale/muster/kinds"
	"github.com/muster-scale/muster/policy"
)

// newCheck makes muster check. It loads the configuration as muster up would, so that both accept the same files, and
// looks up the programs of local fleets. The exit code is 2 with faults and 0 without, whatever the remarks say.
func newCheck(g *command.Global) *cobra.Command {
	return &cobra.Command{
		Use: "check -f FILE", Short: "Check a configuration, and show every fault at once",
		Long: `Check reads a configuration as muster up would and shows every fault with its place. It also checks that the
programs of local fleets exist. It calls no other system: muster doctor does.

A fault keeps muster up from starting. A remark does not: it names a setting that works, but that may not mean what its
author expected.

Exit codes: 0 no faults, with or without remarks; 2 faults.`,
		Example: "  muster check -f muster.yaml",
		RunE: func(cmd *cobra.Command, _ []string) error {
			path, err := g.NeedFile("check")
			if err != nil {
				return err
			}
			c, err := kinds.Load(path)
			if err == nil {
				err = app.CheckCommands(c)
			}
			// Anything but faults, such as a missing file, is an error without a place.
			faults, isFaults := errors.AsType[config.Faults](err)
			if err != nil && !isFaults {
				return command.Usage(err)
			}
			// Remarks need a configuration without faults, because they follow from its values.
			var remarks []config.Fault
			if err == nil {
				remarks = allRemarks(c, host.Cores())
			}
			if g.JSON() {
				if err := command.PrintJSON(cmd.OutOrStdout(),
					map[string]any{"valid": err == nil, "faults": append([]config.Fault{}, faults...),
						"remarks": append([]config.Fault{}, remarks...)}); err != nil {
					return err
				}
				// The faults are printed as part of the result, so the error has no text.
				if isFaults {
					return &command.Exit{Code: command.ExitUsage}
				}
				return nil
			}
			if err != nil {
				return command.Usage(err)
			}
			printChecked(cmd.OutOrStdout(), path, c, remarks)
			return nil
		},
	}
}

// printChecked prints a configuration without faults: a line for each fleet, then the remarks. Each remark begins with
// that word, because a bare place below "no faults" reads like a fault.
func printChecked(out io.Writer, path string, c *config.Config, remarks []config.Fault) {
	fmt.Fprintf(out, "%s: no faults, %s\n", path, render.Plural(len(c.Fleets), "fleet"))
	for _, f := range c.Fleets {
		shadow := ""
		if f.Policy.Shadow {
			shadow = ", in shadow mode: another system sizes it"
		}
		fmt.Fprintf(out, "  %s: %d to %d workers for %s, %s (%s)%s\n", f.Name, f.Limits.Min, f.Limits.Max,
			fleetQueue(f), f.Policy.Name, policy.Describe(f.Policy.Name), shadow)
	}
	for _, r := range remarks {
		r.Kind = "" // the text of a remark has the word too, but behind the place
		fmt.Fprintf(out, "remark: %s\n", r.String())
	}
}

// allRemarks returns the remarks on the configuration and on its use on this machine, sorted by place. cores is the
// number of cores of this machine: a local fleet larger than that gets a remark.
func allRemarks(c *config.Config, cores int) []config.Fault {
	remarks := append(c.Remarks(), c.CoreRemarks(cores)...)
	// Both lists are sorted already; together they would not be.
	slices.SortStableFunc(remarks, func(a, b config.Fault) int {
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
	})
	return remarks
}

// fleetQueue names the queues of a fleet, by URL where they have one. A fleet that is sized by signals alone has none.
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
