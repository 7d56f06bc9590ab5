package config

import (
	"fmt"
	"strings"

	"github.com/muster-scale/muster/config/keys"
	"github.com/muster-scale/muster/policy"
)

// fillQueue replaces each marked value, which a pasted list has as !GetAtt NAME.QueueName, by the name of the fleet's
// queue. A template names its queue by a logical id that means nothing here, so the fleet must serve exactly one.
func (f *Fleet) fillQueue(s *keys.Source, path string, spec *policy.Spec) {
	for i, q := range spec.Queries {
		if q.MetricStat == nil {
			continue
		}
		for j := range q.MetricStat.Metric.Dimensions {
			at := fmt.Sprintf("%s.Metrics[%d].MetricStat.Metric.Dimensions[%d].Value", path, i, j)
			switch {
			case !s.Marked(at):
			case len(f.Queues) == 1:
				q.MetricStat.Metric.Dimensions[j].Value = f.Queues[0].Name
			default:
				s.Fault(at, fmt.Sprintf("found a queue of a template in a fleet that serves %d queues, allowed is "+
					"the queue's name", len(f.Queues)), "write the name")
				s.MarkBad(fmt.Sprintf("%s.Metrics[%d]", path, i))
			}
		}
	}
	for i := range spec.Largest {
		f.fillQueue(s, fmt.Sprintf("%s.largest[%d]", path, i), &spec.Largest[i])
	}
}

// queueNames returns the names of the queues that the fleet serves, in their order.
func (f *Fleet) queueNames() []string {
	all := make([]string, len(f.Queues))
	for i, q := range f.Queues {
		all[i] = q.Name
	}
	return all
}

// Remarks returns remarks on a valid configuration that may not mean what its author expects, sorted by place. Each is
// a [Fault] of the kind [IsRemark]. There are none for a Config that Parse did not return, because it has no text.
func (c *Config) Remarks() []Fault {
	s := c.source
	if s == nil {
		return nil
	}
	return s.Remarks(func() {
		for i, f := range c.Fleets {
			path := fmt.Sprintf("fleets[%d].policy", i)
			f.remark(s, path, f.Policy)
			f.remarkStart(s, fmt.Sprintf("fleets[%d]", i))
		}
		c.remarkAttempts(s)
	})
}

// remark adds the remarks of package policy on the policy at path, and on those that it combines.
func (f *Fleet) remark(s *keys.Source, path string, spec policy.Spec) {
	for _, r := range spec.Remarks(f.Name, f.queueNames()) {
		s.Fault(path+strings.TrimPrefix(r.Field, "policy"), r.Text, "")
	}
	for i, of := range spec.Largest {
		f.remark(s, fmt.Sprintf("%s.largest[%d]", path, i), of)
	}
}
