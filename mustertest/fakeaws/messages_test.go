package fakeaws_test

import (
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	sqstypes "github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"github.com/muster-scale/muster/queue"
	model "github.com/muster-scale/muster/sim/cloud"
	"github.com/muster-scale/muster/sim/cloud/account"
	"github.com/muster-scale/muster/sim/cloud/queues"
	"github.com/muster-scale/muster/sqsapi"
)

func TestRealMessagesWithCountsThatAreLate(t *testing.T) {
	w := serve(t, model.Settings{Counts: queues.Counts{Stale: time.Minute}})
	q, err := queue.Open(queue.Options{Ephemeral: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := q.Close(); err != nil {
			t.Error(err)
		}
	})
	w.Messages(sqsapi.New(sqsapi.Options{Queues: q, AnyCredentials: true}))
	c := w.sqs()
	url := must(c.CreateQueue(t.Context(),
		&sqs.CreateQueueInput{QueueName: aws.String("jobs"),
			Attributes: map[string]string{"VisibilityTimeout": "77"}}))(t).QueueUrl
	look := func(names ...sqstypes.QueueAttributeName) map[string]string {
		t.Helper()
		return must(c.GetQueueAttributes(t.Context(),
			&sqs.GetQueueAttributesInput{QueueUrl: url, AttributeNames: names}))(t).Attributes
	}
	const backlog = "ApproximateNumberOfMessages"
	if got := look(backlog, "VisibilityTimeout"); got[backlog] != "0" || got["VisibilityTimeout"] != "77" ||
		len(got) != 2 {
		t.Fatalf("attributes: %v", got)
	}
	must(c.SendMessage(t.Context(), &sqs.SendMessageInput{QueueUrl: url, MessageBody: aws.String("resize")}))(t)
	w.Advance(time.Second)
	if got := look(backlog)[backlog]; got != "0" {
		t.Errorf("a second later the backlog is %s, want the 0 of a minute ago", got)
	}
	w.Advance(time.Minute)
	if got := look(backlog)[backlog]; got != "1" {
		t.Errorf("a minute later the backlog is %s, want 1", got)
	}
	got := must(c.ReceiveMessage(t.Context(), &sqs.ReceiveMessageInput{QueueUrl: url}))(t).Messages
	if len(got) != 1 || *got[0].Body != "resize" {
		t.Fatalf("received %+v", got)
	}
	w.Do(func(m *model.World) {
		m.Inject(account.Injection{Trouble: account.Throttled, Service: account.SQSService, Action: "DeleteMessage",
			Times: 1})
		m.Inject(account.Injection{Trouble: account.LostAnswer, Service: account.SQSService, Action: "DeleteMessage",
			Times: 1})
	})
	del := &sqs.DeleteMessageInput{QueueUrl: url, ReceiptHandle: got[0].ReceiptHandle}
	if _, err := c.DeleteMessage(t.Context(), del); code(err) != "RequestThrottled" {
		t.Errorf("throttled: %v", err)
	}
	if _, err := c.DeleteMessage(t.Context(), del); code(err) != "no answer" {
		t.Errorf("an answer that is lost: %v", err)
	}
	const inFlight = "ApproximateNumberOfMessagesNotVisible"
	look(backlog)
	w.Advance(time.Minute)
	if got := look(backlog, inFlight); got[backlog] != "0" || got[inFlight] != "0" {
		t.Errorf("the delete was carried out, and a minute later the queue has %v", got)
	}
	if _, err := c.GetQueueAttributes(t.Context(), &sqs.GetQueueAttributesInput{QueueUrl: aws.String("http://x/1/none"),
		AttributeNames: []sqstypes.QueueAttributeName{"All"}}); code(err) != "AWS.SimpleQueueService.NonExistentQueue" {
		t.Errorf("a queue that is not there: %v", err)
	}
}
