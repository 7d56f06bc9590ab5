package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"

	"github.com/aws/aws-sdk-go-v2/aws"
	awssqs "github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
	"github.com/aws/smithy-go"
	"github.com/spf13/cobra"

	"github.com/muster-scale/muster"
	"github.com/muster-scale/muster/queue"
	"github.com/muster-scale/muster/server"
	"github.com/muster-scale/muster/worker/sqsqueue"
)

func newQueue(g *global) *cobra.Command {
	cmd := &cobra.Command{Use: "queue", Short: "List, create, purge and check queues; look at messages, redrive, export and import them"}
	cmd.AddCommand(newQueueList(g), newQueueCreate(g), newQueuePurge(g), newQueuePeek(g), newQueueRedrive(g), newQueueExport(g), newQueueImport(g),
		newQueueCheck(g))
	return cmd
}

// addEndpoint gives a command that speaks the SQS protocol the flag for where.
func addEndpoint(cmd *cobra.Command, into *string) {
	cmd.Flags().StringVar(into, "endpoint", "", "the SQS endpoint (default: the one of the configuration, http://127.0.0.1:9324)")
}

// queueURL asks for the URL of a queue. When there is none, the error names those that there are.
func queueURL(ctx context.Context, c *awssqs.Client, name string) (string, error) {
	out, err := c.GetQueueUrl(ctx, &awssqs.GetQueueUrlInput{QueueName: &name})
	if err == nil {
		return deref(out.QueueUrl), nil
	}
	if _, absent := errors.AsType[*types.QueueDoesNotExist](err); !absent {
		return "", explainSQS(err)
	}
	list, err := c.ListQueues(ctx, &awssqs.ListQueuesInput{MaxResults: aws.Int32(1000)})
	if err != nil {
		return "", explainSQS(err)
	}
	var names []string
	for _, url := range list.QueueUrls {
		names = append(names, url[strings.LastIndexByte(url, '/')+1:])
	}
	return "", noSuchQueue(name, names)
}

// queueRow is one queue as muster queue ls prints it.
type queueRow struct {
	Name     string `json:"name"`
	URL      string `json:"url"`
	Backlog  int    `json:"backlog"`
	InFlight int    `json:"in_flight"`
	// Working and Retrying are the messages in flight that workers hold, and those that wait for their retry; nil where
	// that is not known.
	Working  *int `json:"working,omitzero"`
	Retrying *int `json:"retrying,omitzero"`
	Delayed  int  `json:"delayed"`
}

// split tells what of the messages in flight waits for a retry.
func (r *queueRow) split(c server.QueueCounts) {
	if c.Retrying == nil {
		return
	}
	retrying := min(*c.Retrying, r.InFlight) // both were counted at different times
	working := r.InFlight - retrying
	r.Working, r.Retrying = &working, &retrying
}

func newQueueList(g *global) *cobra.Command {
	var place queuePlace
	cmd := &cobra.Command{
		Use: "ls", Short: "List the queues with their counts",
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := g.client(cmd.Context(), &place)
			if err != nil {
				return err
			}
			rows, err := listQueues(cmd.Context(), c)
			if err != nil {
				return explainSQS(err)
			}
			others := g.splitInFlight(cmd.Context(), &place, rows)
			if g.json() {
				return printJSON(cmd.OutOrStdout(), map[string]any{"queues": rows})
			}
			t := tabwriter.NewWriter(cmd.OutOrStdout(), 0, 0, 2, ' ', 0)
			fmt.Fprintln(t, "QUEUE\tBACKLOG\tIN FLIGHT\tWORKING\tRETRYING\tDELAYED\tURL")
			for _, r := range rows {
				fmt.Fprintf(t, "%s\t%d\t%d\t%s\t%s\t%d\t%s\n", r.Name, r.Backlog, r.InFlight,
					orUnknown(r.Working), orUnknown(r.Retrying), r.Delayed, r.URL)
			}
			if err := t.Flush(); err != nil {
				return err
			}
			for _, other := range others {
				fmt.Fprintln(cmd.ErrOrStderr(), other)
			}
			return nil
		},
	}
	place.flags(cmd)
	return cmd
}

// orUnknown prints a number, or a question mark for one that is not known.
func orUnknown(n *int) string {
	if n == nil {
		return "?"
	}
	return strconv.Itoa(*n)
}

