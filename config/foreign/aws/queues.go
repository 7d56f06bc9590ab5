package aws

import (
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v4"

	"github.com/muster-scale/muster/config/foreign/draft"
	"github.com/muster-scale/muster/config/foreign/nodes"
	"github.com/muster-scale/muster/config/foreign/template"
)

// This file finds the queues of a fleet: those whose metrics its policies and alarms read. A template often has other
// queues as well, for dead letters or notifications, and sizing workers by those would be wrong.

// role is what a queue of a template is for, when it is not for workers.
type role string

const (
	// The values stand in remarks: "is for dead letters".
	roleDead      role = "dead letters"
	roleLifecycle role = "notices of instances"
	roleFunction  role = "a function"
)

// roles returns the queues that no fleet of workers serves: for dead letters, for notifications about instances, and
// for messages that a function handles. References decide, and names where nothing refers to the queue.
func (t *stack) roles() map[string]role {
	all := map[string]role{}
	nodes.Pairs(t.Resources, func(name, n *yaml.Node) {
		p := nodes.Get(n, "Properties")
		switch kind := nodes.Plain(nodes.Get(n, "Type")); {
		// What instances or events notify is a queue of notices, not of work.
		case kind == "AWS::AutoScaling::LifecycleHook" || kind == "AWS::Events::Rule":
			t.mark(all, p, roleLifecycle, 0, "NotificationTargetARN", "Arn", "arn")
		// A function handles these messages, so no fleet of workers does.
		case kind == "AWS::Lambda::EventSourceMapping":
			t.mark(all, p, roleFunction, 0, "EventSourceArn")
		case strings.HasPrefix(kind, "AWS::Serverless::"):
			t.mark(all, nodes.Get(p, "Events"), roleFunction, 0, "Queue")
		case kind == "AWS::AutoScaling::AutoScalingGroup":
			t.mark(all, nodes.Get(p, "LifecycleHookSpecificationList"), roleLifecycle, 0, "NotificationTargetARN")
		// A name gives a role too. Of several roles the last one in the order of the text counts.
		case kind == "AWS::SQS::Queue" && draft.DeadLetterName(t.Named(name.Value).Text):
			all[name.Value] = roleDead
		case kind == "AWS::SQS::Queue" && lifecycleName(t.Named(name.Value).Text):
			all[name.Value] = roleLifecycle
		}
		t.mark(all, p, roleDead, 0, "deadLetterTargetArn", "DeadLetterConfig", "DeadLetterQueue", "RedrivePolicy")
	})
	return all
}

// mark gives a role to the queues that values of certain keys refer to, anywhere in a tree.
func (t *stack) mark(all map[string]role, n *yaml.Node, as role, depth int, keys ...string) {
	if n == nil || depth > nodes.MaxDepth {
		return
	}
	nodes.Pairs(n, func(key, value *yaml.Node) {
		for _, k := range keys {
			if key.Value == k {
				t.markAll(all, value, as, depth+1)
			}
		}
	})
	for _, c := range n.Content {
		t.mark(all, c, as, depth+1, keys...)
	}
}

// markAll gives a role to every queue that a tree refers to, by reference, name or ARN.
func (t *stack) markAll(all map[string]role, n *yaml.Node, as role, depth int) {
	if depth > nodes.MaxDepth {
		return
	}
	v := template.Value{}
	if name, _ := template.Function(n); name != "" || n.Kind == yaml.ScalarNode {
		v = t.Resolve(n)
	}
	// Without a reference, a name or an ARN may still be that of a queue of the template.
	id := v.Resource
	if id == "" && v.Why == "" && v.Text != "" {
		id, _ = t.ResourceOf("AWS::SQS::Queue", "QueueName", template.Value{Text: draft.BaseOf(v.Text)}, nil)
	}
	if nodes.Plain(nodes.Get(nodes.Get(t.Resources, id), "Type")) == "AWS::SQS::Queue" {
		all[id] = as
		return
	}
	for _, c := range n.Content {
		t.markAll(all, c, as, depth+1)
	}
}

