package delegate

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/muster-scale/muster"
	"github.com/muster-scale/muster/awsrules/tracking"
	"github.com/muster-scale/muster/config"
	"github.com/muster-scale/muster/config/keys"
	"github.com/muster-scale/muster/internal/render"
	"github.com/muster-scale/muster/kind"
	"github.com/muster-scale/muster/policy"
)

// Config leaves the size of a fleet to the target tracking of AWS: Muster provides the metric and the target, and sets
// no size.
type Config struct {
	// Metric is "published" (the default) if Muster publishes the tracked metric, or "math" if CloudWatch computes it
	// from metrics of AWS.
	Metric string
	// Namespace is the namespace of the published metrics; by default Muster.
	Namespace string
	// Period is the period of the metric: 10 s, 30 s or a minute. A minute is the default, and the only one for a
	// service and for "math".
	Period time.Duration
	// ChangePercent is by how much the target must change before it is set again; MinAge is how long it stays at least.
	ChangePercent float64
	MinAge        time.Duration
	// Cooldown is how long AWS waits between two scale-outs of a service; zero uses the default of AWS, 5 minutes.
	Cooldown time.Duration
	// ScaleIn is false if AWS may only scale out; true by default.
	ScaleIn bool
}

// The values of Config.Metric.
const (
	MetricPublished = "published"
	MetricMath      = "math"
)

// arrives is how long after publication CloudWatch can evaluate a value: about a minute.
const arrives = time.Minute

// Kind is the row of the kind.
func Kind() kind.SizerRow {
	return kind.SizerRow{
		Key: "delegate", What: "leaves the size to the target tracking of AWS, for which Muster provides metric and " +
			"target",
		New:      func() kind.Sizer { return &Config{} },
		Adapters: []kind.Adapter{kind.AdapterFor[*Delegate]("AWS's own target tracking")},
	}
}

// Keys implements [config.Sizer].
func (c *Config) Keys() []keys.Key {
	return []keys.Key{
		keys.Text("metric", &c.Metric, "what is tracked: a metric that Muster publishes (the default), or one that "+
			"CloudWatch computes from those of the queue and the fleet").Default(MetricPublished).OneOf(MetricPublished,
			MetricMath),
		keys.Text("namespace", &c.Namespace,
			"where Muster publishes metrics, by default Muster").Default(kind.DefaultNamespace).Check(checkNamespace),
		keys.Duration("period", &c.Period, "the period of the metric: 10s, 30s or 60s (the default); a group with a "+
			"published metric alone has the shorter ones").Default(time.Minute),
		keys.Number("change", &c.ChangePercent, "by how many per hundred the target must move before it is set "+
			"again: 1 to 100, by default 20; setting it resets the alarms").Default(policy.DefaultChangePercent),
		keys.Duration("every", &c.MinAge,
			"how long a target stays at least: 0s to 24h, by default 5m").Default(policy.DefaultEvery),
		keys.Duration("cooldown", &c.Cooldown, "for a service how long AWS waits after a rise before the next: 1s to "+
			"24h; AWS's own default is 5m"),
		keys.Truth("scale_in", &c.ScaleIn, "whether AWS may lower the size too; true by default").Default(true),
	}
}

func checkNamespace(s *keys.Source, path, name string) {
	odd := func(r rune) bool { return r < '!' || r > '~' }
	if n := len(name); n < 1 || n > 255 || strings.HasPrefix(name, "AWS/") || strings.ContainsFunc(name, odd) {
		const allowed = "1 to 255 ASCII characters that do not begin with AWS/"
		s.Fault(path, fmt.Sprintf("found %s, allowed are %s", keys.Quote(name), allowed), "")
	}
}

// Check implements [config.Sizer].
func (c *Config) Check(s *keys.Source, at string, f *config.Fleet) {
	tracked := f.Facts().Tracked
	c.checkPeriod(s, at, tracked.Group != "")
	if at := at + ".cooldown"; c.Cooldown != 0 {
		keys.Within(s, at, c.Cooldown, time.Second, 24*time.Hour, keys.Span)
		if tracked.Group != "" {
			s.Fault(at, "found a cooldown for a group, allowed is one for a service", "a group uses its default "+
				"instance warm-up")
		}
	}
	switch {
	case f.Facts().Sized.Key == "":
		s.Fault(at, "found delegate for a fleet that AWS has no target tracking for, allowed is it with asg or with "+
			"ecs.service", "")
	case len(f.Queues) == 0 || slices.ContainsFunc(f.Queues, config.QueueRef.Own):
		s.Fault(at, "found delegate without a queue on SQS, allowed is it with the URLs of queues there", "")
	}
}

