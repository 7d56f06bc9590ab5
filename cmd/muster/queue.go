package main

import (
	"fmt"
	"strings"

	awssqs "github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/spf13/cobra"

	"github.com/muster-scale/muster/app/client"
	"github.com/muster-scale/muster/app/queuetool"
)

func newQueue(g *global) *cobra.Command {
	cmd := &cobra.Command{Use: "queue", Short: "List, create, purge and check queues; peek at messages, redrive, " +
		"export and import them"}
	cmd.AddCommand(newQueueList(g), newQueueCreate(g), newQueuePurge(g), newQueuePeek(g), newQueueRedrive(g),
		newQueueExport(g), newQueueImport(g),
		newQueueCheck(g))
	return cmd
}

// whereFlags adds the flags that locate queues.
func whereFlags(cmd *cobra.Command, w *queuetool.Where) {
	f := cmd.Flags()
	f.StringVar(&w.Endpoint, "endpoint", "",
		"the SQS endpoint (default: the one of the configuration, http://127.0.0.1:9324)")
	f.StringVar(&w.Region, "region", "",
		"the region of the queues (default: that of the environment, "+queuetool.DefaultRegion+
			" for an embedded queue)")
	f.StringVar(&w.Account, "account", "",
		"the account of the queues, for an embedded queue (default: "+queuetool.DefaultAccount+")")
}

// completeQueues completes a queue's name as the first argument, from the running muster up or else from the
// configuration. Further arguments are files.
func (g *global) completeQueues(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveDefault
	}
	names, _ := queuetool.Names(cmd.Context(), g.place)
	return names, cobra.ShellCompDirectiveNoFileComp
}

func newQueueList(g *global) *cobra.Command {
	var where queuetool.Where
	cmd := &cobra.Command{
		Use: "ls", Short: "List the queues with their counts",
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := where.Client(cmd.Context(), g.place)
			if err != nil {
				return err
			}
			rows, err := queuetool.List(cmd.Context(), c)
			if err != nil {
				return client.Explain(err)
			}
			others := queuetool.SplitInFlight(cmd.Context(), g.place, &where, rows)
			if g.json() {
				return printJSON(cmd.OutOrStdout(), map[string]any{"queues": rows})
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

func newQueueCreate(g *global) *cobra.Command {
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
			in := &awssqs.CreateQueueInput{QueueName: &name, Attributes: map[string]string{}}
			for _, a := range attributes {
				name, value, ok := strings.Cut(a, "=")
				if !ok {
					return usage(fmt.Errorf("--attribute: found %q, allowed is NAME=VALUE", a))
				}
				in.Attributes[name] = value
			}
			c, err := where.Client(cmd.Context(), g.place)
			if err != nil {
				return err
			}
			out, err := c.CreateQueue(cmd.Context(), in)
			if err != nil {
				return client.Explain(err)
			}
			if g.json() {
				return printJSON(cmd.OutOrStdout(), map[string]string{"url": *out.QueueUrl})
			}
			_, err = fmt.Fprintln(cmd.OutOrStdout(), *out.QueueUrl)
			return err
		},
	}
	whereFlags(cmd, &where)
	cmd.Flags().StringArrayVar(&attributes, "attribute", nil, "an SQS attribute as NAME=VALUE; may be repeated")
	return cmd
}

func newQueuePurge(g *global) *cobra.Command {
	var where queuetool.Where
	var yes bool
	cmd := &cobra.Command{
		Use: "purge NAME --yes", Short: "Delete all messages of a queue", Args: cobra.ExactArgs(1),
		ValidArgsFunction: g.completeQueues,
		RunE: func(cmd *cobra.Command, args []string) error {
			if !yes {
				return usage(fmt.Errorf("purge deletes all messages of %s for good; say so with --yes", args[0]))
			}
			name, err := where.Name(args[0])
			if err != nil {
				return err
			}
			c, err := where.Client(cmd.Context(), g.place)
			if err != nil {
				return err
			}
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
	cmd.Flags().BoolVar(&yes, "yes", false, "really delete them")
	return cmd
}
