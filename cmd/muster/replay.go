package main

import (
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/muster-scale/muster/app"
	"github.com/muster-scale/muster/app/advise"
	"github.com/muster-scale/muster/app/replay"
	"github.com/muster-scale/muster/app/sharing"
	"github.com/muster-scale/muster/cmd/muster/internal/command"
	"github.com/muster-scale/muster/cmd/muster/internal/simulations"
	"github.com/muster-scale/muster/config"
	"github.com/muster-scale/muster/internal/render"
	"github.com/muster-scale/muster/internal/terminal"
	"github.com/muster-scale/muster/policy"
)

// newReplay makes muster replay. It reads the configuration and the history, and needs no running muster up. A wrong
// key or policy is a usage error, found before anything is read. Exit code 1 means that too little was recorded.
func newReplay(g *command.Global) *cobra.Command {
	var r replay.Request
	window, out, ended := "", "", time.Duration(0)
	cmd := &cobra.Command{
		Use:   "replay [FLEET]",
		Short: "Replay a fleet's recorded work under another policy or other values, in virtual time",
		Long: `Replay runs the arrivals and durations that the history recorded through the simulator: under the present
configuration, and under a changed one. It shows for each the share of messages in time, the worker-hours, the cost
and the changes of size, and prints the changed fleet to copy into the configuration. It changes nothing.

The first row is what really happened, as far as the history knows it: a dash is unknown. The time before the first
record and after the last one is left out.

--policy is one of Muster's policies or the rule of another autoscaler; NAME[VALUE] sets the main setting of such a
rule, as in keda[5]. --set changes a key of the fleet, also within a mapping. --bound adds a lower bound of the cost of
any scheduler, which takes some seconds.

--out replays nothing: it writes the recorded messages as a trace file, for muster simulate and for the playground.`,
		Example: `  muster replay thumbnails --set max=20
  muster replay thumbnails --window 7d --policy exact --set policy.trees=whole
  muster replay thumbnails --others keda,aws-dynamic --bound -o json
  muster replay thumbnails --window 7d --out thumbnails.csv.gz`,
		Args: cobra.MaximumNArgs(1),
		// A file with a fault completes nothing, because an error has no place in a completion.
		ValidArgsFunction: func(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
			var names []string
			c, err := g.Load()
			for i := 0; err == nil && len(args) == 0 && i < len(c.Fleets); i++ {
				names = append(names, c.Fleets[i].Name)
			}
			return names, cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			span, err := advise.Window(window)
			if err != nil {
				return err
			}
			if len(args) == 1 {
				r.Fleet = args[0]
			}
			// The window is fixed here, so that all runs are about the same messages.
			r.To = time.Now().Add(-ended)
			r.From = r.To.Add(-span)
			return runReplay(cmd, g, r, out)
		},
	}
	f := cmd.Flags()
	f.StringVar(&window, "window", "24h", "how much of the history to replay, as in 7d or 36h")
	f.DurationVar(&ended, "until", 0, "how long ago the window ended, as in 2h")
	f.StringVar(&r.Policy, "policy", "", "another policy ("+strings.Join(policy.Names(), ", ")+"), or another "+
		"autoscaler")
	f.StringArrayVar(&r.Set, "set", nil, "a value of the fleet as KEY=VALUE, as in max=20 or policy.scale=0.8")
	f.StringSliceVar(&r.Others, "others", nil, "other autoscalers to compare with, at most 4: "+
		strings.Join(simulations.OtherAutoscalers(), ", "))
	f.StringVar(&out, "out", "", "write the recorded messages to this FILE.csv or FILE.csv.gz instead of a replay")
	f.BoolVar(&r.Bound, "bound", false, "add the lower bound of the cost")
	for _, replayed := range []string{"policy", "set", "others", "bound"} {
		cmd.MarkFlagsMutuallyExclusive("out", replayed)
	}
	cmd.RegisterFlagCompletionFunc("policy", simulations.CompletePolicies(true, true))
	cmd.RegisterFlagCompletionFunc("others", simulations.CompletePolicies(false, false))
	for _, flag := range []string{"set", "until"} {
		cmd.RegisterFlagCompletionFunc(flag, cobra.NoFileCompletions)
	}
	cmd.RegisterFlagCompletionFunc("window",
		cobra.FixedCompletions([]string{"1h", "24h", "7d"}, cobra.ShellCompDirectiveNoFileComp))
	return cmd
}

// runReplay reads the files and prints the replay. The history is only read, so a running muster up is not disturbed,
// and what it recorded until this moment counts.
func runReplay(cmd *cobra.Command, g *command.Global, r replay.Request, out string) error {
	if _, err := g.NeedFile("replay"); err != nil {
		return err
	}
	c, err := g.Load()
	if err != nil {
		return err
	}
	if err := replay.Check(c, r); err != nil {
		return err
	}
	path := filepath.Join(c.Data, app.HistoryFile)
	// Several controllers share one history; a controller alone keeps it in a file.
	h, err := sharing.OpenPast(cmd.Context(), c, path)
	if err != nil {
		return err
	}
	defer h.Close()
	if out != "" {
		return exportReplay(cmd, g, h, c, r, out)
	}
	// The number of runs is known only once the request is checked.
	bar := terminal.NewProgress(cmd.ErrOrStderr(), "runs of what was recorded:", 0)
	defer bar.Done()
	found, err := replay.Make(cmd.Context(), h, c, r, func(done, of int) {
		bar.Total = of
		bar.At(done)
	})
	if err != nil {
		return err
	}
	if g.JSON() {
		return command.PrintJSON(cmd.OutOrStdout(), found)
	}
	return replay.Print(cmd.OutOrStdout(), found)
}

// exportReplay writes what was recorded as a trace.
func exportReplay(cmd *cobra.Command, g *command.Global, h replay.History, c *config.Config, r replay.Request,
	out string) error {
	n, notes, err := replay.Export(cmd.Context(), h, c, r, out)
	if err != nil {
		return err
	}
	if g.JSON() {
		return command.PrintJSON(cmd.OutOrStdout(), map[string]any{"written": out, "messages": n, "notes": notes})
	}
	fmt.Fprintf(cmd.OutOrStdout(), "wrote %s to %s\n", render.Plural(int(n), "message"), out)
	for _, note := range notes {
		fmt.Fprintf(cmd.OutOrStdout(), "  %s\n", note)
	}
	return nil
}