func (c *Config) checkPeriod(s *keys.Source, at string, group bool) {
	periods, allowed := []time.Duration{time.Minute}, "1m"
	if group && c.Metric == MetricPublished {
		periods, allowed = []time.Duration{10 * time.Second, 30 * time.Second, time.Minute}, "10s, 30s or 1m"
	}
	if slices.Contains(periods, c.Period) {
		return
	}
	hint := "Application Auto Scaling tracks metrics of a minute alone"
	if group {
		hint = "the metrics of SQS come once a minute"
	}
	s.Fault(at+".period", fmt.Sprintf("found %s, allowed is %s", keys.Span(c.Period), allowed), hint)
}

// Delegation implements [config.Sizer].
func (c *Config) Delegation() policy.Delegation {
	return policy.Delegation{ChangePercent: c.ChangePercent, Every: c.MinAge}
}

// Every implements [config.Sizer].
func (c *Config) Every() time.Duration { return c.Period }

// Owner implements [kind.Sizer].
func (c *Config) Owner(f config.Fleet) string { return PolicyName(f.Name) }

// Writes implements [kind.Sizer].
func (c *Config) Writes(tracked config.Tracked) []string {
	return kind.WritesOf(c.permissions(kind.Place{}, "", tracked), kind.ModePublish)
}

// Permissions implements [kind.Permitted].
func (c *Config) Permissions(at kind.Place, f config.Fleet) []kind.Permission {
	tracked := f.Facts().Tracked
	all := c.permissions(at, kind.HomeOf(f), tracked)
	if tracked.Group != "" {
		return all
	}
	return append(all, checked(at, kind.HomeOf(f), tracked)...)
}

// delegating are the modes that maintain the scaling policy.
func delegating() []kind.Mode { return []kind.Mode{kind.ModeUp, kind.ModePublish} }

// permissions returns what Muster itself calls.
func (c *Config) permissions(at kind.Place, region string, tracked config.Tracked) []kind.Permission {
	publish := publishing(c.Namespace, delegating())
	if tracked.Group != "" {
		group := []string{at.ARN("autoscaling", region, "autoScalingGroup:*:autoScalingGroupName/"+tracked.Group)}
		put := kind.AllowWrites(delegating(), group, "autoscaling:PutScalingPolicy")
		return append(append(kind.Allow(delegating(), nil, "autoscaling:DescribePolicies"), put...), publish)
	}
	all := kind.Allow(delegating(), nil, "application-autoscaling:DescribeScalableTargets",
		"application-autoscaling:DescribeScalingPolicies")
	// The identifier of a target is made when it is registered.
	put := kind.AllowWrites(delegating(), []string{at.ARN("application-autoscaling", region, "scalable-target/*")},
		"application-autoscaling:RegisterScalableTarget", "application-autoscaling:PutScalingPolicy")
	for i := range put {
		put[i].When = []kind.Condition{{Test: "StringEquals", Key: "application-autoscaling:service-namespace",
			Value: "ecs"}}
	}
	return append(append(all, put...), publish)
}

// checked returns what Application Auto Scaling requires of its caller. It checks these permissions before it
// registers a service or creates the alarms of a policy, and then acts by a role of its own.
func checked(at kind.Place, region string, tracked config.Tracked) []kind.Permission {
	allow := func(action, on, of string) kind.Permission {
		return kind.Permission{Action: action, On: []string{on}, Modes: delegating(), Write: true, For: of}
	}
	register, put := "application-autoscaling:RegisterScalableTarget", "application-autoscaling:PutScalingPolicy"
	cluster := tracked.Cluster[strings.LastIndexByte(tracked.Cluster, '/')+1:]
	service := at.ARN("ecs", region, "service/"+cluster+"/"+tracked.Service)
	role := allow("iam:CreateServiceLinkedRole", at.ARN("iam", region, "role/aws-service-role/"+
		"ecs.application-autoscaling.amazonaws.com/AWSServiceRoleForApplicationAutoScaling_ECSService"), register)
	role.When = []kind.Condition{{Test: "StringEquals", Key: "iam:AWSServiceName",
		Value: "ecs.application-autoscaling.amazonaws.com"}}
	alarms := at.ARN("cloudwatch", region, "alarm:*")
	return []kind.Permission{
		role, allow("ecs:DescribeServices", service, register), allow("ecs:UpdateService", service, register),
		allow("cloudwatch:DescribeAlarms", alarms, put), allow("cloudwatch:PutMetricAlarm", alarms, put),
		allow("cloudwatch:DeleteAlarms", alarms, put),
	}
}

// publishing returns the permission to publish metrics. IAM restricts it by namespace and not by resource.
func publishing(namespace string, modes []kind.Mode) kind.Permission {
	return kind.Permission{
		Action: "cloudwatch:PutMetricData", Modes: modes, Write: true,
		When: []kind.Condition{{Test: "StringEquals", Key: "cloudwatch:namespace", Value: namespace}},
	}
}

