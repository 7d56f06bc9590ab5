package terraform

import (
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
		target = stack.Value("FirstTarget")
	}
	of, kept := body{{key: "target_value", value: target}}, any(nil)
	if t.Moves {
		// Otherwise each apply would set the target back to the first one.
		kept = body{{key: "ignore_changes", value: list{expression("target_tracking_configuration[0].target_value")}}}
		if w.Cluster != nil {
			kept = body{{key: "ignore_changes", value: list{
				expression("target_tracking_scaling_policy_configuration[0].target_value")}}}
		}
	}
	if t.DisableScaleIn {
		of = append(of, entry{key: "disable_scale_in", value: true})
	}
	if w.Cluster == nil {
		w.resource("aws_autoscaling_policy", "tracking", "", body{{key: "name", value: t.Name},
			{key: "autoscaling_group_name", value: expression("aws_autoscaling_group.group.name")},
			{key: "policy_type", value: "TargetTrackingScaling"},
			{key: "target_tracking_configuration", value: append(of,
				entry{key: "customized_metric_specification", value: w.metrics(t, "metric_dimension")})},
			{key: "lifecycle", value: kept}})
		return
	}
	if t.ScaleOutCooldown > 0 {
		of = append(of, entry{key: "scale_out_cooldown", value: int(t.ScaleOutCooldown / time.Second)})
	}
	dimension := entry{key: "scalable_dimension", value: "ecs:service:DesiredCount"}
	// Application Auto Scaling uses its service-linked role, which AWS makes for the first target of an account.
	w.resource("aws_appautoscaling_target", "service", "", body{{key: "service_namespace", value: "ecs"}, dimension,
		{key: "resource_id", value: "service/" + w.Cluster.Name + "/" + w.Cluster.Service},
		{key: "min_capacity", value: t.Min}, {key: "max_capacity", value: t.Max},
		{key: "depends_on", value: list{expression("aws_ecs_service.service")}}})
	w.resource("aws_appautoscaling_policy", "tracking", "", body{{key: "name", value: t.Name},
		{key: "policy_type", value: "TargetTrackingScaling"}, {key: "service_namespace", value: "ecs"}, dimension,
		{key: "resource_id", value: expression("aws_appautoscaling_target.service.resource_id")},
		{key: "target_tracking_scaling_policy_configuration", value: append(of,
			entry{key: "customized_metric_specification", value: w.metrics(t, "dimensions")})},
		{key: "lifecycle", value: kept}})
}

// metrics returns the tracked metric, or the queries whose last one is tracked. The provider has two names for the
// dimensions of the former.
func (w *writer) metrics(t *stack.Tracking, dimension string) body {
	if t.Published {
		m := t.Metrics[0]
		b := body{{key: "namespace", value: m.Namespace}, {key: "metric_name", value: m.Name},
			{key: "statistic", value: m.Stat}}
		// The period is stated although it has a default, so that the policy equals the one that Muster would put.
		// Application Auto Scaling has no periods: it always takes a minute.
		if w.Cluster == nil {
			b = append(b, entry{key: "period", value: int(t.Period / time.Second)})
		}
		return append(b, dimensions(m, dimension)...)
	}
	// Exactly one query returns data. The default of the provider is true, so the others state false.
	var b body
	for i, m := range t.Metrics {
		of := body{{key: "id", value: m.ID}}
		if m.Expression != "" {
			of = append(of, entry{key: "expression", value: m.Expression})
		} else {
			metric := body{{key: "namespace", value: m.Namespace}, {key: "metric_name", value: m.Name}}
			of = append(of, entry{key: "metric_stat", value: body{{key: "stat", value: m.Stat},
				{key: "metric", value: append(metric, dimensions(m, "dimensions")...)}}})
		}
		of = append(of, entry{key: "return_data", value: i == len(t.Metrics)-1})
		b = append(b, entry{key: "metrics", value: of})
	}
	return b
}

// dimensions returns a block for each dimension of a metric.
func dimensions(m kind.TrackedMetric, block string) (b body) {
	for i := 0; i+1 < len(m.Dimensions); i += 2 {
		b = append(b, entry{key: block, value: body{{key: "name", value: m.Dimensions[i]},
			{key: "value", value: m.Dimensions[i+1]}}})
	}
	return b
}

