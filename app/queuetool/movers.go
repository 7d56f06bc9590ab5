package queuetool

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awssqs "github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"github.com/muster-scale/muster/app/client"
	"github.com/muster-scale/muster/internal/misuse"
	"github.com/muster-scale/muster/queue"
)

// sqsMover moves messages with the move tasks of an SQS endpoint: that of muster up, or Amazon SQS. The task runs there
// and outlives this process.
type sqsMover struct{ client *awssqs.Client }

// arn returns the ARN of a queue.
func (s sqsMover) arn(ctx context.Context, name string) (*string, error) {
	url, err := client.FindQueue(ctx, s.client, name)
	if err != nil {
		return nil, err
	}
	out, err := s.client.GetQueueAttributes(ctx, &awssqs.GetQueueAttributesInput{QueueUrl: &url,
		AttributeNames: []types.QueueAttributeName{types.QueueAttributeNameQueueArn}})
	if err != nil {
		return nil, client.Explain(err)
	}
	arn, ok := out.Attributes[string(types.QueueAttributeNameQueueArn)]
	if !ok {
		return nil, fmt.Errorf("read the ARN of queue %s: the endpoint does not return it", name)
	}
	return &arn, nil
}

// start implements mover.
func (s sqsMover) start(ctx context.Context, from, to string, perSecond int) error {
	// Move tasks name queues by their ARNs.
	source, err := s.arn(ctx, from)
	if err != nil {
		return err
	}
	in := &awssqs.StartMessageMoveTaskInput{SourceArn: source}
	if to != "" {
		if in.DestinationArn, err = s.arn(ctx, to); err != nil {
			return err
		}
	}
	// Without a rate SQS moves as fast as it can.
	if perSecond > 0 {
		rate := int32(perSecond)
		in.MaxNumberOfMessagesPerSecond = &rate
	}
	_, err = s.client.StartMessageMoveTask(ctx, in)
	return notMovable(from, client.Explain(err))
}

// moves implements mover. SQS returns at most ten moves. It gives ARNs, times in milliseconds and statuses in capitals.
func (s sqsMover) moves(ctx context.Context, from string) ([]Move, error) {
	source, err := s.arn(ctx, from)
	if err != nil {
		return nil, err
	}
	most := int32(10)
	out, err := s.client.ListMessageMoveTasks(ctx, &awssqs.ListMessageMoveTasksInput{SourceArn: source,
		MaxResults: &most})
	if err != nil {
		return nil, client.Explain(err)
	}
	var all []Move
	for _, r := range out.Results {
		m := Move{
			Queue: from, Status: strings.ToLower(aws.ToString(r.Status)),
			Failure: failureWords(aws.ToString(r.FailureReason)), Started: time.UnixMilli(r.StartedTimestamp).UTC(),
			Moved: int(r.ApproximateNumberOfMessagesMoved), id: aws.ToString(r.TaskHandle),
		}
		if arn := aws.ToString(r.DestinationArn); arn != "" {
			m.To = arn[strings.LastIndexByte(arn, ':')+1:]
		}
		if r.MaxNumberOfMessagesPerSecond != nil {
			m.PerSecond = int(*r.MaxNumberOfMessagesPerSecond)
		}
		if r.ApproximateNumberOfMessagesToMove != nil {
			m.ToMove = int(*r.ApproximateNumberOfMessagesToMove)
		}
		all = append(all, m)
	}
	return all, nil
}

// cancel implements mover.
func (s sqsMover) cancel(ctx context.Context, m Move) error {
	_, err := s.client.CancelMessageMoveTask(ctx, &awssqs.CancelMessageMoveTaskInput{TaskHandle: &m.id})
	return client.Explain(err)
}

// ownMover moves messages within a data directory that no muster up has open. The move runs in this process and ends
// with it.
type ownMover struct{ service *queue.Service }

// start implements mover.
func (o ownMover) start(ctx context.Context, from, to string, perSecond int) error {
	_, err := o.service.StartMove(ctx, from, to, perSecond)
	return notMovable(from, err)
}

// moves implements mover.
func (o ownMover) moves(_ context.Context, from string) ([]Move, error) {
	found, err := o.service.Moves(from)
	if err != nil {
		return nil, err
	}
	var all []Move
	for _, m := range found {
		all = append(all, Move{
			Queue: m.Source, To: m.Destination, Status: strings.ToLower(string(m.Status)),
			Failure: failureWords(m.Failure), Started: m.Started.UTC(),
			PerSecond: m.PerSecond, Moved: m.Moved, ToMove: m.ToMove, id: m.ID,
		})
	}
	return all, nil
}

// cancel implements mover.
func (o ownMover) cancel(ctx context.Context, m Move) error {
	_, err := o.service.CancelMove(ctx, m.id)
	return err
}

// notMovable says what to do when a move cannot start. SQS tells the reasons apart only by their texts, and package
// queue uses the same texts.
func notMovable(from string, err error) error {
	if err == nil {
		return nil
	}
	switch text := err.Error(); {
	case strings.Contains(text, "must be configured as a Dead Letter Queue"):
		return fmt.Errorf("redrive %s: it is not the dead-letter queue of any queue; name one that is, or set "+
			"dead_letter: {queue: %s, after: 5} below queues:", from, from)
	case strings.Contains(text, "already a task running"):
		return fmt.Errorf("redrive %s: a move is running already; see it with --status, or end it with --cancel", from)
	// These two are about --to, so they are errors of that flag.
	case strings.Contains(text, "cannot be the same"):
		return misuse.Setting("to", "found %s itself, allowed is another queue", from)
	case strings.Contains(text, "must be of the same type"):
		return misuse.Setting("to", "found a queue of another kind, allowed is one of the same: FIFO or not")
	}
	return fmt.Errorf("redrive %s: %w", from, err)
}
