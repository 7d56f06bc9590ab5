// Package sqs measures an Amazon SQS queue by its attributes. It never receives a message to look.
//
// The counts are approximate and settle about a minute after producers stop; the age of the oldest message is not among
// the attributes and stays unknown here.
package sqs

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"github.com/muster-scale/muster"
	"github.com/muster-scale/muster/worker"
)

// Source measures one SQS queue. It implements [muster.Source].
type Source struct {
	client *sqs.Client
	url    string
}

var _ muster.Source = (*Source)(nil)

// New returns the source of the queue at the given URL. Region, credentials and endpoint are found as for the workers that
// serve it.
func New(ctx context.Context, queueURL string) (*Source, error) {
	client, err := worker.SQSClient(ctx, queueURL)
	if err != nil {
		return nil, err
	}
	return &Source{client, queueURL}, nil
}

// Observe implements [muster.Source] with one GetQueueAttributes call.
func (s *Source) Observe(ctx context.Context) (muster.QueueObservation, error) {
	const backlog, inFlight, delayed = types.QueueAttributeNameApproximateNumberOfMessages,
		types.QueueAttributeNameApproximateNumberOfMessagesNotVisible, types.QueueAttributeNameApproximateNumberOfMessagesDelayed
	out, err := s.client.GetQueueAttributes(ctx, &sqs.GetQueueAttributesInput{
		QueueUrl:       aws.String(s.url),
		AttributeNames: []types.QueueAttributeName{backlog, inFlight, delayed},
	})
	if unsigned, ok := errors.AsType[*worker.NoCredentialsError](err); ok {
		return muster.QueueObservation{}, fmt.Errorf("measure queue %s: %w", s.url, unsigned)
	}
	if err != nil {
		return muster.QueueObservation{}, fmt.Errorf("measure queue %s (needs sqs:GetQueueAttributes): %w", s.url, err)
	}
	at := time.Now().UTC()
	sample := func(name types.QueueAttributeName) muster.Sample {
		v, err := strconv.ParseFloat(out.Attributes[string(name)], 64)
		if err != nil {
			return muster.Unknown(at, fmt.Sprintf("SQS gave %q as %s", out.Attributes[string(name)], name))
		}
		return muster.Measured(at, v)
	}
	return muster.QueueObservation{
		Queue: s.url, Backlog: sample(backlog), InFlight: sample(inFlight), Delayed: sample(delayed),
		OldestAge: muster.Unknown(at, "SQS does not tell the age of the oldest message in its attributes"),
	}, nil
}
