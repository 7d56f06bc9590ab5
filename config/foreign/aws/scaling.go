package aws

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"go.yaml.in/yaml/v4"

	"github.com/muster-scale/muster/config/foreign/draft"
	"github.com/muster-scale/muster/config/foreign/nodes"
	"github.com/muster-scale/muster/config/foreign/template"
)

// This file finds what is scaled and collects the policies of each group and service. Policies of one group may be in
// different resources; they meet by the identity of what they refer to.

// stack is a template while its scaling is read.
type stack struct {
	*template.Template
	// queues has the role of each queue that is not for workers; see roles.
	queues map[string]role
	// setters are the functions that may set the targets of policies.
	setters []setter
	// callers are alarms, by the policy that they call; see alarms.
	callers map[string][]*yaml.Node
}

// scaled is one group or service, with its policies and scheduled actions.
type scaled struct {
	draft.Draft
	// key is the same for all policies that scale the same thing.
	key      string
	policies []scalingPolicy
	// actions are the properties of its scheduled actions.
	actions []*yaml.Node
}

// scalingPolicy is a resource that says how to scale.
type scalingPolicy struct {
	// name is the logical id, at its place in the text.
	name string
	at   *yaml.Node
	// properties are those of the policy; ecs is true for a policy of Application Auto Scaling.
	properties *yaml.Node
	ecs        bool
}

// Read returns a fleet for each group or service of a template that policies or scheduled actions scale, in the order
// of the text. Loops must have been unrolled. Notes about no fleet are added to the template's.
func Read(of *template.Template) (fleets []*draft.Draft) {
	t := &stack{Template: of}
	// Roles and setters concern the template as a whole, so they are found before any fleet.
	t.queues, t.setters = t.roles(), t.findSetters()
	var all []*scaled
	nodes.Pairs(t.Resources, func(name, n *yaml.Node) {
		var s *scaled
		switch kind := nodes.Plain(nodes.Get(n, "Type")); kind {
		case "AWS::AutoScaling::ScalingPolicy":
			s = t.group(name, n)
		case "AWS::ApplicationAutoScaling::ScalingPolicy":
			s = t.service(name, n)
		case "AWS::AutoScaling::ScheduledAction":
			// A scheduled action names its group in the same way as a policy. It is no policy itself.
			if s = t.group(name, n); s != nil {
				s.actions, s.policies = []*yaml.Node{nodes.Get(n, "Properties")}, nil
			}
		case "AWS::ApplicationAutoScaling::ScheduledAction":
			if s = t.service(name, n); s != nil {
				s.actions, s.policies = []*yaml.Node{nodes.Get(n, "Properties")}, nil
			}
		case "AWS::ApplicationAutoScaling::ScalableTarget":
			s = t.target(name, n)
		default:
			return
		}
		if s == nil {
			return
		}
		// The first policy of a group makes the fleet; later ones only add to it.
		if i := slices.IndexFunc(all, func(x *scaled) bool { return x.key == s.key }); i >= 0 {
			all[i].policies = append(all[i].policies, s.policies...)
			all[i].actions = append(all[i].actions, s.actions...)
			return
		}
		all = append(all, s)
	})
	for _, s := range all {
		t.namedQueues(s)
	}
	// Only now is it known which queues are taken.
	t.onlyQueue(all)
	// Policies are read last, when every fleet knows its queues.
	for _, s := range all {
		t.complete(s)
		fleets = append(fleets, s.Done())
	}
	return fleets
}

// group returns the group that a policy of EC2 Auto Scaling scales, with its sizes as far as they are known.
func (t *stack) group(name, n *yaml.Node) *scaled {
	p := nodes.Get(n, "Properties")
	of := nodes.Get(p, "AutoScalingGroupName")
	v := t.Resolve(of)
	id, g := t.ResourceOf("AWS::AutoScaling::AutoScalingGroup", "AutoScalingGroupName", v, of)
	if id != "" {
		v.Resource = id
	}
	s := &scaled{Draft: draft.Draft{At: name}, policies: []scalingPolicy{{name.Value, name, p, false}}}
	// Two policies scale the same group if they refer to it in the same way, known or not.
	s.key = "group " + v.Identity(of)
	if of == nil {
		s.key = "policy " + name.Value
	}
	// Without any name the policy's own name serves.
	s.Name = cmp.Or(v.Best(), t.Short(name.Value))
	s.Group = draft.Printable(s.Name)
	if why := cmp.Or(v.Guess, v.DoubtOf(s.Name)); why != "" {
		s.Unsure = map[string]string{"group": why}
	}
	s.From = fmt.Sprintf("the Auto Scaling group %s", s.Name)
	// The default of sizes, until the group says them.
	s.Max = draft.UnstatedMax
	if of == nil {
		s.Group, s.From = "", "a scaling policy that does not say what it scales"
		s.Remark("Its sizes are not known; 0 to %d stand for them.", draft.UnstatedMax)
		return s
	}
	// The group is made elsewhere; the template only names it.
	if g == nil {
		s.Note(
			of, "%s does not define the group %s, so its sizes are not known; 0 to %d stand for them", t.What,
			nodes.Brief(s.Name), draft.UnstatedMax,
		)
		return s
	}
	s.Min = t.size(s, g, "MinSize", 0)
	s.Max = t.size(s, g, "MaxSize", draft.UnstatedMax)
	if w := nodes.Get(g, "DefaultInstanceWarmup"); w != nil {
		s.warmup(w, t.Resolve(w))
	}
	if nodes.Get(g, "WarmPoolConfiguration") != nil || nodes.Get(g, "MixedInstancesPolicy") != nil {
		s.Remark("Instance types, purchase options and warm pools stay with the Auto Scaling group.")
	}
	return s
}

