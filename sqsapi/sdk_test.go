package sqsapi_test

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
	"github.com/aws/smithy-go"
	"github.com/aws/smithy-go/middleware"

	"github.com/muster-scale/muster/internal/awsapi"
	"github.com/muster-scale/muster/queue"
	"github.com/muster-scale/muster/sqsapi"
)

// endpoint is a server with an ephemeral queue behind it, and its keys.
type endpoint struct {
	url  string
	keys sqsapi.Keys
	q    *queue.Service
}

func serve(t *testing.T, change func(*sqsapi.Options)) endpoint {
	t.Helper()
	q, err := queue.Open(queue.Options{Ephemeral: true})
	if err != nil {
		t.Fatal(err)
	}
	keys, err := sqsapi.LoadOrCreateKeys(filepath.Join(t.TempDir(), "keys.json"))
	if err != nil {
		t.Fatal(err)
	}
	o := sqsapi.Options{Queues: q, Keys: keys, Region: "eu-west-1"}
	if change != nil {
		change(&o)
	}
	t.Cleanup(func() {
		if err := q.Close(); err != nil {
			t.Error(err)
		}
	})
	return endpoint{sqsapi.Listen(t, "front", sqsapi.New(o)), keys, q}
}

func (e endpoint) client() *sqs.Client {
	return sqs.New(sqs.Options{
		BaseEndpoint: &e.url, Region: "eu-west-1", RetryMaxAttempts: 1,
		APIOptions:  []func(*middleware.Stack) error{awsapi.PlainBody},
		Credentials: credentials.NewStaticCredentialsProvider(e.keys.AccessKeyID, e.keys.SecretAccessKey, ""),
	})
}

