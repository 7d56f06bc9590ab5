package cloudformation

import (
	"strings"
	"time"

	"github.com/muster-scale/muster/deploy/stack"
	"github.com/muster-scale/muster/kind"
)

// This file writes what changes the size: target tracking, the functions for it, and the events that wake a controller.

// tracking adds the scaling policy, for a service with its scalable target.
func (w *writer) tracking() {
	t := w.Tracking
	if t == nil {
		return
	}
	target := any(t.Target)
	if t.Target == 0 {
		target = ref("FirstTarget")
	}
	of := object{{key: "TargetValue", value: target}, {key: "DisableScaleIn", value: t.DisableScaleIn},
		{key: "CustomizedMetricSpecification", value: w.metrics(t)}}
	if w.Cluster == nil {
		w.add("ScalingPolicy", "AWS::AutoScaling::ScalingPolicy", "", object{
			{key: "AutoScalingGroupName", value: ref("Group")}, {key: "PolicyType", value: "TargetTrackingScaling"},
			{key: "TargetTrackingConfiguration", value: of}})
		return
	}
	if t.ScaleOutCooldown > 0 {
		of = append(of, member{key: "ScaleOutCooldown", value: int(t.ScaleOutCooldown / time.Second)})
	}
	// Application Auto Scaling uses its service-linked role, which AWS makes for the first target of an account.
	w.add("ScalableTarget", "AWS::ApplicationAutoScaling::ScalableTarget", "", object{
		{key: "ServiceNamespace", value: "ecs"}, {key: "ScalableDimension", value: "ecs:service:DesiredCount"},
		{key: "ResourceId", value: "service/" + w.Cluster.Name + "/" + w.Cluster.Service},
		{key: "MinCapacity", value: t.Min}, {key: "MaxCapacity", value: t.Max}},
		member{key: "DependsOn", value: "Service"})
	w.add("ScalingPolicy", "AWS::ApplicationAutoScaling::ScalingPolicy", "", object{
		{key: "PolicyName", value: t.Name}, {key: "PolicyType", value: "TargetTrackingScaling"},
		{key: "ScalingTargetId", value: ref("ScalableTarget")},
		{key: "TargetTrackingScalingPolicyConfiguration", value: of}})
}

// metrics returns the tracked metric, or the queries whose last one is tracked.
func (w *writer) metrics(t *stack.Tracking) object {
	if t.Published {
		m := t.Metrics[0]
		// The period is stated although it has a default, so that the policy equals the one that Muster would put.
		o := object{{key: "Namespace", value: m.Namespace}, {key: "MetricName", value: m.Name},
			{key: "Dimensions", value: pairs(m.Dimensions, "Name", "Value")}, {key: "Statistic", value: m.Stat}}
		// Application Auto Scaling has no periods: it always takes a minute.
		if w.Cluster == nil {
			o = append(o, member{key: "Period", value: int(t.Period / time.Second)})
		}
		return o
	}
	// ReturnData is true where it is not stated, and AWS allows one true alone.
	var l list
	for i, m := range t.Metrics {
		o := object{{key: "Id", value: m.ID}}
		if m.Expression != "" {
			o = append(o, member{key: "Expression", value: m.Expression})
		} else {
			o = append(o, member{key: "MetricStat", value: stat(m)})
		}
		l = append(l, append(o, member{key: "ReturnData", value: i == len(t.Metrics)-1}))
	}
	return object{{key: "Metrics", value: l}}
}

// stat returns a metric with its statistic.
func stat(m kind.TrackedMetric) object {
	return object{{key: "Metric", value: object{{key: "Namespace", value: m.Namespace},
		{key: "MetricName", value: m.Name}, {key: "Dimensions", value: pairs(m.Dimensions, "Name", "Value")}}},
		{key: "Stat", value: m.Stat}}
}

// logical returns the logical name of what a function has: "PublishMetricFunction" for publish-metric.
func logical(does, what string) string {
	var b strings.Builder
	for word := range strings.SplitSeq(does, "-") {
		b.WriteString(strings.ToUpper(word[:1]) + word[1:])
	}
	return b.String() + what
}

