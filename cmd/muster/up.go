package main

import (
	"context"
	"io"
	"log/slog"
	"time"

	"github.com/spf13/cobra"

	"github.com/muster-scale/muster/app"
	"github.com/muster-scale/muster/app/console"
	"github.com/muster-scale/muster/config"
	"github.com/muster-scale/muster/internal/descendants"
	"github.com/muster-scale/muster/internal/host"
)

func newUp(g *global) *cobra.Command {
	var o app.Options
	cmd := &cobra.Command{
		Use:   "up",
		Short: "Run the embedded queue, the controller and the fleets of a configuration",
		Long: `Up runs everything that the configuration names, until it is interrupted: the embedded queue behind its
SQS endpoint, a controller for each fleet, the worker processes and the HTTP API. Without -f it starts an
empty set-up with a queue called default.

The first interrupt lets workers finish what they hold; after the second, muster up ends and they finish by themselves.
It reloads the configuration when the file changes, or on a hang-up signal. It refuses one with a fault, and the one
before stays in force.`,
		Example: `  muster up
  muster up -f muster.yaml`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := g.load()
			if err != nil {
				return err
			}
			if err := usage(app.CheckCommands(c)); err != nil {
				return err
			}
			o.Watch = g.file()
			o.Cores = host.SparePlace()
			return up(cmd.Context(), c, o, cmd.OutOrStdout(), cmd.ErrOrStderr())
		},
	}
	cmd.Flags().BoolVar(&o.Ephemeral, "ephemeral", false, "keep the queue and the history in memory")
	cmd.Flags().BoolVar(&o.Shadow, "shadow", false,
		"only decide and record, beside the systems that size the fleets; muster explain --against compares")
	cmd.Flags().BoolVar(&o.Strict, "strict", false,
		"refuse for 60 s, as AWS does, a second purge and the name of a deleted queue")
	cmd.Flags().BoolVar(&o.AnyCredentials, "any-credentials", false, "accept any signature at the SQS endpoint")
	return cmd
}

func up(ctx context.Context, c *config.Config, o app.Options, out, errOut io.Writer) error {
	o.Logger = newLogger(errOut, slog.LevelInfo)
	if err := descendants.Adopt(); err != nil {
		o.Logger.Warn("programs that a killed worker started may go on", "error", err)
	}
	said := console.New(out, app.LogsDir(c.Data), thisProgram().Version)
	o.Notify = said.Outcome
	o.Told = func(text string) { said.Printf("%s\n", text) }
	o.Version = thisProgram().Version
	a, err := app.Open(ctx, c, o)
	if err != nil {
		return err
	}
	defer a.Close()
	if len(c.Fleets) == 0 && len(c.Queues) == 0 {
		if err := a.Queues().CreateQueue(ctx, "default", nil, nil); err != nil {
			return err
		}
	}
	said.Start(a)
	go func() {
		<-ctx.Done()
		said.Stopping(time.Now().UTC(), a.Fleets(), c.Fleets)
	}()
	if err := a.Run(ctx); err != nil {
		return err
	}
	said.Printf("stopped\n")
	return nil
}
