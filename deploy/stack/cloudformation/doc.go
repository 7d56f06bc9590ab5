// Package cloudformation writes a stack as a template of CloudFormation, in YAML:
//
//	text := cloudformation.Write(s)
//
// The template needs no transform and no macro, so what it shows is what is made. Resources refer to each other by Ref
// and GetAtt where CloudFormation has to know the order, and by name where a policy has to name them.
//
// The value of a resource is a tree of the types in yaml.go: objects with ordered members, lists, texts, and
// references. Only the printer knows the syntax. It quotes every text that YAML or CloudFormation could take for
// something else, so nothing of a configuration can become a function or another member.
//
// What fits stands in one line, because a person reviews the template. Comments say what would surprise.
//
// CloudFormation has no property for suspended processes of a group. A schedule of EventBridge suspends zone
// rebalancing at once and every hour, by a call of its own and without code. It also has no names for scaling policies
// of groups; package fleet/delegate finds them by the metric that they track.
package cloudformation
