package terraform

import (
	"fmt"

	"github.com/muster-scale/muster/deploy/stack"
)

// This file writes the frame of the module, its variables, and the resources that belong to no member.

// writer writes the blocks of a stack.
type writer struct {
	stack.Stack
	printer
	// arns are the expressions for ARNs of resources by the ARN that a permission names.
	arns map[string]string
}

// Write returns the text of the module of a stack.
func Write(s stack.Stack) []byte {
	w := &writer{Stack: s, arns: s.References(func(i int) string {
		return "aws_sqs_queue." + numbered("queue", i) + ".arn"
	}, "aws_dynamodb_table.reports.arn", `"${aws_cloudwatch_log_group.functions.arn}:*"`,
		`"${aws_cloudwatch_log_group.tasks.arn}:*"`)}
	for _, line := range s.About {
		w.WriteString("# " + line + "\n")
	}
	provider := object{{key: "source", value: "hashicorp/aws"}, {key: "version", value: ">= 5.80"}}
	w.block("terraform", nil, body{{key: "required_providers", value: body{{key: "aws", value: provider}}}}, "")
	w.WriteString("\n")
	w.block("provider", []string{"aws"}, body{{key: "region", value: s.Region},
		{key: "allowed_account_ids", value: list{s.Account}},
		{key: "default_tags", value: body{{key: "tags", value: object{{key: "muster:fleet", value: s.Fleet}}}}}}, "")
	for _, p := range s.Parameters {
		w.variable(p)
	}
	for i, q := range s.Queues {
		w.queue(numbered("queue", i), numbered("dead_letters", i), q)
	}
	w.table()
	w.group()
	w.cluster()
	w.tracking()
	w.functions()
	w.events()
	if s.Dashboard != "" {
		w.resource("aws_cloudwatch_dashboard", "dashboard", "", body{
			{key: "dashboard_name", value: "muster-" + s.Label()},
			{key: "dashboard_body", value: heredoc{text: stack.Say(s.Dashboard)}}})
	}
	return w.formatted()
}

// numbered returns a name that is unique among several things of one kind.
func numbered(name string, i int) string {
	if i == 0 {
		return name
	}
	return fmt.Sprintf("%s_%d", name, i+1)
}

// variable prints a parameter. Terraform asks for one without a default.
func (w *writer) variable(p stack.Parameter) {
	name := snake(p.Name)
	of, check := "string", body(nil)
	switch {
	case p.Type == stack.Number:
		of = "number"
		check = body{{key: "condition", value: expression(fmt.Sprintf("var.%s >= %d && var.%[1]s <= %[3]d", name, p.Min,
			p.Max))}, {key: "error_message", value: fmt.Sprintf("Allowed are %d to %d.", p.Min, p.Max)}}
	case p.Type == stack.Subnets || p.Type == stack.SecurityGroups || p.Type == stack.Words:
		of = "list(string)"
	}
	b := body{{key: "type", value: expression(of)}, {key: "description", value: p.Description}}
	if check != nil {
		b = append(b, entry{key: "validation", value: check})
	}
	w.WriteString("\n")
	w.block("variable", []string{name}, b, "")
}

// resource prints a resource.
func (w *writer) resource(kind, name, note string, b body) {
	w.WriteString("\n")
	w.block("resource", []string{kind, name}, b, note)
}

// queue adds a queue with the queue of its dead letters.
func (w *writer) queue(name, dead string, q stack.Queue) {
	fifo := any(nil)
	if q.Fifo {
		fifo = true
	}
	w.resource("aws_sqs_queue", dead, "", body{
		{key: "name", value: q.Dead}, {key: "fifo_queue", value: fifo},
		{key: "message_retention_seconds", value: stack.DeadRetention}, {key: "sqs_managed_sse_enabled", value: true}})
	w.resource("aws_sqs_queue", name, "", body{
		{key: "name", value: q.Name}, {key: "fifo_queue", value: fifo},
		{key: "visibility_timeout_seconds", value: q.Visibility},
		{key: "message_retention_seconds", value: stack.Retention},
		{key: "receive_wait_time_seconds", value: 20}, {key: "sqs_managed_sse_enabled", value: true},
		{"redrive_policy", document{object{
			{key: "deadLetterTargetArn", value: expression("aws_sqs_queue." + dead + ".arn")},
			{key: "maxReceiveCount", value: stack.MaxReceives}}},
			"Interruptions of workers count as well, so this is more than the attempts that may fail."}})
}

