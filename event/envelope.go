package event

import (
	"encoding/json"
	"strings"
)

// This file reads the envelope of EventBridge. Its members are those of the AWS documentation:
// https://docs.aws.amazon.com/eventbridge/latest/ref/overiew-event-structure.html

// rule says what an event of AWS is, and where its detail names the subject.
type rule struct {
	source, detail string
	kind           Kind
	subject        func(detail fields) Subject
}

// rules are the events of AWS that are known by name. All others are of the kind [Custom], and their subject is what
// their resources name.
var rules = []rule{
	{"aws.ecs", "ECS Task State Change", TaskState, ofTask},
	{"aws.ecs", "ECS Container Instance State Change", HostState, ofCluster},
	{"aws.ecs", "ECS Service Action", ServiceAction, ofCluster},
	{"aws.ecs", "ECS Deployment State Change", Deployment, ofCluster},
	{"aws.ec2", "EC2 Spot Instance Interruption Warning", SpotInterruption, ofInstance},
	{"aws.ec2", "EC2 Instance Rebalance Recommendation", Rebalance, ofInstance},
	{"aws.ec2", "EC2 Instance State-change Notification", InstanceState, ofInstance},
	{"aws.autoscaling", "EC2 Instance-launch Lifecycle Action", InstanceLifecycle, ofGroup},
	{"aws.autoscaling", "EC2 Instance-terminate Lifecycle Action", InstanceLifecycle, ofGroup},
	{"aws.autoscaling", "EC2 Instance Launch Successful", InstanceLaunch, ofGroup},
	{"aws.autoscaling", "EC2 Instance Launch Unsuccessful", InstanceLaunch, ofGroup},
	{"aws.autoscaling", "EC2 Instance Terminate Successful", InstanceTerminate, ofGroup},
	{"aws.autoscaling", "EC2 Instance Terminate Unsuccessful", InstanceTerminate, ofGroup},
	{"aws.s3", "Object Created", ObjectCreated, ofNothing},
	{"aws.cloudwatch", "CloudWatch Alarm State Change", Alarm, ofNothing},
}

// envelope returns the event in an envelope of EventBridge.
func envelope(f fields) Event {
	source, detailType, detail := f.text("source"), f.text("detail-type"), f.object("detail")
	e := Event{ID: f.text("id")}
	for _, r := range rules {
		if r.source == source && r.detail == detailType {
			e.Kind, e.Subject = r.kind, r.subject(detail)
			// The detail of an event of a service names the cluster only; the service is its resource.
			if r.kind == ServiceAction || r.kind == Deployment {
				e.Subject.resources(f)
			}
			return e
		}
	}
	if strings.HasPrefix(source, "aws.") {
		e.Kind = Custom
		if detailType == "AWS API Call via CloudTrail" {
			e.Kind, e.Subject = APICall, ofCall(detail)
		}
		e.Subject.resources(f)
		return e
	}
	// A program of one's own: its type is the kind, and its detail or its resources name the subject. Its source may
	// be an ARN too.
	e.Kind, e.Subject = KindOf(detailType), stated(detail)
	e.Subject.resources(f)
	e.Subject.arn(source)
	return e
}

func ofNothing(fields) Subject { return Subject{} }

// ofTask reads the state of a task. Tasks of a service have the group "service:NAME", others "family:NAME" unless they
// were started with another group.
func ofTask(d fields) Subject {
	s := Subject{Cluster: last(d.text("clusterArn")), Member: last(d.text("taskArn"))}
	switch group, name, _ := strings.Cut(d.text("group"), ":"); group {
	case "service":
		s.Service = name
	default:
		// The ARN of a definition ends with FAMILY:REVISION.
		definition := d.text("taskDefinitionArn")
		s.Family, _, _ = strings.Cut(definition[strings.LastIndexByte(definition, '/')+1:], ":")
	}
	return s
}

func ofCluster(d fields) Subject { return Subject{Cluster: last(d.text("clusterArn"))} }

func ofInstance(d fields) Subject { return Subject{Member: d.text("instance-id")} }

func ofGroup(d fields) Subject {
	return Subject{Group: d.text("AutoScalingGroupName"), Member: d.text("EC2InstanceId")}
}

// ofCall reads the parameters of a call that CloudTrail recorded.
func ofCall(d fields) Subject {
	p := d.object("requestParameters")
	return Subject{Queue: p.text("queueUrl"), Group: p.text("autoScalingGroupName"), Cluster: last(p.text("cluster")),
		Service: last(p.text("service"))}
}

// resources adds what the resources of an envelope name.
func (s *Subject) resources(f fields) {
	for _, raw := range f.list("resources") {
		var arn string
		if json.Unmarshal(raw, &arn) == nil {
			s.arn(arn)
		}
	}
}

// arn adds what an ARN names: arn:PARTITION:SERVICE:REGION:ACCOUNT:RESOURCE. Names that are known already stay.
func (s *Subject) arn(text string) {
	part := strings.SplitN(text, ":", 6)
	if len(part) < 6 || part[0] != "arn" {
		return
	}
	set := func(into *string, name string) {
		if *into == "" {
			*into = name
		}
	}
	kind, name, _ := strings.Cut(part[5], "/")
	switch part[2] + " " + kind {
	case "ecs cluster":
		set(&s.Cluster, name)
	case "ecs service", "ecs task", "ecs container-instance":
		// In old ARNs the cluster is missing.
		if cluster, _, ok := strings.Cut(name, "/"); ok {
			set(&s.Cluster, cluster)
		}
		switch kind {
		case "service":
			set(&s.Service, last(name))
		case "task":
			set(&s.Member, last(name))
		}
	case "ec2 instance":
		set(&s.Member, name)
	default:
		switch {
		case part[2] == "sqs":
			set(&s.Queue, part[5])
		case part[2] == "autoscaling" && strings.HasPrefix(part[5], "autoScalingGroup:"):
			_, name, _ := strings.Cut(part[5], "autoScalingGroupName/")
			set(&s.Group, name)
		}
	}
}
