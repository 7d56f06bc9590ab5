package foreign

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"go.yaml.in/yaml/v4"
)

// template is a CloudFormation or SAM template.
type template struct {
	*reader
	parameters, mappings, conditions, resources *yaml.Node
}

func newTemplate(r *reader, d *yaml.Node) *template {
	return &template{r, get(d, "Parameters"), get(d, "Mappings"), get(d, "Conditions"), get(d, "Resources")}
}

// scaled is what some policies scale.
type scaled struct {
	draft
	key      string
	policies []scalingPolicy
	// actions are its scheduled actions.
	actions []*yaml.Node
}

// scalingPolicy is a resource that says how to scale.
type scalingPolicy struct {
	name string
	at   *yaml.Node
	// properties are those of the policy; ecs is true of one of Application Auto Scaling.
	properties *yaml.Node
	ecs        bool
}

// read finds the scaling policies and makes a fleet of each group or service that they scale.
func (t *template) read() {
	var all []*scaled
	pairs(t.resources, func(name, n *yaml.Node) {
		var s *scaled
		switch kind := plain(get(n, "Type")); kind {
		case "AWS::AutoScaling::ScalingPolicy":
			s = t.group(name, n)
		case "AWS::ApplicationAutoScaling::ScalingPolicy":
			s = t.service(name, n)
		case "AWS::AutoScaling::ScheduledAction":
			if s = t.group(name, n); s != nil {
				s.actions, s.policies = []*yaml.Node{get(n, "Properties")}, nil
			}
		case "AWS::ApplicationAutoScaling::ScalableTarget":
			s = t.target(name, n)
		default:
			return
		}
		if s == nil {
			return
		}
		if i := slices.IndexFunc(all, func(x *scaled) bool { return x.key == s.key }); i >= 0 {
			all[i].policies = append(all[i].policies, s.policies...)
			all[i].actions = append(all[i].actions, s.actions...)
			return
		}
		all = append(all, s)
	})
	for _, s := range all {
		s.reader = t.reader
		t.complete(s)
		t.fleets = append(t.fleets, s.done())
	}
}

// group is what a policy of EC2 Auto Scaling scales.
func (t *template) group(name, n *yaml.Node) *scaled {
	p := get(n, "Properties")
	of := get(p, "AutoScalingGroupName")
	v := t.resolve(of, 0)
	s := &scaled{draft: draft{reader: t.reader, at: name}, policies: []scalingPolicy{{name.Value, name, p, false}}}
	s.Name, s.key = v.text, "group "+v.text
	if v.why != "" {
		s.Name, s.key = name.Value, "policy "+name.Value
		s.note(of, "the group of %s cannot be told: %s", name.Value, v.why)
	}
	s.From = fmt.Sprintf("the Auto Scaling group %s", s.Name)
	if v.why == "" && len(v.text) <= maxGroupName {
		s.Group = shown(v.text)
	}
	if v.guess != "" {
		s.note(of, "the name of the group cannot be told (%s); its logical id %s stands for it", v.guess, brief(v.text))
	}
	s.Max = unstatedMax
	g := get(get(t.resources, v.resource), "Properties")
	if g == nil {
		s.note(of, "the template does not define the group %s, so its sizes are not known; 0 to %d stand for them", brief(s.Name), unstatedMax)
		return s
	}
	s.Min = s.size(get(g, "MinSize"), t.resolve(get(g, "MinSize"), 0), "MinSize", 0)
	s.Max = s.size(get(g, "MaxSize"), t.resolve(get(g, "MaxSize"), 0), "MaxSize", unstatedMax)
	if w := get(g, "DefaultInstanceWarmup"); w != nil {
		s.warmup(w, t.resolve(w, 0))
	}
	if get(g, "WarmPoolConfiguration") != nil || get(g, "MixedInstancesPolicy") != nil {
		s.remark("Instance types, purchase options and warm pools stay with the Auto Scaling group.")
	}
	return s
}

