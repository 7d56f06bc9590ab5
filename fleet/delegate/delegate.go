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
)

// Formula says what AWS tracks.
type Formula string

// The formulas.
const (
	// BacklogPerWorker is the backlog divided by the members in service.
	BacklogPerWorker Formula = "backlog-per-worker"
	// Utilization is backlog and messages in flight, divided by the slots. InFlight leaves the backlog out.
	Utilization Formula = "worker-utilization"
	InFlight    Formula = "in-flight"
)

// Options say what is handed over. Account, Fleet and Formula are required, and Group, or Cluster and Service.
type Options struct {
	Account *awsapi.Account
	// Region is where group, service and queues are; empty means that of the SDK's configuration.
	Region string
	// Fleet names the fleet, and with it the scaling policy and the dimension of the metrics.
	Fleet string
	// Group is an Auto Scaling group; Cluster and Service are a service of ECS, and Min and Max its sizes.
	Group, Cluster, Service string
	Min, Max                int
	// Queues are the names of the queues on SQS, for metric math.
	Queues  []string
	Formula Formula
	// Math has CloudWatch compute what is tracked from the metrics of queue and fleet; otherwise Muster publishes it.
	Math bool
	// Namespace is where metrics are published; Muster when empty.
	Namespace string
	// Period is 10 s, 30 s or a minute, which is also the default.
	Period time.Duration
	// ChangePercent is by how much the target that AWS has may differ from the one that is handed over, per hundred,
	// before it is put again: a round that remembers nothing must not put it each time. Zero means that it may not
	// differ.
	ChangePercent float64
	// Cooldown is how long AWS waits after a rise of a service before the next; zero leaves that to AWS, which takes 5
	// minutes.
	Cooldown time.Duration
	// KeepUp has AWS raise the size only.
	KeepUp bool
	// Lines, if it is set, gets the metrics as lines in the embedded metric format, for CloudWatch Logs; they are not
	// published otherwise.
	Lines io.Writer
	// CloudWatch changes the options of the client for metrics.
	CloudWatch []func(*cloudwatch.Options)
}

// Publisher publishes the metrics of a fleet. It is safe for use by several goroutines.
type Publisher struct {
	o       Options
	region  string
	what    string
	metrics *cloudwatch.Client
}

// NewPublisher returns a publisher for a fleet, which may be of any kind. Nothing is called. Account, Fleet and Formula
// are required.
func NewPublisher(o Options) (*Publisher, error) {
	if o.Account == nil || o.Fleet == "" {
		return nil, fmt.Errorf("publish the metrics of the fleet %q: an account and a name are needed", o.Fleet)
	}
	o.Namespace, o.Period = cmp.Or(o.Namespace, "Muster"), cmp.Or(o.Period, time.Minute)
	cfg, err := o.Account.Region(o.Region)
	if err != nil {
		return nil, fmt.Errorf("publish the metrics of the fleet %s: %w", o.Fleet, err)
	}
	return &Publisher{o: o, region: cfg.Region, what: "the fleet " + o.Fleet,
		metrics: cloudwatch.NewFromConfig(cfg, o.CloudWatch...)}, nil
}

// Delegate hands over. It implements [muster.Delegator] and is safe for use by several goroutines.
type Delegate struct {
	*Publisher
	policy tracker

	mu sync.Mutex
	// target is what the policy was last seen with, at checked.
	target  float64
	checked time.Time
}

var _ muster.Delegator = (*Delegate)(nil)

// tracker keeps a scaling policy.
type tracker interface {
	// ensure makes the policy track the target, and tells whether it had to be put.
	ensure(ctx context.Context, name string, target float64) (put bool, err error)
}

// New returns a delegate. Nothing is called.
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

// recheck is how often the policy is looked at although nothing should have changed it.
const recheck = 5 * time.Minute

// HandOver implements [muster.Delegator]: it publishes what is known, and puts the scaling policy when that is not as
// it should be.
func (d *Delegate) HandOver(ctx context.Context, h muster.Handover) error {
	published := d.Publish(ctx, h)
	if !(h.Target > 0) {
		return published
	}
	d.mu.Lock()
	fresh := d.target == h.Target && time.Since(d.checked) < recheck
	d.mu.Unlock()
	if fresh {
		return published
	}
	if _, err := d.policy.ensure(ctx, PolicyName(d.o.Fleet), h.Target); err != nil {
		return errors.Join(published, err)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.target, d.checked = h.Target, time.Now()
	return published
}

func (d *Publisher) explain(what string, err error) error {
	return awsapi.Explain(what+" "+d.what, d.region, err)
}

// near tells whether a target that AWS has may stay.
func (d *Delegate) near(has, target float64) bool {
	return math.Abs(has-target) <= has*d.o.ChangePercent/100
}

// above is what is tracked while messages wait and nobody serves them: the target and more.
func above(backlog, target float64) float64 { return backlog + target }

func number(v float64) *float64 { return aws.Float64(v) }
