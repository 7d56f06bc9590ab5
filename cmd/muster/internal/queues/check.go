package queues

import (
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/muster-scale/muster/app/queuetool"
	"github.com/muster-scale/muster/cmd/muster/internal/command"
	"github.com/muster-scale/muster/queue"
	"github.com/muster-scale/muster/queue/check"
)

// newCheck makes muster queue check. It fails while muster up runs on the data directory ([queue.ErrLocked]):
// files that change cannot be checked. The exit code says whether anything is still damaged, so that a script can
// decide on --repair.
func newCheck(g *command.Global) *cobra.Command {
	var data string
	var repair bool
	cmd := &cobra.Command{
		Use: "check", Short: "Check the files of the embedded queues for damage, and repair them",
		Long: `Check reads all files of the embedded queues. It shows which files and messages are damaged, and which messages
are missing. It changes nothing. muster up must not run on the data directory meanwhile.

With --repair it copies the undamaged messages into new files. The damaged files move to a directory of their own below
the data directory, with a report. A message that was deleted may be back after a repair.

Exit codes: 0 nothing is damaged, or the repair is done; 1 something is damaged; 2 wrong usage.`,
		Example: "  muster queue check\n  muster queue check --data /var/lib/muster --repair",
		RunE: func(cmd *cobra.Command, _ []string) error {
			// With --data no configuration is read: the directory may be a copy on another machine.
			if data == "" {
				c, err := g.Place()
				if err != nil {
					return err
				}
				data = c.Data
			}
			found, err := check.Files(cmd.Context(), data, check.Options{Repair: repair, At: time.Now()})
			switch {
			// Another process has the data directory: nearly always the muster up of that directory.
			case errors.Is(err, queue.ErrLocked):
				return fmt.Errorf("%w; stop it, then check", err)
			case err != nil:
				return err
			case g.JSON():
				err = command.PrintJSON(cmd.OutOrStdout(), found)
			default:
				err = queuetool.PrintCheckup(cmd.OutOrStdout(), found)
			}
			// Kept is the directory of the damaged files after a repair, and empty without one.
			if err == nil && !found.Whole() && found.Kept == "" {
				err = &command.Exit{Code: command.ExitFailed, Err: nil} // the result is printed already
			}
			return err
		},
	}
	f := cmd.Flags()
	f.StringVar(&data, "data", "", "the data directory (default: that of the configuration)")
	f.BoolVar(&repair, "repair", false, "copy the undamaged messages to new files, and keep the damaged files")
	cmd.MarkFlagDirname("data")
	return cmd
}
