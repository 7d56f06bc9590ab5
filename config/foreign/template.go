package foreign

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"go.yaml.in/yaml/v4"

	"github.com/muster-scale/muster/config/foreign/nodes"
)

// template is a CloudFormation or SAM template, or what Terraform or the AWS CLI say in the shape of one.
type template struct {
	*reader
	parameters, mappings, conditions, resources *yaml.Node
	// what is how notes call it.
	what string
	// terraform is true where logical ids are addresses of Terraform.
	terraform bool
	// queues says of each queue what its part is; see roles.
	queues map[string]role
	// setters are the functions that set targets of policies.
	setters []setter
	// indexes find resources by what they state, callers alarms by what they call; see indexOf and alarms.
	indexes map[string]index
	callers map[string][]*yaml.Node
	// unrolled counts what loops gave.
	unrolled int
}

func newTemplate(r *reader, d *yaml.Node) *template {
	return &template{
		reader:     r,
		parameters: nodes.Get(d, "Parameters"),
		mappings:   nodes.Get(d, "Mappings"),
		conditions: nodes.Get(d, "Conditions"),
		resources:  nodes.Get(d, "Resources"),
		what:       "the template",
		indexes:    map[string]index{},
	}
}

// scaled is what some policies scale.
type scaled struct {
	draft
	key      string
	policies []scalingPolicy
	// actions are its scheduled actions.
	actions []*yaml.Node
}

// scalingPolicy is a resource that says how to scale.
type scalingPolicy struct {
	name string
	at   *yaml.Node
	// properties are those of the policy; ecs is true of one of Application Auto Scaling.
	properties *yaml.Node
	ecs        bool
}

