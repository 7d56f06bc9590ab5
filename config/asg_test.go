package config_test

import (
	"testing"
	"time"

	"github.com/muster-scale/muster/config"
	"github.com/muster-scale/muster/fleet/asg"
	"github.com/muster-scale/muster/metricmath"
	"github.com/muster-scale/muster/source/cloudwatch"
)

const onSQS = `queue: "https://sqs.eu-west-1.amazonaws.com/1/work", max: 3, `

func TestAFleetMayBeAnAutoScalingGroup(t *testing.T) {
	c := parse(t, `
version: 1
aws: {region: eu-west-1, calls_per_second: 2.5, burst: 9}
fleets:
  - {name: small, `+onSQS+`asg: {group: web}}
  - {name: whole, queue: other, max: 3, asg: {group: web, region: us-east-1, launch: name, zone: us-east-1a, protect: false, warm_pool: {size: 4, state: running, reuse: true}}, workers: {slots: 2, boot: 90s}}
  - {name: quiet, queue: third, max: 3, asg: {group: web, reports: none, warm_pool: {size: 0}}}`)
	if want := (config.AWS{Region: "eu-west-1", CallsPerSecond: 2.5, Burst: 9, QueueMetrics: true}); c.AWS != want {
		t.Errorf("found %+v, want %+v", c.AWS, want)
	}
	for i, want := range []asg.Config{
		{Group: "web", Launch: "auto", Protect: true, Reports: "required"},
		{Group: "web", Region: "us-east-1", Launch: "name", Zone: "us-east-1a", Reports: "required",
			WarmPool: &asg.WarmPool{Size: 4, State: "running", Reuse: true}},
		{Group: "web", Launch: "auto", Reports: "none", WarmPool: &asg.WarmPool{State: "stopped"}},
	} {
		if diff := diff(want, *c.Fleets[i].Members.(*asg.Config)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.Fleets[i].Name, diff)
		}
	}
	if w := c.Fleets[0].Workers; w.Boot != 2*time.Minute || w.Slots != 1 ||
		c.Fleets[1].Workers.Boot != 90*time.Second || c.Fleets[1].Workers.Slots != 2 {
		t.Errorf("found the workers %+v and %+v, want two minutes to boot unless stated", w, c.Fleets[1].Workers)
	}
}

func TestOnAWSLooksAreRareAndTimeHasAPrice(t *testing.T) {
	for _, row := range []struct {
		name, fleet string
		poll        time.Duration
		prompt      bool
	}{
		{"processes and an embedded queue", `queue: q, max: 3, workers: {command: x}`, time.Second, true},
		{"processes with a price", `queue: q, max: 3, price: 1, workers: {command: x}`, time.Second, false},
		{"processes and a queue on SQS", onSQS + `workers: {command: x}`, 5 * time.Second, true},
		{"processes and a queue on this machine by its URL",
			`queue: "http://127.0.0.1:9324/000000000000/q", max: 3, workers: {command: x}`, time.Second, true},
		{"a group without a price", onSQS + `asg: {group: web}`, 5 * time.Second, false},
		{"a group that shall be prompt", onSQS + `asg: {group: web}, policy: {name: deadline, prompt: true}`,
			5 * time.Second, true},
		{"a group with its own poll", onSQS + `poll: 20s, asg: {group: web}`, 20 * time.Second, false},
	} {
		t.Run(row.name, func(t *testing.T) {
			f := parse(t, "version: 1\nfleets: [{name: f, "+row.fleet+"}]").Fleets[0]
			if f.Poll != row.poll || f.Policy.Prompt != row.prompt {
				t.Errorf("found a poll of %s and prompt %t, want %s and %t", f.Poll, f.Policy.Prompt, row.poll,
					row.prompt)
			}
		})
	}
}

func TestAFleetMayBeMeasuredByCloudWatch(t *testing.T) {
	f := parse(t, `
version: 1
fleets:
  - name: f
    max: 3
    asg: {group: web}
    metrics:
      region: eu-west-1
      processing: {namespace: App, metric: MPD, dimensions: [Queue=work], period: 10s, stat: Maximum}
      backlog:
        expression: "a + FILL(b, 0)"
        using:
          - {id: a, namespace: App, metric: Waiting, stat: Sum}
          - {id: b, namespace: App, metric: Parked}
      oldest_age: {expression: "SEARCH('{App} Age', 'Maximum', 60)", by_aws: true}`).Fleets[0]
	m := f.Signals[0].(*cloudwatch.Config)
	if m.Region != "eu-west-1" || len(m.Measured) != 3 || !m.Measured["oldest_age"].ByAWS ||
		len(m.Measured["backlog"].Queries) != 3 {
		t.Fatalf("found %+v", m)
	}
	one := m.Measured["processing"].Queries[0]
	if one.MetricStat.PeriodSeconds != 10 || one.MetricStat.Stat != "Maximum" ||
		one.MetricStat.Metric.Dimensions[0] != (metricmath.Dimension{Name: "Queue", Value: "work"}) ||
		!*one.ReturnData {
		t.Errorf("found %+v", one.MetricStat)
	}
	if b := m.Measured["backlog"].Queries[1]; b.ID != "b" || b.MetricStat.Stat != "Average" ||
		b.MetricStat.PeriodSeconds != 60 || *b.ReturnData {
		t.Errorf("found %+v", b)
	}
}
