package main

import (
	"github.com/spf13/cobra"

	"github.com/muster-scale/muster/app/client"
	"github.com/muster-scale/muster/app/status"
	"github.com/muster-scale/muster/cmd/muster/internal/command"
	"github.com/muster-scale/muster/server"
)

// newStatus makes muster status. Almost everything comes from one answer of the HTTP API, which -o json prints
// unchanged. The recent failures of a local fleet come from its log in the data directory: the API does not carry the
// output of jobs. Without a running muster up the exit code is 1.
func newStatus(g *command.Global) *cobra.Command {
	return &cobra.Command{
		Use: "status", Short: "Show the fleets of the running muster up: backlog, desired count, workers, failures",
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := g.Place()
			if err != nil {
				return err
			}
			var s server.Status
			if err := client.Get(cmd.Context(), c, "/v1/status", &s); err != nil {
				return err
			}
			g.PrintFault(cmd.ErrOrStderr())
			if g.JSON() {
				return command.PrintJSON(cmd.OutOrStdout(), s)
			}
			return status.Print(cmd.OutOrStdout(), s, func(fleet string) string {
				return status.FailedLately(cmd.Context(), c.Data, fleet, s.At)
			})
		},
	}
}
