package aws

import (
	"cmp"
	"strconv"

	"go.yaml.in/yaml/v4"

	"github.com/muster-scale/muster/config/foreign/nodes"
)

// This file reads what the AWS CLI prints. An output has the members of the API, which are the properties of
// CloudFormation by the same names; so each entry becomes a resource of a template.

// Outputs returns a template of what the AWS CLI prints or takes: describe-policies, describe-scaling-policies,
// describe-alarms, describe-auto-scaling-groups, describe-scalable-targets, describe-scheduled-actions, and the
// inputs of put-scaling-policy and put-metric-alarm. All documents together are one template, in which policies refer
// to groups and alarms to policies by name. It is nil when no document is one of these.
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

// printed collects outputs as resources of a template.
type printed struct {
	// resources is a mapping by logical id.
	resources *yaml.Node
	taken     map[string]bool // logical ids in use
}

// document reads one output: lists by the name of their key, single inputs by their members.
func (o *printed) document(d *yaml.Node) {
	// These keys are those of the API's answers; each output has one of them.
	lists := map[string]func(*yaml.Node){
		"ScalingPolicies":             o.policy,
		"AutoScalingGroups":           o.as("AWS::AutoScaling::AutoScalingGroup", "AutoScalingGroupName"),
		"ScalableTargets":             o.as("AWS::ApplicationAutoScaling::ScalableTarget", "ResourceId"),
		"MetricAlarms":                o.as("AWS::CloudWatch::Alarm", "AlarmName"),
		"ScheduledUpdateGroupActions": o.as("AWS::AutoScaling::ScheduledAction", "ScheduledActionName"),
		"ScheduledActions":            o.as("AWS::ApplicationAutoScaling::ScheduledAction", "ScheduledActionName"),
	}
	// A document with such a list is an output, whatever else it has.
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
	// Inputs of put-scaling-policy and put-metric-alarm have no list around them. They are told by members that AWS
	// requires there.
	case nodes.Get(d, "PolicyType") != nil || nodes.Get(d, "PolicyName") != nil:
		o.policy(d)
	case nodes.Get(d, "TargetValue") != nil:
		o.bare(d, "TargetTrackingScaling", "TargetTrackingConfiguration")
	case nodes.Get(d, "MetricName") != nil && nodes.Get(d, "ComparisonOperator") != nil:
		o.add("AWS::CloudWatch::Alarm", cmp.Or(nodes.Plain(nodes.Get(d, "AlarmName")), "alarm"), d, d)
	}
}

// as returns a function that adds an entry as a resource of a type, named by one of its properties.
func (o *printed) as(kind, name string) func(*yaml.Node) {
	return func(n *yaml.Node) { o.add(kind, nodes.Plain(nodes.Get(n, name)), n, n) }
}

// policy adds a scaling policy. The members of Application Auto Scaling tell the two services apart.
func (o *printed) policy(n *yaml.Node) {
	kind := "AWS::AutoScaling::ScalingPolicy"
	if nodes.Get(n, "ServiceNamespace") != nil || nodes.Get(n, "ScalableDimension") != nil ||
		nodes.Get(n, "ResourceId") != nil {
		kind = "AWS::ApplicationAutoScaling::ScalingPolicy"
	}
	o.add(kind, cmp.Or(nodes.Plain(nodes.Get(n, "PolicyName")), "policy"), n, n)
}

// bare adds a configuration without a policy around it, as put-scaling-policy reads it from a file.
func (o *printed) bare(d *yaml.Node, kind, key string) {
	// The document is its own configuration; the policy around it is made up.
	n := nodes.Mapping(d)
	nodes.Set(n, "PolicyType", nodes.Text(d, kind))
	nodes.Set(n, key, d)
	o.add("AWS::AutoScaling::ScalingPolicy", "policy", d, n)
}

// add adds a resource, under a logical id that no other has.
func (o *printed) add(kind, name string, at, properties *yaml.Node) {
	// An entry that is no mapping is not an output of the CLI.
	if properties.Kind != yaml.MappingNode {
		return
	}
	// Policies of several groups may share a name, which a template's logical ids may not.
	for base, i := cmp.Or(name, "unnamed"), 2; o.taken[name] || name == ""; i++ {
		name = base + " (" + strconv.Itoa(i) + ")"
	}
	o.taken[name] = true
	n := nodes.Mapping(at)
	nodes.Set(n, "Type", nodes.Text(at, kind))
	nodes.Set(n, "Properties", stated(properties))
	nodes.Set(o.resources, name, n)
}

// stated drops empty lists, empty mappings and nulls, which an output has for what was never stated.
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
