package stack

import (
	"iter"
	"maps"
	"slices"
	"strings"

	"github.com/muster-scale/muster/kind"
)

// This file has the types of a stack. Pointers that are nil, and empty lists, stand for what a fleet does not have.

// Stack is one fleet with everything below it. Nothing changes it after [Make] returned it.
type Stack struct {
	// Fleet is the name of the fleet. Logical names in templates do not depend on it.
	Fleet string
	// Account and Region are where the stack belongs: ARNs in it name them.
	Account, Region string
	// About says in a few lines what the stack is and what runs beside it.
	About []string
	// Parameters are all that the texts of the stack refer to, in the order in which a user states them.
	Parameters []Parameter
	Queues     []Queue
	// Table is the name of the DynamoDB table of the workers' reports; empty for none.
	Table string
	// Group is the Auto Scaling group, of workers or of hosts. Cluster has the tasks.
	Group   *Group
	Cluster *Cluster
	// Tracking is the scaling policy; nil where Muster sizes the fleet.
	Tracking  *Tracking
	Functions []Function
	// FunctionLogs is the name of the log group of the functions.
	FunctionLogs string
	Events       *Events
	// Dashboard is the JSON of a dashboard of CloudWatch; empty for none.
	Dashboard string
}

// Label returns the name of the fleet as names of functions and dashboards may have it: without dots.
func (s Stack) Label() string { return strings.ReplaceAll(s.Fleet, ".", "-") }

// Partition returns the part of AWS that the region belongs to, as it stands in ARNs.
func (s Stack) Partition() string { return kind.Partition(s.Region) }

// Suffix returns the end of the names of AWS's hosts in the region.
func (s Stack) Suffix() string {
	if s.Partition() == "aws-cn" {
		return "amazonaws.com.cn"
	}
	return "amazonaws.com"
}

// References returns how a language refers to the resources of the stack, by the ARN in the permissions. queue returns
// the reference to a queue by its number. Those to log groups include the ":*" that IAM wants behind their ARN.
func (s Stack) References(queue func(i int) string, table, functionLogs, taskLogs string) map[string]string {
	at := kind.Place{Account: s.Account, Region: s.Region}
	all := map[string]string{at.ARN("logs", s.Region, "log-group:"+s.FunctionLogs+":*"): functionLogs}
	for i, q := range s.Queues {
		all[at.ARN("sqs", s.Region, q.Name)] = queue(i)
	}
	if s.Table != "" {
		all[at.ARN("dynamodb", s.Region, "table/"+s.Table)] = table
	}
	if s.Cluster != nil {
		all[at.ARN("logs", s.Region, "log-group:"+s.Cluster.Logs+":*")] = taskLogs
	}
	return all
}

// Parameter is a value that the configuration does not have.
type Parameter struct {
	// Name has letters and digits and begins with a capital letter.
	Name string
	Type Type
	// Description says what the value is, in one line.
	Description string
	// Min and Max bound a number; both are zero for no bound.
	Min, Max int
}

// Type is the type of a parameter.
type Type string

// The types. Subnets, SecurityGroups and Words are lists.
const (
	Words          Type = "words"
	String         Type = "string"
	Number         Type = "number"
	Image          Type = "image"
	Subnets        Type = "subnets"
	SecurityGroups Type = "security groups"
)

// Text is a text with values of parameters in it.
type Text []Part

// Part is a literal, or the value of a parameter.
type Part struct{ Literal, Parameter string }

// Say returns a text of literals only.
func Say(literal string) Text { return Text{{Literal: literal}} }

// Value returns a text that is the value of a parameter.
func Value(parameter string) Text { return Text{{Parameter: parameter}} }

// Join returns the texts one after another.
func Join(texts ...Text) (all Text) {
	for _, t := range texts {
		all = append(all, t...)
	}
	return all
}

// Fixed tells whether no parameter is in the text.
func (t Text) Fixed() bool {
	return !slices.ContainsFunc(t, func(p Part) bool { return p.Parameter != "" })
}

// Literals returns the literals of the text one after another.
func (t Text) Literals() string {
	var b strings.Builder
	for _, p := range t {
		b.WriteString(p.Literal)
	}
	return b.String()
}

