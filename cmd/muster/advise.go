package main

import (
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"github.com/muster-scale/muster/app"
	"github.com/muster-scale/muster/app/advise"
	"github.com/muster-scale/muster/app/sharing"
	"github.com/muster-scale/muster/cmd/muster/internal/command"
)

// newAdvise makes muster advise. It reads the configuration and the history, and needs no running muster up. The exit
// code is 0 whatever it finds.
func newAdvise(g *command.Global) *cobra.Command {
	window, metrics := "", false
	cmd := &cobra.Command{
		Use:   "advise [FLEET]",
		Short: "Say which values of the configuration do not fit the measured work, and what others would come to",
		Long: `Advise compares the configuration of a fleet with what its history measured: processor time and memory of the
work, durations, boots, sizes, ages. For each value that does not fit it prints the line of the file, the old and the
new value, the figures, a confidence, and the effect: the recorded work replayed in the simulator before and after.

It changes nothing. What it cannot judge, it says, with what is needed.`,
		Example: "  muster advise thumbnails\n  muster advise thumbnails --window 24h -o json",
		Args:    cobra.MaximumNArgs(1),
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
			return runAdvise(cmd, g, args, window, metrics)
		},
	}
	cmd.Flags().StringVar(&window, "window", "7d", "how far back to read the history, as in 7d or 36h")
	cmd.Flags().BoolVar(&metrics, "cloudwatch", false, "also read the CPUUtilization of the group or service from "+
		"CloudWatch, for work that workers do not measure; it has a price")
	return cmd
}

// runAdvise reads the files and prints the advice. Wrong flags and names end with exit code 2 before anything is read.
// window is the text of --window; metrics says whether CloudWatch is read, which is the only call over the network.
func runAdvise(cmd *cobra.Command, g *command.Global, args []string, window string, metrics bool) error {
	span, err := advise.Window(window)
	if err != nil {
		return err
	}
	file, err := g.NeedFile("advise")
	if err != nil {
		return err
	}
	c, err := g.Load()
	if err != nil {
		return err
	}
	// A configuration keeps no lines, so the text is read again.
	text, err := os.ReadFile(file)
	if err != nil {
		return fmt.Errorf("read the configuration for its lines: %w", err)
	}
	path := filepath.Join(c.Data, app.HistoryFile)
	// A reader never blocks the writer of a running muster up.
	h, err := sharing.OpenPast(cmd.Context(), c, path)
	if err != nil {
		return err
	}
	defer h.Close()
	now := time.Now()
	r := advise.Request{Config: c, File: file, Text: text, From: now.Add(-span), To: now, Progress: cmd.ErrOrStderr()}
	if len(args) == 1 {
		r.Fleet = args[0]
	}
	if metrics {
		if r.Metrics, err = advise.MetricsOf(cmd.Context(), c); err != nil {
			return err
		}
	}
	found, err := advise.Make(cmd.Context(), h, r)
	if err != nil {
		return err
	}
	if g.JSON() {
		return command.PrintJSON(cmd.OutOrStdout(), found)
	}
	return found.Print(cmd.OutOrStdout())
}
