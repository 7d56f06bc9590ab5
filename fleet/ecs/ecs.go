package ecs

import (
	"context"
	"fmt"
	"strings"
	"sync"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/applicationautoscaling"
	"github.com/aws/aws-sdk-go-v2/service/ecs"

	"github.com/muster-scale/muster/internal/awsapi"
)

// This file has the clients of AWS that all fleets of a controller share, and the lock that makes changes of one fleet
// follow each other.

// Clusters makes the fleets of a controller, which share one client per region. Several goroutines may use it.
type Clusters struct {
	account *awsapi.Account

	mu      sync.Mutex
	regions map[string]*region
}

// region holds the clients of one region.
type region struct {
	name    string
	ecs     *ecs.Client
	scaling *applicationautoscaling.Client
}

// NewClusters returns Clusters. It makes no call.
func NewClusters(account *awsapi.Account) *Clusters {
	return &Clusters{account: account, regions: map[string]*region{}}
}

// region returns the clients of a region; an empty name is the default region of the account.
func (c *Clusters) region(name string) (*region, error) {
	cfg, err := c.account.Region(name)
	if err != nil {
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if r, ok := c.regions[cfg.Region]; ok {
		return r, nil
	}
	r := &region{name: cfg.Region, ecs: ecs.NewFromConfig(cfg), scaling: applicationautoscaling.NewFromConfig(cfg)}
	c.regions[cfg.Region] = r
	return r, nil
}

// place is a cluster in a region, with its name for messages.
type place struct {
	*region
	cluster string
	// what names the fleet's part of the cluster, as in "the service web of the cluster prod".
	what string
	// turn is a lock for changes: a channel, so that a waiting call ends with its context.
	turn chan struct{}
}

func newPlace(r *region, cluster, what string) place {
	return place{region: r, cluster: cluster, what: what + " of the cluster " + cluster, turn: make(chan struct{}, 1)}
}

// take waits for the lock for changes, and returns its release.
func (p place) take(ctx context.Context) (func(), error) {
	select {
	case p.turn <- struct{}{}:
		return func() { <-p.turn }, nil
	case <-ctx.Done():
		return nil, fmt.Errorf("change %s: %w", p.what, ctx.Err())
	}
}

// explain adds the attempted operation to an error.
func (p place) explain(what string, err error) error {
	return awsapi.Explain(what+" "+p.what, p.name, err)
}

// last returns the last part of an ARN or a path.
func last(arn string) string { return arn[strings.LastIndexByte(arn, '/')+1:] }

// lastOf is last for an ARN of the SDK; nil gives an empty text.
func lastOf(arn *string) string { return last(aws.ToString(arn)) }
