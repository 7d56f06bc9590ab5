//go:build interop

// Package interop_test drives every action of a running server through the AWS SDK for Go v2, which checks the
// checksums itself. The endpoint and the keys are those of the environment.
package interop_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
	"github.com/aws/smithy-go"
)

// desk is a client, and queues of its own.
type desk struct {
	*testing.T
	*sqs.Client
}

func open(t *testing.T) desk {
	t.Helper()
	c, err := config.LoadDefaultConfig(t.Context(), config.WithRetryMaxAttempts(1))
	if err != nil {
		t.Fatal(err)
	}
	return desk{t, sqs.NewFromConfig(c)}
}

// must fails the test on an error.
func must[T any](v T, err error) func(testing.TB) T {
	return func(t testing.TB) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

// queue makes a queue that is deleted when the test is over.
func (d desk) queue(name string, attributes map[string]string) *string {
	d.Helper()
	if attributes == nil {
		attributes = map[string]string{}
	}
	if attributes["FifoQueue"] != "" {
		name += ".fifo"
	}
	name = fmt.Sprintf("go%d-%s", os.Getpid(), name)
	url := must(d.CreateQueue(d.Context(), &sqs.CreateQueueInput{QueueName: &name, Attributes: attributes,
		Tags: map[string]string{"made": "here"}}))(d).QueueUrl
	d.Cleanup(func() { d.DeleteQueue(context.WithoutCancel(d.Context()), &sqs.DeleteQueueInput{QueueUrl: url}) })
	return url
}

func (d desk) attribute(url *string, name string) string {
	d.Helper()
	in := &sqs.GetQueueAttributesInput{QueueUrl: url,
		AttributeNames: []types.QueueAttributeName{types.QueueAttributeName(name)}}
	return must(d.GetQueueAttributes(d.Context(), in))(d).Attributes[name]
}

func (d desk) receive(url *string, wait int32) []types.Message {
	d.Helper()
	return must(d.ReceiveMessage(d.Context(), &sqs.ReceiveMessageInput{
		QueueUrl: url, MaxNumberOfMessages: 10, WaitTimeSeconds: wait, MessageAttributeNames: []string{"All"},
		MessageSystemAttributeNames: []types.MessageSystemAttributeName{"All"},
	}))(d).Messages
}

// dead makes a queue whose twenty messages are in its dead-letter queue.
func (d desk) dead(name string) (url, dead *string) {
	d.Helper()
	dead = d.queue(name+"-dead", nil)
	url = d.queue(name, map[string]string{
		"VisibilityTimeout": "0", "RedrivePolicy": fmt.Sprintf(`{"deadLetterTargetArn":%q,"maxReceiveCount":1}`,
			d.attribute(dead, "QueueArn"))})
	for range 20 {
		must(d.SendMessage(d.Context(), &sqs.SendMessageInput{QueueUrl: url, MessageBody: aws.String("x")}))(d)
	}
	for end := time.Now().Add(10 * time.Second); d.attribute(dead,
		"ApproximateNumberOfMessages") != "20"; d.receive(url, 0) {
		if time.Now().After(end) {
			d.Fatal("twenty messages that were received twice are not in the dead-letter queue after 10 s")
		}
	}
	return url, dead
}

func TestQueuesAreMadeFoundListedAndDeleted(t *testing.T) {
	d := open(t)
	url := d.queue("life", nil)
	name := (*url)[strings.LastIndexByte(*url, '/')+1:]
	if got := must(d.GetQueueUrl(t.Context(), &sqs.GetQueueUrlInput{QueueName: &name}))(t).QueueUrl; *got != *url {
		t.Errorf("GetQueueUrl %q, want %q", *got, *url)
	}
	if got := must(d.ListQueues(t.Context(),
		&sqs.ListQueuesInput{QueueNamePrefix: &name}))(t).QueueUrls; !slices.Equal(got, []string{*url}) {
		t.Errorf("ListQueues %q, want %q", got, *url)
	}
	must(d.DeleteQueue(t.Context(), &sqs.DeleteQueueInput{QueueUrl: url}))(t)
	_, err := d.GetQueueUrl(t.Context(), &sqs.GetQueueUrlInput{QueueName: &name})
	if _, ok := errors.AsType[*types.QueueDoesNotExist](err); !ok {
		t.Errorf("deleted queue: error %v, want QueueDoesNotExist", err)
	}
}

func TestAttributesTagsAndPermissionsAreKept(t *testing.T) {
	d := open(t)
	ctx, url := t.Context(), d.queue("kept", nil)
	must(d.SetQueueAttributes(ctx,
		&sqs.SetQueueAttributesInput{QueueUrl: url, Attributes: map[string]string{"DelaySeconds": "3"}}))(t)
	if got := d.attribute(url, "DelaySeconds"); got != "3" {
		t.Errorf("DelaySeconds %q, want 3", got)
	}
	must(d.TagQueue(ctx, &sqs.TagQueueInput{QueueUrl: url, Tags: map[string]string{"a": "1"}}))(t)
	must(d.UntagQueue(ctx, &sqs.UntagQueueInput{QueueUrl: url, TagKeys: []string{"made"}}))(t)
	if tags := must(d.ListQueueTags(ctx, &sqs.ListQueueTagsInput{QueueUrl: url}))(t).Tags; len(tags) != 1 ||
		tags["a"] != "1" {
		t.Errorf("tags %v, want a=1 alone", tags)
	}
	label := aws.String("share")
	must(d.AddPermission(ctx,
		&sqs.AddPermissionInput{QueueUrl: url, Label: label, AWSAccountIds: []string{"111122223333"},
			Actions: []string{"SendMessage"}}))(t)
	if policy := d.attribute(url, "Policy"); !strings.Contains(policy, "share") {
		t.Errorf("policy %s has no statement called share", policy)
	}
	must(d.RemovePermission(ctx, &sqs.RemovePermissionInput{QueueUrl: url, Label: label}))(t)
	if policy := d.attribute(url, "Policy"); strings.Contains(policy, "share") {
		t.Errorf("policy %s still has the statement", policy)
	}
}

func TestAMessageIsSentReceivedHandedBackAndDeleted(t *testing.T) {
	d := open(t)
	ctx, url := t.Context(), d.queue("messages", nil)
	sent := must(d.SendMessage(ctx, &sqs.SendMessageInput{QueueUrl: url, MessageBody: aws.String("hé\r\n<&>"),
		MessageAttributes: map[string]types.MessageAttributeValue{
			"n": {DataType: aws.String("Number.int"), StringValue: aws.String("7")},
			"b": {DataType: aws.String("Binary"),
				BinaryValue: []byte{0, 255}}}}))(t)
	got := d.receive(url, 2)
	if len(got) != 1 || *got[0].MessageId != *sent.MessageId || *got[0].Body != "hé\r\n<&>" ||
		*got[0].MD5OfMessageAttributes != *sent.MD5OfMessageAttributes {
		t.Fatalf("received %+v, want what was sent: %+v", got, sent)
	}
	must(d.ChangeMessageVisibility(ctx,
		&sqs.ChangeMessageVisibilityInput{QueueUrl: url, ReceiptHandle: got[0].ReceiptHandle}))(t)
	again := d.receive(url, 2)
	if len(again) != 1 || again[0].Attributes["ApproximateReceiveCount"] != "2" {
		t.Fatalf("handed back, then received %+v, want the message a second time", again)
	}
	must(d.DeleteMessage(ctx, &sqs.DeleteMessageInput{QueueUrl: url, ReceiptHandle: again[0].ReceiptHandle}))(t)
	must(d.SendMessage(ctx, &sqs.SendMessageInput{QueueUrl: url, MessageBody: aws.String("x")}))(t)
	must(d.PurgeQueue(ctx, &sqs.PurgeQueueInput{QueueUrl: url}))(t)
	if left := d.receive(url, 0); len(left) != 0 {
		t.Errorf("deleted and purged, then received %+v", left)
	}
}

func TestBatchesTellWhichEntriesFailed(t *testing.T) {
	d := open(t)
	ctx, url := t.Context(), d.queue("batches", nil)
	var entries []types.SendMessageBatchRequestEntry
	for _, id := range []string{"a", "b", "c"} {
		entries = append(entries, types.SendMessageBatchRequestEntry{Id: &id, MessageBody: &id})
	}
	entries[1].MessageBody = aws.String("\x01")
	sent := must(d.SendMessageBatch(ctx, &sqs.SendMessageBatchInput{QueueUrl: url, Entries: entries}))(t)
	if len(sent.Successful) != 2 || len(sent.Failed) != 1 || *sent.Failed[0].Code != "InvalidMessageContents" {
		t.Fatalf("sent %+v failed %+v, want b alone to fail", sent.Successful, sent.Failed)
	}
	changes := []types.ChangeMessageVisibilityBatchRequestEntry{{Id: aws.String("forged"),
		ReceiptHandle: aws.String("forged"), VisibilityTimeout: 60}}
	deletes := []types.DeleteMessageBatchRequestEntry{{Id: aws.String("forged"), ReceiptHandle: aws.String("forged")}}
	for _, m := range d.receive(url, 2) {
		changes = append(changes, types.ChangeMessageVisibilityBatchRequestEntry{Id: m.Body,
			ReceiptHandle: m.ReceiptHandle, VisibilityTimeout: 60})
		deletes = append(deletes, types.DeleteMessageBatchRequestEntry{Id: m.Body, ReceiptHandle: m.ReceiptHandle})
	}
	changed := must(d.ChangeMessageVisibilityBatch(ctx,
		&sqs.ChangeMessageVisibilityBatchInput{QueueUrl: url, Entries: changes}))(t)
	if len(changed.Successful) != 2 || len(changed.Failed) != 1 || *changed.Failed[0].Code != "ReceiptHandleIsInvalid" {
		t.Errorf("changed %+v failed %+v, want the forged handle alone to fail", changed.Successful, changed.Failed)
	}
	deleted := must(d.DeleteMessageBatch(ctx, &sqs.DeleteMessageBatchInput{QueueUrl: url, Entries: deletes}))(t)
	if len(deleted.Successful) != 2 || len(deleted.Failed) != 1 || *deleted.Failed[0].Code != "ReceiptHandleIsInvalid" {
		t.Errorf("deleted %+v failed %+v, want the forged handle alone to fail", deleted.Successful, deleted.Failed)
	}
}

func TestDeadMessagesAreMovedAndAMoveIsCancelled(t *testing.T) {
	d := open(t)
	ctx := t.Context()
	url, dead := d.dead("poison")
	if got := must(d.ListDeadLetterSourceQueues(ctx,
		&sqs.ListDeadLetterSourceQueuesInput{QueueUrl: dead}))(t).QueueUrls; !slices.Equal(got, []string{*url}) {
		t.Errorf("sources %q, want %q", got, *url)
	}
	arn := aws.String(d.attribute(dead, "QueueArn"))
	task := must(d.StartMessageMoveTask(ctx,
		&sqs.StartMessageMoveTaskInput{SourceArn: arn, MaxNumberOfMessagesPerSecond: aws.Int32(1)}))(t)
	tasks := must(d.ListMessageMoveTasks(ctx, &sqs.ListMessageMoveTasksInput{SourceArn: arn}))(t).Results
	if len(tasks) != 1 || *tasks[0].Status != "RUNNING" || *tasks[0].TaskHandle != *task.TaskHandle {
		t.Errorf("tasks %+v, want %q running", tasks, *task.TaskHandle)
	}
	cancelled := must(d.CancelMessageMoveTask(ctx, &sqs.CancelMessageMoveTaskInput{TaskHandle: task.TaskHandle}))(t)
	if n := cancelled.ApproximateNumberOfMessagesMoved; n >= 20 {
		t.Errorf("moved %d of 20 at one in a second, want fewer", n)
	}
}

func TestAFIFOQueueKeepsOrderAndDropsDuplicates(t *testing.T) {
	d := open(t)
	url := d.queue("order", map[string]string{"FifoQueue": "true", "ContentBasedDeduplication": "true"})
	for _, body := range []string{"a", "b", "a"} {
		must(d.SendMessage(t.Context(), &sqs.SendMessageInput{QueueUrl: url, MessageBody: &body,
			MessageGroupId: aws.String("g")}))(t)
	}
	var bodies []string
	for _, m := range d.receive(url, 2) {
		bodies = append(bodies, *m.Body)
	}
	if !slices.Equal(bodies, []string{"a", "b"}) {
		t.Errorf("received %q, want a b", bodies)
	}
}

func TestErrorsHaveTheCodesThatProgramsBranchOn(t *testing.T) {
	d := open(t)
	url := d.queue("errors", nil)
	_, forged := d.DeleteMessage(t.Context(),
		&sqs.DeleteMessageInput{QueueUrl: url, ReceiptHandle: aws.String("forged")})
	_, eleven := d.ReceiveMessage(t.Context(), &sqs.ReceiveMessageInput{QueueUrl: url, MaxNumberOfMessages: 11})
	_, exists := d.CreateQueue(t.Context(),
		&sqs.CreateQueueInput{QueueName: aws.String((*url)[strings.LastIndexByte(*url, '/')+1:]),
			Attributes: map[string]string{"DelaySeconds": "9"}})
	for _, row := range []struct {
		err  error
		code string
	}{{forged, "ReceiptHandleIsInvalid"}, {eleven, "InvalidParameterValue"}, {exists, "QueueAlreadyExists"}} {
		if api, ok := errors.AsType[smithy.APIError](row.err); !ok || api.ErrorCode() != row.code ||
			api.ErrorFault() != smithy.FaultClient {
			t.Errorf("error %v, want code %s", row.err, row.code)
		}
	}
}
