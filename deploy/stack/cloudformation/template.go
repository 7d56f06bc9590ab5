package cloudformation

import (
	"github.com/muster-scale/muster/deploy/stack"
)

// This file writes the frame of a template, its parameters, and the resources that belong to no member.

// writer collects resources in the order of the text.
type writer struct {
	stack.Stack
	resources object
	// arns are the attributes of resources by the ARN that a permission names.
	arns map[string]string
}

// Write returns the template of a stack. It is at most 51,200 bytes, the limit of a template that is passed in a call,
// for every stack of one fleet.
func Write(s stack.Stack) []byte {
	queue := func(i int) string { return numbered("Queue", i) + ".Arn" }
	w := &writer{Stack: s, arns: s.References(queue, "Reports.Arn", "FunctionLogs.Arn", "Logs.Arn")}
	for i, q := range s.Queues {
		w.queue(numbered("Queue", i), numbered("DeadLetters", i), q)
	}
	w.table()
	w.group()
	w.cluster()
	w.tracking()
	w.functions()
	w.events()
	w.dashboard()
	var p printer
	for _, line := range s.About {
		p.line(0, "# "+line)
	}
	p.members(object{
		{key: "AWSTemplateFormatVersion", value: "2010-09-09"},
		{key: "Description", value: "Muster: the fleet " + s.Fleet},
		{key: "Parameters", value: parameters(s.Parameters)},
		{key: "Resources", value: w.resources},
	}, 0, false)
	return []byte(p.String())
}

// numbered returns a logical name that is unique among several things of one kind.
func numbered(name string, i int) string {
	if i == 0 {
		return name
	}
	return name + string(rune('A'+i))
}

// types are the types of parameters in CloudFormation, which checks the existence of those of EC2.
func types(t stack.Type) string {
	switch t {
	case stack.Number:
		return "Number"
	case stack.Image:
		return "AWS::EC2::Image::Id"
	case stack.Subnets:
		return "List<AWS::EC2::Subnet::Id>"
	case stack.SecurityGroups:
		return "List<AWS::EC2::SecurityGroup::Id>"
	case stack.Words:
		return "CommaDelimitedList"
	}
	return "String"
}

// parameters returns the parameters. A text that is empty would be taken, so texts have a least length.
func parameters(all []stack.Parameter) (o object) {
	for _, p := range all {
		of := object{{key: "Type", value: types(p.Type)}, {key: "Description", value: p.Description}}
		switch {
		case p.Type == stack.String:
			of = append(of, member{key: "MinLength", value: 1})
		case p.Type == stack.Words:
			of[1].value = p.Description + "; separated by commas"
		case p.Max > 0:
			of = append(of, member{key: "MinValue", value: p.Min}, member{key: "MaxValue", value: p.Max})
		}
		o = append(o, member{key: p.Name, value: of})
	}
	return o
}

// add adds a resource.
func (w *writer) add(name, kind, note string, properties object, rest ...member) {
	of := object{{key: "Type", value: kind}}
	of = append(append(of, rest...), member{key: "Properties", value: properties})
	w.resources = append(w.resources, member{name, of, note})
}

// queue adds a queue with the queue of its dead letters.
func (w *writer) queue(name, dead string, q stack.Queue) {
	fifo := func() (o object) {
		if q.Fifo {
			o = object{{key: "FifoQueue", value: true}}
		}
		return o
	}
	w.add(dead, "AWS::SQS::Queue", "", append(object{{key: "QueueName", value: q.Dead}}, append(fifo(),
		member{key: "MessageRetentionPeriod", value: stack.DeadRetention},
		member{key: "SqsManagedSseEnabled", value: true})...))
	w.add(name, "AWS::SQS::Queue", "", append(object{{key: "QueueName", value: q.Name}}, append(fifo(),
		member{key: "VisibilityTimeout", value: q.Visibility},
		member{key: "MessageRetentionPeriod", value: stack.Retention},
		member{key: "ReceiveMessageWaitTimeSeconds", value: 20},
		member{key: "SqsManagedSseEnabled", value: true},
		member{"RedrivePolicy", object{
			{key: "deadLetterTargetArn", value: attribute(dead + ".Arn")},
			{key: "maxReceiveCount", value: stack.MaxReceives},
		}, "Interruptions of workers count as well, so this is more than the attempts that may fail."})...))
}

// table adds the table of reports.
func (w *writer) table() {
	if w.Table == "" {
		return
	}
	// DynamoDB encrypts every table. Reports are few and small, so the table is paid by use.
	w.add("Reports", "AWS::DynamoDB::Table", "The workers write their reports here.", object{
		{key: "TableName", value: w.Table},
		{key: "BillingMode", value: "PAY_PER_REQUEST"},
		{key: "AttributeDefinitions", value: list{
			object{{key: "AttributeName", value: "fleet"}, {key: "AttributeType", value: "S"}},
			object{{key: "AttributeName", value: "worker"}, {key: "AttributeType", value: "S"}}}},
		{key: "KeySchema", value: list{
			object{{key: "AttributeName", value: "fleet"}, {key: "KeyType", value: "HASH"}},
			object{{key: "AttributeName", value: "worker"}, {key: "KeyType", value: "RANGE"}}}},
		{key: "TimeToLiveSpecification", value: object{{key: "AttributeName", value: "expires"},
			{key: "Enabled", value: true}}},
	})
}

// role adds a role with its policy.
func (w *writer) role(name string, r stack.Role) {
	// Roles have no names of their own: a stack then needs no capability for named ones, and two stacks do not collide.
	w.add(name, "AWS::IAM::Role", "", object{
		{key: "AssumeRolePolicyDocument", value: w.trust(r.Service)},
		{key: "Policies", value: list{object{
			{key: "PolicyName", value: "muster"},
			{key: "PolicyDocument", value: object{{key: "Version", value: "2012-10-17"},
				{key: "Statement", value: w.statements(r.Statements)}}},
		}}},
	})
}

// trust allows a service to take a role. Where the service says for whom it does, that is this account.
func (w *writer) trust(service string) object {
	s := object{{key: "Effect", value: "Allow"},
		{key: "Principal", value: object{{key: "Service", value: service}}}, {key: "Action", value: "sts:AssumeRole"}}
	if service == "ecs-tasks.amazonaws.com" || service == "scheduler.amazonaws.com" {
		s = append(s, member{key: "Condition", value: object{{key: "StringEquals",
			value: object{{key: "aws:SourceAccount", value: w.Account}}}}})
	}
	return object{{key: "Version", value: "2012-10-17"}, {key: "Statement", value: list{s}}}
}

// statements returns the statements of a policy. They have no Sid: actions and resource say the same.
func (w *writer) statements(all []stack.Statement) (l list) {
	for _, s := range all {
		resources := list{}
		for _, r := range s.Resource {
			if made := w.arns[r.Literals()]; made != "" && r.Fixed() {
				resources = append(resources, attribute(made))
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
				test = append(test, member{key: key, value: alone(texts(values))})
			}
			conditions = append(conditions, member{key: operator, value: test})
		}
		of = append(of, member{key: "Condition", value: conditions})
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

// dashboard adds the dashboard.
func (w *writer) dashboard() {
	if w.Dashboard != "" {
		w.add("Dashboard", "AWS::CloudWatch::Dashboard", "", object{
			{key: "DashboardName", value: "muster-" + w.Label()},
			{key: "DashboardBody", value: w.Dashboard}})
	}
}
