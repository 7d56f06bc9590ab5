package main

import (
	"cmp"
	"io"

	"github.com/spf13/cobra"

	"github.com/muster-scale/muster/app/handover"
	"github.com/muster-scale/muster/app/publish"
	"github.com/muster-scale/muster/cmd/muster/internal/command"
)

// newPublish makes muster publish. It prints a line for each fleet even when some failed, and then ends with exit code
// 1: under cron the other fleets must still be published. With --emf, standard output is for the metrics, so the lines
// for people go to standard error.
func newPublish(g *command.Global) *cobra.Command {
	lines := false
	cmd := &cobra.Command{
		Use:   "publish -f FILE [FLEET...]",
		Short: "Publish the metrics of fleets once, for cron",
		Long: `Publish reads the queues and the members of fleets once and publishes to CloudWatch: backlog per worker, acceptable
backlog per worker, mean processing duration, workers and utilization. For a fleet with delegate it also updates the
scaling policy, if its target differs by more than delegate.change. It sets no size.

It reads from the running muster up, or from the queues and fleets themselves if none runs. With --emf it writes the
metrics to standard output in the embedded metric format, for CloudWatch Logs, and sends nothing. A cron line for each
minute:

  * * * * * muster publish -f /etc/muster.yaml`,
		Example: "  muster publish -f muster.yaml\n  muster publish -f muster.yaml --emf thumbnails",
		Args:    cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if _, err := g.NeedFile("publish"); err != nil {
				return err
			}
			// place is not enough: the metrics and their names follow from the fleets and their policies.
			c, err := g.Load()
			if err != nil {
				return err
			}
			// A nil writer means CloudWatch; a nil *T in an interface would not, so out is set only with --emf.
			var out io.Writer
			if lines {
				out = cmd.OutOrStdout()
			}
			all, err := publish.Once(cmd.Context(), c, args, out)
			if err != nil {
				return err
			}
			resultOut := cmd.OutOrStdout()
			if lines {
				resultOut = cmd.ErrOrStderr() // standard output is for the metrics
			}
			if g.JSON() {
				err = command.PrintJSON(resultOut, map[string]any{"fleets": all})
			} else {
				for _, p := range all {
					p.Print(resultOut)
				}
			}
			// An error of printing comes first. Failed is the error for fleets whose own line says what failed.
			return cmp.Or(err, handover.Failed(all))
		},
	}
	cmd.Flags().BoolVar(&lines, "emf", false,
		"write the metrics as lines in the embedded metric format, instead of sending them")
	return cmd
}