// Queue is a queue of messages with its queue of dead letters.
type Queue struct {
	// Name is the name of the queue, Dead that of the other. Names of FIFO queues end with .fifo.
	Name, Dead string
	Fifo       bool
	// Visibility is the visibility timeout in seconds.
	Visibility int
}

// MaxReceives is how often a message is received before it is a dead letter: the default of AWS. Interruptions of
// workers count too, so a small number would give up messages that never failed.
const MaxReceives = 10

// The retentions of messages in seconds: 4 days, and for dead letters 14.
const (
	Retention     = 4 * 24 * 3600
	DeadRetention = 14 * 24 * 3600
)

// LogDays is how long logs are kept.
const LogDays = 30

// Role is a role of IAM and who may take it.
type Role struct {
	// Service takes the role, as in ec2.amazonaws.com.
	Service    string
	Statements []Statement
}

// Statement allows actions on resources.
type Statement struct {
	Sid      string
	Action   []string
	Resource []Text
	// Condition holds values by key by operator; nil for none.
	Condition map[string]map[string][]string
	// Why says why the resource is any; empty where it is not.
	Why string
}

// InOrder returns the entries of a map in the order of their keys, so that equal stacks give equal texts.
func InOrder[V any](m map[string]V) iter.Seq2[string, V] {
	return func(yield func(string, V) bool) {
		for _, key := range slices.Sorted(maps.Keys(m)) {
			if !yield(key, m[key]) {
				return
			}
		}
	}
}

// Group is an Auto Scaling group with its launch template. It has no size but its limits.
type Group struct {
	Name     string
	Min, Max int
	// Warmup is the boot time in seconds.
	Warmup int
	// Hosts tells that tasks run on the instances. Otherwise the instances are the workers.
	Hosts bool
	// Role is the role of the instances. UserData is what they run when they are launched.
	Role     Role
	UserData Text
	Pool     *kind.Pool
	// Terminated tells that the function terminate chooses which instances end.
	Terminated bool
}

// Cluster is a cluster of ECS with the task definition of the fleet's worker.
type Cluster struct {
	Name string
	// Family is the family of the task definition. Service is the name of the service; empty for tasks without one.
	Family, Service string
	// Provider is the name of the capacity provider of the group under the tasks; empty on Fargate. Fargate has the
	// providers there, of which the first is the cluster's default.
	Provider string
	Fargate  []string
	// Insights tells that the scaling policy needs the metrics of Container Insights.
	Insights bool
	// Entry are the words before the command of the worker. Environment holds alternating names and values.
	Entry       []string
	Environment []string
	// Token tells that the worker has a token, from a secret parameter.
	Token bool
	// TaskRole is the worker's role; ExecutionRole starts the container.
	TaskRole, ExecutionRole Role
	// Logs is the name of the log group.
	Logs string
}

// Tracking is a policy of target tracking with its target.
type Tracking struct {
	kind.Tracking
	// Target is the target. It is zero if the parameter FirstTarget has it, until durations are measured.
	Target float64
	// Moves tells that a function sets the target anew, so a template must not set it back.
	Moves bool
	// Min and Max are the limits of a service.
	Min, Max int
}

// Function is one function of muster-lambda.
type Function struct {
	// Name is the name of the function. Does is the value of MUSTER_FUNCTION.
	Name, Does string
	// About says what it does.
	About string
	Role  Role
	// Rate is the expression of its schedule; empty for none.
	Rate string
	// Environment holds alternating names and values besides MUSTER_FUNCTION.
	Environment []string
	// Timeout is in seconds.
	Timeout int
	// AnsweringGroup tells that EC2 Auto Scaling calls the function.
	AnsweringGroup bool
}

// Events is the queue that events go to, with the rules that send them there.
type Events struct {
	Queue Queue
	Rules []Rule
}

// Rule is a rule of EventBridge.
type Rule struct {
	// Name is the logical name of the rule. About says what its events tell.
	Name, About string
	// Source and Types are what an event must have; no types means any. Member is a member of its detail that must be
	// Value; empty for none.
	Source        string
	Types         []string
	Member, Value string
}
