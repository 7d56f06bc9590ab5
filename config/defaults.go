package config

import (
	"fmt"
	"net/url"
	"slices"
	"time"

	"github.com/muster-scale/muster/policy"
)

// setDefaults fills in what the text does not state. A stated zero stays.
func (c *Config) setDefaults(s *source) {
	otherwise(s, "data", &c.Data, ".muster")
	otherwise(s, "listen.queue", &c.Listen.Queue, "127.0.0.1:9324")
	otherwise(s, "listen.api", &c.Listen.API, "127.0.0.1:9325")
	otherwise(s, "aws.queue_metrics", &c.AWS.QueueMetrics, true)
	otherwise(s, "aws.calls_per_second", &c.AWS.CallsPerSecond, 50)
	otherwise(s, "aws.burst", &c.AWS.Burst, 100)
	for i := range c.Queues {
		q, path := &c.Queues[i], fmt.Sprintf("queues[%d]", i)
		otherwise(s, path+".visibility", &q.Visibility, 30*time.Second)
		otherwise(s, path+".retention", &q.Retention, 4*24*time.Hour)
	}
	for i := range c.Fleets {
		f := &c.Fleets[i]
		f.setDefaults(s, fmt.Sprintf("fleets[%d]", i))
		c.setDeadLetter(f, &f.Workers)
		for j := range f.Split {
			c.setDeadLetter(f, &f.Split[j].Workers)
		}
	}
}

func (f *Fleet) setDefaults(s *source, path string) {
	otherwise(s, path+".objective.latency", &f.Objective.Latency, 30*time.Second)
	otherwise(s, path+".objective.quantile", &f.Objective.Quantile, 0.99)
	// max is checked later; bounded here so that the product stays one.
	otherwise(s, path+".launches_per_hour", &f.Limits.LaunchesPerHour, max(60, 10*min(f.Limits.Max, maxWorkers)))
	poll, boot := time.Second, time.Second
	if f.OnAWS() {
		poll = 5 * time.Second
	}
	if f.ASG != nil {
		boot = 2 * time.Minute
		f.ASG.setDefaults(s, path+".asg")
	}
	if f.ECS != nil {
		boot = time.Minute
		f.ECS.setDefaults(s, path+".ecs")
	}
	if f.Delegate != nil {
		f.Delegate.setDefaults(s, path+".delegate", &f.Policy)
	}
	otherwise(s, path+".poll", &f.Poll, poll)
	if !s.has(path + ".policy") {
		f.Policy.Name = policy.Default
	}
	// Without a price processes of this machine save nothing by letting messages wait for company. What is on AWS has a price,
	// stated or not.
	f.Policy.Prompt = !f.Away() && f.Policy.Name == policy.Default && f.Policy.PricePerHour == 0 && !s.has(path+".policy.prompt") || f.Policy.Prompt
	switch f.Policy.Name {
	case "deadline", "exact", "schedule": // they fall when nothing is left to do, when workers leave, or by the clock
	default:
		otherwise(s, path+".scale_in.stabilization", &f.Policy.In.Stabilization, 5*time.Minute)
	}
	idle := time.Duration(0)
	if f.Policy.Name == "exact" || slices.ContainsFunc(f.Policy.Largest, func(of policy.Spec) bool { return of.Name == "exact" }) {
		idle = 30 * time.Second
	}
	f.Workers.setDefaults(s, path, Workers{Slots: 1, Batch: 1, Boot: boot, Visibility: 30 * time.Second, Idle: idle})
	for i := range f.Split {
		f.Split[i].Workers.setDefaults(s, fmt.Sprintf("%s.split[%d]", path, i), f.Workers)
	}
}

// Away tells whether the fleet's members are instances or tasks on AWS, and no processes of this machine.
func (f *Fleet) Away() bool { return f.ASG != nil || f.ECS != nil }

// OnAWS tells whether the fleet, a queue that it serves or a metric of it is on AWS.
func (f *Fleet) OnAWS() bool {
	return f.Away() || f.Metrics != nil || slices.ContainsFunc(f.Queues, func(q QueueRef) bool {
		u, err := url.Parse(q.URL)
		return q.URL != "" && err == nil && !isLoopback(u.Hostname())
	})
}

// otherwise sets the value at path when the text has none.
func otherwise[T any](s *source, path string, value *T, fallback T) {
	if !s.has(path) {
		*value = fallback
	}
}
