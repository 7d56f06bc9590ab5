package runner

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"github.com/muster-scale/muster/worker/sqsqueue"
)

const (
	// maxEntries and maxBatchBytes bound one call of SendMessageBatch. Every queue accepts 256 KiB, and a single
	// message always fits.
	maxEntries    = 10
	maxBatchBytes = 256 << 10
	// maxClients bounds the cached clients. A worker sends to few queues, so the cache is simply emptied when full.
	maxClients = 100
)

// SQSSender is the [Sender] for Amazon SQS and for servers of its protocol. Its zero value is ready. It is safe for use
// by several goroutines.
type SQSSender struct {
	// Client returns a client for a queue's URL; nil selects sqsqueue.SQSClient.
	Client func(ctx context.Context, queue string) (*sqs.Client, error)

	mu      sync.Mutex
	clients map[string]*sqs.Client
}

// Send implements [Sender]. It fills each batch up to its bounds.
func (s *SQSSender) Send(ctx context.Context, queue string, bodies []string) error {
	client, err := s.client(ctx, queue)
	if err != nil {
		return err
	}
	for len(bodies) > 0 {
		n, size := 1, len(bodies[0])
		for n < min(len(bodies), maxEntries) && size+len(bodies[n]) <= maxBatchBytes {
			size += len(bodies[n])
			n++
		}
		if err := sendBatch(ctx, client, queue, bodies[:n]); err != nil {
			return fmt.Errorf("send to the queue %s: %w", queue, err)
		}
		bodies = bodies[n:]
	}
	return nil
}

// sendBatch sends one batch. An entry that the queue refuses is an error; the others of the batch are in the queue
// then.
func sendBatch(ctx context.Context, client *sqs.Client, queue string, bodies []string) error {
	in := &sqs.SendMessageBatchInput{QueueUrl: &queue}
	for i, body := range bodies {
		in.Entries = append(in.Entries, types.SendMessageBatchRequestEntry{Id: aws.String(strconv.Itoa(i)),
			MessageBody: &body})
	}
	out, err := client.SendMessageBatch(ctx, in)
	if err != nil {
		return err
	}
	var failures []error
	for _, f := range out.Failed {
		failures = append(failures, fmt.Errorf("%s: %s", aws.ToString(f.Code), aws.ToString(f.Message)))
	}
	return errors.Join(failures...)
}

// client returns the client for a queue, and opens it at the first use.
func (s *SQSSender) client(ctx context.Context, queue string) (*sqs.Client, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if c, ok := s.clients[queue]; ok {
		return c, nil
	}
	open := s.Client
	if open == nil {
		open = sqsqueue.SQSClient
	}
	c, err := open(ctx, queue)
	if err != nil {
		return nil, err
	}
	if s.clients == nil || len(s.clients) >= maxClients {
		s.clients = map[string]*sqs.Client{}
	}
	s.clients[queue] = c
	return c, nil
}
