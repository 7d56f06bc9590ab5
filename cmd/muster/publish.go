package main

import (
	"cmp"
	"io"

	"github.com/spf13/cobra"

	"github.com/muster-scale/muster/app/publish"
)

func newPublish(g *global) *cobra.Command {
	lines := false
	cmd := &cobra.Command{
		Use:   "publish -f FILE [FLEET...]",
		Short: "Publish the metrics of fleets once, for cron",
		Long: `Publish reads the queues and the members of fleets once, publishes backlog per worker, acceptable backlog per
worker, mean processing duration, workers and utilization to CloudWatch, and ends. For a fleet with delegate it also
updates the scaling policy, when its target differs by more than delegate.change. It sets no size.

It reads from the running muster up, or directly when none runs. With --emf it writes the metrics to standard output in
the embedded metric format, for CloudWatch Logs, and sends nothing. A cron line for each minute:

  * * * * * muster publish -f /etc/muster.yaml`,
		Example: "  muster publish -f muster.yaml\n  muster publish -f muster.yaml --emf thumbnails",
		Args:    cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if _, err := g.needFile("publish"); err != nil {
				return err
			}
			c, err := g.load()
			if err != nil {
				return err
			}
			var out io.Writer
			if lines {
				out = cmd.OutOrStdout()
			}
			all, err := publish.Once(cmd.Context(), c, args, out)
			if err != nil {
				return err
			}
			said := cmd.OutOrStdout()
			if lines {
				said = cmd.ErrOrStderr() // standard output is for the metrics
			}
			if g.json() {
				err = printJSON(said, map[string]any{"fleets": all})
			} else {
				for _, p := range all {
					p.Print(said)
				}
			}
			return cmp.Or(err, publish.Failed(all))
		},
	}
	cmd.Flags().BoolVar(&lines, "emf", false,
		"write the metrics as lines in the embedded metric format, in place of sending them")
	return cmd
}