// service is what a policy of Application Auto Scaling scales; nil for what is no fleet of workers.
func (t *template) service(name, n *yaml.Node) *scaled {
	p := get(n, "Properties")
	s := &scaled{draft: draft{reader: t.reader, at: name}, policies: []scalingPolicy{{name.Value, name, p, true}}}
	s.Max = unstatedMax
	of := get(p, "ScalingTargetId")
	target := get(get(t.resources, t.resolve(of, 0).resource), "Properties")
	resource, dimension := get(p, "ResourceId"), get(p, "ScalableDimension")
	if target != nil {
		resource, dimension = get(target, "ResourceId"), get(target, "ScalableDimension")
	}
	if d := t.resolve(dimension, 0); d.why == "" && d.text != "ecs:service:DesiredCount" {
		t.note(name, "%s scales %s, which is no fleet of workers; it is left out", name.Value, brief(d.text))
		return nil
	}
	v := t.resolve(resource, 0)
	s.key = "service " + v.text
	s.Name = v.text[strings.LastIndexByte(v.text, '/')+1:]
	if v.why != "" {
		s.Name, s.key = name.Value, "policy "+name.Value+t.resolve(of, 0).resource
		s.note(resource, "the service of %s cannot be told: %s", name.Value, v.why)
	}
	s.From = fmt.Sprintf("the ECS service %s", s.Name)
	if target == nil {
		target = t.targetOf(v)
	}
	if target == nil {
		s.note(name, "the template has no scalable target for %s, so its sizes are not known; 0 to %d stand for them", brief(s.Name), unstatedMax)
		return s
	}
	s.Min = s.size(get(target, "MinCapacity"), t.resolve(get(target, "MinCapacity"), 0), "MinCapacity", 0)
	s.Max = s.size(get(target, "MaxCapacity"), t.resolve(get(target, "MaxCapacity"), 0), "MaxCapacity", unstatedMax)
	return s
}

// target is a scalable target with scheduled actions; nil for one that has none, or is no fleet of workers.
func (t *template) target(name, n *yaml.Node) *scaled {
	p := get(n, "Properties")
	actions := elements(get(p, "ScheduledActions"))
	if d := t.resolve(get(p, "ScalableDimension"), 0); len(actions) == 0 || d.text != "ecs:service:DesiredCount" {
		return nil
	}
	if v := t.resolve(get(p, "ResourceId"), 0); v.why != "" {
		t.note(actions[0], "the scheduled actions of %s are not carried over: its service cannot be told: %s", name.Value, v.why)
		return nil
	}
	s := t.service(name, n)
	if s != nil {
		s.actions, s.policies = actions, nil
	}
	return s
}

// maxGroupName is how long the name of an Auto Scaling group may be.
const maxGroupName = 255

// targetOf finds the scalable target of a resource id.
func (t *template) targetOf(id value) (properties *yaml.Node) {
	if id.why != "" {
		return nil
	}
	pairs(t.resources, func(_, n *yaml.Node) {
		p := get(n, "Properties")
		if plain(get(n, "Type")) == "AWS::ApplicationAutoScaling::ScalableTarget" && t.resolve(get(p, "ResourceId"), 0).text == id.text {
			properties = p
		}
	})
	return properties
}

// warmup takes the time that an instance needs until it counts as the expected boot time.
func (d *draft) warmup(n *yaml.Node, v value) {
	if v.why != "" {
		d.note(n, "the warm-up cannot be told: %s", v.why)
		return
	}
	if boot := d.seconds(n, v.text, "the warm-up", 24*time.Hour); boot > d.Boot {
		d.Boot = boot
		d.remark("The warm-up of an instance stands for its boot time until boots were measured.")
	}
}

