package stack

import (
	"slices"

	"github.com/muster-scale/muster/deploy/iam"
	"github.com/muster-scale/muster/kind"
)

// This file makes the permissions. Those of Muster itself come from package deploy/iam; the others are those that AWS
// needs to start a container, to run a function, or to place tasks on an instance.

// anyResource says why a statement is on any resource.
const anyResource = "IAM cannot restrict these actions to resources."

// permissions returns the statements for a mode of the program.
func (m *maker) permissions(mode kind.Mode, flags iam.Flags) ([]Statement, error) {
	p, err := iam.Make(m.c, m.table, iam.Options{Mode: mode, Account: m.Account, Region: m.Region, Workers: flags},
		m.f.Name)
	if err != nil {
		return nil, err
	}
	var all []Statement
	for _, s := range p.Statement {
		of := Statement{Sid: s.Sid, Action: s.Action, Condition: s.Condition}
		for _, arn := range s.Resource {
			of.Resource = append(of.Resource, Say(arn))
			if arn == "*" {
				of.Why = anyResource
				if len(s.Condition) > 0 {
					of.Why += " The condition does."
				}
			}
		}
		all = append(all, of)
	}
	return merged(all), nil
}

// merged joins the statements on any resource, which deploy/iam has for each service, unless a condition restricts one.
func merged(all []Statement) (out []Statement) {
	first := -1
	for _, s := range all {
		switch {
		case s.Why != anyResource:
		case first < 0:
			first = len(out)
			s.Sid = "NoResourceLevel"
		default:
			out[first].Action = append(slices.Clone(out[first].Action), s.Action...)
			continue
		}
		out = append(out, s)
	}
	return out
}

// on returns a statement on one literal resource.
func on(sid, arn string, actions ...string) Statement {
	s := Statement{Sid: sid, Action: actions, Resource: []Text{Say(arn)}}
	if arn == "*" {
		s.Why = anyResource
	}
	return s
}

// mayLog allows to write to a log group.
func (m *maker) mayLog(group string) Statement {
	return on("LogsOnGroup", m.at.ARN("logs", m.Region, "log-group:"+group+":*"), "logs:CreateLogStream",
		"logs:PutLogEvents")
}

// mayStart returns what starting a container of the cluster needs.
func (m *maker) mayStart(c *Cluster, repository Text) []Statement {
	all := []Statement{
		on("EcrNoResourceLevel", "*", "ecr:GetAuthorizationToken"),
		{Sid: "EcrOnRepository", Action: []string{"ecr:BatchGetImage", "ecr:GetDownloadUrlForLayer"},
			Resource: []Text{Join(Say(m.at.ARN("ecr", m.Region, "repository/")), repository)}},
		m.mayLog(c.Logs),
	}
	if c.Token {
		all = append(all, m.mayRead("ssm:GetParameters", m.token()))
	}
	return all
}

// mayHost returns what the agent on an instance of the cluster needs. The managed policy of AWS allows the same on all
// clusters.
func (m *maker) mayHost() []Statement {
	cluster := m.at.ARN("ecs", m.Region, "cluster/"+m.b.Cluster)
	return []Statement{
		on("EcsNoResourceLevel", "*", "ecs:DiscoverPollEndpoint"),
		on("EcsOnCluster", cluster, "ecs:DeregisterContainerInstance", "ecs:RegisterContainerInstance",
			"ecs:SubmitAttachmentStateChanges", "ecs:SubmitContainerStateChange", "ecs:SubmitTaskStateChange"),
		on("EcsOnContainerInstances", m.at.ARN("ecs", m.Region, "container-instance/"+m.b.Cluster+"/*"), "ecs:Poll",
			"ecs:StartTelemetrySession", "ecs:UpdateContainerInstancesState"),
	}
}

// functionRole returns the role of a function. Each function has a mode of its own.
func (m *maker) functionRole(f Function) (Role, error) {
	all, err := m.permissions(kind.Mode(f.Does), iam.Flags{})
	return Role{Service: "lambda.amazonaws.com", Statements: append(all, m.mayLog(m.FunctionLogs))}, err
}
