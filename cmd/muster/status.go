package main

import (
	"context"
	"io"

	"github.com/spf13/cobra"

	"github.com/muster-scale/muster/app/client"
	"github.com/muster-scale/muster/app/status"
	"github.com/muster-scale/muster/cmd/muster/internal/command"
	"github.com/muster-scale/muster/config"
	"github.com/muster-scale/muster/server"
)

// newStatus makes muster status. Almost everything comes from one answer of the HTTP API, which -o json prints
// unchanged. The recent failures of a local fleet come from its log in the data directory: the API does not carry the
// output of jobs. Without a running muster up the exit code is 1.
func newStatus(g *command.Global) *cobra.Command {
	watch := false
	cmd := &cobra.Command{
		Use: "status", Short: "Show the fleets of the running muster up: backlog, desired count, workers, failures",
		Example: `  muster status
  muster status --watch`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := g.Place()
			if err != nil {
				return err
			}
			// A fault is printed once, also by --watch: it would push the table off the screen.
			g.PrintFault(cmd.ErrOrStderr())
			show := func(w io.Writer) error { return showStatus(cmd.Context(), w, g, c) }
			if watch {
				return status.Watch(cmd.Context(), cmd.OutOrStdout(), show)
			}
			return show(cmd.OutOrStdout())
		},
	}
	cmd.Flags().BoolVar(&watch, "watch", false, "print it every two seconds until interrupted; muster top shows more")
	return cmd
}

// showStatus prints the present status once.
func showStatus(ctx context.Context, w io.Writer, g *command.Global, c *config.Config) error {
	var s server.Status
	if err := client.Get(ctx, c, "/v1/status", &s); err != nil {
		return err
	}
	if g.JSON() {
		return command.PrintJSON(w, s)
	}
	return status.Print(w, s, func(fleet string) string { return status.FailedLately(ctx, c.Data, fleet, s.At) })
}
