package config

import (
	"strconv"
	"strings"

	"go.yaml.in/yaml/v4"

	"github.com/muster-scale/muster/policy"
)

// The bounds of lists.
const (
	maxQueues    = 1000
	maxFleets    = 1000
	maxArguments = 256
	maxVariables = 256
	maxLargest   = 8
	maxServed    = 20
	maxSteps     = 20
	maxIntervals = 100
	maxDays      = 7
)

// version is the only version of the configuration.
const version = 1

func (d *decoder) config(root *yaml.Node) *Config {
	c := &Config{}
	m := d.mapping(root, "", names(rootKeys())...)
	found := 0
	m.whole("version", &found)
	if found != version {
		hint := ""
		if !d.has("version") {
			hint = "begin the file with \"version: 1\""
		}
		d.fault("version", d.missing("version", strconv.Itoa(found), "1"), hint)
	}
	m.text("data", &c.Data)
	m.truth("strict", &c.Strict)
	listen := m.sub("listen", names(listenKeys())...)
	listen.text("queue", &c.Listen.Queue)
	listen.text("api", &c.Listen.API)
	beyond := listen.sub("beyond", names(beyondKeys())...)
	b := &c.Listen.Beyond
	beyond.text("queue", &b.Queue)
	beyond.text("api", &b.API)
	beyond.text("cert", &b.Cert)
	beyond.text("key", &b.Key)
	beyond.each("hosts", maxServed, func(n *yaml.Node, path string) { b.Hosts = append(b.Hosts, d.text(n, path)) })
	m.aws(&c.AWS)
	m.each("queues", maxQueues, func(n *yaml.Node, path string) { c.Queues = append(c.Queues, d.queue(n, path)) })
	m.each("fleets", maxFleets, func(n *yaml.Node, path string) { c.Fleets = append(c.Fleets, d.fleet(n, path)) })
	return c
}

func (d *decoder) queue(n *yaml.Node, path string) Queue {
	var q Queue
	m := d.mapping(n, path, names(queueKeys())...)
	m.text("name", &q.Name)
	m.duration("visibility", &q.Visibility)
	m.duration("delay", &q.Delay)
	m.duration("retention", &q.Retention)
	dead := m.sub("dead_letter", names(deadLetterKeys())...)
	dead.text("queue", &q.DeadLetter.Queue)
	dead.whole("after", &q.DeadLetter.After)
	return q
}

func (d *decoder) fleet(n *yaml.Node, path string) Fleet {
	var f Fleet
	m := d.mapping(n, path, names(fleetKeys())...)
	m.text("name", &f.Name)
	if n, ok := m.values["queue"]; ok {
		f.Queues = append(f.Queues, d.queueRef(n, join(path, "queue")))
	}
	m.each("queues", maxServed, func(n *yaml.Node, path string) { f.Queues = append(f.Queues, d.queueRef(n, path)) })
	objective := m.sub("objective", names(objectiveKeys())...)
	objective.duration("latency", &f.Objective.Latency)
	objective.number("quantile", &f.Objective.Quantile)
	objective.duration("late", &f.Objective.Late)
	m.whole("min", &f.Limits.Min)
	m.whole("max", &f.Limits.Max)
	m.whole("launches_per_hour", &f.Limits.LaunchesPerHour)
	m.duration("poll", &f.Poll)
	if n, ok := m.values["policy"]; ok {
		f.Policy = d.policy(n, join(path, "policy"), true)
	}
	m.headroom(&f.Policy)
	m.number("price", &f.Policy.PricePerHour)
	m.number("budget", &f.Policy.BudgetPerHour)
	m.shape("scale_out", &f.Policy.Out)
	m.shape("scale_in", &f.Policy.In)
	m.truth("shadow", &f.Policy.Shadow)
	f.Workers = m.workers(Workers{})
	if n, ok := m.values["metrics"]; ok {
		f.Metrics = d.metrics(n, join(path, "metrics"))
	}
	if n, ok := m.values["asg"]; ok {
		f.ASG = d.asg(n, join(path, "asg"))
	}
	if n, ok := m.values["ecs"]; ok {
		f.ECS = d.ecs(n, join(path, "ecs"))
	}
	m.reportsFrom(&f.ReportsTable)
	if n, ok := m.values["delegate"]; ok {
		f.Delegate = d.delegate(n, join(path, "delegate"), &f.Policy)
	}
	m.each("split", maxServed, func(n *yaml.Node, path string) { f.Split = append(f.Split, d.part(n, path, f.Workers)) })
	return f
}

