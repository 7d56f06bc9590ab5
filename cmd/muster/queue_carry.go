package main

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/muster-scale/muster/app/client"
	"github.com/muster-scale/muster/app/queuetool"
	"github.com/muster-scale/muster/internal/render"
)

func newQueueExport(g *global) *cobra.Command {
	return &cobra.Command{
		Use: "export NAME [FILE|-]", Short: "Write the messages of a queue to a file, as JSON lines",
		Args: cobra.RangeArgs(1, 2),
		Long: `Export writes every message as one JSON object a line, in the order in which they were sent, also those in
flight and delayed. The queue is not changed. A FILE that ends in .gz is compressed; it appears when it is
complete, and not before. Without FILE the lines go to standard output. It asks the running muster up; when
none runs, it reads the data directory itself.`,
		Example: "  muster queue export thumbnails-dead dead.jsonl.gz\n  muster queue export thumbnails | " +
			"jq -r .body",
		ValidArgsFunction: g.completeQueues,
		RunE: func(cmd *cobra.Command, args []string) error {
			name, err := client.OwnQueueName(g.place, args[0])
			if err != nil {
				return err
			}
			file := "-"
			if len(args) == 2 {
				file = args[1]
			}
			said := cmd.OutOrStdout()
			if file == "-" {
				said = cmd.ErrOrStderr()
			}
			var result queuetool.ExportResult
			err = queuetool.With(cmd.Context(), g.place, name, func(o *queuetool.Queues) (err error) {
				result, err = o.Export(cmd.Context(), name, file, cmd.OutOrStdout(), cmd.ErrOrStderr())
				return err
			})
			if err != nil {
				return err
			}
			if g.json() {
				return printJSON(said, result)
			}
			_, err = fmt.Fprintf(said, "exported %s of %s\n", render.Plural(result.Exported, "message"), name)
			return err
		},
	}
}

func newQueueImport(g *global) *cobra.Command {
	from := 1
	cmd := &cobra.Command{
		Use: "import NAME [FILE|-]", Short: "Send the messages of a file of JSON lines to a queue",
		Args: cobra.RangeArgs(1, 2),
		Long: `Import sends what muster queue export wrote, or lines made by hand: each is a JSON object with a body, and on a
FIFO queue a group_id. Messages get new ids and times. Lines are taken in order, up to 500 at a time, all of
them or none; import ends at the first line that is wrong, and says with which --from-line to go on. A FILE
that ends in .gz is decompressed. It goes through the running muster up; when none runs, into the data
directory itself.`,
		Example: "  muster queue import thumbnails dead.jsonl.gz\n  muster queue import thumbnails " +
			"dead.jsonl --from-line 1201",
		ValidArgsFunction: g.completeQueues,
		RunE: func(cmd *cobra.Command, args []string) error {
			name, err := client.OwnQueueName(g.place, args[0])
			if err != nil {
				return err
			}
			if from < 1 {
				return usage(fmt.Errorf("--from-line: found %d, allowed is 1 or more", from))
			}
			file := "-"
			if len(args) == 2 {
				file = args[1]
			}
			lines, closeLines, err := queuetool.OpenLines(file, cmd.InOrStdin())
			if err != nil {
				return usage(err)
			}
			defer closeLines()
			var result queuetool.ImportResult
			err = queuetool.With(cmd.Context(), g.place, name, func(o *queuetool.Queues) (err error) {
				result, err = o.Import(cmd.Context(), name, file, lines, from, cmd.ErrOrStderr())
				if g.json() {
					return errors.Join(err, printJSON(cmd.OutOrStdout(), result))
				}
				return err
			})
			if err != nil || g.json() {
				return err
			}
			_, err = fmt.Fprintln(cmd.OutOrStdout(), result.Summary())
			return err
		},
	}
	cmd.Flags().IntVar(&from, "from-line", 1, "skip the lines before this one")
	return cmd
}