// table adds the table of reports.
func (w *writer) table() {
	if w.Table == "" {
		return
	}
	// DynamoDB encrypts every table. Reports are few and small, so the table is paid by use.
	text := func(name string) body { return body{{key: "name", value: name}, {key: "type", value: "S"}} }
	w.resource("aws_dynamodb_table", "reports", "The workers write their reports here.", body{
		{key: "name", value: w.Table}, {key: "billing_mode", value: "PAY_PER_REQUEST"},
		{key: "hash_key", value: "fleet"}, {key: "range_key", value: "worker"},
		{key: "attribute", value: text("fleet")}, {key: "attribute", value: text("worker")},
		{key: "ttl", value: body{{key: "attribute_name", value: "expires"}, {key: "enabled", value: true}}}})
}

// role adds a role with its policy.
func (w *writer) role(name string, r stack.Role) {
	// Roles have no names of their own, so two stacks do not collide. The policy is a resource of its own, because one
	// within the role would make the provider remove policies that others have added.
	w.resource("aws_iam_role", name, "", body{{key: "assume_role_policy", value: w.trust(r.Service)}})
	w.resource("aws_iam_role_policy", name, "", body{{key: "role", value: expression("aws_iam_role." + name + ".name")},
		{key: "policy", value: policy(w.statements(r.Statements))}})
}

// trust allows a service to take a role. Where the service says for whom it does, that is this account.
func (w *writer) trust(service string) document {
	s := object{{key: "Effect", value: "Allow"}, {key: "Principal", value: object{{key: "Service", value: service}}},
		{key: "Action", value: "sts:AssumeRole"}}
	if service == "ecs-tasks.amazonaws.com" {
		s = append(s, entry{key: "Condition", value: object{{key: "StringEquals",
			value: object{{key: "aws:SourceAccount", value: w.Account}}}}})
	}
	return policy(list{s})
}

// policy returns a policy document.
func policy(all list) document {
	return document{object{{key: "Version", value: "2012-10-17"}, {key: "Statement", value: all}}}
}

// statements returns the statements of a policy. They have no Sid: actions and resource say the same.
func (w *writer) statements(all []stack.Statement) (l list) {
	for _, s := range all {
		resources := list{}
		for _, r := range s.Resource {
			if made := w.arns[r.Literals()]; made != "" && r.Fixed() {
				resources = append(resources, expression(made))
			} else {
				resources = append(resources, r)
			}
		}
		of := object{{key: "Effect", value: "Allow"}, {key: "Action", value: alone(texts(s.Action))},
			{key: "Resource", value: alone(resources)}}
		conditions := object(nil)
		for operator, keys := range stack.InOrder(s.Condition) {
			test := object{}
			for key, values := range stack.InOrder(keys) {
				test = append(test, entry{key: key, value: alone(texts(values))})
			}
			conditions = append(conditions, entry{key: operator, value: test})
		}
		if conditions != nil {
			of = append(of, entry{key: "Condition", value: conditions})
		}
		if s.Why != "" {
			l = append(l, noted{s.Why, of})
		} else {
			l = append(l, of)
		}
	}
	return l
}

// alone returns the only value of a list, and other lists as they are.
func alone(l list) any {
	if len(l) == 1 {
		return l[0]
	}
	return l
}

// texts returns a list of texts.
func texts(all []string) (l list) {
	for _, x := range all {
		l = append(l, x)
	}
	return l
}