// read finds the scaling policies and makes a fleet of each group or service that they scale.
func (t *template) read() {
	if !t.terraform {
		t.unroll(t.resources, 0)
	}
	t.queues, t.setters = t.roles(), t.findSetters()
	var all []*scaled
	nodes.Pairs(t.resources, func(name, n *yaml.Node) {
		var s *scaled
		switch kind := nodes.Plain(nodes.Get(n, "Type")); kind {
		case "AWS::AutoScaling::ScalingPolicy":
			s = t.group(name, n)
		case "AWS::ApplicationAutoScaling::ScalingPolicy":
			s = t.service(name, n)
		case "AWS::AutoScaling::ScheduledAction":
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
	t.onlyQueue(all)
	for _, s := range all {
		t.complete(s)
		t.fleets = append(t.fleets, s.done())
	}
}

// identity is what policies of one target share: its name or, where that cannot be told, the words of the template for
// it.
func identity(v value, n *yaml.Node) string {
	switch {
	case v.resource != "":
		return "resource " + v.resource
	case v.why != "":
		return "as " + nodes.Identity(n)
	}
	return v.text
}

// resourceOf finds the properties of a resource that a value refers to, by its logical id, by a name that it states, or
// by the same words.
func (t *template) resourceOf(kind, property string, v value, n *yaml.Node) (id string, properties *yaml.Node) {
	if r := nodes.Get(t.resources, v.resource); r != nil && nodes.Plain(nodes.Get(r, "Type")) == kind {
		return v.resource, nodes.Get(r, "Properties")
	}
	of := t.indexOf(kind, property)
	if v.why == "" && v.text != "" {
		id = of.byText[v.text]
	}
	if id == "" && n != nil {
		id = of.byWords[nodes.Identity(n)]
	}
	return id, nodes.Get(nodes.Get(t.resources, id), "Properties")
}

// index finds resources of a type by what one of their properties comes to, and by the words that state it.
type index struct{ byText, byWords map[string]string }

// indexOf is the index of a type by a property. The first of several that are alike counts.
func (t *template) indexOf(kind, property string) index {
	key := kind + " " + property
	if of, made := t.indexes[key]; made {
		return of
	}
	of := index{map[string]string{}, map[string]string{}}
	t.indexes[key] = of
	add := func(all map[string]string, key, id string) {
		if _, taken := all[key]; !taken {
			all[key] = id
		}
	}
	nodes.Pairs(t.resources, func(name, r *yaml.Node) {
		stated := nodes.Get(nodes.Get(r, "Properties"), property)
		if nodes.Plain(nodes.Get(r, "Type")) != kind || stated == nil {
			return
		}
		if own := t.resolve(stated, 0); own.why == "" {
			add(of.byText, own.text, name.Value)
		}
		add(of.byWords, nodes.Identity(stated), name.Value)
	})
	return of
}

// group is what a policy of EC2 Auto Scaling scales.
func (t *template) group(name, n *yaml.Node) *scaled {
	p := nodes.Get(n, "Properties")
	of := nodes.Get(p, "AutoScalingGroupName")
	v := t.resolve(of, 0)
	id, g := t.resourceOf("AWS::AutoScaling::AutoScalingGroup", "AutoScalingGroupName", v, of)
	if id != "" {
		v.resource = id
	}
	s := &scaled{draft: draft{reader: t.reader, at: name}, policies: []scalingPolicy{{name.Value, name, p, false}}}
	s.key = "group " + identity(v, of)
	if of == nil {
		s.key = "policy " + name.Value
	}
	s.Name = orElse(v.best(), t.short(name.Value))
	s.Group = shown(s.Name)
	if why := orElse(v.guess, v.doubtOf(s.Name)); why != "" {
		s.unsure = map[string]string{"group": why}
	}
	s.From = fmt.Sprintf("the Auto Scaling group %s", s.Name)
	s.Max = unstatedMax
	if of == nil {
		s.Group, s.From = "", "a scaling policy that does not say what it scales"
		s.remark("Its sizes are not known; 0 to %d stand for them.", unstatedMax)
		return s
	}
	if g == nil {
		s.note(
			of, "%s does not define the group %s, so its sizes are not known; 0 to %d stand for them", t.what,
			brief(s.Name), unstatedMax,
		)
		return s
	}
	s.Min = s.size(nodes.Get(g, "MinSize"), t.resolve(nodes.Get(g, "MinSize"), 0), "MinSize", 0)
	s.Max = s.size(nodes.Get(g, "MaxSize"), t.resolve(nodes.Get(g, "MaxSize"), 0), "MaxSize", unstatedMax)
	if w := nodes.Get(g, "DefaultInstanceWarmup"); w != nil {
		s.warmup(w, t.resolve(w, 0))
	}
	if nodes.Get(g, "WarmPoolConfiguration") != nil || nodes.Get(g, "MixedInstancesPolicy") != nil {
		s.remark("Instance types, purchase options and warm pools stay with the Auto Scaling group.")
	}
	return s
}

// service is what a policy of Application Auto Scaling scales; nil for what is no fleet of workers.
func (t *template) service(name, n *yaml.Node) *scaled {
	p := nodes.Get(n, "Properties")
	s := &scaled{draft: draft{reader: t.reader, at: name}, policies: []scalingPolicy{{name.Value, name, p, true}}}
	s.Max = unstatedMax
	resource, dimension := nodes.Get(p, "ResourceId"), nodes.Get(p, "ScalableDimension")
	id := t.resolve(nodes.Get(p, "ScalingTargetId"), 0).resource
	target := nodes.Get(nodes.Get(t.resources, id), "Properties")
	if target == nil && resource != nil {
		id, target = t.resourceOf(
			"AWS::ApplicationAutoScaling::ScalableTarget", "ResourceId", t.resolve(resource, 0), resource,
		)
	}
	if target != nil {
		resource, dimension = nodes.Get(target, "ResourceId"), nodes.Get(target, "ScalableDimension")
	}
	if d := t.resolve(dimension, 0); d.why == "" && d.text != "ecs:service:DesiredCount" {
		t.note(name, "%s scales %s, which is no fleet of workers; it is left out", name.Value, brief(d.text))
		return nil
	}
	v := t.resolve(resource, 0)
	switch {
	case resource == nil:
		s.key = "target of " + nodes.Identity(nodes.Get(p, "ScalingTargetId"))
	case id != "":
		s.key = "target " + id
	default:
		s.key = "service " + identity(value{text: v.text, why: v.why}, resource)
	}
	t.nameService(s, name, v)
	if target == nil {
		s.note(
			name, "%s has no scalable target for %s, so its sizes are not known; 0 to %d stand for them", t.what,
			brief(s.Name), unstatedMax,
		)
		return s
	}
	s.Min = s.size(nodes.Get(target, "MinCapacity"), t.resolve(nodes.Get(target, "MinCapacity"), 0), "MinCapacity", 0)
	s.Max = s.size(
		nodes.Get(target, "MaxCapacity"), t.resolve(nodes.Get(target, "MaxCapacity"), 0), "MaxCapacity", unstatedMax,
	)
	return s
}

// nameService finds cluster and service in a resource id, service/CLUSTER/SERVICE, and says which of them stand in for
// others.
func (t *template) nameService(s *scaled, name *yaml.Node, v value) {
	s.unsure = map[string]string{}
	parts := strings.Split(v.best(), "/")
	switch {
	case len(parts) >= 3:
		s.Cluster, s.Service = strings.Join(parts[1:len(parts)-1], "/"), parts[len(parts)-1]
	case len(parts) == 2: // of the default cluster
		s.Cluster, s.Service = "default", parts[1]
	default:
		s.Cluster, s.Service = "CLUSTER", orElse(v.best(), t.short(name.Value))
		s.unsure["cluster"] = orElse(v.why, t.what+" does not name it")
		s.unsure["service"] = s.unsure["cluster"]
	}
	for key, part := range map[string]*string{"cluster": &s.Cluster, "service": &s.Service} {
		if why := v.doubtOf(*part); why != "" && s.unsure[key] == "" {
			s.unsure[key] = why
		}
		if *part = shown(*part); *part == "" {
			*part = strings.ToUpper(key)
			s.unsure[key] = orElse(s.unsure[key], t.what+" does not name it")
		}
	}
	s.Name = s.Service
	s.From = fmt.Sprintf("the ECS service %s", s.Service)
}

// target is a scalable target with scheduled actions; nil for one that has none, or is no fleet of workers.
func (t *template) target(name, n *yaml.Node) *scaled {
	p := nodes.Get(n, "Properties")
	actions := nodes.Elements(nodes.Get(p, "ScheduledActions"))
	if d := t.resolve(nodes.Get(p, "ScalableDimension"), 0); len(actions) == 0 || d.text != "ecs:service:DesiredCount" {
		return nil
	}
	s := t.service(name, n)
	if s != nil {
		s.key = "target " + name.Value
		s.actions, s.policies = actions, nil
	}
	return s
}

// maxGroupName is how long the name of an Auto Scaling group may be.
const maxGroupName = 255

// warmup takes the time that an instance needs until it counts as the expected boot time.
func (d *draft) warmup(n *yaml.Node, v value) {
	if v.why != "" {
		d.note(n, "the warm-up cannot be told: %s", v.why)
		return
	}
	if boot := d.seconds(n, v.text, "the warm-up", 24*time.Hour); boot > d.Boot {
		d.Boot = boot
		d.remark("The warm-up of an instance stands for its boot time until boots were measured.")
	}
}

// namedQueues finds the queues that the policies of a group name, before any policy is read: metrics of its queues are
// seen without CloudWatch.
func (t *template) namedQueues(s *scaled) {
	t.locate(s)
	for _, p := range s.policies {
		t.findQueues(s, p.properties, 0)
		for _, a := range t.alarms(p) {
			t.findQueues(s, a, 0)
		}
	}
	s.settleQueues()
}

// complete takes in the policies of a group.
func (t *template) complete(s *scaled) {
	t.policies(s)
	t.scheduled(s)
	if len(s.Queues) == 0 {
		s.remark("No queue is known of it. Name the queue whose messages its workers take.")
	}
}

// policy takes in one scaling policy.
func (t *template) policy(s *scaled, p scalingPolicy) {
	kind := t.resolve(nodes.Get(p.properties, "PolicyType"), 0)
	switch text := kind.text; {
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
	case kind.why != "":
		s.note(p.at, "the type of the policy %s cannot be told: %s; it is not carried over", p.name, kind.why)
	default:
		s.note(p.at, "%s is a policy of the type %s, which is not carried over", p.name, brief(text))
	}
	if e := nodes.Get(p.properties, "Enabled"); strings.EqualFold(t.resolve(e, 0).text, "false") {
		s.note(e, "%s is disabled there; here its rule counts", p.name)
	}
	s.rest(
		p.properties, p.name, "AutoScalingGroupName", "PolicyType", "PolicyName", "TargetTrackingConfiguration",
		"TargetTrackingScalingPolicyConfiguration", "StepScalingPolicyConfiguration", "StepAdjustments",
		"AdjustmentType", "MetricAggregationType", "EstimatedInstanceWarmup", "Cooldown", "ScalingAdjustment",
		"MinAdjustmentMagnitude", "PredictiveScalingConfiguration", "PredictiveScalingPolicyConfiguration",
		"ScalingTargetId", "ResourceId", "ScalableDimension", "ServiceNamespace", "PolicyARN", "Alarms", "AlarmArns",
		"CreationTime", "Enabled", "Id", "Region",
	)
}

// alarms are the properties of the alarms that call a policy, found by its logical id or its ARN.
func (t *template) alarms(p scalingPolicy) []*yaml.Node {
	if t.callers == nil {
		t.callers = map[string][]*yaml.Node{}
		nodes.Pairs(t.resources, func(_, n *yaml.Node) {
			if of := nodes.Get(n, "Properties"); nodes.Plain(nodes.Get(n, "Type")) == "AWS::CloudWatch::Alarm" {
				t.calls(of)
			}
		})
	}
	if all := t.callers[p.name]; len(all) > 0 {
		return all
	}
	if arn := nodes.Plain(nodes.Get(p.properties, "PolicyARN")); arn != "" {
		return t.callers[arn]
	}
	return nil
}

// calls notes what an alarm calls.
func (t *template) calls(alarm *yaml.Node) {
	for _, action := range nodes.Elements(nodes.Get(alarm, "AlarmActions")) {
		v := t.resolve(action, 0)
		called := orElse(v.resource, v.text)
		if !slices.Contains(t.callers[called], alarm) {
			t.callers[called] = append(t.callers[called], alarm)
		}
	}
}
