package main

import (
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/muster-scale/muster/app/queuetool"
	"github.com/muster-scale/muster/queue"
	"github.com/muster-scale/muster/queue/check"
)

func newQueueCheck(g *global) *cobra.Command {
	var data string
	var repair bool
	cmd := &cobra.Command{
		Use: "check", Short: "Check the files of the embedded queues for damage, and repair them",
		Long: `Check reads all files of the embedded queues and says which are damaged, which messages are damaged and which
are missing. It changes nothing. muster up must not run on the data directory.

With --repair the messages that are whole go into new files. The damaged files stay in a directory of their own
below the data directory, with a report. A message that was deleted may be back after a repair.

Exit codes: 0 nothing is damaged, or all that is whole was repaired; 1 something is damaged; 2 wrong usage.`,
		Example: "  muster queue check\n  muster queue check --data /var/lib/muster --repair",
		RunE: func(cmd *cobra.Command, _ []string) error {
			if data == "" {
				c, err := g.place()
				if err != nil {
					return err
				}
				data = c.Data
			}
			found, err := check.Files(cmd.Context(), data, check.Options{Repair: repair, At: time.Now()})
			switch {
			case errors.Is(err, queue.ErrLocked):
				return fmt.Errorf("%w; stop it, then check", err)
			case err != nil:
				return err
			case g.json():
				err = printJSON(cmd.OutOrStdout(), found)
			default:
				err = queuetool.PrintCheckup(cmd.OutOrStdout(), found)
			}
			if err == nil && !found.Whole() && found.Kept == "" {
				err = &exitError{exitFailed, nil} // the result is printed already
			}
			return err
		},
	}
	f := cmd.Flags()
	f.StringVar(&data, "data", "", "the data directory (default: that of the configuration)")
	f.BoolVar(&repair, "repair", false, "move the whole messages to new files, and keep the damaged files")
	cmd.MarkFlagDirname("data")
	return cmd
}
