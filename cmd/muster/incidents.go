package main

import (
	"context"
	"errors"
	"io"
	"time"

	"github.com/spf13/cobra"

	"github.com/muster-scale/muster/app/client"
	"github.com/muster-scale/muster/app/incidents"
	"github.com/muster-scale/muster/cmd/muster/internal/command"
	"github.com/muster-scale/muster/server"
)

// newIncidents makes muster incidents. The list comes from the running muster up. --test needs none: it sends from this
// process, with the channels of the configuration.
func newIncidents(g *command.Global) *cobra.Command {
	test := false
	cmd := &cobra.Command{
		Use: "incidents", Short: "List open and recent incidents, or test the channels that are told of them",
		Long: `Incidents lists what is wrong now and what was wrong lately, as the running muster up saw it, and the channels
that are told (notify: in the configuration). --test sends a test notice to each channel and prints what it answered;
it needs no running muster up, and its exit code is 1 if a channel failed.`,
		Example: `  muster incidents
  muster incidents --test`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if test {
				return testChannels(cmd.Context(), g, cmd.OutOrStdout())
			}
			c, err := g.Place()
			if err != nil {
				return err
			}
			var all server.Incidents
			if err := client.Get(cmd.Context(), c, "/v1/incidents", &all); err != nil {
				return err
			}
			g.PrintFault(cmd.ErrOrStderr())
			if g.JSON() {
				return command.PrintJSON(cmd.OutOrStdout(), all)
			}
			incidents.Print(cmd.OutOrStdout(), all, time.Now())
			return nil
		},
	}
	cmd.Flags().BoolVar(&test, "test", false, "send a test notice to each channel and print what it answered")
	return cmd
}

// testChannels sends a test notice to each channel of the configuration. Unlike the list it needs a valid file: it
// opens the channels that are stated now.
func testChannels(ctx context.Context, g *command.Global, out io.Writer) error {
	if _, err := g.NeedFile("incidents --test"); err != nil {
		return err
	}
	c, err := g.Load()
	if err != nil {
		return err
	}
	if len(c.Notify) == 0 {
		return command.Usage(errors.New("incidents --test: the configuration has no notify; docs/notices.md shows one"))
	}
	answers := incidents.Test(ctx, c, time.Now().UTC())
	if !g.JSON() {
		incidents.PrintAnswers(out, answers)
	} else if err := command.PrintJSON(out, map[string]any{"answers": answers}); err != nil {
		return err
	}
	return incidents.Failed(answers)
}