// complete takes in the policies of a group, the queue first: metrics of its queue are seen without CloudWatch.
func (t *template) complete(s *scaled) {
	for _, p := range s.policies {
		t.findQueue(s, p.properties, 0)
	}
	if s.Queue == "" {
		t.onlyQueue(s)
	}
	for _, p := range s.policies {
		kind := t.resolve(get(p.properties, "PolicyType"), 0)
		switch text := kind.text; {
		case text == "TargetTrackingScaling" && !p.ecs:
			t.tracking(s, p, get(p.properties, "TargetTrackingConfiguration"))
		case text == "TargetTrackingScaling":
			t.tracking(s, p, get(p.properties, "TargetTrackingScalingPolicyConfiguration"))
		case text == "StepScaling" && p.ecs:
			t.stepping(s, p, get(p.properties, "StepScalingPolicyConfiguration"))
		case text == "StepScaling" || text == "SimpleScaling" || get(p.properties, "PolicyType") == nil && !p.ecs:
			t.stepping(s, p, p.properties)
		case text == "PredictiveScaling":
			t.predictive(s, p)
		default:
			s.note(p.at, "%s is a policy of the type %s, which is not carried over", p.name, brief(text+kind.why))
		}
		s.rest(p.properties, p.name, "AutoScalingGroupName", "PolicyType", "PolicyName", "TargetTrackingConfiguration", "TargetTrackingScalingPolicyConfiguration",
			"StepScalingPolicyConfiguration", "StepAdjustments", "AdjustmentType", "MetricAggregationType", "EstimatedInstanceWarmup", "Cooldown", "ScalingAdjustment",
			"MinAdjustmentMagnitude", "PredictiveScalingConfiguration", "PredictiveScalingPolicyConfiguration", "ScalingTargetId", "ResourceId", "ScalableDimension", "ServiceNamespace")
	}
	t.scheduled(s)
	if s.Queue == "" {
		s.remark("No queue is known of it: a fleet without a queue works on what its command finds, and reports by the API.")
	} else if !strings.Contains(s.Queue, ":") {
		s.remark("The queue is named as in the template. For one on SQS write its URL, as in https://sqs.REGION.amazonaws.com/ACCOUNT/%s", s.Queue)
	}
}

// findQueue finds the queue whose metrics a policy, or the alarm that calls it, reads.
func (t *template) findQueue(s *scaled, n *yaml.Node, depth int) {
	if n == nil || depth > maxDepth {
		return
	}
	if plain(get(n, "Name")) == "QueueName" && get(n, "Value") != nil {
		if v := t.resolve(get(n, "Value"), 0); v.why == "" {
			s.useValue(get(n, "Value"), v)
		}
		return
	}
	for _, c := range n.Content {
		t.findQueue(s, c, depth+1)
	}
	if depth == 0 {
		for _, p := range s.policies {
			for _, a := range t.alarms(p.name) {
				t.findQueue(s, a, 1)
			}
		}
	}
}

// onlyQueue takes the template's queue, if there is one that is nobody's dead-letter queue.
func (t *template) onlyQueue(s *scaled) {
	var names, dead []string
	at := map[string]*yaml.Node{}
	pairs(t.resources, func(name, n *yaml.Node) {
		if plain(get(n, "Type")) == "AWS::SQS::Queue" {
			names = append(names, name.Value)
			at[name.Value] = name
			dead = append(dead, t.resolve(get(get(get(n, "Properties"), "RedrivePolicy"), "deadLetterTargetArn"), 0).resource)
		}
	})
	names = slices.DeleteFunc(names, func(name string) bool { return slices.Contains(dead, name) })
	if len(names) != 1 {
		return
	}
	s.useValue(at[names[0]], t.named(names[0], "", 0))
	s.remark("No metric names its queue; %s is the only one in the template.", names[0])
}

// alarms are the properties of the alarms that call a policy.
func (t *template) alarms(policy string) (all []*yaml.Node) {
	pairs(t.resources, func(_, n *yaml.Node) {
		p := get(n, "Properties")
		if plain(get(n, "Type")) != "AWS::CloudWatch::Alarm" {
			return
		}
		for _, action := range elements(get(p, "AlarmActions")) {
			if t.resolve(action, 0).resource == policy {
				all = append(all, p)
				return
			}
		}
	})
	return all
}
