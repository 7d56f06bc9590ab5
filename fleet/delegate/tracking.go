package delegate

import (
	"github.com/muster-scale/muster/config"
	"github.com/muster-scale/muster/kind"
)

// Tracking implements [kind.Tracker]. In a template the workers publish their slots themselves, each once a minute, so
// the tracked number of slots is the sum and needs no controller. A running controller publishes the sum already.
func (c *Config) Tracking(f config.Fleet, target float64) kind.Tracking {
	tracked := f.Facts().Tracked
	d := &Delegate{Publisher: &Publisher{o: Options{
		Fleet: f.Name, Formula: formulaOf(f.Policy), Namespace: c.Namespace, Group: tracked.Group,
		Cluster: tracked.Cluster, Service: tracked.Service,
	}}}
	for _, q := range f.Queues {
		d.o.Queues = append(d.o.Queues, q.Name)
	}
	t := kind.Tracking{Name: PolicyName(f.Name), Published: c.Metric != MetricMath, Period: c.Period,
		ScaleOutCooldown: c.Cooldown, DisableScaleIn: !c.ScaleIn}
	if t.Published {
		s := d.published()
		t.Metrics = []kind.TrackedMetric{s.tracked("tracked")}
		return t
	}
	for _, q := range d.computed(target) {
		m := q.stat.tracked(q.id)
		if m.Expression = q.expression; m.Name == MetricTotalWorkers {
			m.Stat = "Sum"
		}
		t.Metrics = append(t.Metrics, m)
	}
	return t
}

// tracked returns the metric for a template.
func (s stat) tracked(id string) kind.TrackedMetric {
	return kind.TrackedMetric{ID: id, Namespace: s.namespace, Name: s.name, Stat: s.stat, Dimensions: s.dimensions}
}
