package main

import (
	"github.com/spf13/cobra"

	"github.com/muster-scale/muster/app/client"
	"github.com/muster-scale/muster/app/status"
	"github.com/muster-scale/muster/server"
)

func newStatus(g *global) *cobra.Command {
	return &cobra.Command{
		Use: "status", Short: "Show the fleets of the running muster up",
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := g.place()
			if err != nil {
				return err
			}
			var s server.Status
			if err := client.Get(cmd.Context(), c, "/v1/status", &s); err != nil {
				return err
			}
			g.noted(cmd.ErrOrStderr())
			if g.json() {
				return printJSON(cmd.OutOrStdout(), s)
			}
			return status.Print(cmd.OutOrStdout(), s, func(fleet string) string {
				return status.FailedLately(cmd.Context(), c.Data, fleet, s.At)
			})
		},
	}
}
