package main

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/muster-scale/muster/app/client"
	"github.com/muster-scale/muster/cmd/muster/internal/command"
	"github.com/muster-scale/muster/event"
	"github.com/muster-scale/muster/server"
)

// newNotify makes muster notify. The event goes to the API of the running muster up, which knows the fleets and
// remembers ids: without one the exit code is 1. A repeated event is no failure: a script that repeats itself after a
// lost answer must go on.
func newNotify(g *command.Global) *cobra.Command {
	var e server.Event
	cmd := &cobra.Command{
		Use: "notify [FLEET]", Short: "Send an event: a fleet polls its queues now, not at its next interval",
		Long: `Notify sends an event to the running muster up. The fleet, the fleets of the queue, or all fleets poll their
queues and members at once. An event carries no number: only what the poll finds counts. So a lost, repeated or
needless event does no harm.

An event with --id does nothing if one with the same id was sent within the last quarter of an hour.`,
		Example: `  muster notify thumbnails
  muster notify --queue thumbnails --kind object-created --id upload-42`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if e.Fleet = append(args, "")[0]; e.Fleet != "" && e.Queue != "" {
				return command.Usage(errors.New("notify: found a fleet and --queue, allowed is one of them, or " +
					"neither for all fleets"))
			}
			c, err := g.Place()
			if err != nil {
				return err
			}
			done, err := client.Notify(cmd.Context(), c, e)
			if err != nil {
				return err
			}
			// The event is sent even if the configuration has a fault by now: the running program has a valid one.
			g.PrintFault(cmd.ErrOrStderr())
			if g.JSON() {
				return command.PrintJSON(cmd.OutOrStdout(), done)
			}
			said := "woke " + strings.Join(done.Fleets, ", ")
			if done.Repeated {
				said = "the event " + e.ID + " was sent before: nothing was woken"
			}
			_, err = fmt.Fprintln(cmd.OutOrStdout(), said)
			return err
		},
		// A fault in the configuration completes nothing: a completion cannot show an error.
		ValidArgsFunction: func(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
			c, err := g.Load()
			if err != nil || len(args) > 0 {
				return nil, cobra.ShellCompDirectiveNoFileComp
			}
			names := make([]string, len(c.Fleets))
			for i, f := range c.Fleets {
				names[i] = f.Name
			}
			return names, cobra.ShellCompDirectiveNoFileComp
		},
	}
	cmd.Flags().StringVar(&e.Queue, "queue", "", "wake the fleets of a queue: its name, URL or ARN")
	cmd.Flags().StringVar(&e.ID, "id", "", "an id of at most 256 bytes that makes a repetition harmless")
	cmd.Flags().StringVar(&e.Kind, "kind", "", "what happened, as in object-created; it is for metrics and has no "+
		"effect")
	for _, flag := range []string{"queue", "id"} {
		cmd.RegisterFlagCompletionFunc(flag, cobra.NoFileCompletions)
	}
	// Any kind is accepted; the completion offers those that have a name in docs/events.md.
	kinds := make([]string, 0, len(event.Kinds()))
	for _, k := range event.Kinds() {
		if k != event.Unknown && k != event.Test {
			kinds = append(kinds, string(k))
		}
	}
	cmd.RegisterFlagCompletionFunc("kind", cobra.FixedCompletions(kinds, cobra.ShellCompDirectiveNoFileComp))
	return cmd
}
