package terraform

import (
	"maps"
	"strings"

	"go.yaml.in/yaml/v4"

	"github.com/muster-scale/muster/config/foreign/nodes"
)

// This file renames what the AWS provider calls otherwise than CloudFormation. Most names follow a rule, min_size is
// MinSize; the tables have the others.

// kind is a type of resource of the AWS provider that is read.
type kind struct {
	// to is the type in CloudFormation.
	to string
	// names has the properties that the rule does not give. An argument with an empty name is dropped.
	names map[string]string
	// lists are the properties that are lists. Any other block occurs once, and Terraform still has a list of it.
	lists []string
	// finish makes the changes that no table can express; nil for none.
	finish func(*renamer, *yaml.Node)
}

// kinds returns the types of resources that are read.
func kinds() map[string]kind {
	all := map[string]kind{
		"aws_autoscaling_group": {
			to: "AWS::AutoScaling::AutoScalingGroup",
			names: map[string]string{"name": "AutoScalingGroupName", "warm_pool": "WarmPoolConfiguration",
				"initial_lifecycle_hook": "LifecycleHookSpecificationList"},
			lists: []string{"LifecycleHookSpecificationList"},
		},
		"aws_autoscaling_lifecycle_hook": {
			to:    "AWS::AutoScaling::LifecycleHook",
			names: map[string]string{"notification_target_arn": "NotificationTargetARN"},
		},
		"aws_sqs_queue": {
			to: "AWS::SQS::Queue", names: map[string]string{"name": "QueueName", "url": "QueueUrl"}, finish: redrive,
		},
		"aws_sqs_queue_redrive_policy": {to: "AWS::SQS::QueuePolicy", finish: redrive},
		"aws_ecs_service":              {to: "AWS::ECS::Service", names: map[string]string{"name": "ServiceName"}},
		"aws_ecs_cluster": {
			to: "AWS::ECS::Cluster", names: map[string]string{"name": "ClusterName", "cluster_name": "ClusterName"},
		},
		"aws_lambda_function": {to: "AWS::Lambda::Function",
			names: map[string]string{"name": "FunctionName"}},
		"aws_lambda_event_source_mapping": {to: "AWS::Lambda::EventSourceMapping"},
		"aws_cloudwatch_event_target":     {to: "AWS::Events::Rule"},
		"aws_iam_role": {
			to: "AWS::IAM::Role", names: map[string]string{"name": "RoleName", "inline_policy": "Policies"},
		},
		"aws_iam_role_policy_attachment": {to: "AWS::IAM::RolePolicy"},
		"aws_iam_role_policy": {
			to: "AWS::IAM::Policy", names: map[string]string{"policy": "PolicyDocument", "name": "PolicyName"},
		},
		"aws_iam_policy": {
			to:    "AWS::IAM::ManagedPolicy",
			names: map[string]string{"policy": "PolicyDocument", "name": "ManagedPolicyName"},
		},
		"aws_iam_policy_document": {
			to: "AWS::IAM::ManagedPolicy", names: map[string]string{"json": "PolicyDocument"},
			lists: []string{"Statement", "Actions", "Resources"},
		},
	}
	maps.Copy(all, scalingKinds())
	return all
}

// scalingKinds returns the types that say how to scale.
func scalingKinds() map[string]kind {
	tracking := []string{"Metrics", "Dimensions", "StepAdjustments"}
	return map[string]kind{
		"aws_autoscaling_policy": {
			to: "AWS::AutoScaling::ScalingPolicy",
			names: map[string]string{"name": "PolicyName", "autoscaling_group_name": "AutoScalingGroupName",
				"arn": "PolicyARN"},
			lists: tracking, finish: simple,
		},
		"aws_appautoscaling_policy": {
			to:    "AWS::ApplicationAutoScaling::ScalingPolicy",
			names: map[string]string{"name": "PolicyName", "arn": "PolicyARN"},
			lists: tracking, finish: steps,
		},
		"aws_appautoscaling_target": {to: "AWS::ApplicationAutoScaling::ScalableTarget"},
		"aws_appautoscaling_scheduled_action": {
			to: "AWS::ApplicationAutoScaling::ScheduledAction", names: map[string]string{"name": ""},
		},
		"aws_autoscaling_schedule": {
			to:     "AWS::AutoScaling::ScheduledAction",
			names:  map[string]string{"autoscaling_group_name": "AutoScalingGroupName", "scheduled_action_name": ""},
			finish: unset,
		},
		"aws_cloudwatch_metric_alarm": {
			to: "AWS::CloudWatch::Alarm", names: map[string]string{"metric_query": "Metrics", "alarm_name": ""},
			lists: []string{"Metrics", "AlarmActions", "Dimensions"}, finish: queries,
		},
	}
}