// splitInFlight puts into the rows what waits for a retry, where a muster up runs that knows it. It returns a line for
// each other region and account that has queues there.
func (g *global) splitInFlight(ctx context.Context, place *queuePlace, rows []queueRow) (others []string) {
	c, err := g.place()
	if err != nil || place.endpoint != "" && place.endpoint != "http://"+c.Listen.Queue {
		return nil
	}
	var known server.QueueNames
	if g.get(ctx, c, "/v1/queues", &known) != nil {
		return nil // the counts of the endpoint are all that there is
	}
	for i := range rows {
		rows[i].split(known.Counts[place.key(rows[i].Name)])
	}
	counts := map[queuePlace]int{}
	for _, key := range known.Queues {
		region, account, name := queue.CutScope(key)
		if place.key(name) != key {
			counts[queuePlace{region: cmp.Or(region, defaultRegion), account: cmp.Or(account, defaultAccount)}]++
		}
	}
	for at, n := range counts {
		others = append(others, fmt.Sprintf("%s more in region %s, account %s: muster queue ls --region %s --account %s",
			muster.Plural(n, "queue"), at.region, at.account, at.region, at.account))
	}
	slices.Sort(others)
	return others
}

func listQueues(ctx context.Context, c *awssqs.Client) ([]queueRow, error) {
	rows := []queueRow{}
	pages := awssqs.NewListQueuesPaginator(c, &awssqs.ListQueuesInput{MaxResults: aws.Int32(1000)})
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return nil, err
		}
		for _, url := range page.QueueUrls {
			a, err := c.GetQueueAttributes(ctx, &awssqs.GetQueueAttributesInput{QueueUrl: &url, AttributeNames: []types.QueueAttributeName{types.QueueAttributeNameAll}})
			if err != nil {
				return nil, err
			}
			number := func(name types.QueueAttributeName) int {
				n, _ := strconv.Atoi(a.Attributes[string(name)])
				return n
			}
			rows = append(rows, queueRow{
				Name: url[strings.LastIndexByte(url, '/')+1:], URL: url,
				Backlog:  number(types.QueueAttributeNameApproximateNumberOfMessages),
				InFlight: number(types.QueueAttributeNameApproximateNumberOfMessagesNotVisible),
				Delayed:  number(types.QueueAttributeNameApproximateNumberOfMessagesDelayed),
			})
		}
	}
	return rows, nil
}

func newQueueCreate(g *global) *cobra.Command {
	var place queuePlace
	var attributes []string
	cmd := &cobra.Command{
		Use: "create NAME", Short: "Create a queue, or confirm that it exists", Args: cobra.ExactArgs(1),
		Example: "  muster queue create thumbnails --attribute VisibilityTimeout=60",
		RunE: func(cmd *cobra.Command, args []string) error {
			name, err := place.name(args[0])
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
			c, err := g.client(cmd.Context(), &place)
			if err != nil {
				return err
			}
			out, err := c.CreateQueue(cmd.Context(), in)
			if err != nil {
				return explainSQS(err)
			}
			if g.json() {
				return printJSON(cmd.OutOrStdout(), map[string]string{"url": *out.QueueUrl})
			}
			_, err = fmt.Fprintln(cmd.OutOrStdout(), *out.QueueUrl)
			return err
		},
	}
	place.flags(cmd)
	cmd.Flags().StringArrayVar(&attributes, "attribute", nil, "an SQS attribute as NAME=VALUE; may be repeated")
	return cmd
}

func newQueuePurge(g *global) *cobra.Command {
	var place queuePlace
	var yes bool
	cmd := &cobra.Command{
		Use: "purge NAME --yes", Short: "Delete all messages of a queue", Args: cobra.ExactArgs(1),
		ValidArgsFunction: g.completeQueues,
		RunE: func(cmd *cobra.Command, args []string) error {
			if !yes {
				return usage(fmt.Errorf("purge deletes all messages of %s for good; say so with --yes", args[0]))
			}
			name, err := place.name(args[0])
			if err != nil {
				return err
			}
			c, err := g.client(cmd.Context(), &place)
			if err != nil {
				return err
			}
			url, err := queueURL(cmd.Context(), c, name)
			if err != nil {
				return err
			}
			if _, err := c.PurgeQueue(cmd.Context(), &awssqs.PurgeQueueInput{QueueUrl: &url}); err != nil {
				return explainSQS(err)
			}
			_, err = fmt.Fprintf(cmd.OutOrStdout(), "purged %s\n", name)
			return err
		},
	}
	place.flags(cmd)
	cmd.Flags().BoolVar(&yes, "yes", false, "really delete them")
	return cmd
}

// explainSQS says what a person can do about an SQS error, without the layers of the SDK.
func explainSQS(err error) error {
	if unsigned, ok := errors.AsType[*sqsqueue.NoCredentialsError](err); ok {
		return fmt.Errorf("%w; for an embedded queue muster up prints export lines, and commands with its -f need none", unsigned)
	}
	if api, ok := errors.AsType[smithy.APIError](err); ok {
		return fmt.Errorf("%s: %s", api.ErrorCode(), api.ErrorMessage())
	}
	if op, ok := errors.AsType[*smithy.OperationError](err); ok {
		return fmt.Errorf("%s: %w; is muster up running, and are its export lines set?", op.OperationName, op.Err)
	}
	return err
}
