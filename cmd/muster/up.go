package main

import (
	"context"
	"io"
	"log/slog"
	"time"

	"github.com/spf13/cobra"

	"github.com/muster-scale/muster/app"
	"github.com/muster-scale/muster/app/console"
	"github.com/muster-scale/muster/app/replay"
	"github.com/muster-scale/muster/cmd/muster/internal/command"
	"github.com/muster-scale/muster/config"
	"github.com/muster-scale/muster/internal/descendants"
	"github.com/muster-scale/muster/internal/host"
)

// newUp makes muster up. It reads the configuration and refuses one with a fault before it opens anything; later
// faults, in a changed file, leave the running configuration in force. It ends with exit code 0 after an interrupt, and
// with 1 when the data, a port or a server failed.
func newUp(g *command.Global) *cobra.Command {
	var o app.Options
	var hideKeys bool
	cmd := &cobra.Command{
		Use:   "up",
		Short: "Run the embedded queue, the controller and the fleets of a configuration",
		Long: `Up runs everything that the configuration names, until it is interrupted: the embedded queue behind its
SQS endpoint, a controller for each fleet, the worker processes and the HTTP API. Without a configuration it runs
one embedded queue called default, and no fleet.

At the first interrupt the workers finish their messages in progress, then everything stops. At the second interrupt
muster up ends at once; local workers still finish by themselves.

Up reloads the configuration when the file changes, or on a hang-up signal. If the new one has a fault, the old one
stays in force.`,
		Example: `  muster up
  muster up -f muster.yaml`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := g.Load()
			if err != nil {
				return err
			}
			if err := command.Usage(app.CheckCommands(c)); err != nil {
				return err
			}
			// An App reloads this file; without a file, nothing is watched.
			o.Watch = g.File()
			o.Routes = replay.Routes
			o.Cores = host.SparePlace()
			said := console.New(cmd.OutOrStdout(), app.LogsDir(c.Data), thisProgram().Version)
			if hideKeys {
				said.HideKeys()
			}
			return up(cmd.Context(), c, o, said, cmd.ErrOrStderr())
		},
	}
	cmd.Flags().BoolVar(&o.Ephemeral, "ephemeral", false, "keep the queue and the history in memory; they are lost "+
		"at "+
		"the end")
	cmd.Flags().BoolVar(&o.Shadow, "shadow", false,
		"shadow mode: decide and record, but set no size; muster explain --against compares")
	cmd.Flags().BoolVar(&o.Strict, "strict", false,
		"as AWS does, refuse for 60 s a second purge of a queue, and a new queue with the name of a deleted one")
	cmd.Flags().BoolVar(&o.AnyCredentials, "any-credentials", false, "accept any signature at the SQS endpoint")
	cmd.Flags().BoolVar(&hideKeys, "hide-keys", false, "do not print the keys of the embedded queue, for a service "+
		"whose output is stored; muster env prints them")
	return cmd
}

// up runs a configuration until ctx ends. The order matters. The process adopts orphaned programs first, so that none
// is missed. The console exists before the app, which reports damage to it while it opens. The default queue is made
// only when the configuration names neither queues nor fleets. At the interrupt, the busy workers are printed at once,
// because [app.App.Run] returns only when they have finished.
func up(ctx context.Context, c *config.Config, o app.Options, said *console.Console, errOut io.Writer) error {
	o.Logger = newLogger(errOut, slog.LevelInfo)
	// Programs that a killed worker leaves behind become children of this process, which can then end them.
	if err := descendants.Adopt(); err != nil {
		o.Logger.Warn("programs that a killed worker started may go on", "error", err)
	}
	o.Notify = said.Outcome
	o.Told = func(text string) { said.Printf("%s\n", text) }
	o.Version = thisProgram().Version
	a, err := app.Open(ctx, c, o)
	if err != nil {
		return err
	}
	defer a.Close()
	// Without a configuration muster up is an SQS endpoint to try, so it needs a queue.
	if len(c.Fleets) == 0 && len(c.Queues) == 0 {
		if err := a.Queues().CreateQueue(ctx, "default", nil, nil); err != nil {
			return err
		}
	}
	said.Start(a)
	// [app.App.Run] waits for busy workers; this tells the user meanwhile which they are.
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