// service returns the service that a policy of Application Auto Scaling scales; nil for another kind of target, such
// as a table.
func (t *stack) service(name, n *yaml.Node) *scaled {
	p := nodes.Get(n, "Properties")
	s := &scaled{Draft: draft.Draft{At: name}, policies: []scalingPolicy{{name.Value, name, p, true}}}
	s.Max = draft.UnstatedMax
	// A policy may state the target itself, or refer to a resource that does.
	resource, dimension := nodes.Get(p, "ResourceId"), nodes.Get(p, "ScalableDimension")
	id := t.Resolve(nodes.Get(p, "ScalingTargetId")).Resource
	// CloudFormation refers to the target by its id. Terraform and the CLI repeat the resource id instead.
	target := nodes.Get(nodes.Get(t.Resources, id), "Properties")
	if target == nil && resource != nil {
		id, target = t.ResourceOf(
			"AWS::ApplicationAutoScaling::ScalableTarget", "ResourceId", t.Resolve(resource), resource,
		)
	}
	if target != nil {
		resource, dimension = nodes.Get(target, "ResourceId"), nodes.Get(target, "ScalableDimension")
	}
	// A dimension that is not known is taken for that of a service.
	if d := t.Resolve(dimension); d.Why == "" && d.Text != "ecs:service:DesiredCount" {
		t.Notes.Add(name, "%s scales %s, which is no fleet of workers; it is left out", name.Value, nodes.Brief(d.Text))
		return nil
	}
	v := t.Resolve(resource)
	switch {
	case resource == nil:
		s.key = "target of " + nodes.Identity(nodes.Get(p, "ScalingTargetId"))
	case id != "":
		s.key = "target " + id
	default:
		s.key = "service " + template.Value{Text: v.Text, Why: v.Why}.Identity(resource)
	}
	t.nameService(s, name, v)
	if target == nil {
		s.Note(
			name, "%s has no scalable target for %s, so its sizes are not known; 0 to %d stand for them", t.What,
			nodes.Brief(s.Name), draft.UnstatedMax,
		)
		return s
	}
	s.Min = t.size(s, target, "MinCapacity", 0)
	s.Max = t.size(s, target, "MaxCapacity", draft.UnstatedMax)
	return s
}

// nameService sets cluster and service from a resource id, service/CLUSTER/SERVICE, and says which of them only stand
// in for the real names.
func (t *stack) nameService(s *scaled, name *yaml.Node, v template.Value) {
	s.Unsure = map[string]string{}
	parts := strings.Split(v.Best(), "/")
	switch {
	// A cluster may be named by its ARN, which has slashes of its own; the service is always last.
	case len(parts) >= 3:
		s.Cluster, s.Service = strings.Join(parts[1:len(parts)-1], "/"), parts[len(parts)-1]
	case len(parts) == 2: // of the default cluster
		s.Cluster, s.Service = "default", parts[1]
	default:
		s.Cluster, s.Service = "CLUSTER", cmp.Or(v.Best(), t.Short(name.Value))
		s.Unsure["cluster"] = cmp.Or(v.Why, t.What+" does not name it")
		s.Unsure["service"] = s.Unsure["cluster"]
	}
	for key, part := range map[string]*string{"cluster": &s.Cluster, "service": &s.Service} {
		if why := v.DoubtOf(*part); why != "" && s.Unsure[key] == "" {
			s.Unsure[key] = why
		}
		// A missing part becomes a placeholder in capitals, with a comment where it is written.
		if *part = draft.Printable(*part); *part == "" {
			*part = strings.ToUpper(key)
			s.Unsure[key] = cmp.Or(s.Unsure[key], t.What+" does not name it")
		}
	}
	s.Name = s.Service
	s.From = fmt.Sprintf("the ECS service %s", s.Service)
}

// target returns a scalable target that has scheduled actions of its own; nil for any other.
func (t *stack) target(name, n *yaml.Node) *scaled {
	p := nodes.Get(n, "Properties")
	actions := nodes.Elements(nodes.Get(p, "ScheduledActions"))
	if d := t.Resolve(nodes.Get(p, "ScalableDimension")); len(actions) == 0 || d.Text != "ecs:service:DesiredCount" {
		return nil
	}
	s := t.service(name, n)
	if s != nil {
		s.key = "target " + name.Value
		s.actions, s.policies = actions, nil
	}
	return s
}

// size returns the size that a key of a mapping states, or otherwise.
func (t *stack) size(s *scaled, of *yaml.Node, key string, otherwise int) int {
	n := nodes.Get(of, key)
	v := t.Resolve(n)
	return s.Draft.Size(n, v.Text, v.Why, key, otherwise)
}

