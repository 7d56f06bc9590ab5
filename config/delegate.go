package config

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"go.yaml.in/yaml/v4"

	"github.com/muster-scale/muster/policy"
)

// Delegate says that AWS's own target tracking sizes the fleet: Muster provides the metric and the target, and sets no size.
type Delegate struct {
	// Metric is "published" (the default) where Muster publishes the metric that is tracked, "math" where CloudWatch computes it from
	// metrics that AWS publishes.
	Metric string
	// Namespace is where Muster publishes; by default Muster.
	Namespace string
	// Period is that of the metric: 10 s, 30 s or a minute, by default a minute, which is the only one for a service and for "math".
	Period time.Duration
	// Cooldown is how long AWS waits after a rise of a service before it rises again; zero leaves it to AWS, which waits 5 minutes.
	Cooldown time.Duration
	// ScaleIn is false where AWS may raise the size only; true by default.
	ScaleIn bool
}

// The values of delegate.metric.
const (
	MetricPublished = "published"
	MetricMath      = "math"
)

func delegateKeys() []key {
	return []key{
		{name: "metric", kind: kindText, enum: trackables(), what: "what is tracked: a metric that Muster publishes (the default), or one that CloudWatch computes from those of the queue and the fleet"},
		{name: "namespace", kind: kindText, what: "where Muster publishes metrics, by default Muster"},
		{name: "period", kind: kindDuration, what: "the period of the metric: 10s, 30s or 60s (the default); a group with a published metric alone has the shorter ones"},
		{name: "change", kind: kindNumber, what: "by how many per hundred the target must move before it is set again: 1 to 100, by default 20; setting it resets the alarms"},
		{name: "every", kind: kindDuration, what: "how long a target stays at least: 0s to 24h, by default 5m"},
		{name: "cooldown", kind: kindDuration, what: "for a service how long AWS waits after a rise before the next: 1s to 24h; AWS's own default is 5m"},
		{name: "scale_in", kind: kindTruth, what: "whether AWS may lower the size too; true by default"},
	}
}

func trackables() []string { return []string{MetricPublished, MetricMath} }

func (d *decoder) delegate(n *yaml.Node, path string, spec *policy.Spec) *Delegate {
	o := &Delegate{}
	spec.Delegate = &policy.Delegation{}
	m := d.mapping(n, path, names(delegateKeys())...)
	m.text("metric", &o.Metric)
	m.text("namespace", &o.Namespace)
	m.duration("period", &o.Period)
	m.number("change", &spec.Delegate.ChangePercent)
	m.duration("every", &spec.Delegate.Every)
	m.duration("cooldown", &o.Cooldown)
	m.truth("scale_in", &o.ScaleIn)
	return o
}

func (o *Delegate) setDefaults(s *source, path string, spec *policy.Spec) {
	otherwise(s, path+".metric", &o.Metric, MetricPublished)
	otherwise(s, path+".namespace", &o.Namespace, "Muster")
	otherwise(s, path+".period", &o.Period, time.Minute)
	otherwise(s, path+".scale_in", &o.ScaleIn, true)
	otherwise(s, path+".change", &spec.Delegate.ChangePercent, policy.DefaultChangePercent)
	otherwise(s, path+".every", &spec.Delegate.Every, policy.DefaultEvery)
}

func (f *Fleet) validateDelegate(s *source, path string) {
	o, at := f.Delegate, path+".delegate"
	if o == nil {
		return
	}
	oneOf(s, at+".metric", o.Metric, trackables())
	if n := len(o.Namespace); n < 1 || n > 255 || strings.HasPrefix(o.Namespace, "AWS/") || strings.ContainsFunc(o.Namespace, func(r rune) bool { return r < '!' || r > '~' }) {
		s.fault(at+".namespace", fmt.Sprintf("found %s, allowed are 1 to 255 ASCII characters that do not begin with AWS/", quote(o.Namespace)), "")
	}
	periods := []time.Duration{time.Minute}
	group := f.ASG != nil
	if group && o.Metric == MetricPublished {
		periods = []time.Duration{10 * time.Second, 30 * time.Second, time.Minute}
	}
	if !slices.Contains(periods, o.Period) {
		s.fault(at+".period", fmt.Sprintf("found %s, allowed is %s", span(o.Period), both(len(periods) > 1, "10s, 30s or 1m", "1m")),
			both(group, "the metrics of SQS come once a minute", "Application Auto Scaling tracks metrics of a minute alone"))
	}
	if o.Cooldown != 0 {
		within(s, at+".cooldown", o.Cooldown, time.Second, 24*time.Hour, span)
		if group {
			s.fault(at+".cooldown", "found a cooldown for a group, allowed is one for a service", "a group goes by its default instance warm-up")
		}
	}
	switch {
	case !f.Away() || f.ECS != nil && f.ECS.Service == "":
		s.fault(at, "found delegate for a fleet that AWS has no target tracking for, allowed is it with asg or with ecs.service", "")
	case len(f.Queues) == 0 || slices.ContainsFunc(f.Queues, func(q QueueRef) bool { return q.URL == "" }):
		s.fault(at, "found delegate without a queue on SQS, allowed is it with the URLs of queues there", "")
	}
}
