package queues

import (
	"fmt"
	"strings"

	awssqs "github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/spf13/cobra"

	"github.com/muster-scale/muster/app/client"
	"github.com/muster-scale/muster/app/queuetool"
	"github.com/muster-scale/muster/cmd/muster/internal/command"
)

// The subcommands of muster queue reach queues in two ways. ls, create and purge speak SQS, so they work on any
// endpoint (whereFlags). peek and export see messages without receiving them, and import stores up to 500 messages at
// once; SQS can do neither. So these three work on embedded queues alone: through the API of muster up, or in the data
// directory when none runs. redrive does either. check reads the files themselves and needs the data directory for
// itself.

// New makes muster queue and its subcommands. Those that only read look for a running muster up first and read the data
// directory without one; those that write say in their help which of the two they need.
func New(g *command.Global) *cobra.Command {
	cmd := &cobra.Command{Use: "queue", Short: "List, create, purge and check queues; peek at messages, redrive, " +
		"export and import them"}
	cmd.AddCommand(newList(g), newCreate(g), newPurge(g), newPeek(g), newRedrive(g),
		newExport(g), newImport(g),
		newCheck(g))
	return cmd
}

// whereFlags adds the flags that locate queues: an endpoint and, because an embedded queue has separate queues for
// each, a region and an account.
func whereFlags(cmd *cobra.Command, w *queuetool.Where) {
	f := cmd.Flags()
	f.StringVar(&w.Endpoint, "endpoint", "",
		"the SQS endpoint (default: from the configuration, or http://127.0.0.1:9324)")
	f.StringVar(&w.Region, "region", "",
		"the region of the queues (default: from the environment, or "+queuetool.DefaultRegion+
			" for an embedded queue)")
	f.StringVar(&w.Account, "account", "",
		"the account of the queues, for an embedded queue (default: "+queuetool.DefaultAccount+")")
}

// completeQueues returns what completes a queue's name as the first argument, from the running muster up or else from
// the configuration. Further arguments are files.
func completeQueues(g *command.Global) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
		if len(args) > 0 {
			return nil, cobra.ShellCompDirectiveDefault
		}
		names, _ := queuetool.Names(cmd.Context(), g.Place)
		return names, cobra.ShellCompDirectiveNoFileComp
	}
}

// newList makes muster queue ls. The counts are those of SQS; a running muster up also knows how many of the
// messages in flight wait for a retry. Queues in other regions or accounts are mentioned on standard error.
func newList(g *command.Global) *cobra.Command {
	var where queuetool.Where
	cmd := &cobra.Command{
		Use: "ls", Short: "List the queues with their counts",
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := where.Client(cmd.Context(), g.Place)
			if err != nil {
				return err
			}
			rows, err := queuetool.List(cmd.Context(), c)
			if err != nil {
				return client.Explain(err)
			}
			// Only muster up knows which messages in flight wait for a retry, and which scopes exist.
			others := queuetool.SplitInFlight(cmd.Context(), g.Place, &where, rows)
			if g.JSON() {
				return command.PrintJSON(cmd.OutOrStdout(), map[string]any{"queues": rows})
			}
			if err := queuetool.PrintRows(cmd.OutOrStdout(), rows); err != nil {
				return err
			}
			for _, other := range others {
				fmt.Fprintln(cmd.ErrOrStderr(), other)
			}
			return nil
		},
	}
	whereFlags(cmd, &where)
	return cmd
}

// newCreate makes muster queue create. As in SQS, an existing queue with the same attributes is no error.
func newCreate(g *command.Global) *cobra.Command {
	var where queuetool.Where
	var attributes []string
	cmd := &cobra.Command{
		Use: "create NAME", Short: "Create a queue, or confirm that it exists", Args: cobra.ExactArgs(1),
		Example: "  muster queue create thumbnails --attribute VisibilityTimeout=60",
		RunE: func(cmd *cobra.Command, args []string) error {
			name, err := where.Name(args[0])
			if err != nil {
				return err
			}
			// The endpoint checks names and values of attributes, as SQS does.
			in := &awssqs.CreateQueueInput{QueueName: &name, Attributes: map[string]string{}}
			for _, a := range attributes {
				name, value, ok := strings.Cut(a, "=")
				if !ok {
					return command.Usage(fmt.Errorf("--attribute: found %q, allowed is NAME=VALUE", a))
				}
				in.Attributes[name] = value
			}
			c, err := where.Client(cmd.Context(), g.Place)
			if err != nil {
				return err
			}
			out, err := c.CreateQueue(cmd.Context(), in)
			if err != nil {
				return client.Explain(err)
			}
			if g.JSON() {
				return command.PrintJSON(cmd.OutOrStdout(), map[string]string{"url": *out.QueueUrl})
			}
			_, err = fmt.Fprintln(cmd.OutOrStdout(), *out.QueueUrl)
			return err
		},
	}
	whereFlags(cmd, &where)
	cmd.Flags().StringArrayVar(&attributes, "attribute", nil, "an SQS attribute as NAME=VALUE; may be repeated")
	return cmd
}

// newPurge makes muster queue purge. --yes is required, because nothing brings the messages back, and a prompt
// would hang a script.
func newPurge(g *command.Global) *cobra.Command {
	var where queuetool.Where
	var yes bool
	cmd := &cobra.Command{
		Use: "purge NAME --yes", Short: "Delete all messages of a queue", Args: cobra.ExactArgs(1),
		ValidArgsFunction: completeQueues(g),
		RunE: func(cmd *cobra.Command, args []string) error {
			if !yes {
				return command.Usage(fmt.Errorf(
					"purge deletes all messages of %s for good; say so with --yes", args[0]))
			}
			name, err := where.Name(args[0])
			if err != nil {
				return err
			}
			c, err := where.Client(cmd.Context(), g.Place)
			if err != nil {
				return err
			}
			// PurgeQueue needs the URL; looking it up also finds a mistyped name, with a suggestion.
			url, err := client.FindQueue(cmd.Context(), c, name)
			if err != nil {
				return err
			}
			if _, err := c.PurgeQueue(cmd.Context(), &awssqs.PurgeQueueInput{QueueUrl: &url}); err != nil {
				return client.Explain(err)
			}
			_, err = fmt.Fprintf(cmd.OutOrStdout(), "purged %s\n", name)
			return err
		},
	}
	whereFlags(cmd, &where)
	cmd.Flags().BoolVar(&yes, "yes", false, "confirm that all messages are deleted")
	return cmd
}