// functions adds the functions with their log group.
func (w *writer) functions() {
	if len(w.Functions) == 0 {
		return
	}
	w.resource("aws_cloudwatch_log_group", "functions", "", body{{key: "name", value: w.FunctionLogs},
		{key: "retention_in_days", value: stack.LogDays}})
	for _, f := range w.Functions {
		w.function(f)
	}
}

// function adds a function with its role and what calls it.
func (w *writer) function(f stack.Function) {
	name := snake(f.Does)
	w.role(name, f.Role)
	environment := object{{key: "MUSTER_FUNCTION", value: f.Does}}
	for i := 0; i+1 < len(f.Environment); i += 2 {
		environment = append(environment, entry{key: f.Environment[i], value: f.Environment[i+1]})
	}
	w.resource("aws_lambda_function", name, f.About, body{
		{key: "function_name", value: f.Name},
		{key: "role", value: expression("aws_iam_role." + name + ".arn")},
		{key: "runtime", value: "provided.al2023"}, {key: "handler", value: "bootstrap"},
		{key: "architectures", value: list{"arm64"}},
		{key: "memory_size", value: 128}, {key: "timeout", value: f.Timeout},
		{key: "s3_bucket", value: stack.Value("ArtefactBucket")}, {key: "s3_key", value: stack.Value("FunctionKey")},
		{key: "environment", value: body{{key: "variables", value: environment}}},
		{key: "logging_config", value: body{{key: "log_format", value: "Text"},
			{key: "log_group", value: expression("aws_cloudwatch_log_group.functions.name")}}}})
	// A permission names who may call: only the service of this group, or only this rule.
	permission := body{{key: "function_name", value: expression("aws_lambda_function." + name + ".function_name")},
		{key: "action", value: "lambda:InvokeFunction"}}
	if f.AnsweringGroup {
		w.resource("aws_lambda_permission", name, "", append(permission, entry{key: "principal",
			value: "arn:" + w.Partition() + ":iam::" + w.Account +
				":role/aws-service-role/autoscaling.amazonaws.com/AWSServiceRoleForAutoScaling"}))
	}
	if f.Rate == "" {
		return
	}
	rule := expression("aws_cloudwatch_event_rule." + name + ".name")
	w.resource("aws_cloudwatch_event_rule", name, "", body{{key: "schedule_expression", value: f.Rate}})
	w.resource("aws_cloudwatch_event_target", name, "", body{{key: "rule", value: rule},
		{key: "arn", value: expression("aws_lambda_function." + name + ".arn")}})
	w.resource("aws_lambda_permission", name, "", append(permission, entry{key: "principal",
		value: "events.amazonaws.com"}, entry{key: "source_arn",
		value: expression("aws_cloudwatch_event_rule." + name + ".arn")}))
}

// events adds the queue of events, the rules, and the policy that lets only these rules send to it.
func (w *writer) events() {
	e := w.Events
	if e == nil {
		return
	}
	w.queue("events", "events_dead_letters", e.Queue)
	var rules list
	for _, r := range e.Rules {
		// A rule has no role: the policy of the queue below lets it send.
		name := snake(r.Name)
		pattern := object{{key: "source", value: list{r.Source}}}
		if r.Types != nil {
			pattern = append(pattern, entry{key: "detail-type", value: texts(r.Types)})
		}
		if r.Member != "" {
			pattern = append(pattern, entry{key: "detail", value: object{{key: r.Member, value: list{r.Value}}}})
		}
		w.resource("aws_cloudwatch_event_rule", name, r.About, body{{key: "event_pattern", value: document{pattern}}})
		w.resource("aws_cloudwatch_event_target", name, "", body{
			{key: "rule", value: expression("aws_cloudwatch_event_rule." + name + ".name")},
			{key: "arn", value: expression("aws_sqs_queue.events.arn")}})
		rules = append(rules, expression("aws_cloudwatch_event_rule."+name+".arn"))
	}
	w.resource("aws_sqs_queue_policy", "events", "", body{
		{key: "queue_url", value: expression("aws_sqs_queue.events.id")},
		{key: "policy", value: policy(list{object{{key: "Effect", value: "Allow"},
			{key: "Principal", value: object{{key: "Service", value: "events.amazonaws.com"}}},
			{key: "Action", value: "sqs:SendMessage"},
			{key: "Resource", value: expression("aws_sqs_queue.events.arn")},
			{key: "Condition", value: object{{key: "ArnEquals",
				value: object{{key: "aws:SourceArn", value: rules}}}}}}})}})
}