// functions adds the functions with their log group.
func (w *writer) functions() {
	if len(w.Functions) == 0 {
		return
	}
	w.add("FunctionLogs", "AWS::Logs::LogGroup", "", object{
		{key: "LogGroupName", value: w.FunctionLogs}, {key: "RetentionInDays", value: stack.LogDays}})
	for _, f := range w.Functions {
		w.function(f)
	}
}

// function adds a function with its role and what calls it.
func (w *writer) function(f stack.Function) {
	name := logical(f.Does, "Function")
	w.role(logical(f.Does, "Role"), f.Role)
	environment := object{{key: "MUSTER_FUNCTION", value: f.Does}}
	for i := 0; i+1 < len(f.Environment); i += 2 {
		environment = append(environment, member{key: f.Environment[i], value: f.Environment[i+1]})
	}
	w.add(name, "AWS::Lambda::Function", f.About, object{
		{key: "FunctionName", value: f.Name},
		{key: "Runtime", value: "provided.al2023"}, {key: "Handler", value: "bootstrap"},
		{key: "Architectures", value: list{"arm64"}},
		{key: "Timeout", value: f.Timeout}, // the memory is the default, 128 MiB
		{key: "Role", value: attribute(logical(f.Does, "Role") + ".Arn")},
		{key: "Code", value: object{{key: "S3Bucket", value: ref("ArtefactBucket")},
			{key: "S3Key", value: ref("FunctionKey")}}},
		{key: "Environment", value: object{{key: "Variables", value: environment}}},
		{key: "LoggingConfig", value: object{{key: "LogGroup", value: ref("FunctionLogs")}}},
	})
	// A permission names who may call: only this group's service, or only this rule.
	permission := object{{key: "FunctionName", value: ref(name)}, {key: "Action", value: "lambda:InvokeFunction"}}
	if f.AnsweringGroup {
		w.add(logical(f.Does, "Permission"), "AWS::Lambda::Permission", "", append(permission, member{key: "Principal",
			value: "arn:" + w.Partition() + ":iam::" + w.Account + ":role/aws-service-role/autoscaling.amazonaws.com/" +
				"AWSServiceRoleForAutoScaling"}))
	}
	if f.Rate == "" {
		return
	}
	schedule := logical(f.Does, "Schedule")
	w.add(schedule, "AWS::Events::Rule", "", object{{key: "ScheduleExpression", value: f.Rate},
		{key: "Targets", value: list{object{{key: "Id", value: "function"},
			{key: "Arn", value: attribute(name + ".Arn")}}}}})
	w.add(logical(f.Does, "Permission"), "AWS::Lambda::Permission", "", append(permission,
		member{key: "Principal", value: "events.amazonaws.com"},
		member{key: "SourceArn", value: attribute(schedule + ".Arn")}))
}

// events adds the queue of events, the rules, and the policy that lets only these rules send to it.
func (w *writer) events() {
	e := w.Events
	if e == nil {
		return
	}
	w.queue("Events", "EventsDeadLetters", e.Queue)
	var rules list
	for _, r := range e.Rules {
		pattern := object{{key: "source", value: list{r.Source}}, {key: "detail-type", value: texts(r.Types)}}
		if r.Member != "" {
			pattern = append(pattern, member{key: "detail", value: object{{key: r.Member, value: list{r.Value}}}})
		}
		w.add(r.Name, "AWS::Events::Rule", r.About, object{{key: "EventPattern", value: pattern},
			{key: "Targets", value: list{object{{key: "Id", value: "events"},
				{key: "Arn", value: attribute("Events.Arn")}}}}})
		rules = append(rules, attribute(r.Name+".Arn"))
	}
	w.add("EventsPolicy", "AWS::SQS::QueuePolicy", "", object{{key: "Queues", value: list{ref("Events")}},
		{key: "PolicyDocument", value: object{{key: "Version", value: "2012-10-17"}, {key: "Statement",
			value: list{object{{key: "Effect", value: "Allow"},
				{key: "Principal", value: object{{key: "Service", value: "events.amazonaws.com"}}},
				{key: "Action", value: "sqs:SendMessage"}, {key: "Resource", value: attribute("Events.Arn")},
				{key: "Condition", value: object{{key: "ArnEquals",
					value: object{{key: "aws:SourceArn", value: rules}}}}}}}}}}})
}
