package main

import (
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/muster-scale/muster/app/client"
	"github.com/muster-scale/muster/app/testload"
	"github.com/muster-scale/muster/cmd/muster/internal/command"
)

// newSend makes muster send. It makes all bodies first, so that a fault in a file is found before anything was sent.
// Then it finds the queue's URL and its keys, and sends. After a failure the error says how many messages were sent:
// sending is not undone.
func newSend(g *command.Global) *cobra.Command {
	var (
		l   testload.Load
		url string
	)
	cmd := &cobra.Command{
		Use:   "send --queue NAME|URL",
		Short: "Send messages: test load, or the lines of a file",
		Long: `Send sends messages to a queue, as fast as possible or at a rate. All bodies are alike (--body), or durations for
muster sleep-body (--duration, with --spread), or the lines of a file (--bodies).`,
		Example: `  muster send --queue thumbnails --count 50 --duration 1.25s
  muster send --queue thumbnails --count 1000 --duration 2s --spread 0.5 --rate 20
  muster send --queue URL --bodies requests.jsonl --over 5m`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			// This needs no connection, so a wrong flag fails before anything else.
			bodies, err := l.Make(cmd.InOrStdin())
			if err != nil {
				return command.Usage(err)
			}
			// A name is looked up in the configuration; an unknown one is a queue of muster up.
			if url, err = client.QueueURL(g.Place, url); err != nil {
				return err
			}
			queues, err := client.SQS(cmd.Context(), g.Place, url)
			if err != nil {
				return err
			}
			started := time.Now()
			// Progress goes to standard error; the summary or the JSON alone is the result.
			sent, err := l.Send(cmd.Context(), queues, url, bodies, cmd.ErrOrStderr())
			seconds := time.Since(started).Seconds()
			if err != nil {
				return fmt.Errorf("%d of %d messages were sent: %w", sent, len(bodies), client.Explain(err))
			}
			if g.JSON() {
				return command.PrintJSON(cmd.OutOrStdout(), map[string]any{"sent": sent, "seconds": seconds})
			}
			_, err = fmt.Fprintf(cmd.OutOrStdout(), "sent %d messages in %.1f s\n", sent, seconds)
			return err
		},
	}
	f := cmd.Flags()
	f.StringVar(&url, "queue", "", "the queue's name, or its URL")
	f.IntVar(&l.Count, "count", 1, "how many messages")
	f.StringVar(&l.Body, "body", "hello", "the body of every message")
	f.StringVar(&l.Bodies, "bodies", "",
		"a file with one body per line, - for standard input; --count then limits how many are sent")
	f.DurationVar(&l.Duration, "duration", 0,
		"send processing durations as bodies, with this mean, for muster work -- muster sleep-body")
	f.Float64Var(&l.Spread, "spread", 0, "how much --duration varies: standard deviation divided by mean, lognormal")
	f.Uint64Var(&l.Seed, "seed", 1, "the random seed of the durations")
	f.Float64Var(&l.Rate, "rate", 0, "messages per second; 0 sends as fast as possible")
	f.DurationVar(&l.Over, "over", 0, "send evenly over this time, instead of --rate")
	cmd.MarkFlagRequired("queue")
	return cmd
}