// findQueues adds the queues that metrics anywhere in a tree have as the dimension QueueName.
func (t *stack) findQueues(s *scaled, n *yaml.Node, depth int) {
	if n == nil || depth > nodes.MaxDepth {
		return
	}
	// This is a dimension of a metric, wherever in the tree it is.
	if of := nodes.Get(n, "Value"); nodes.Plain(nodes.Get(n, "Name")) == "QueueName" && of != nil {
		v := t.Resolve(of)
		// What stands in for an unknown name may be a valid one, for example the name of a parameter. It is used with
		// a note.
		if v.Why != "" && draft.QueueName(v.StandIn) {
			v.Text, v.Guess = v.StandIn, v.Why
		}
		if v.Text != "" {
			t.useQueue(s, of, v)
		}
		return
	}
	for _, c := range n.Content {
		t.findQueues(s, c, depth+1)
	}
}

// useQueue adds a queue to the fleet, by its URL when that is stated. A dead-letter queue is marked as one.
func (t *stack) useQueue(s *scaled, n *yaml.Node, v template.Value) {
	// States of Terraform have the URL of a queue, which says account and region as well.
	id, p := t.ResourceOf("AWS::SQS::Queue", "QueueName", v, n)
	if t.queues[id] == roleDead {
		s.Dead = append(s.Dead, draft.BaseOf(v.Text))
	}
	// A stated URL makes the name certain.
	if u := t.Resolve(nodes.Get(p, "QueueUrl")); u.Why == "" && draft.GoodURL(u.Text, v.Text) {
		v.Text, v.Guess = u.Text, ""
	}
	if v.Guess != "" && !slices.Contains(s.QueueNames(), v.Text) {
		s.Note(n, "the name of the queue cannot be determined (%s); %s stands for it", v.Guess, nodes.Brief(v.Text))
	}
	s.Use(n, v.Text)
}

// onlyQueue gives a fleet without a queue the one queue that is left. It does so only when one fleet lacks a queue
// and one queue lacks a fleet: any other choice would be a guess. A remark asks the reader to check it.
func (t *stack) onlyQueue(fleets []*scaled) {
	var without []*scaled
	taken := map[string]bool{}
	for _, s := range fleets {
		if len(s.Queues) == 0 {
			without = append(without, s)
		}
		for _, name := range s.QueueNames() {
			taken[name] = true
		}
	}
	// With several fleets without a queue, nothing says which of them the queue belongs to.
	if len(without) != 1 {
		return
	}
	s := without[0]
	var names []*yaml.Node
	left := map[role]string{}
	nodes.Pairs(t.Resources, func(name, n *yaml.Node) {
		if nodes.Plain(nodes.Get(n, "Type")) != "AWS::SQS::Queue" || taken[t.Named(name.Value).Text] {
			return
		}
		// Queues with another role are no candidates, but worth a remark when nothing else is left.
		if as, is := t.queues[name.Value]; is {
			left[as] = name.Value
			return
		}
		names = append(names, name)
	})
	if len(names) == 1 {
		t.useQueue(s, names[0], t.Named(names[0].Value))
		s.Remark(
			"No metric names its queue; %s is the only one left for it. See whether it is the right one.",
			names[0].Value,
		)
		return
	}
	// Dead-letter queues come first: they look most like a queue of work.
	for _, as := range []role{roleDead, roleLifecycle, roleFunction} {
		if name := left[as]; name != "" && len(names) == 0 {
			s.Remark("The queue %s is for %s, so it is not taken for the work of this fleet.", name, as)
		}
	}
}

// arnPlace matches region and account in an ARN.
var arnPlace = regexp.MustCompile(`^arn:[a-z-]+:[a-z0-9-]+:([a-z]{2}(?:-[a-z]+)+-[0-9]):([0-9]{12}):`)

// locate sets region and account from the ARN of a policy, which outputs and states of Terraform have.
func (t *stack) locate(s *scaled) {
	for _, p := range s.policies {
		arn := nodes.Plain(nodes.Get(p.properties, "PolicyARN"))
		if m := arnPlace.FindStringSubmatch(arn); m != nil {
			s.QueueRegion, s.QueueAccount, s.Region = m[1], m[2], m[1]
			return
		}
	}
}

// lifecycleName tells whether a queue's name says that it is for notifications about instances.
func lifecycleName(name string) bool {
	bare := strings.ToLower(strings.NewReplacer("-", "", "_", "").Replace(name))
	return strings.Contains(bare, "lifecycle") || strings.Contains(bare, "terminationqueue") ||
		strings.Contains(bare, "interruption") ||
		strings.Contains(bare, "rebalance")
}
