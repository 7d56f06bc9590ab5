package delegate

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/applicationautoscaling"
	"github.com/aws/aws-sdk-go-v2/service/autoscaling"
	"github.com/aws/aws-sdk-go-v2/service/cloudwatch"

	"github.com/muster-scale/muster"
	"github.com/muster-scale/muster/internal/awsapi"
	"github.com/muster-scale/muster/kind"
)

// Formula is the metric that AWS tracks.
type Formula string

// The formulas.
const (
	// BacklogPerWorker is the backlog divided by the members in service.
	BacklogPerWorker Formula = "backlog-per-worker"
	// Utilization is backlog plus messages in flight, divided by the slots. InFlight is without the backlog.
	Utilization Formula = "worker-utilization"
	InFlight    Formula = "in-flight"
)

// Options describe a delegation. Account, Fleet and Formula are required, and Group, or Cluster and Service.
type Options struct {
	Account *awsapi.Account
	// Region is the region of group, service and queues; empty means that of the SDK's configuration.
	Region string
	// Fleet is the fleet's name, in the name of the scaling policy and the dimension of the metrics.
	Fleet string
	// Group is an Auto Scaling group. Cluster and Service are an ECS service, and Min and Max its limits.
	Group, Cluster, Service string
	Min, Max                int
	// Queues are the names of the queues on SQS, for metric math.
	Queues  []string
	Formula Formula
	// Math makes CloudWatch compute the metric from those of queue and fleet; otherwise Muster publishes it.
	Math bool
	// Namespace is where metrics are published; Muster when empty.
	Namespace string
	// Period is 10 s, 30 s or a minute (the default).
	Period time.Duration
	// ChangePercent is by how many per cent the current target may differ from a new one without being replaced. A run
	// without memory must not replace it each time. Zero replaces it for any difference.
	ChangePercent float64
	// Cooldown is how long AWS waits between two scale-outs of a service; zero uses the default of AWS, 5 minutes.
	Cooldown time.Duration
	// KeepUp lets AWS only scale out.
	KeepUp bool
	// Lines gets the metrics in the embedded metric format, for CloudWatch Logs, instead of CloudWatch; may be nil.
	Lines io.Writer
	// CloudWatch changes the options of the client for metrics.
	CloudWatch []func(*cloudwatch.Options)
}

// Publisher publishes the metrics of a fleet. Several goroutines may use it.
type Publisher struct {
	o       Options
	region  string
	what    string
	metrics *cloudwatch.Client
}

// NewPublisher returns a publisher for a fleet of any kind. It makes no call. Account, Fleet and Formula are required.
func NewPublisher(o Options) (*Publisher, error) {
	if o.Account == nil || o.Fleet == "" {
		return nil, fmt.Errorf("publish the metrics of the fleet %q: an account and a name are needed", o.Fleet)
	}
	o.Namespace, o.Period = cmp.Or(o.Namespace, kind.DefaultNamespace), cmp.Or(o.Period, time.Minute)
	cfg, err := o.Account.Region(o.Region)
	if err != nil {
		return nil, fmt.Errorf("publish the metrics of the fleet %s: %w", o.Fleet, err)
	}
	return &Publisher{o: o, region: cfg.Region, what: "the fleet " + o.Fleet,
		metrics: cloudwatch.NewFromConfig(cfg, o.CloudWatch...)}, nil
}

// Delegate publishes the metric and maintains the scaling policy. It implements [muster.Delegator]; several goroutines
// may use it.
type Delegate struct {
	*Publisher
	policy tracker

	mu sync.Mutex
	// target is the policy's target when it was last read, at checked.
	target  float64
	checked time.Time
}

var _ muster.Delegator = (*Delegate)(nil)

// tracker maintains a scaling policy.
type tracker interface {
	// ensure makes the policy track the target, and tells whether it had to be replaced. An initial target replaces no
	// other.
	ensure(ctx context.Context, name string, target float64, initial bool) (put bool, err error)
	// names returns the names of the present scaling policies that it maintains, for the one that it would put.
	names(ctx context.Context, name string) ([]string, error)
}

// New returns a delegate. It makes no call.
func New(o Options) (*Delegate, error) {
	if o.Account == nil || o.Fleet == "" || (o.Group == "") == (o.Cluster == "" || o.Service == "") {
		return nil, fmt.Errorf("delegate the fleet %q: found the group %q, the cluster %q and the service %q; a "+
			"group or a service is needed", o.Fleet, o.Group, o.Cluster, o.Service)
	}
	p, err := NewPublisher(o)
	if err != nil {
		return nil, err
	}
	cfg, err := o.Account.Region(o.Region)
	if err != nil {
		return nil, fmt.Errorf("delegate the fleet %s: %w", o.Fleet, err)
	}
	d := &Delegate{Publisher: p}
	if o.Group != "" {
		d.what = "the Auto Scaling group " + o.Group
		d.policy = groupPolicy{d, autoscaling.NewFromConfig(cfg)}
	} else {
		d.what = fmt.Sprintf("the service %s of the cluster %s", o.Service, o.Cluster)
		d.policy = servicePolicy{d, applicationautoscaling.NewFromConfig(cfg)}
	}
	return d, nil
}

// PolicyName is the name of the scaling policy of a fleet.
func PolicyName(fleet string) string { return "muster-" + fleet }

// recheck is how often to read the policy although nothing should have changed it.
const recheck = 5 * time.Minute

// HandOver implements [muster.Delegator]: it publishes the metrics, and replaces the scaling policy if it differs.
func (d *Delegate) HandOver(ctx context.Context, h muster.Handover) error {
	return errors.Join(d.Publish(ctx, h), d.Track(ctx, h, false))
}

// Track replaces the scaling policy if it differs, and publishes nothing. An unknown target changes nothing, and an
// initial one replaces no other target.
func (d *Delegate) Track(ctx context.Context, h muster.Handover, initial bool) error {
	if !(h.Target > 0) {
		return nil
	}
	d.mu.Lock()
	fresh := d.target == h.Target && time.Since(d.checked) < recheck
	d.mu.Unlock()
	if fresh {
		return nil
	}
	if _, err := d.policy.ensure(ctx, PolicyName(d.o.Fleet), h.Target, initial); err != nil {
		return err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.target, d.checked = h.Target, time.Now()
	return nil
}

// Maintained returns the names of the scaling policies that this delegate maintains. A template of CloudFormation
// cannot name the policy of a group, so it may have another name than [PolicyName]. It calls AWS and changes nothing.
func (d *Delegate) Maintained(ctx context.Context) ([]string, error) {
	return d.policy.names(ctx, PolicyName(d.o.Fleet))
}

// explain adds the attempted operation and its object to an error.
func (d *Publisher) explain(what string, err error) error {
	return awsapi.Explain(what+" "+d.what, d.region, err)
}

// near tells whether the present target may stay: the new one is initial, or differs by at most ChangePercent.
func (d *Delegate) near(has, target float64, initial bool) bool {
	return initial && has > 0 || math.Abs(has-target) <= has*d.o.ChangePercent/100
}

func number(v float64) *float64 { return aws.Float64(v) }
