package queues

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/muster-scale/muster/app/client"
	"github.com/muster-scale/muster/app/queuetool"
	"github.com/muster-scale/muster/cmd/muster/internal/command"
	"github.com/muster-scale/muster/internal/render"
)

// newExport makes muster queue export. When the lines go to standard output, the count goes to standard error. An
// interrupted export leaves an existing FILE as it was and ends with exit code 1.
func newExport(g *command.Global) *cobra.Command {
	return &cobra.Command{
		Use: "export NAME [FILE|-]", Short: "Write the messages of a queue to a file, as JSON lines",
		Args: cobra.RangeArgs(1, 2),
		Long: `Export writes every message as one JSON object per line, in the order in which they were sent, including those in
flight and delayed. It does not change the queue. A FILE that ends in .gz is compressed. The file appears only when it
is complete. Without FILE the lines go to standard output. Export reads from the running muster up, or from the data
directory if none runs.`,
		Example: "  muster queue export thumbnails-dead dead.jsonl.gz\n  muster queue export thumbnails | " +
			"jq -r .body",
		ValidArgsFunction: completeQueues(g),
		RunE: func(cmd *cobra.Command, args []string) error {
			name, err := client.OwnQueueName(g.Place, args[0])
			if err != nil {
				return err
			}
			file := "-"
			if len(args) == 2 {
				file = args[1]
			}
			resultOut := cmd.OutOrStdout()
			if file == "-" {
				resultOut = cmd.ErrOrStderr()
			}
			var result queuetool.ExportResult
			err = queuetool.With(cmd.Context(), g.Place, name, func(o *queuetool.Queues) (err error) {
				result, err = o.Export(cmd.Context(), name, file, cmd.OutOrStdout(), cmd.ErrOrStderr())
				return err
			})
			if err != nil {
				return err
			}
			if g.JSON() {
				return command.PrintJSON(resultOut, result)
			}
			_, err = fmt.Fprintf(resultOut, "exported %s of %s\n", render.Plural(result.Exported, "message"), name)
			return err
		},
	}
}

// newImport makes muster queue import. Lines are sent in batches, and each batch is stored whole or not at all. So
// after a failure the result says exactly where to continue; with -o json it is printed even then. --from-line is
// checked before the file is opened.
func newImport(g *command.Global) *cobra.Command {
	from := 1
	cmd := &cobra.Command{
		Use: "import NAME [FILE|-]", Short: "Send the messages of a file of JSON lines to a queue",
		Args: cobra.RangeArgs(1, 2),
		Long: `Import sends the lines that muster queue export wrote, or lines made by hand: each is a JSON object with a body,
and on a FIFO queue a group_id. Messages get new ids and times. Lines are sent in order, up to 500 at a time, all of
them or none. Import ends at the first invalid line and says with which --from-line to continue. A FILE that ends in .gz
is decompressed. Import sends through the running muster up, or into the data directory if none runs.`,
		Example: "  muster queue import thumbnails dead.jsonl.gz\n  muster queue import thumbnails " +
			"dead.jsonl --from-line 1201",
		ValidArgsFunction: completeQueues(g),
		RunE: func(cmd *cobra.Command, args []string) error {
			name, err := client.OwnQueueName(g.Place, args[0])
			if err != nil {
				return err
			}
			if from < 1 {
				return command.Usage(fmt.Errorf("--from-line: found %d, allowed is 1 or more", from))
			}
			file := "-"
			if len(args) == 2 {
				file = args[1]
			}
			// The file is opened before the queues: a wrong name must not lock a data directory.
			lines, closeLines, err := queuetool.OpenLines(file, cmd.InOrStdin())
			if err != nil {
				return command.Usage(err)
			}
			defer closeLines()
			// The result is valid after an error too, and says where to continue.
			var result queuetool.ImportResult
			err = queuetool.With(cmd.Context(), g.Place, name, func(o *queuetool.Queues) (err error) {
				result, err = o.Import(cmd.Context(), name, file, lines, from, cmd.ErrOrStderr())
				if g.JSON() {
					return errors.Join(err, command.PrintJSON(cmd.OutOrStdout(), result))
				}
				return err
			})
			if err != nil || g.JSON() {
				return err
			}
			_, err = fmt.Fprintln(cmd.OutOrStdout(), result.Summary())
			return err
		},
	}
	cmd.Flags().IntVar(&from, "from-line", 1, "skip the lines before this one")
	return cmd
}
