package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/muster-scale/muster"
	"github.com/muster-scale/muster/config"
	"github.com/muster-scale/muster/fleet/asg"
	"github.com/muster-scale/muster/fleet/ecs"
	"github.com/muster-scale/muster/internal/awsapi"
	"github.com/muster-scale/muster/internal/awsmetrics"
	"github.com/muster-scale/muster/internal/durable"
	"github.com/muster-scale/muster/source/cloudwatch"
	"github.com/muster-scale/muster/source/sqs"
)

// amazon is what the fleets of one set-up share on AWS: one limit of calls, one source for each queue, and calls that describe
// many groups. It is opened when the first fleet needs it.
type amazon struct {
	mu      sync.Mutex
	account *awsapi.Account
	queues  *sqs.Queues
	groups  *asg.Groups
	// clusters makes the fleets on ECS.
	clusters *ecs.Clusters
	metrics  *awsmetrics.Reader
	tables   tables
}

// prepareTimeout bounds what is done to a group's warm pool before its loop starts.
const prepareTimeout = time.Minute

func (a *amazon) open(ctx context.Context, c config.AWS) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.account != nil {
		return nil
	}
	account, err := awsapi.Open(ctx, awsapi.Options{Region: c.Region, PerSecond: c.CallsPerSecond, Burst: c.Burst})
	if err != nil {
		return err
	}
	a.account = account
	a.metrics = awsmetrics.NewReader(account)
	queues := sqs.Options{Account: account}
	if c.QueueMetrics {
		queues.Metrics = a.metrics
	}
	a.queues = sqs.NewQueues(queues)
	a.groups = asg.NewGroups(account)
	a.clusters = ecs.NewClusters(account)
	return nil
}

// amazonQueue returns the source of a queue on SQS that a fleet serves.
func (l *local) amazonQueue(ctx context.Context, c config.Fleet, url string) (*sqs.Source, error) {
	if err := l.amazon.open(ctx, l.config.AWS); err != nil {
		return nil, err
	}
	return l.amazon.queues.Queue(url, c.Poll)
}

// amazonGroup returns the Auto Scaling group that a fleet consists of.
func (l *local) amazonGroup(ctx context.Context, c config.Fleet) (*asg.Fleet, error) {
	if err := l.amazon.open(ctx, l.config.AWS); err != nil {
		return nil, err
	}
	o := asg.Options{
		Group: c.ASG.Group, Region: regionOf(c, c.ASG.Region), Min: c.Limits.Min, Max: c.Limits.Max, Launch: asg.Launching(c.ASG.Launch), Zone: c.ASG.Zone,
		Protect: c.ASG.Protect, Every: c.Poll,
	}
	if p := c.ASG.WarmPool; p != nil && p.State != "" {
		o.Warm = asg.Warm{State: strings.ToUpper(p.State[:1]) + p.State[1:], Reuse: p.Reuse}
	}
	return l.amazon.groups.Fleet(o)
}

// amazonMetrics returns the source of what a fleet is measured by in CloudWatch, over that of its queue, which may be nil.
func (l *local) amazonMetrics(ctx context.Context, c config.Fleet, base muster.Source) (*cloudwatch.Source, error) {
	if err := l.amazon.open(ctx, l.config.AWS); err != nil {
		return nil, err
	}
	o := cloudwatch.Options{Queue: c.Name, Region: regionOf(c, c.Metrics.Region), Reader: l.amazon.metrics, Base: base}
	for _, signal := range slices.Sorted(maps.Keys(c.Metrics.Measures)) {
		m := c.Metrics.Measures[signal]
		o.Measures = append(o.Measures, cloudwatch.Measure{Signal: cloudwatch.Signal(signal), Queries: m.Queries, ByAWS: m.ByAWS})
	}
	return cloudwatch.New(o)
}

// meter reads the metrics of a fleet's policy that CloudWatch keeps. AWS is called by the first policy that needs any.
type meter struct {
	local *local
	fleet config.Fleet
}

// Metrics implements [muster.Meter].
func (m meter) Metrics(ctx context.Context, queries []muster.MetricQuery) ([]muster.MetricSeries, error) {
	if err := m.local.amazon.open(ctx, m.local.config.AWS); err != nil {
		return nil, err
	}
	region := ""
	switch {
	case m.fleet.ASG != nil:
		region = m.fleet.ASG.Region
	case m.fleet.ECS != nil:
		region = m.fleet.ECS.Region
	}
	return cloudwatch.Meter{Reader: m.local.amazon.metrics, Region: regionOf(m.fleet, region)}.Metrics(ctx, queries)
}

// regionOf returns the region that was stated, or that of the fleet's queue on SQS, or nothing.
func regionOf(c config.Fleet, stated string) string {
	for _, q := range c.Queues {
		stated = cmp.Or(stated, awsapi.QueueRegion(q.URL))
	}
	return stated
}

// prepare brings the warm pool of a fleet to what is configured. When that fails the fleet is sized all the same, and boots are
// slower.
func (l *local) prepare(ctx context.Context, own *localFleet) {
	if own.config.ASG.WarmPool == nil {
		return
	}
	ctx, stop := context.WithTimeout(ctx, prepareTimeout)
	defer stop()
	if err := own.group.SetWarm(ctx, own.config.ASG.WarmPool.Size); err != nil {
		l.options.logger.Warn("the warm pool could not be set", "fleet", own.config.Name, "error", err)
	}
}

// fleetTokensDir holds, for each fleet of machines that are not started from here, the token with which their workers report.
const fleetTokensDir = "fleet-tokens"

// fleetToken is the file of a fleet's token.
func (l *local) fleetToken(fleet string) string {
	return filepath.Join(l.config.Data, fleetTokensDir, fleet)
}

// unreported tells whether the workers of a fleet do not report.
func unreported(c config.Fleet) bool {
	return c.ASG != nil && c.ASG.Reports == config.ReportsNone || c.ECS != nil && c.ECS.Reports == config.ReportsNone
}

// keepFleetToken writes the token of a fleet whose workers report from elsewhere, readable by the owner alone, so that it can be
// put where its machines find it.
func (l *local) keepFleetToken(c config.Fleet) error {
	if !c.Away() || unreported(c) || l.options.look {
		return nil
	}
	path := l.fleetToken(c.Name)
	if err := durable.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return fmt.Errorf("keep the token with which its workers report: %w", err)
	}
	text := l.token.Fleet(c.Name).Reveal() + "\n"
	if found, err := os.ReadFile(path); err == nil && string(found) == text {
		return nil
	}
	if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("keep the token with which its workers report: %w", err)
	}
	if err := durable.Create(path, []byte(text)); err != nil {
		return fmt.Errorf("keep the token with which its workers report: %w", err)
	}
	return nil
}