// must fails the test on an error.
func must[T any](v T, err error) func(*testing.T) T {
	return func(t *testing.T) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

func create(t *testing.T, c *sqs.Client, name string, attributes map[string]string) *string {
	t.Helper()
	return must(c.CreateQueue(t.Context(), &sqs.CreateQueueInput{QueueName: &name, Attributes: attributes}))(t).QueueUrl
}

func TestSDKManagesQueues(t *testing.T) {
	e := serve(t, nil)
	c, ctx := e.client(), t.Context()
	dead := create(t, c, "dead", nil)
	if want := e.url + "/000000000000/dead"; *dead != want {
		t.Errorf("queue URL %q, want %q", *dead, want)
	}
	work := create(t, c, "work", map[string]string{
		"VisibilityTimeout": "7",
		"RedrivePolicy":     `{"deadLetterTargetArn":"arn:aws:sqs:eu-west-1:000000000000:dead","maxReceiveCount":"1"}`})
	create(t, c, "other", nil)

	if got := must(c.GetQueueUrl(ctx,
		&sqs.GetQueueUrlInput{QueueName: aws.String("work")}))(t).QueueUrl; *got != *work {
		t.Errorf("GetQueueUrl %q, want %q", *got, *work)
	}
	sources := must(c.ListDeadLetterSourceQueues(ctx,
		&sqs.ListDeadLetterSourceQueuesInput{QueueUrl: dead}))(t).QueueUrls
	if !slices.Equal(sources, []string{*work}) {
		t.Errorf("sources %q, want work alone", sources)
	}
	first := must(c.ListQueues(ctx, &sqs.ListQueuesInput{MaxResults: aws.Int32(2)}))(t)
	rest := must(c.ListQueues(ctx, &sqs.ListQueuesInput{MaxResults: aws.Int32(2), NextToken: first.NextToken}))(t)
	if len(first.QueueUrls) != 2 || len(rest.QueueUrls) != 1 || rest.NextToken != nil {
		t.Errorf("pages %q then %q (next %v), want 2 then 1", first.QueueUrls, rest.QueueUrls, rest.NextToken)
	}
	if got := must(c.ListQueues(ctx,
		&sqs.ListQueuesInput{QueueNamePrefix: aws.String("o")}))(t).QueueUrls; len(got) != 1 {
		t.Errorf("prefix o lists %q, want other alone", got)
	}

	must(c.SetQueueAttributes(ctx,
		&sqs.SetQueueAttributesInput{QueueUrl: work, Attributes: map[string]string{"DelaySeconds": "3"}}))(t)
	got := must(c.GetQueueAttributes(ctx,
		&sqs.GetQueueAttributesInput{QueueUrl: work, AttributeNames: []types.QueueAttributeName{"All"}}))(t).Attributes
	for name, want := range map[string]string{
		"VisibilityTimeout": "7", "DelaySeconds": "3", "MaximumMessageSize": "1048576",
		"ApproximateNumberOfMessages": "0",
		"QueueArn":                    "arn:aws:sqs:eu-west-1:000000000000:work",
		"RedrivePolicy":               `{"deadLetterTargetArn":"arn:aws:sqs:eu-west-1:000000000000:dead","maxReceiveCount":1}`} {
		if got[name] != want {
			t.Errorf("attribute %s = %q, want %q", name, got[name], want)
		}
	}
	if got := must(c.GetQueueAttributes(ctx,
		&sqs.GetQueueAttributesInput{QueueUrl: work}))(t).Attributes; len(got) != 0 {
		t.Errorf("asking for no attribute returns %v", got)
	}

	must(c.TagQueue(ctx, &sqs.TagQueueInput{QueueUrl: work, Tags: map[string]string{"a": "1", "b": "2"}}))(t)
	must(c.UntagQueue(ctx, &sqs.UntagQueueInput{QueueUrl: work, TagKeys: []string{"a"}}))(t)
	if tags := must(c.ListQueueTags(ctx, &sqs.ListQueueTagsInput{QueueUrl: work}))(t).Tags; len(tags) != 1 ||
		tags["b"] != "2" {
		t.Errorf("tags %v, want b=2", tags)
	}
	must(c.SendMessage(ctx, &sqs.SendMessageInput{QueueUrl: work, MessageBody: aws.String("x")}))(t)
	must(c.PurgeQueue(ctx, &sqs.PurgeQueueInput{QueueUrl: work}))(t)
	if n := must(e.q.Counts("work"))(t); n.Visible+n.Delayed != 0 {
		t.Errorf("after the purge: %+v", n)
	}
	must(c.DeleteQueue(ctx, &sqs.DeleteQueueInput{QueueUrl: work}))(t)
	_, err := c.GetQueueUrl(ctx, &sqs.GetQueueUrlInput{QueueName: aws.String("work")})
	if _, ok := errors.AsType[*types.QueueDoesNotExist](err); !ok {
		t.Errorf("deleted queue: error %v, want QueueDoesNotExist", err)
	}
}

func TestSDKSendsAndReceives(t *testing.T) {
	e := serve(t, nil)
	c, ctx := e.client(), t.Context()
	q := create(t, c, "q", nil)
	foreign := aws.String("https://sqs.us-east-2.amazonaws.com/000000000000/q")
	sent := must(c.SendMessage(ctx, &sqs.SendMessageInput{
		QueueUrl: foreign, MessageBody: aws.String("hé<&>"), MessageGroupId: aws.String("tenant"),
		MessageAttributes: map[string]types.MessageAttributeValue{
			"a": {DataType: aws.String("Number.int"), StringValue: aws.String("7")},
			"b": {DataType: aws.String("Binary"), BinaryValue: []byte{1, 2}}},
		MessageSystemAttributes: map[string]types.MessageSystemAttributeValue{
			"AWSTraceHeader": {DataType: aws.String("String"),
				StringValue: aws.String("Root=1-5759e988-bd862e3fe1be46a994272793")}},
	}))(t)
	if got, want := *sent.MD5OfMessageAttributes, "8fe280ddd9617be74b76c9a92a7ddb69"; got != want {
		t.Errorf("MD5 of attributes %s, want %s", got, want)
	}
	if got, want := *sent.MD5OfMessageSystemAttributes, "62a56dd927315f2b2e12832b84617ea5"; got != want {
		t.Errorf("MD5 of system attributes %s, want %s", got, want)
	}
	got := must(c.ReceiveMessage(ctx, &sqs.ReceiveMessageInput{
		QueueUrl: q, MessageSystemAttributeNames: []types.MessageSystemAttributeName{"All"},
		MessageAttributeNames: []string{"b*", "b"}}))(t).Messages
	if len(got) != 1 || *got[0].Body != "hé<&>" || *got[0].MessageId != *sent.MessageId {
		t.Fatalf("received %+v", got)
	}
	m := got[0]
	if len(m.MessageAttributes) != 1 || string(m.MessageAttributes["b"].BinaryValue) != "\x01\x02" {
		t.Errorf("attributes %+v, want b alone", m.MessageAttributes)
	}
	for name, want := range map[string]string{"MessageGroupId": "tenant", "ApproximateReceiveCount": "1",
		"AWSTraceHeader": "Root=1-5759e988-bd862e3fe1be46a994272793"} {
		if m.Attributes[name] != want {
			t.Errorf("system attribute %s = %q, want %q", name, m.Attributes[name], want)
		}
	}
	must(c.ChangeMessageVisibility(ctx, &sqs.ChangeMessageVisibilityInput{QueueUrl: q, ReceiptHandle: m.ReceiptHandle,
		VisibilityTimeout: 0}))(t)
	again := must(c.ReceiveMessage(ctx, &sqs.ReceiveMessageInput{QueueUrl: q, WaitTimeSeconds: 1}))(t).Messages
	if len(again) != 1 {
		t.Fatalf("handed back, then received %d messages, want 1", len(again))
	}
	must(c.DeleteMessage(ctx, &sqs.DeleteMessageInput{QueueUrl: q, ReceiptHandle: again[0].ReceiptHandle}))(t)
	if n := must(e.q.Counts("q"))(t); n.Visible+n.InFlight != 0 || n.Deleted != 1 {
		t.Errorf("after the delete: %+v", n)
	}
	if empty := must(c.ReceiveMessage(ctx, &sqs.ReceiveMessageInput{QueueUrl: q}))(t); len(empty.Messages) != 0 {
		t.Errorf("an empty queue gives %+v", empty.Messages)
	}
}

func TestSDKUsesBatches(t *testing.T) {
	e := serve(t, nil)
	c, ctx := e.client(), t.Context()
	q := create(t, c, "q", nil)
	var entries []types.SendMessageBatchRequestEntry
	for i := range 10 {
		entries = append(entries, types.SendMessageBatchRequestEntry{Id: aws.String(fmt.Sprint(i)),
			MessageBody: aws.String(fmt.Sprint("body ", i))})
	}
	entries[4].MessageBody = aws.String("\x01")
	sent := must(c.SendMessageBatch(ctx, &sqs.SendMessageBatchInput{QueueUrl: q, Entries: entries}))(t)
	if len(sent.Successful) != 9 || len(sent.Failed) != 1 || *sent.Failed[0].Code != "InvalidMessageContents" ||
		*sent.Failed[0].Id != "4" || !sent.Failed[0].SenderFault {
		t.Fatalf("batch of ten with one bad body: %d stored, failed %+v", len(sent.Successful), sent.Failed)
	}
	got := must(c.ReceiveMessage(ctx, &sqs.ReceiveMessageInput{QueueUrl: q, MaxNumberOfMessages: 10}))(t).Messages
	if len(got) != 9 {
		t.Fatalf("received %d, want 9", len(got))
	}
	changes := []types.ChangeMessageVisibilityBatchRequestEntry{{Id: aws.String("a"),
		ReceiptHandle: got[0].ReceiptHandle},
		{Id: aws.String("b"), ReceiptHandle: aws.String("forged"), VisibilityTimeout: 5}}
	changed := must(c.ChangeMessageVisibilityBatch(ctx,
		&sqs.ChangeMessageVisibilityBatchInput{QueueUrl: q, Entries: changes}))(t)
	if len(changed.Successful) != 1 || len(changed.Failed) != 1 || *changed.Failed[0].Code != "ReceiptHandleIsInvalid" {
		t.Errorf("changes: %+v failed %+v", changed.Successful, changed.Failed)
	}
	var deletes []types.DeleteMessageBatchRequestEntry
	for i, m := range got {
		deletes = append(deletes, types.DeleteMessageBatchRequestEntry{Id: aws.String(fmt.Sprint(i)),
			ReceiptHandle: m.ReceiptHandle})
	}
	deleted := must(c.DeleteMessageBatch(ctx, &sqs.DeleteMessageBatchInput{QueueUrl: q, Entries: deletes}))(t)
	if len(deleted.Successful) != 9 || len(deleted.Failed) != 0 {
		t.Errorf("deleted %d, failed %+v", len(deleted.Successful), deleted.Failed)
	}
	if n := must(e.q.Counts("q"))(t); n.Visible+n.InFlight != 0 {
		t.Errorf("after all deletes: %+v", n)
	}
}

// TestSDKSeesTypedErrors holds the codes that programs branch on.
func TestSDKSeesTypedErrors(t *testing.T) {
	e := serve(t, nil)
	c, ctx := e.client(), t.Context()
	q := create(t, c, "q", nil)
	nowhere := aws.String(e.url + "/000000000000/nowhere")
	big := strings.Repeat("x", 600_000)
	batch := func(ids ...string) (entries []types.SendMessageBatchRequestEntry) {
		for _, id := range ids {
			entries = append(entries, types.SendMessageBatchRequestEntry{Id: &id, MessageBody: aws.String("x")})
		}
		return entries
	}
	send := func(in sqs.SendMessageInput) error {
		in.QueueUrl = q
		_, err := c.SendMessage(ctx, &in)
		return err
	}
	sendBatch := func(entries []types.SendMessageBatchRequestEntry) error {
		_, err := c.SendMessageBatch(ctx, &sqs.SendMessageBatchInput{QueueUrl: q, Entries: entries})
		return err
	}
	receive := func(in sqs.ReceiveMessageInput) error {
		in.QueueUrl = q
		_, err := c.ReceiveMessage(ctx, &in)
		return err
	}
	newQueue := func(name string, attributes map[string]string) error {
		_, err := c.CreateQueue(ctx, &sqs.CreateQueueInput{QueueName: &name, Attributes: attributes})
		return err
	}
	for _, row := range []struct {
		name string
		err  error
		code string
		text string
	}{
		{"sending to a queue that does not exist",
			second(c.SendMessage(ctx, &sqs.SendMessageInput{QueueUrl: nowhere, MessageBody: aws.String("x")})),
			"AWS.SimpleQueueService.NonExistentQueue", "The specified queue does not exist."},
		{"receiving eleven messages", receive(sqs.ReceiveMessageInput{MaxNumberOfMessages: 11}),
			"InvalidParameterValue", "Value 11 for parameter MaxNumberOfMessages is invalid. Reason: Must be between " +
				"1 and 10, if provided."},
		{"waiting 21 seconds", receive(sqs.ReceiveMessageInput{WaitTimeSeconds: 21}), "InvalidParameterValue",
			"Value 21 for parameter WaitTimeSeconds is invalid. Reason: Must be >= 0 and <= 20, if provided."},
		{"waiting a negative time", receive(sqs.ReceiveMessageInput{WaitTimeSeconds: -1}), "InvalidParameterValue",
			"Value -1 for parameter WaitTimeSeconds is invalid. Reason: Must be >= 0 and <= 20, if provided."},
		{"an empty body", send(sqs.SendMessageInput{MessageBody: aws.String("")}), "MissingParameter",
			"The request must contain the parameter MessageBody."},
		{"a body with a control character", send(sqs.SendMessageInput{MessageBody: aws.String("\x02")}),
			"InvalidMessageContents", ""},
		{"a delay over fifteen minutes", send(sqs.SendMessageInput{MessageBody: aws.String("x"), DelaySeconds: 901}),
			"InvalidParameterValue", ""},
		{"a deduplication id on a standard queue",
			send(sqs.SendMessageInput{MessageBody: aws.String("x"), MessageDeduplicationId: aws.String("d")}),
			"InvalidParameterValue", ""},
		{"a group id with a space",
			send(sqs.SendMessageInput{MessageBody: aws.String("x"), MessageGroupId: aws.String("a b")}),
			"InvalidParameterValue", ""},
		{"a body over 1 MiB", send(sqs.SendMessageInput{MessageBody: aws.String(big + big)}), "InvalidParameterValue",
			"One or more parameters are invalid. Reason: Message must be shorter than 1048576 bytes."},
		{"an attribute without a value",
			send(sqs.SendMessageInput{MessageBody: aws.String("x"),
				MessageAttributes: map[string]types.MessageAttributeValue{"a": {DataType: aws.String("String"),
					StringValue: aws.String("")}}}), "InvalidParameterValue", "Message (user) attribute 'a' must " +
				"contain a non-empty value of type 'String'."},
		{"an empty batch", sendBatch([]types.SendMessageBatchRequestEntry{}),
			"AWS.SimpleQueueService.EmptyBatchRequest", ""},
		{"eleven entries", sendBatch(batch(strings.Split("a b c d e f g h i j k", " ")...)),
			"AWS.SimpleQueueService.TooManyEntriesInBatchRequest", "Maximum number of entries per request are 10. " +
				"You have sent 11."},
		{"the same id twice", sendBatch(batch("a", "a")), "AWS.SimpleQueueService.BatchEntryIdsNotDistinct", ""},
		{"an id with a colon", sendBatch(batch("a:b")), "AWS.SimpleQueueService.InvalidBatchEntryId", ""},
		{"a batch over 1 MiB", sendBatch([]types.SendMessageBatchRequestEntry{{Id: aws.String("a"), MessageBody: &big},
			{Id: aws.String("b"), MessageBody: &big}}), "AWS.SimpleQueueService.BatchRequestTooLong",
			"Batch requests cannot be longer than 1048576 bytes. You have sent 1200000 bytes."},
		{"a forged receipt handle",
			second(c.DeleteMessage(ctx, &sqs.DeleteMessageInput{QueueUrl: q, ReceiptHandle: aws.String("forged")})),
			"ReceiptHandleIsInvalid", ""},
		{"creating a queue with another attribute value", newQueue("q", map[string]string{"DelaySeconds": "9"}),
			"QueueAlreadyExists", "A queue already exists with the same name and a different value for attribute " +
				"DelaySeconds"},
		{"creating a FIFO queue without its suffix", newQueue("fifo", map[string]string{"FifoQueue": "true"}),
			"InvalidParameterValue", ""},
		{"a queue name with a dot", newQueue("a.b", nil), "InvalidParameterValue", ""},
		{"an unknown attribute", newQueue("b", map[string]string{"Colour": "red"}), "InvalidAttributeName",
			"Unknown Attribute Colour."},
		{"a visibility timeout over twelve hours", newQueue("b", map[string]string{"VisibilityTimeout": "43201"}),
			"InvalidAttributeValue", ""},
		{"a dead-letter queue that does not exist",
			newQueue("b", map[string]string{"RedrivePolicy": `{"deadLetterTargetArn":"arn:aws:sqs:x:0:none","maxReceiveCount":1}`}), "InvalidParameterValue",
			`Value {"deadLetterTargetArn":"arn:aws:sqs:x:0:none","maxReceiveCount":1} for parameter RedrivePolicy is invalid. Reason: Dead letter target does not exist.`},
		{"moving from a queue that does not exist",
			second(c.StartMessageMoveTask(ctx,
				&sqs.StartMessageMoveTaskInput{SourceArn: aws.String("arn:aws:sqs:us-east-1:000000000000:none")})),
			"ResourceNotFoundException", ""},
	} {
		t.Run(row.name, func(t *testing.T) {
			api, ok := errors.AsType[smithy.APIError](row.err)
			if !ok || api.ErrorCode() != row.code || api.ErrorFault() != smithy.FaultClient || row.text != "" &&
				api.ErrorMessage() != row.text {
				t.Errorf("error %v, want code %s text %q", row.err, row.code, row.text)
			}
		})
	}
}

func second[T any](_ T, err error) error { return err }
