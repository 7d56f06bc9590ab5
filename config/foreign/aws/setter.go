package aws

import (
	"regexp"
	"slices"
	"strings"
	"time"

	"go.yaml.in/yaml/v4"

	"github.com/muster-scale/muster/config/foreign/draft"
	"github.com/muster-scale/muster/config/foreign/nodes"
	"github.com/muster-scale/muster/config/foreign/template"
	"github.com/muster-scale/muster/internal/render"
	"github.com/muster-scale/muster/policy"
)

// setter is a function of the template that may put scaling policies: what it puts is a target that it computed.
type setter struct {
	name string
	// latency is the objective that its environment states; zero where none does.
	latency time.Duration
	// at is where the latency is stated.
	at *yaml.Node
}

// puts matches what allows or calls PutScalingPolicy: an action of IAM, a call in inline code, or the managed policy.
var puts = regexp.MustCompile(
	`(?i)autoscaling:(PutScalingPolicy|Put\*|\*)|put_scaling_policy|putScalingPolicy|AutoScalingFullAccess`,
)

// findSetters finds the functions that put scaling policies: by their own permissions or code, by those of the role
// that they have, or by those of a policy of IAM that is attached to that role.
func (t *stack) findSetters() (all []setter) {
	nodes.Pairs(t.Resources, func(name, n *yaml.Node) {
		kind := nodes.Plain(nodes.Get(n, "Type"))
		if kind != "AWS::Serverless::Function" && kind != "AWS::Lambda::Function" {
			return
		}
		p := nodes.Get(n, "Properties")
		if !t.mayPut(p) && !t.roleMayPut(t.Resolve(nodes.Get(p, "Role")).Resource) {
			return
		}
		one := setter{name: name.Value}
		nodes.Pairs(nodes.At(p, "Environment", "Variables"), func(key, value *yaml.Node) {
			seconds, ok := nodes.Number(t.Resolve(value).Text)
			if ok && strings.Contains(strings.ToLower(key.Value), "latency") && seconds > 0 &&
				seconds <= (14*24*time.Hour).Seconds() {
				one.latency, one.at = time.Duration(seconds*float64(time.Second)).Round(time.Millisecond), key
			}
		})
		all = append(all, one)
	})
	return all
}

// mayPut tells whether any text in a tree allows or calls PutScalingPolicy, or in a policy of IAM that it refers to.
func (t *stack) mayPut(n *yaml.Node) bool { return t.puts(n, 0) }

func (t *stack) puts(n *yaml.Node, depth int) bool {
	if n == nil || depth > nodes.MaxDepth {
		return false
	}
	if n.Kind == yaml.ScalarNode && !strings.HasPrefix(n.Tag, "!Ref") && !strings.HasPrefix(n.Tag, "!GetAtt") {
		return puts.MatchString(n.Value)
	}
	if name, _ := template.Function(n); name == "Ref" || name == "GetAtt" {
		r := nodes.Get(t.Resources, t.Resolve(n).Resource)
		kind := nodes.Plain(nodes.Get(r, "Type"))
		ofIAM := strings.HasPrefix(kind, "AWS::IAM::") && strings.HasSuffix(kind, "Policy")
		return ofIAM && t.puts(nodes.Get(r, "Properties"), depth+nodes.MaxDepth/4)
	}
	return slices.ContainsFunc(n.Content, func(c *yaml.Node) bool { return t.puts(c, depth+1) })
}

// roleMayPut tells whether a role of the template may put scaling policies, by itself or by a policy that is attached
// to it.
func (t *stack) roleMayPut(role string) (may bool) {
	if role == "" {
		return false
	}
	if t.mayPut(nodes.Get(nodes.Get(t.Resources, role), "Properties")) {
		return true
	}
	nodes.Pairs(t.Resources, func(_, n *yaml.Node) {
		if !strings.HasPrefix(nodes.Plain(nodes.Get(n, "Type")), "AWS::IAM::") {
			return
		}
		p := nodes.Get(n, "Properties")
		attached := append(slices.Clone(nodes.Elements(nodes.Get(p, "Roles"))), nodes.Get(p, "Role"))
		of := slices.ContainsFunc(attached, func(r *yaml.Node) bool {
			id, _ := t.ResourceOf("AWS::IAM::Role", "RoleName", t.Resolve(r), r)
			return r != nil && id == role
		})
		may = may || of && t.mayPut(p)
	})
	return may
}

// backlogPerWorker takes in a target for a metric that is the backlog over the workers. Where a function sets the
// target anew, the template is the one with a dynamic target, which one policy does here.
func (t *stack) backlogPerWorker(s *scaled, p scalingPolicy, target float64, c *yaml.Node, metric string) {
	seen := "The metric " + metric + " is taken to be the backlog over the instances in service, which is seen " +
		"here: nothing needs to publish it."
	if len(t.setters) == 0 {
		s.Add(c, policy.Spec{Name: "backlog-per-worker", Acceptable: target})
		s.Remark(
			"%s Where something sets the target anew as durations change, dynamic-backlog does that by itself.", seen,
		)
		return
	}
	of := t.setters[0]
	s.Add(c, policy.Spec{Name: "dynamic-backlog", Acceptable: target})
	s.Remark("%s", seen)
	s.Remark(
		"The function %s may put scaling policies, so the target of %s is taken for one that follows the mean "+
			"processing duration. "+
			"dynamic-backlog computes it at each poll: objective / mean processing duration.",
		of.name, p.name,
	)
	if target > 0 {
		s.Remark("The target of %s counts until a duration was measured.", render.Number(target))
	}
	s.Peer = "aws-dynamic"
	if of.latency > 0 {
		s.Latency = of.latency
		s.Remark("The objective of %s is from the environment of %s.", draft.Span(of.latency), of.name)
	}
}