// PublisherPermissions returns what a publisher of [PublisherOf] needs.
func PublisherPermissions(config.Fleet) []kind.Permission {
	return []kind.Permission{publishing(kind.DefaultNamespace, []kind.Mode{kind.ModePublish})}
}

// PublishedIn returns the namespace of the published metrics, for [kind.NamespaceOf].
func (c *Config) PublishedIn() string { return c.Namespace }

// Open implements [kind.Sizer].
func (c *Config) Open(ctx context.Context, h *kind.Host, f config.Fleet, lines io.Writer) (muster.Delegator, error) {
	account, err := h.Account(ctx)
	if err != nil {
		return nil, err
	}
	tracked := f.Facts().Tracked
	o := Options{
		Account: account, Region: kind.HomeOf(f), Fleet: f.Name, Min: f.Limits.Min, Max: f.Limits.Max,
		Formula: formulaOf(f.Policy),
		Lines:   lines, Math: c.Metric == MetricMath, Namespace: c.Namespace, Period: c.Period,
		ChangePercent: c.ChangePercent,
		KeepUp:        !c.ScaleIn, Cooldown: c.Cooldown, Group: tracked.Group, Cluster: tracked.Cluster,
		Service: tracked.Service,
	}
	for _, q := range f.Queues {
		if q.Region != "" && q.Region != o.Region {
			return nil, fmt.Errorf("delegate the fleet %s: found the queue %s in %s and the fleet in %s; target "+
				"tracking reads metrics of its own region alone", f.Name, q.Name, q.Region, o.Region)
		}
		o.Queues = append(o.Queues, q.Name)
	}
	return New(o)
}

// World implements [kind.Sizer]. A group's members warm up for AWS's default cooldown, because nothing here states
// another figure.
func (c *Config) World(f config.Fleet) tracking.Policy {
	return tracking.Policy{
		Pair: tracking.Fixed(), Period: c.Period, Service: f.Facts().Tracked.Group == "",
		ScaleOut: cmp.Or(c.Cooldown, tracking.DefaultCooldown), ScaleIn: tracking.DefaultCooldown,
		Warmup: tracking.DefaultCooldown, DisableScaleIn: !c.ScaleIn,
	}
}

// PublisherOf returns a publisher of the metrics of a fleet of any kind. If lines is not nil, it writes them there
// instead of calling CloudWatch.
func PublisherOf(ctx context.Context, h *kind.Host, f config.Fleet, lines io.Writer) (kind.Publisher, error) {
	account, err := h.Account(ctx)
	if err != nil {
		return nil, err
	}
	return NewPublisher(Options{
		Account: account, Region: kind.HomeOf(f), Fleet: f.Name, Formula: formulaOf(f.Policy), Lines: lines,
	})
}

// formulaOf returns the metric that AWS tracks for a policy.
func formulaOf(s policy.Spec) Formula {
	switch {
	case !s.BySlots():
		return BacklogPerWorker
	case s.Signal == policy.SignalInFlight:
		return InFlight
	}
	return Utilization
}

// Notes implements [kind.Sizer]. It warns of scaling policies of a service that may scale out again before their metric
// shows the last scale-out. That takes until the new tasks have booted, their first period is over, and its value has
// arrived.
func (c *Config) Notes(ctx context.Context, f config.Fleet, ports *kind.Ports) []string {
	s, ok := ports.Fleet.(interface {
		Cooldowns(context.Context) (map[string]time.Duration, error)
	})
	if !ok {
		return nil
	}
	all, err := s.Cooldowns(ctx)
	if err != nil {
		return nil // another check has reported that error
	}
	ours := PolicyName(f.Name)
	if all[ours] = c.Cooldown; c.Cooldown == 0 {
		all[ours] = tracking.DefaultCooldown
	}
	boot, shows := f.Workers.Boot, f.Workers.Boot+c.Period+arrives
	in := func(d time.Duration) string { return render.Seconds(d.Seconds()) }
	var notes []string
	for _, name := range slices.Sorted(maps.Keys(all)) {
		if wait := all[name]; wait < shows {
			notes = append(notes, fmt.Sprintf("the scaling policy %s waits %s after a scale-out, but its metric "+
				"shows the effect only after %s (%s of boot, a period of %s, and about %s until CloudWatch has it): "+
				"it scales out again meanwhile, beyond what is needed; set delegate.cooldown, or ScaleOutCooldown "+
				"of your own policy, to at least %s",
				name, in(wait), in(shows), in(boot), in(c.Period), in(arrives), in(shows)))
		}
	}
	return notes
}