func (d *decoder) queueRef(n *yaml.Node, path string) QueueRef {
	text := d.text(n, path)
	if strings.Contains(text, ":") {
		return QueueRef{URL: text}
	}
	return QueueRef{Name: text}
}

// part decodes a part, whose workers are those of the fleet but for what it states itself.
func (d *decoder) part(n *yaml.Node, path string, fleet Workers) Part {
	var p Part
	m := d.mapping(n, path, names(partKeys())...)
	m.text("name", &p.Name)
	m.whole("base", &p.Base)
	m.whole("weight", &p.Weight)
	m.whole("max", &p.Max)
	p.Workers = m.workers(fleet)
	return p
}

// policy decodes a policy: its name, or a mapping with its parameters.
func (d *decoder) policy(n *yaml.Node, path string, outermost bool) policy.Spec {
	var s policy.Spec
	if n.Kind == yaml.ScalarNode {
		s.Name = d.text(n, path)
		return s
	}
	m := d.mapping(n, path, names(policyKeys(outermost))...)
	m.text("name", &s.Name)
	m.number("acceptable", &s.Acceptable)
	m.duration("processing", &s.Processing)
	m.number("scale", &s.Scale)
	m.truth("prompt", &s.Prompt)
	m.text("forecast", &s.Forecast)
	m.text("trees", &s.Trees)
	m.whole("first", &s.First)
	m.number("target", &s.Target)
	m.text("signal", &s.Signal)
	m.text("metric", &s.Metric)
	m.duration("cooldown", &s.Cooldown)
	m.each("steps", maxSteps, func(n *yaml.Node, path string) { s.Steps = append(s.Steps, d.step(n, path)) })
	m.each("intervals", maxIntervals, func(n *yaml.Node, path string) { s.Intervals = append(s.Intervals, d.interval(n, path)) })
	m.each("Metrics", policy.MaxQueries, func(n *yaml.Node, path string) { s.Queries = append(s.Queries, d.entry(n, path)) })
	m.each("largest", maxLargest, func(n *yaml.Node, path string) { s.Largest = append(s.Largest, d.policy(n, path, false)) })
	return s
}

func (d *decoder) step(n *yaml.Node, path string) policy.StepChange {
	var s policy.StepChange
	m := d.mapping(n, path, names(stepKeys())...)
	m.number("from", &s.From)
	m.number("to", &s.To)
	m.whole("add", &s.Add)
	m.number("percent", &s.Percent)
	if _, ok := m.values["set"]; ok {
		s.Set = new(int)
		m.whole("set", s.Set)
	}
	return s
}

func (d *decoder) interval(n *yaml.Node, path string) policy.Interval {
	var i policy.Interval
	m := d.mapping(n, path, names(intervalKeys())...)
	m.each("days", maxDays, func(n *yaml.Node, path string) { i.Days = append(i.Days, d.text(n, path)) })
	m.text("from", &i.From)
	m.text("to", &i.To)
	m.text("zone", &i.Zone)
	m.whole("workers", &i.Workers)
	return i
}

// headroom decodes a number of workers, as in 4, or a percentage, as in 10%.
func (m mapping) headroom(s *policy.Spec) {
	n, ok := m.values["headroom"]
	if !ok {
		return
	}
	path := join(m.path, "headroom")
	var err error
	switch number, percent := strings.CutSuffix(n.Value, "%"); {
	case n.Kind == yaml.ScalarNode && n.Tag == "!!int":
		s.HeadroomWorkers, err = strconv.Atoi(n.Value)
	case n.Kind == yaml.ScalarNode && percent && consists(number, ".") && number != "":
		s.HeadroomPercent, err = strconv.ParseFloat(number, 64)
	default:
		err = strconv.ErrSyntax
	}
	if err != nil {
		m.wrong(n, path, "a number of workers, as in 4, or a percentage, as in 10%", "")
	}
}

func (m mapping) shape(key string, s *policy.Shape) {
	sub := m.sub(key, names(shapeKeys())...)
	sub.duration("stabilization", &s.Stabilization)
	sub.whole("max_workers", &s.MaxWorkers)
	sub.number("max_percent", &s.MaxPercent)
	sub.duration("period", &s.Period)
	sub.truth("disabled", &s.Disabled)
}

// missing words a fault for a value that is absent or not the allowed one.
func (s *source) missing(path, found, allowed string) string {
	if !s.has(path) {
		found = "no " + path[strings.LastIndexByte(path, '.')+1:]
	}
	return "found " + found + ", allowed is " + allowed
}
