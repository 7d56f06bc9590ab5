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

// This file recognizes the pattern of a dynamic target: a function measures how long messages take and puts a scaling
// policy with a new target every few minutes. In Muster one policy, dynamic-backlog, does that.

// setter is a function of the template that may put scaling policies. The target that it puts is one that it
// computed.
type setter struct {
	name string
	// latency is the objective that a variable of its environment states; 0 for none.
	latency time.Duration
	// at is where the latency is stated.
	at *yaml.Node
}

// puts matches what allows or calls PutScalingPolicy: an action of IAM, a call in inline code, or a managed policy.
var puts = regexp.MustCompile(
	`(?i)autoscaling:(PutScalingPolicy|Put\*|\*)|put_scaling_policy|putScalingPolicy|AutoScalingFullAccess`,
)

// findSetters returns the functions that may put scaling policies: by their own permissions or code, by those of
// their role, or by those of a policy that is attached to the role.
func (t *stack) findSetters() (all []setter) {
	nodes.Pairs(t.Resources, func(name, n *yaml.Node) {
		kind := nodes.Plain(nodes.Get(n, "Type"))
		if kind != "AWS::Serverless::Function" && kind != "AWS::Lambda::Function" {
			return
		}
		p := nodes.Get(n, "Properties")
		// A function without a role in the template may still have permissions of its own, as SAM allows.
		if !t.mayPut(p) && !t.roleMayPut(t.Resolve(nodes.Get(p, "Role")).Resource) {
			return
		}
		// The objective of a dynamic target is usually a variable of the function, because the function divides by
		// it.
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

// mayPut tells whether a text in a tree, or in a policy of IAM that the tree refers to, allows or calls
// PutScalingPolicy.
func (t *stack) mayPut(n *yaml.Node) bool { return t.puts(n, 0) }

// puts is mayPut at a depth. Following a reference costs a quarter of the depth, so that references in a circle end.
func (t *stack) puts(n *yaml.Node, depth int) bool {
	if n == nil || depth > nodes.MaxDepth {
		return false
	}
	if n.Kind == yaml.ScalarNode && !strings.HasPrefix(n.Tag, "!Ref") && !strings.HasPrefix(n.Tag, "!GetAtt") {
		return puts.MatchString(n.Value)
	}
	if name, _ := template.Function(n); name == "Ref" || name == "GetAtt" {
		// Only policies of IAM are followed: what else a function refers to says nothing about its permissions.
		r := nodes.Get(t.Resources, t.Resolve(n).Resource)
		kind := nodes.Plain(nodes.Get(r, "Type"))
		ofIAM := strings.HasPrefix(kind, "AWS::IAM::") && strings.HasSuffix(kind, "Policy")
		return ofIAM && t.puts(nodes.Get(r, "Properties"), depth+nodes.MaxDepth/4)
	}
	return slices.ContainsFunc(n.Content, func(c *yaml.Node) bool { return t.puts(c, depth+1) })
}

// roleMayPut tells whether a role of the template may put scaling policies, by itself or by an attached policy.
func (t *stack) roleMayPut(role string) (may bool) {
	// A function whose role is made elsewhere cannot be judged.
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
		// A policy names several roles, an attachment names one.
		attached := append(slices.Clone(nodes.Elements(nodes.Get(p, "Roles"))), nodes.Get(p, "Role"))
		of := slices.ContainsFunc(attached, func(r *yaml.Node) bool {
			id, _ := t.ResourceOf("AWS::IAM::Role", "RoleName", t.Resolve(r), r)
			return r != nil && id == role
		})
		may = may || of && t.mayPut(p)
	})
	return may
}

// backlogPerWorker adds the policy for a target of the backlog per worker. Where a function may set the target, it is
// dynamic-backlog, and the stated target only counts until a processing duration has been measured.
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
	// Which of several functions sets this policy cannot be seen; the first is named so that a reader can check.
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
	// Comparisons play the original under this name.
	s.Peer = "aws-dynamic"
	if of.latency > 0 {
		s.Latency = of.latency
		s.Remark("The objective of %s is from the environment of %s.", draft.Span(of.latency), of.name)
	}
}
