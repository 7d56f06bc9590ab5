package main

import (
	"context"
	"sync"

	"github.com/muster-scale/muster/config"
	"github.com/muster-scale/muster/internal/awsapi"
	"github.com/muster-scale/muster/internal/awsmetrics"
	"github.com/muster-scale/muster/source/sqs"
)

// amazon is what the fleets of one set-up share on AWS: one limit of calls, and one source for each queue. It is opened when the
// first fleet needs it.
type amazon struct {
	mu      sync.Mutex
	account *awsapi.Account
	queues  *sqs.Queues
}

func (a *amazon) open(ctx context.Context) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.account != nil {
		return nil
	}
	account, err := awsapi.Open(ctx, awsapi.Options{})
	if err != nil {
		return err
	}
	a.account = account
	a.queues = sqs.NewQueues(sqs.Options{Account: account, Metrics: awsmetrics.NewReader(account)})
	return nil
}

// amazonQueue returns the source of a queue on SQS that a fleet serves.
func (l *local) amazonQueue(ctx context.Context, c config.Fleet, url string) (*sqs.Source, error) {
	if err := l.amazon.open(ctx); err != nil {
		return nil, err
	}
	return l.amazon.queues.Queue(url, c.Poll)
}

// onAmazon tells whether any part of a fleet is on AWS, where looks are rare.
func onAmazon(c config.Fleet) bool {
	for _, q := range c.Queues {
		if q.URL != "" && !awsapi.Local(q.URL) {
			return true
		}
	}
	return false
}
