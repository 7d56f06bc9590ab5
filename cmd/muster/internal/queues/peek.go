package queues

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/muster-scale/muster/app/client"
	"github.com/muster-scale/muster/app/queuetool"
	"github.com/muster-scale/muster/cmd/muster/internal/command"
	"github.com/muster-scale/muster/queue"
	"github.com/muster-scale/muster/server"
)

// newPeek makes muster queue peek. The default of --body depends on -o: a table has no room for whole bodies, and
// a program that reads JSON wants all of them.
func newPeek(g *command.Global) *cobra.Command {
	q := server.PeekQuery{}
	body := ""
	cmd := &cobra.Command{
		Use: "peek NAME", Short: "Show messages of a queue without receiving them", Args: cobra.ExactArgs(1),
		Long: `Peek shows messages in the order in which they were sent. It receives nothing: receive counts stay the same, and
every message stays available to workers. Peek reads from the running muster up, or from the data directory if none
runs.`,
		Example: "  muster queue peek thumbnails-dead\n  muster queue peek thumbnails --from in-flight " +
			"--limit 100 -o json",
		ValidArgsFunction: completeQueues(g),
		RunE: func(cmd *cobra.Command, args []string) error {
			// A queue on Amazon SQS cannot be peeked at: SQS has no such call.
			name, err := client.OwnQueueName(g.Place, args[0])
			if err != nil {
				return err
			}
			if q.Limit < 1 || q.Limit > queue.MaxPeek {
				return command.Usage(fmt.Errorf("--limit: found %d, allowed is 1 to %d", q.Limit, queue.MaxPeek))
			}
			// [server.PeekQuery] checks for the API too, and names its fields like the flags here.
			if err := q.Check(); err != nil {
				return command.Usage(fmt.Errorf("--%w", err))
			}
			// The default depends on -o, so the flag has none.
			if body == "" {
				body = "short"
				if g.JSON() {
					body = "full"
				}
			}
			if body != "short" && body != "full" {
				return command.Usage(fmt.Errorf("--body: found %q, allowed is full or short", body))
			}
			// Short bodies are cut where they are read, so that large messages do not travel.
			q.Short = body == "short"
			return queuetool.With(cmd.Context(), g.Place, name, func(o *queuetool.Queues) error {
				a, err := o.Peek(cmd.Context(), name, q)
				if err != nil {
					return err
				}
				if g.JSON() {
					return command.PrintJSON(cmd.OutOrStdout(), a)
				}
				return queuetool.PrintPeek(cmd.OutOrStdout(), a, q)
			})
		},
	}
	f := cmd.Flags()
	f.IntVar(&q.Limit, "limit", 10, fmt.Sprintf("how many messages to show, 1 to %d", queue.MaxPeek))
	f.StringVar(&q.From, "from", "", "show only messages in this state: waiting, in-flight, delayed or damaged")
	f.StringVar(&body, "body", "", "show bodies full or short (default short, but full with -o json)")
	cmd.RegisterFlagCompletionFunc("from", cobra.FixedCompletions([]string{"waiting", "in-flight", "delayed",
		"damaged"}, cobra.ShellCompDirectiveNoFileComp))
	cmd.RegisterFlagCompletionFunc("body", cobra.FixedCompletions([]string{"full", "short"},
		cobra.ShellCompDirectiveNoFileComp))
	return cmd
}