// renamer renames arguments to properties, and remembers Terraform's words for them.
type renamer struct{ words map[string]string }

// resource returns a resource of a template for one of Terraform.
func (t *renamer) resource(k kind, at, arguments *yaml.Node) *yaml.Node {
	properties := t.mapping(k, arguments, true)
	if k.finish != nil {
		k.finish(t, properties)
	}
	n := nodes.Mapping(at)
	nodes.Set(n, "Type", nodes.Text(at, k.to))
	nodes.Set(n, "Properties", properties)
	return n
}

// mapping renames the keys of a mapping and of everything in it. The names of the kind count for the arguments of the
// resource itself only.
func (t *renamer) mapping(k kind, n *yaml.Node, outermost bool) *yaml.Node {
	if n == nil || n.Kind != yaml.MappingNode || isCall(n) {
		return n
	}
	into := *n
	into.Content = nil
	nodes.Pairs(n, func(key, value *yaml.Node) {
		// Names of the table are those of the resource's own arguments: a nested "name" is another thing.
		name, stated := k.names[key.Value]
		if !stated || !outermost {
			name = propertyOf(key.Value)
		}
		if name == "" || empty(value) {
			return
		}
		// The last word counts where two arguments become one property; notes then use that.
		t.words[name] = key.Value
		// The key keeps its place, only its text changes.
		renamed := *key
		renamed.Value = name
		into.Content = append(into.Content, &renamed, t.property(k, name, value))
	})
	return &into
}

// property renames what is in a property.
func (t *renamer) property(k kind, name string, value *yaml.Node) *yaml.Node {
	switch {
	case name == "Dimensions" && value.Kind == yaml.MappingNode && !isCall(value):
		return dimensions(value)
	case name == "Variables": // of a function's environment, whose names are the user's own
		return value
	case value.Kind == yaml.MappingNode:
		return t.mapping(k, value, false)
	case value.Kind != yaml.SequenceNode:
		return value
	}
	list := nodes.List(value)
	for _, e := range value.Content {
		list.Content = append(list.Content, t.mapping(k, e, false))
	}
	// Terraform has every block as a list, even one that can occur once.
	for _, lasting := range k.lists {
		if lasting == name {
			return list
		}
	}
	if len(list.Content) == 1 && list.Content[0].Kind == yaml.MappingNode {
		return list.Content[0] // a block of which there is one
	}
	return list
}

// propertyOf returns the name of an argument by the rule: words with capitals, without underscores.
func propertyOf(argument string) string {
	switch argument {
	case "step_adjustment":
		return "StepAdjustments"
	case "metric_dimension":
		return "Dimensions"
	}
	var b strings.Builder
	for word := range strings.SplitSeq(argument, "_") {
		if word != "" {
			b.WriteString(strings.ToUpper(word[:1]) + word[1:])
		}
	}
	return b.String()
}

// isCall tells whether a mapping is a reference or a value that is not known.
func isCall(n *yaml.Node) bool {
	return len(n.Content) == 2 && strings.HasPrefix(n.Content[0].Value, "Fn::")
}

// empty tells whether a value is what the provider keeps for an argument that was not stated.
func empty(n *yaml.Node) bool {
	return n == nil || n.Kind == yaml.ScalarNode && (n.Tag == "!!null" || n.Value == "") ||
		n.Kind != yaml.ScalarNode && len(n.Content) == 0
}

// dimensions returns a mapping as a list of names and values, as CloudFormation has it.
func dimensions(n *yaml.Node) *yaml.Node {
	list := nodes.List(n)
	nodes.Pairs(n, func(key, value *yaml.Node) {
		one := nodes.Mapping(value)
		nodes.Set(one, "Name", nodes.Text(key, key.Value))
		nodes.Set(one, "Value", value)
		list.Content = append(list.Content, one)
	})
	return list
}

// drop removes a property if do says so about its value.
func drop(n *yaml.Node, key string, do func(value string) bool) {
	for i := 0; i+1 < len(n.Content); i += 2 {
		if v := n.Content[i+1]; n.Content[i].Value == key && v.Kind == yaml.ScalarNode && do(v.Value) {
			n.Content = append(n.Content[:i:i], n.Content[i+2:]...)
			return
		}
	}
}

