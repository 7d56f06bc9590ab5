package main

import (
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/muster-scale/muster/app/client"
	"github.com/muster-scale/muster/app/testload"
)

func newSend(g *global) *cobra.Command {
	var (
		l   testload.Load
		url string
	)
	cmd := &cobra.Command{
		Use:   "send --queue NAME|URL",
		Short: "Send messages: test load, or the lines of a file",
		Example: `  muster send --queue thumbnails --count 50 --duration 1.25s
  muster send --queue thumbnails --count 1000 --duration 2s --spread 0.5 --rate 20
  muster send --queue URL --bodies requests.jsonl --over 5m`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			bodies, err := l.Make(cmd.InOrStdin())
			if err != nil {
				return usage(err)
			}
			if url, err = client.QueueURL(g.place, url); err != nil {
				return err
			}
			queues, err := client.SQS(cmd.Context(), g.place, url)
			if err != nil {
				return err
			}
			started := time.Now()
			sent, err := l.Send(cmd.Context(), queues, url, bodies, cmd.ErrOrStderr())
			seconds := time.Since(started).Seconds()
			if err != nil {
				return fmt.Errorf("%d of %d messages were sent: %w", sent, len(bodies), client.Explain(err))
			}
			if g.json() {
				return printJSON(cmd.OutOrStdout(), map[string]any{"sent": sent, "seconds": seconds})
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
		"a file with one body a line, - for standard input; count is then the most that are sent")
	f.DurationVar(&l.Duration, "duration", 0,
		"bodies that hold a processing duration, for muster work -- muster sleep-body")
	f.Float64Var(&l.Spread, "spread", 0, "how much durations vary: standard deviation over mean, lognormal")
	f.Uint64Var(&l.Seed, "seed", 1, "the seed of the durations")
	f.Float64Var(&l.Rate, "rate", 0, "messages a second; 0 sends as fast as possible")
	f.DurationVar(&l.Over, "over", 0, "send evenly over this time, in place of --rate")
	cmd.MarkFlagRequired("queue")
	return cmd
}
