package terraform

import (
	"fmt"
	"reflect"
	"slices"
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

// functions adds the functions with their log group. What differs between them is in a local value, and each resource
// is made for each of them. A variable of the environment that all have stands in the resource.
func (w *writer) functions() {
	if len(w.Functions) == 0 {
		return
	}
	var all object
	shared := common(w.Functions)
	for _, f := range w.Functions {
		own := slices.DeleteFunc(slices.Clone(f.Role.Statements), func(s stack.Statement) bool {
			return has(shared, s)
		})
		environment := object{}
		for i := 0; i+1 < len(f.Environment); i += 2 {
			environment = append(environment, entry{key: f.Environment[i], value: f.Environment[i+1]})
		}
		of := object{{key: "timeout", value: f.Timeout}, {key: "environment", value: environment}}
		// A function without a rate has no member for it: the schedules are made for those that have one.
		if f.Rate != "" {
			of = append(of, entry{key: "rate", value: f.Rate})
		}
		all = append(all, entry{f.Does, append(of, entry{key: "may", value: w.statements(own)}), f.About})
	}
	w.WriteString("\n")
	w.block("locals", nil, body{{"functions", all, "The functions by the value of MUSTER_FUNCTION."}}, "")
	w.resource("aws_cloudwatch_log_group", "functions", "", body{{key: "name", value: w.FunctionLogs},
		{key: "retention_in_days", value: stack.LogDays}})
	each := entry{key: "for_each", value: expression("local.functions")}
	w.resource("aws_iam_role", "function", "", body{each,
		{key: "assume_role_policy", value: w.trust("lambda.amazonaws.com")}})
	w.resource("aws_iam_role_policy", "function", "", body{each,
		{key: "role", value: expression("aws_iam_role.function[each.key].name")},
		{key: "policy", value: document{object{{key: "Version", value: "2012-10-17"},
			{key: "Statement", value: call{"concat", list{expression("each.value.may"), w.statements(shared)}}}}}}})
	w.resource("aws_lambda_function", "function", "", body{each,
		{key: "function_name", value: expression(`"` + w.Label() + `-${each.key}"`)},
		{key: "role", value: expression("aws_iam_role.function[each.key].arn")},
		{key: "runtime", value: "provided.al2023"}, {key: "handler", value: "bootstrap"},
		{key: "architectures", value: list{"arm64"}},
		{key: "timeout", value: expression("each.value.timeout")}, // the memory is the default, 128 MiB
		{key: "s3_bucket", value: stack.Value("ArtefactBucket")}, {key: "s3_key", value: stack.Value("FunctionKey")},
		{key: "environment", value: body{{key: "variables",
			value: expression("merge({ MUSTER_FUNCTION = each.key }, each.value.environment)")}}},
		{key: "logging_config", value: body{{key: "log_format", value: "Text"},
			{key: "log_group", value: expression("aws_cloudwatch_log_group.functions.name")}}}})
	w.callers()
}

// common returns the statements that all functions have: what each needs to write its log. They stand in the resource
// of the policies, because a long line in each function would hide what only this one may do.
func common(all []stack.Function) (shared []stack.Statement) {
	for _, s := range all[0].Role.Statements {
		lacks := func(f stack.Function) bool { return !has(f.Role.Statements, s) }
		if !slices.ContainsFunc(all, lacks) {
			shared = append(shared, s)
		}
	}
	return shared
}

// has tells whether a statement is among others.
func has(all []stack.Statement, s stack.Statement) bool {
	return slices.ContainsFunc(all, func(x stack.Statement) bool { return reflect.DeepEqual(x, s) })
}

// callers adds the schedules of the functions, and the permission of the group to ask one. A permission names who may
// call: only the service of this group, or only this rule.
func (w *writer) callers() {
	for _, f := range w.Functions {
		if f.AnsweringGroup {
			name := snake(f.Does)
			w.resource("aws_lambda_permission", name, "", body{
				{key: "function_name", value: expression(fmt.Sprintf("aws_lambda_function.function[%q].function_name",
					f.Does))},
				{key: "action", value: "lambda:InvokeFunction"},
				{key: "principal", value: "arn:" + w.Partition() + ":iam::" + w.Account +
					":role/aws-service-role/autoscaling.amazonaws.com/AWSServiceRoleForAutoScaling"}})
		}
	}
	w.resource("aws_cloudwatch_event_rule", "function", "", body{
		{key: "for_each", value: expression(`{ for name, f in local.functions : name => f.rate if can(f.rate) }`)},
		{key: "schedule_expression", value: expression("each.value")}})
	each := entry{key: "for_each", value: expression("aws_cloudwatch_event_rule.function")}
	w.resource("aws_cloudwatch_event_target", "function", "", body{each,
		{key: "rule", value: expression("each.value.name")},
		{key: "arn", value: expression("aws_lambda_function.function[each.key].arn")}})
	w.resource("aws_lambda_permission", "schedule", "", body{each,
		{key: "function_name", value: expression("aws_lambda_function.function[each.key].function_name")},
		{key: "action", value: "lambda:InvokeFunction"}, {key: "principal", value: "events.amazonaws.com"},
		{key: "source_arn", value: expression("each.value.arn")}})
}

// events adds the queue of events, the rules, and the policy that lets only these rules send to it.
func (w *writer) events() {
	e := w.Events
	if e == nil {
		return
	}
	w.queue("events", "events_dead_letters", e.Queue)
	var rules object
	for _, r := range e.Rules {
		pattern := object{{key: "source", value: list{r.Source}}}
		if r.Types != nil {
			pattern = append(pattern, entry{key: "detail-type", value: texts(r.Types)})
		}
		if r.Member != "" {
			pattern = append(pattern, entry{key: "detail", value: object{{key: r.Member, value: list{r.Value}}}})
		}
		rules = append(rules, entry{snake(r.Name), pattern, r.About})
	}
	w.WriteString("\n")
	w.block("locals", nil, body{{"rules", rules, "The patterns of the events that go to the queue."}}, "")
	// A rule has no role: the policy of the queue below lets it send.
	w.resource("aws_cloudwatch_event_rule", "events", "", body{{key: "for_each", value: expression("local.rules")},
		{key: "event_pattern", value: document{expression("each.value")}}})
	w.resource("aws_cloudwatch_event_target", "events", "", body{
		{key: "for_each", value: expression("aws_cloudwatch_event_rule.events")},
		{key: "rule", value: expression("each.value.name")},
		{key: "arn", value: expression("aws_sqs_queue.events.arn")}})
	w.resource("aws_sqs_queue_policy", "events", "", body{
		{key: "queue_url", value: expression("aws_sqs_queue.events.id")},
		{key: "policy", value: policy(list{object{{key: "Effect", value: "Allow"},
			{key: "Principal", value: object{{key: "Service", value: "events.amazonaws.com"}}},
			{key: "Action", value: "sqs:SendMessage"},
			{key: "Resource", value: expression("aws_sqs_queue.events.arn")},
			{key: "Condition", value: object{{key: "ArnEquals",
				value: object{{key: "aws:SourceArn", value: rules}}}}}}})}})
}