// warmup sets the boot time to an instance warm-up: AWS has no boot time, and the warm-up is chosen to cover it.
func (s *scaled) warmup(n *yaml.Node, v template.Value) {
	if v.Why != "" {
		s.Note(n, "the warm-up cannot be determined: %s", v.Why)
		return
	}
	// The longest of several warm-ups counts.
	if boot := s.Seconds(n, v.Text, "the warm-up", 24*time.Hour); boot > s.Boot {
		s.Boot = boot
		s.Remark("The warm-up of an instance stands for its boot time until boots were measured.")
	}
}

// namedQueues finds the queues that the policies of a fleet name. It runs before any policy is read, because a metric
// of the fleet's own queue needs no CloudWatch.
func (t *stack) namedQueues(s *scaled) {
	t.locate(s)
	for _, p := range s.policies {
		// Target tracking names the queue in the policy, steps name it in the alarm.
		t.findQueues(s, p.properties, 0)
		for _, a := range t.alarms(p) {
			t.findQueues(s, a, 0)
		}
	}
	s.SettleQueues()
}

// complete reads the policies and scheduled actions of a fleet.
func (t *stack) complete(s *scaled) {
	// Scheduled actions come second: without policies they size the fleet alone.
	t.policies(s)
	t.scheduled(s)
	if len(s.Queues) == 0 {
		s.Remark("No queue is known of it. Name the queue whose messages its workers take.")
	}
}

// policy reads one scaling policy by its type.
func (t *stack) policy(s *scaled, p scalingPolicy) {
	kind := t.Resolve(nodes.Get(p.properties, "PolicyType"))
	// The same type has its configuration under different names in the two services.
	switch text := kind.Text; {
	case text == "TargetTrackingScaling" && !p.ecs:
		t.tracking(s, p, nodes.Get(p.properties, "TargetTrackingConfiguration"))
	case text == "TargetTrackingScaling":
		t.tracking(s, p, nodes.Get(p.properties, "TargetTrackingScalingPolicyConfiguration"))
	case text == "StepScaling" && p.ecs:
		t.stepping(s, p, nodes.Get(p.properties, "StepScalingPolicyConfiguration"))
	case text == "StepScaling" || text == "SimpleScaling" || nodes.Get(p.properties, "PolicyType") == nil && !p.ecs:
		t.stepping(s, p, p.properties)
	case text == "PredictiveScaling":
		t.predictive(s, p)
	case kind.Why != "":
		s.Note(p.at, "the type of the policy %s cannot be determined: %s; it is not carried over", p.name, kind.Why)
	default:
		s.Note(p.at, "%s is a policy of the type %s, which is not carried over", p.name, nodes.Brief(text))
	}
	// Muster has no disabled policies: shadow mode already keeps the rule from doing anything.
	if e := nodes.Get(p.properties, "Enabled"); strings.EqualFold(t.Resolve(e).Text, "false") {
		s.Note(e, "%s is disabled there; here its rule counts", p.name)
	}
	s.Rest(
		p.properties, p.name, "AutoScalingGroupName", "PolicyType", "PolicyName", "TargetTrackingConfiguration",
		"TargetTrackingScalingPolicyConfiguration", "StepScalingPolicyConfiguration", "StepAdjustments",
		"AdjustmentType", "MetricAggregationType", "EstimatedInstanceWarmup", "Cooldown", "ScalingAdjustment",
		"MinAdjustmentMagnitude", "PredictiveScalingConfiguration", "PredictiveScalingPolicyConfiguration",
		"ScalingTargetId", "ResourceId", "ScalableDimension", "ServiceNamespace", "PolicyARN", "Alarms", "AlarmArns",
		"CreationTime", "Enabled", "Id", "Region",
	)
}

// alarms returns the properties of the alarms that call a policy, by its logical id or its ARN.
func (t *stack) alarms(p scalingPolicy) []*yaml.Node {
	if t.callers == nil {
		t.callers = map[string][]*yaml.Node{}
		nodes.Pairs(t.Resources, func(_, n *yaml.Node) {
			if of := nodes.Get(n, "Properties"); nodes.Plain(nodes.Get(n, "Type")) == "AWS::CloudWatch::Alarm" {
				t.calls(of)
			}
		})
	}
	// A template refers to policies by logical id, outputs by ARN.
	if all := t.callers[p.name]; len(all) > 0 {
		return all
	}
	if arn := nodes.Plain(nodes.Get(p.properties, "PolicyARN")); arn != "" {
		return t.callers[arn]
	}
	return nil
}

// calls records what an alarm calls.
func (t *stack) calls(alarm *yaml.Node) {
	for _, action := range nodes.Elements(nodes.Get(alarm, "AlarmActions")) {
		v := t.Resolve(action)
		// An alarm calls a policy by a reference, or by an ARN in outputs.
		called := cmp.Or(v.Resource, v.Text)
		if !slices.Contains(t.callers[called], alarm) {
			t.callers[called] = append(t.callers[called], alarm)
		}
	}
}
