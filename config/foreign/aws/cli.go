package aws

import (
	"cmp"
	"strconv"

	"go.yaml.in/yaml/v4"

	"github.com/muster-scale/muster/config/foreign/nodes"
)

// Outputs makes a template of what the AWS CLI prints and takes: describe-policies, describe-scaling-policies,
// describe-alarms, describe-auto-scaling-groups, describe-scalable-targets, describe-scheduled-actions, list-queues and
// the input of put-scaling-policy. All of them together are one template, in which policies refer to groups and alarms
// to policies by name. It is nil where nothing is one of them.
func Outputs(documents []*yaml.Node) *yaml.Node {
	resources := nodes.Mapping(nil)
	p := printed{resources: resources, taken: map[string]bool{}}
	for _, d := range documents {
		p.document(d)
	}
	if len(resources.Content) == 0 {
		return nil
	}
	root := nodes.Mapping(nil)
	nodes.Set(root, "Resources", resources)
	return root
}

// printed collects what was printed as the resources of a template.
type printed struct {
	resources *yaml.Node
	taken     map[string]bool
}

func (o *printed) document(d *yaml.Node) {
	lists := map[string]func(*yaml.Node){
		"ScalingPolicies":             o.policy,
		"AutoScalingGroups":           o.as("AWS::AutoScaling::AutoScalingGroup", "AutoScalingGroupName"),
		"ScalableTargets":             o.as("AWS::ApplicationAutoScaling::ScalableTarget", "ResourceId"),
		"MetricAlarms":                o.as("AWS::CloudWatch::Alarm", "AlarmName"),
		"ScheduledUpdateGroupActions": o.as("AWS::AutoScaling::ScheduledAction", "ScheduledActionName"),
		"ScheduledActions":            o.as("AWS::ApplicationAutoScaling::ScheduledAction", "ScheduledActionName"),
	}
	found := false
	nodes.Pairs(d, func(key, value *yaml.Node) {
		if take := lists[key.Value]; take != nil && value.Kind == yaml.SequenceNode {
			found = true
			for _, n := range value.Content {
				take(n)
			}
		}
	})
	switch {
	case found:
	case nodes.Get(d, "PolicyType") != nil || nodes.Get(d, "PolicyName") != nil:
		o.policy(d)
	case nodes.Get(d, "TargetValue") != nil:
		o.bare(d, "TargetTrackingScaling", "TargetTrackingConfiguration")
	case nodes.Get(d, "MetricName") != nil && nodes.Get(d, "ComparisonOperator") != nil:
		o.add("AWS::CloudWatch::Alarm", cmp.Or(nodes.Plain(nodes.Get(d, "AlarmName")), "alarm"), d, d)
	}
}

// as takes an entry of a list as a resource of a type, called by one of its properties.
func (o *printed) as(kind, name string) func(*yaml.Node) {
	return func(n *yaml.Node) { o.add(kind, nodes.Plain(nodes.Get(n, name)), n, n) }
}

// policy takes in a policy of either service.
func (o *printed) policy(n *yaml.Node) {
	kind := "AWS::AutoScaling::ScalingPolicy"
	if nodes.Get(n, "ServiceNamespace") != nil || nodes.Get(n, "ScalableDimension") != nil ||
		nodes.Get(n, "ResourceId") != nil {
		kind = "AWS::ApplicationAutoScaling::ScalingPolicy"
	}
	o.add(kind, cmp.Or(nodes.Plain(nodes.Get(n, "PolicyName")), "policy"), n, n)
}

// bare takes in a configuration without a policy around it, which put-scaling-policy takes from a file.
func (o *printed) bare(d *yaml.Node, kind, key string) {
	n := nodes.Mapping(d)
	nodes.Set(n, "PolicyType", nodes.Text(d, kind))
	nodes.Set(n, key, d)
	o.add("AWS::AutoScaling::ScalingPolicy", "policy", d, n)
}

// add adds a resource under a name of its own.
func (o *printed) add(kind, name string, at, properties *yaml.Node) {
	if properties.Kind != yaml.MappingNode {
		return
	}
	for base, i := cmp.Or(name, "unnamed"), 2; o.taken[name] || name == ""; i++ {
		name = base + " (" + strconv.Itoa(i) + ")"
	}
	o.taken[name] = true
	n := nodes.Mapping(at)
	nodes.Set(n, "Type", nodes.Text(at, kind))
	nodes.Set(n, "Properties", stated(properties))
	nodes.Set(o.resources, name, n)
}

// stated leaves out what a description has for what was not stated.
func stated(n *yaml.Node) *yaml.Node {
	into := *n
	into.Content = nil
	nodes.Pairs(n, func(key, value *yaml.Node) {
		nothing := value.Kind != yaml.ScalarNode && len(value.Content) == 0 || value.Tag == "!!null"
		if !nothing {
			into.Content = append(into.Content, key, value)
		}
	})
	return &into
}
