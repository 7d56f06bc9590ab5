package main

import (
	"errors"
	"time"

	"github.com/spf13/cobra"

	"github.com/muster-scale/muster/app/demo"
	"github.com/muster-scale/muster/cmd/muster/internal/command"
)

// newDemo makes muster demo. It prints the results even when they break the demo's promises, and then ends with exit
// code 1: a message that was lost, processed twice, or late under exact or deadline ([demo.Failure]).
func newDemo(g *command.Global) *cobra.Command {
	return &cobra.Command{
		Use:   "demo",
		Short: "Watch Muster size real worker processes for two test loads, in under a minute",
		Long: `Demo runs two published tests of queue scaling at twenty times the speed. In one test 50 messages take 1.25 s
each, in the other 2.5 s. They must finish within 15 s, and a worker takes 4.5 s to boot. Each test runs under the
policies exact, deadline and dynamic-backlog, all at the same time.

Queues, worker processes and times are real. Everything runs on this machine, in a temporary directory, and ends by
itself.

The tests were published for dynamic-backlog. It waits here as its alarms do: for three datapoints, 3 s apart, before
it scales out, and for fifteen before it scales in. deadline runs with a scale of 0.95, because starting a process is
not twenty times as fast as booting a machine.`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			// With -o json the view goes to standard error, because standard output is for the result.
			view := demo.NewView(cmd.OutOrStdout(), g.JSON(), cmd.ErrOrStderr())
			tally, err := demo.Play(cmd.Context(), view)
			if err != nil {
				return err
			}
			// They are printed also when a promise is broken, because the figures show which.
			results := tally.Results()
			if g.JSON() {
				err = command.PrintJSON(cmd.OutOrStdout(), map[string]any{"tests": results})
			} else {
				err = demo.Print(cmd.OutOrStdout(), results)
			}
			return errors.Join(err, demo.Failure(results))
		},
	}
}

// newSleepBody is the work of the demo and of test load: it sleeps for the duration in the message. It is hidden and a
// command of this program because a fleet needs a program to run, and this one exists on every machine that has Muster.
func newSleepBody(*command.Global) *cobra.Command {
	return &cobra.Command{
		Use: "sleep-body", Hidden: true,
		Short: "Sleep for the duration that standard input holds",
		Long: `Sleep-body is the command behind the demo and behind muster send --duration: it sleeps for the duration in
the message body. With MUSTER_DONE_LOG set it then adds a line to that file: queue, message id, when it was sent, now,
the process that started it, and when it began.`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return demo.Sleep(cmd.InOrStdin(), time.Now())
		},
	}
}
