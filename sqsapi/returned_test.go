package sqsapi_test

import (
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
	smithyhttp "github.com/aws/smithy-go/transport/http"

	"github.com/muster-scale/muster/sqsapi"
)

// A client that returns a message says so by a header, for one message or a batch. Without the header the receiver
// counts as still working on the message.
func TestAHeaderSaysThatAMessageIsReturned(t *testing.T) {
	back := sqs.WithAPIOptions(smithyhttp.SetHeaderValue(sqsapi.ReturnedHeader, "1"))
	for _, row := range []struct {
		name     string
		options  []func(*sqs.Options)
		returned int
	}{
		{"with the header", []func(*sqs.Options){back}, 2},
		{"without it", nil, 0},
	} {
		t.Run(row.name, func(t *testing.T) {
			e := serve(t, nil)
			c := e.client()
			url := create(t, c, "jobs", nil)
			var handles []*string
			for range 2 {
				must(c.SendMessage(t.Context(), &sqs.SendMessageInput{QueueUrl: url, MessageBody: aws.String("x")}))(t)
				got := must(c.ReceiveMessage(t.Context(), &sqs.ReceiveMessageInput{QueueUrl: url}))(t).Messages
				handles = append(handles, got[0].ReceiptHandle)
			}
			must(c.ChangeMessageVisibility(t.Context(),
				&sqs.ChangeMessageVisibilityInput{QueueUrl: url, ReceiptHandle: handles[0],
					VisibilityTimeout: 60}, row.options...))(t)
			must(c.ChangeMessageVisibilityBatch(t.Context(), &sqs.ChangeMessageVisibilityBatchInput{
				QueueUrl: url, Entries: []types.ChangeMessageVisibilityBatchRequestEntry{{Id: aws.String("a"),
					ReceiptHandle: handles[1], VisibilityTimeout: 60}},
			}, row.options...))(t)
			if n := must(e.q.Counts("jobs"))(t); n.InFlight != 2 || n.Returned != row.returned {
				t.Errorf("found %d in flight, %d of them given back; want 2 and %d", n.InFlight, n.Returned,
					row.returned)
			}
		})
	}
}