// zero tells whether a value is 0, which a state has for an unset number.
func zero(value string) bool { return value == "0" }

// simple completes a policy of a group: without a type it is simple scaling, and zeros of a state are unset values.
func simple(_ *renamer, n *yaml.Node) {
	// The provider has defaults that a configuration does not state and a state sometimes leaves out.
	if nodes.Get(n, "PolicyType") == nil {
		nodes.Set(n, "PolicyType", nodes.Text(n, "SimpleScaling"))
	}
	// These are numbers for which 0 is the same as nothing.
	for _, key := range []string{"Cooldown", "EstimatedInstanceWarmup", "MinAdjustmentMagnitude"} {
		drop(n, key, zero)
	}
	if nodes.Plain(nodes.Get(n, "PolicyType")) != "SimpleScaling" {
		drop(n, "ScalingAdjustment", zero)
	}
	drop(n, "Enabled", func(v string) bool { return v == "true" })
}

// steps completes a policy of a scalable target: without a type it is step scaling.
func steps(_ *renamer, n *yaml.Node) {
	if nodes.Get(n, "PolicyType") == nil {
		nodes.Set(n, "PolicyType", nodes.Text(n, "StepScaling"))
	}
}

// unset removes the sizes of a scheduled action that are -1, which means unchanged.
func unset(_ *renamer, n *yaml.Node) {
	for _, key := range []string{"MinSize", "MaxSize", "DesiredCapacity"} {
		drop(n, key, func(v string) bool { return v == "-1" })
	}
}

// queries brings the metrics of an alarm into the form that those of a policy have.
func queries(_ *renamer, n *yaml.Node) {
	for _, q := range nodes.Elements(nodes.Get(n, "Metrics")) {
		m := nodes.Get(q, "Metric")
		if m == nil {
			continue
		}
		metric, stat := nodes.Mapping(m), nodes.Mapping(m)
		nodes.Pairs(m, func(key, value *yaml.Node) {
			// CloudFormation puts statistic, unit and period around the metric, the provider puts them beside its
			// name.
			if key.Value == "Stat" || key.Value == "Unit" || key.Value == "Period" {
				nodes.Set(stat, key.Value, value)
			} else {
				nodes.Set(metric, key.Value, value)
			}
		})
		nodes.Set(stat, "Metric", metric)
		// The key is replaced in place, so that the order of the text stays.
		for i := 0; i+1 < len(q.Content); i += 2 {
			if q.Content[i].Value == "Metric" {
				q.Content[i], q.Content[i+1] = nodes.Text(q.Content[i], "MetricStat"), stat
			}
		}
	}
}

// redrive reads the redrive policy of a queue, which is a text of JSON.
func redrive(_ *renamer, n *yaml.Node) {
	for i := 0; i+1 < len(n.Content); i += 2 {
		if n.Content[i].Value != "RedrivePolicy" {
			continue
		}
		v, of := n.Content[i+1], nodes.Mapping(n.Content[i+1])
		// Of the whole policy, only the target matters here.
		if target := deadLetterOf(v); target != nil {
			nodes.Set(of, "deadLetterTargetArn", target)
		}
		n.Content[i+1] = of
	}
}

// deadLetterOf returns the target in a redrive policy: from a text, or from a text that is joined around a reference.
// The JSON is not decoded, because with a reference in it, it is no JSON yet.
func deadLetterOf(v *yaml.Node) *yaml.Node {
	const key = `"deadLetterTargetArn"`
	if v.Kind == yaml.ScalarNode {
		_, rest, found := strings.Cut(v.Value, key)
		_, rest, _ = strings.Cut(rest, `"`)
		arn, _, closed := strings.Cut(rest, `"`)
		if !found || !closed {
			return nil
		}
		return nodes.Text(v, arn)
	}
	parts := nodes.Elements(nodes.Get(v, "Fn::Join"))
	if len(parts) != 2 {
		return nil
	}
	// The reference follows the text that ends in the key.
	before := ""
	for _, p := range nodes.Elements(parts[1]) {
		if p.Kind == yaml.ScalarNode {
			before = p.Value
			if target := deadLetterOf(p); target != nil && target.Value != "" {
				return target
			}
		} else if strings.Contains(before, key) {
			return p
		}
	}
	return nil
}
