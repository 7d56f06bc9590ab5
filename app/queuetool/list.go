package queuetool

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"

	"github.com/aws/aws-sdk-go-v2/aws"
	awssqs "github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"github.com/muster-scale/muster/app/client"
	"github.com/muster-scale/muster/internal/render"
	"github.com/muster-scale/muster/queue"
	"github.com/muster-scale/muster/server"
)

// Row is one queue, as muster queue ls -o json prints it. Counts are those of the time of the call; on Amazon SQS they
// are approximate.
type Row struct {
	Name     string `json:"name"`
	URL      string `json:"url"`
	Backlog  int    `json:"backlog"`
	InFlight int    `json:"in_flight"`
	// Working and Retrying divide the messages in flight into those in progress at workers and those that wait for
	// their retry; nil where that is unknown.
	Working  *int `json:"working,omitzero"`
	Retrying *int `json:"retrying,omitzero"`
	Delayed  int  `json:"delayed"`
}

// split divides the messages in flight into those in progress and those waiting for a retry. It leaves both unknown
// when the queue does not tell retries apart.
func (r *Row) split(c server.QueueCounts) {
	if c.Retrying == nil {
		return
	}
	retrying := min(*c.Retrying, r.InFlight) // the two were counted at different times
	working := r.InFlight - retrying
	r.Working, r.Retrying = &working, &retrying
}

// PrintRows prints a table of queues. An unknown count is a question mark.
func PrintRows(w io.Writer, rows []Row) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "QUEUE\tBACKLOG\tIN FLIGHT\tWORKING\tRETRYING\tDELAYED\tURL")
	for _, r := range rows {
		fmt.Fprintf(t, "%s\t%d\t%d\t%s\t%s\t%d\t%s\n", r.Name, r.Backlog, r.InFlight,
			orUnknown(r.Working), orUnknown(r.Retrying), r.Delayed, r.URL)
	}
	return t.Flush()
}

// orUnknown renders a number, or a question mark for nil.
func orUnknown(n *int) string {
	if n == nil {
		return "?"
	}
	return strconv.Itoa(*n)
}

// SplitInFlight fills in Working and Retrying if a muster up runs at the place. It returns a line for each other region
// and account with queues there.
func SplitInFlight(ctx context.Context, place client.Place, where *Where, rows []Row) (others []string) {
	c, err := place()
	// Another endpoint is not that of the muster up of this place.
	if err != nil || where.Endpoint != "" && where.Endpoint != "http://"+c.Listen.Queue {
		return nil
	}
	// The API knows all scopes; SQS lists only those of one region and account.
	var known server.QueueNames
	if client.Get(ctx, c, "/v1/queues", &known) != nil {
		return nil // only the counts of the endpoint are known
	}
	for i := range rows {
		rows[i].split(known.Counts[where.Key(rows[i].Name)])
	}
	counts := map[Where]int{}
	for _, key := range known.Queues {
		region, account, name := queue.CutScope(key)
		if where.Key(name) != key {
			counts[Where{Region: cmp.Or(region, DefaultRegion), Account: cmp.Or(account, DefaultAccount)}]++
		}
	}
	// The order of a map is random, so the lines are sorted below.
	for at, n := range counts {
		others = append(others, fmt.Sprintf("%s more in region %s, account %s: muster queue ls --region %s "+
			"--account %s",
			render.Plural(n, "queue"), at.Region, at.Account, at.Region, at.Account))
	}
	slices.Sort(others)
	return others
}

// List returns the queues of an endpoint with their counts; nil only with an error. Errors are those of the SDK: see
// [client.Explain]. It makes one call for each queue: SQS has no call for the counts of several.
func List(ctx context.Context, c *awssqs.Client) ([]Row, error) {
	rows := []Row{}
	pages := awssqs.NewListQueuesPaginator(c, &awssqs.ListQueuesInput{MaxResults: aws.Int32(1000)})
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return nil, err
		}
		for _, url := range page.QueueUrls {
			a, err := c.GetQueueAttributes(ctx, &awssqs.GetQueueAttributesInput{QueueUrl: &url,
				AttributeNames: []types.QueueAttributeName{types.QueueAttributeNameAll}})
			if err != nil {
				return nil, err
			}
			number := func(name types.QueueAttributeName) int {
				n, _ := strconv.Atoi(a.Attributes[string(name)])
				return n
			}
			rows = append(rows, Row{
				Name: url[strings.LastIndexByte(url, '/')+1:], URL: url,
				Backlog:  number(types.QueueAttributeNameApproximateNumberOfMessages),
				InFlight: number(types.QueueAttributeNameApproximateNumberOfMessagesNotVisible),
				Delayed:  number(types.QueueAttributeNameApproximateNumberOfMessagesDelayed),
			})
		}
	}
	return rows, nil
}
