package app

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

// AWS opens what fleets observe and size on AWS. All that it opens shares one limit of calls, one source for each queue, and calls
// that describe many groups. The account is opened when the first fleet needs it. It is safe for use by several goroutines.
type AWS struct {
	config config.AWS

	mu      sync.Mutex
	account *awsapi.Account
	queues  *sqs.Queues
	groups  *asg.Groups
	// clusters makes the fleets on ECS.
	clusters *ecs.Clusters
	metrics  *awsmetrics.Reader
	tables   tables
}

// NewAWS returns what opens fleets on AWS as c says. It calls nobody.
func NewAWS(c config.AWS) *AWS { return &AWS{config: c} }

// prepareTimeout bounds what is done to a group's warm pool before its loop starts.
const prepareTimeout = time.Minute

func (w *AWS) open(ctx context.Context) error {
	c := w.config
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.account != nil {
		return nil
	}
	account, err := awsapi.Open(ctx, awsapi.Options{Region: c.Region, PerSecond: c.CallsPerSecond, Burst: c.Burst})
	if err != nil {
		return err
	}
	w.account = account
	w.metrics = awsmetrics.NewReader(account)
	queues := sqs.Options{Account: account}
	if c.QueueMetrics {
		queues.Metrics = w.metrics
	}
	w.queues = sqs.NewQueues(queues)
	w.groups = asg.NewGroups(account)
	w.clusters = ecs.NewClusters(account)
	return nil
}

// Account opens the account, which calls AWS for nothing but what the credentials themselves need.
func (w *AWS) Account(ctx context.Context) (*awsapi.Account, error) {
	err := w.open(ctx)
	return w.account, err
}

// Queue returns the source of a queue on SQS that a fleet serves.
func (w *AWS) Queue(ctx context.Context, c config.Fleet, url string) (*sqs.Source, error) {
	if err := w.open(ctx); err != nil {
		return nil, err
	}
	return w.queues.Queue(url, c.Poll)
}

// group returns the Auto Scaling group that a fleet consists of.
func (w *AWS) group(ctx context.Context, c config.Fleet) (*asg.Fleet, error) {
	if err := w.open(ctx); err != nil {
		return nil, err
	}
	o := asg.Options{
		Group: c.ASG.Group, Region: regionOf(c, c.ASG.Region), Min: c.Limits.Min, Max: c.Limits.Max, Launch: asg.Launching(c.ASG.Launch), Zone: c.ASG.Zone,
		Protect: c.ASG.Protect, Every: c.Poll,
	}
	if p := c.ASG.WarmPool; p != nil && p.State != "" {
		o.Warm = asg.Warm{State: strings.ToUpper(p.State[:1]) + p.State[1:], Reuse: p.Reuse}
	}
	return w.groups.Fleet(o)
}

// Metrics returns the source of what a fleet is measured by in CloudWatch, over that of its queue, which may be nil.
func (w *AWS) Metrics(ctx context.Context, c config.Fleet, base muster.Source) (*cloudwatch.Source, error) {
	if err := w.open(ctx); err != nil {
		return nil, err
	}
	o := cloudwatch.Options{Queue: c.Name, Region: regionOf(c, c.Metrics.Region), Reader: w.metrics, Base: base}
	for _, signal := range slices.Sorted(maps.Keys(c.Metrics.Measures)) {
		m := c.Metrics.Measures[signal]
		o.Measures = append(o.Measures, cloudwatch.Measure{Signal: cloudwatch.Signal(signal), Queries: m.Queries, ByAWS: m.ByAWS})
	}
	return cloudwatch.New(o)
}

// Meter returns what reads the metrics of a fleet's policy that CloudWatch keeps. AWS is called by the first policy that needs any.
func (w *AWS) Meter(c config.Fleet) muster.Meter { return meter{w, c} }

type meter struct {
	aws   *AWS
	fleet config.Fleet
}

// Metrics implements [muster.Meter].
func (m meter) Metrics(ctx context.Context, queries []muster.MetricQuery) ([]muster.MetricSeries, error) {
	if err := m.aws.open(ctx); err != nil {
		return nil, err
	}
	region := ""
	switch {
	case m.fleet.ASG != nil:
		region = m.fleet.ASG.Region
	case m.fleet.ECS != nil:
		region = m.fleet.ECS.Region
	}
	return cloudwatch.Meter{Reader: m.aws.metrics, Region: regionOf(m.fleet, region)}.Metrics(ctx, queries)
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
func (a *App) prepare(ctx context.Context, own *localFleet) {
	if own.config.ASG.WarmPool == nil {
		return
	}
	ctx, stop := context.WithTimeout(ctx, prepareTimeout)
	defer stop()
	if err := own.group.SetWarm(ctx, own.config.ASG.WarmPool.Size); err != nil {
		a.options.Logger.Warn("the warm pool could not be set", "fleet", own.config.Name, "error", err)
	}
}

// fleetTokensDir holds, for each fleet of machines that are not started from here, the token with which their workers report.
const fleetTokensDir = "fleet-tokens"

// FleetTokenFile is the file of a fleet's token.
func (a *App) FleetTokenFile(fleet string) string {
	return filepath.Join(a.config.Data, fleetTokensDir, fleet)
}

// unreported tells whether the workers of a fleet do not report.
func unreported(c config.Fleet) bool {
	return c.ASG != nil && c.ASG.Reports == config.ReportsNone || c.ECS != nil && c.ECS.Reports == config.ReportsNone
}

// keepFleetToken writes the token of a fleet whose workers report from elsewhere, readable by the owner alone, so that it can be
// put where its machines find it.
func (a *App) keepFleetToken(c config.Fleet) error {
	if !c.Away() || unreported(c) || a.options.Look {
		return nil
	}
	path := a.FleetTokenFile(c.Name)
	if err := durable.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return fmt.Errorf("keep the token with which its workers report: %w", err)
	}
	text := a.token.Fleet(c.Name).Reveal() + "\n"
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
