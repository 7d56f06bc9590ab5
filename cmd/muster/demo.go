package main

import (
	"errors"
	"time"

	"github.com/spf13/cobra"

	"github.com/muster-scale/muster/app/demo"
)

func newDemo(g *global) *cobra.Command {
	return &cobra.Command{
		Use:   "demo",
		Short: "See the main job done: queues, decisions, worker processes, in under a minute",
		Long: `Demo runs two published tests of queue scaling, twenty times as fast. 50 messages of 1.25 s, then of 2.5 s,
must finish within 15 s, and a worker takes 4.5 s to boot. Each test runs under the policies exact, deadline and
dynamic-backlog. deadline runs with a scale of 0.95, because starting a process is not twenty times as fast. The tests
were published for dynamic-backlog, which waits here as its alarms do: for three datapoints, 3 s apart, before it scales
out, and for fifteen before it scales in. Queues, worker processes and times are real. All of it runs on this machine,
in a temporary directory, and ends by itself.`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			view := demo.NewView(cmd.OutOrStdout(), g.json(), cmd.ErrOrStderr())
			tally, err := demo.Play(cmd.Context(), view)
			if err != nil {
				return err
			}
			results := tally.Results()
			if g.json() {
				err = printJSON(cmd.OutOrStdout(), map[string]any{"tests": results})
			} else {
				err = demo.Print(cmd.OutOrStdout(), results)
			}
			return errors.Join(err, demo.Failure(results))
		},
	}
}

// newSleepBody is the work of the demo and of test load: it sleeps for the duration in the message.
func newSleepBody(*global) *cobra.Command {
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
