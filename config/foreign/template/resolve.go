package template

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v4"

	"github.com/muster-scale/muster/config/foreign/nodes"
)

// This file computes values. A value that depends on an unknown one is unknown too, with the first reason; but a text
// of several parts keeps what stands in for each, so that a known part of it, such as a service's name, can still be
// used.

const (
	// maxNesting bounds how deep functions may refer to each other, maxText the length of what they give, in bytes.
	maxNesting = 40
	maxText    = 64 << 10
	// maxDoubts bounds the uncertain parts of a text that are remembered.
	maxDoubts = 100
)

// Value is what a node of a template comes to.
type Value struct {
	// Text is the text as far as it is known; empty for a list.
	Text string
	list []Value
	// isList is true for a list, none for AWS::NoValue, which leaves its property out.
	isList, none bool
	// Resource and attribute are set when the value refers to a resource of the template.
	Resource, attribute string
	// Guess says why Text is the resource's logical id instead of its name; empty when it is the name.
	Guess string
	// Why says why the value is not known here; empty when it is known.
	Why string
	// StandIn replaces a text that is not known. doubts are the parts of Text or StandIn that replace others, and
	// why.
	StandIn string
	doubts  []doubt
}

// doubt is a part of a text that replaces another, and why.
type doubt struct{ text, why string }

// unknown returns a value that is not known, with the reason.
func unknown(format string, args ...any) Value { return Value{Why: fmt.Sprintf(format, args...)} }

// as sets the text that stands in for an unknown value.
func (v Value) as(standIn string) Value {
	v.StandIn, v.doubts = standIn, []doubt{{standIn, v.Why}}
	return v
}

// Best returns the text, or what stands in for it.
func (v Value) Best() string {
	if v.Why != "" {
		return v.StandIn
	}
	return v.Text
}

// DoubtOf says why a part of the text is uncertain; empty when it is certain.
func (v Value) DoubtOf(part string) string {
	for _, d := range v.doubts {
		if d.text != "" && strings.Contains(part, d.text) {
			return d.why
		}
	}
	if part == "" || len(v.doubts) == 0 {
		return v.Why
	}
	return ""
}

// joined returns a text with a part added. If either is unknown, so is the result.
func (v Value) joined(part Value) Value {
	if v.Why != "" || part.Why != "" {
		v.StandIn, v.Text = v.Best()+part.Best(), ""
		if v.Why == "" {
			v.Why = part.Why
		}
	} else {
		v.Text += part.Text
	}
	if len(v.doubts) < maxDoubts {
		v.doubts = append(v.doubts, part.doubts...)
	}
	if part.Guess != "" {
		v.doubts = append(v.doubts, doubt{part.Text, part.Guess})
	}
	return v
}

// Function returns the name and the argument of a call of a function, in its short form (!Name) or as a mapping with
// one key; an empty name for anything else.
func Function(n *yaml.Node) (name string, argument *yaml.Node) {
	if strings.HasPrefix(n.Tag, "!") && !strings.HasPrefix(n.Tag, "!!") && len(n.Tag) > 1 {
		bare := *n
		bare.Tag = ""
		return n.Tag[1:], &bare
	}
	if n.Kind != yaml.MappingNode || len(n.Content) != 2 {
		return "", nil
	}
	switch key := n.Content[0].Value; {
	case key == "Ref" || key == "Condition":
		return key, n.Content[1]
	case strings.HasPrefix(key, "Fn::"):
		return strings.TrimPrefix(key, "Fn::"), n.Content[1]
	}
	return "", nil
}

// Resolve computes a node, with the defaults of the parameters.
func (t *Template) Resolve(n *yaml.Node) Value { return t.resolve(n, 0) }

// resolve computes a node at a depth of references. A plain text is no work, so large templates stay cheap.
func (t *Template) resolve(n *yaml.Node, depth int) Value {
	switch {
	case n == nil:
		return unknown("nothing is stated")
	// A plain text is counted nowhere: most of a template is plain.
	case n.Kind == yaml.ScalarNode && (n.Tag == "" || strings.HasPrefix(n.Tag, "!!")):
		return Value{Text: n.Value}
	}
	// References in a circle end at this depth.
	if !t.work.Resolution() || depth > maxNesting {
		return unknown("%s refers to itself too often", t.What)
	}
	if name, argument := Function(n); name != "" {
		return t.call(name, argument, depth+1)
	}
	switch n.Kind {
	case yaml.ScalarNode:
		return Value{Text: n.Value}
	case yaml.SequenceNode:
		v := Value{isList: true}
		for _, e := range n.Content {
			// AWS::NoValue drops an element of a list, as it drops a property.
			if x := t.resolve(e, depth+1); !x.none {
				v.list = append(v.list, x)
			}
		}
		return v
	}
	return unknown("a mapping stands there")
}

// call computes a call of a function. An unknown function is an unknown value.
func (t *Template) call(name string, n *yaml.Node, depth int) Value {
	switch name {
	case "Ref":
		return t.ref(n.Value, depth)
	case "GetAtt":
		return t.attribute(n, depth)
	case "Sub":
		return t.sub(n, depth)
	case "Join":
		return t.join(n, depth)
	case "Select":
		return t.pick(n, depth)
	case "Split":
		return t.split(n, depth)
	case "FindInMap":
		return t.find(n, depth)
	case "If":
		return t.choose(n, depth)
	case "ImportValue":
		return t.imported(n, depth)
	case "Unknown":
		if of := nodes.Elements(n); len(of) == 2 {
			return unknown("%s", of[1].Value).as(of[0].Value)
		}
	}
	return unknown("%s is known only where the stack is", name)
}

// imported returns a value for an export of another stack; the last part of the export's name stands in for it.
func (t *Template) imported(n *yaml.Node, depth int) Value {
	name := t.resolve(n, depth).Best()
	return unknown(
		"%s is an export of another stack", nodes.Brief(name),
	).as(nodes.Name(name[strings.LastIndexAny(name, ":/")+1:]))
}

// ref resolves the name of a parameter, a pseudo parameter or a resource.
func (t *Template) ref(name string, depth int) Value {
	if name == "AWS::NoValue" {
		return Value{none: true}
	}
	// Pseudo parameters such as AWS::Region are known only in the stack.
	if own, is := strings.CutPrefix(name, "AWS::"); is {
		return unknown("%s is known only where the stack is", name).as(own)
	}
	if p := nodes.Get(t.parameters, name); p != nil {
		if d := nodes.Get(p, "Default"); d != nil {
			return t.resolve(d, depth+1)
		}
		return unknown("the parameter %s has no default", name).as(name)
	}
	if nodes.Get(t.Resources, name) != nil {
		return t.named(name, "", depth)
	}
	return unknown("the template has neither a parameter nor a resource %s", nodes.Brief(name)).as(nodes.Name(name))
}

// attribute resolves Fn::GetAtt: "Resource.Attribute", or a list of the two.
func (t *Template) attribute(n *yaml.Node, depth int) Value {
	name, attribute, _ := strings.Cut(n.Value, ".")
	if of := nodes.Elements(n); len(of) == 2 {
		name, attribute = of[0].Value, of[1].Value
	}
	if nodes.Get(t.Resources, name) == nil {
		return unknown("%s has no resource %s", t.What, nodes.Brief(name)).as(attribute)
	}
	return t.named(name, attribute, depth)
}

// nameOf returns the property that holds the own name of a resource of a type; empty for types without one.
func nameOf(kind string) string {
	switch kind {
	case "AWS::SQS::Queue":
		return "QueueName"
	case "AWS::AutoScaling::AutoScalingGroup":
		return "AutoScalingGroupName"
	case "AWS::ECS::Service":
		return "ServiceName"
	case "AWS::ECS::Cluster":
		return "ClusterName"
	case "AWS::ApplicationAutoScaling::ScalableTarget":
		return "ResourceId"
	}
	return ""
}

// Named returns a resource under the name that it states, or under its logical id.
func (t *Template) Named(name string) Value { return t.named(name, "", 0) }

// named returns a resource, or an attribute of it, under the name that it states or under its logical id. Other
// attributes are known only in the stack. In Terraform every argument can be referred to, and has its stated value.
func (t *Template) named(name, attribute string, depth int) Value {
	v := Value{Resource: name, attribute: attribute, Text: t.Short(name)}
	r := nodes.Get(t.Resources, name)
	kind := nodes.Plain(nodes.Get(r, "Type"))
	property := nameOf(kind)
	if property == "" {
		if of := nodes.Get(nodes.Get(r, "Properties"), attribute); of != nil && t.Terraform {
			own := t.resolve(of, depth+1)
			own.Resource, own.attribute = name, attribute
			return own
		}
		v.Why = strings.TrimSuffix(name+"."+attribute, ".") + " is known only where the stack is"
		v.StandIn = cmp.Or(attribute[strings.LastIndexByte(attribute, '.')+1:], v.Text)
		v.doubts = []doubt{{v.StandIn, v.Why}}
		return v
	}
	if of := nodes.Get(nodes.Get(r, "Properties"), attribute); of != nil && t.Terraform && attribute != property {
		own := t.resolve(of, depth+1) // Terraform can refer to every argument
		own.Resource, own.attribute = name, attribute
		return own
	}
	// A resource without a stated name gets one from AWS; the logical id stands in.
	v.Guess = t.What + " states no " + property
	if t.Terraform {
		v.Guess = t.What + " states no name"
	}
	if p := nodes.Get(nodes.Get(r, "Properties"), property); p != nil {
		own := t.resolve(p, depth+1)
		v.Guess = own.Why
		switch {
		case own.Why == "" && own.Text != "":
			v.Text = own.Text
		case t.Terraform && own.StandIn != "":
			v.Text = own.StandIn
		}
		if kind == "AWS::ApplicationAutoScaling::ScalableTarget" {
			own.Resource, own.attribute = name, attribute // it has parts, each of which may be certain
			return own
		}
	}
	if v.Guess != "" {
		v.doubts = []doubt{{v.Text, v.Guess}}
	}
	return v
}

// Short returns the name of a resource without its type; in Terraform "module.a.aws_x.name[\"k\"]" becomes "name-k".
func (t *Template) Short(name string) string {
	if !t.Terraform {
		return name
	}
	if i := strings.IndexByte(name, '['); i >= 0 {
		key := strings.Trim(name[i:], `[]"`)
		return t.Short(name[:i]) + "-" + key
	}
	return name[strings.LastIndexByte(name, '.')+1:]
}

// sub resolves Fn::Sub: a text with ${Name} and ${Resource.Attribute}, and an optional mapping with names of its own.
// ${!x} is a literal ${x}.
func (t *Template) sub(n *yaml.Node, depth int) (v Value) {
	text, own := n.Value, (*yaml.Node)(nil)
	if of := nodes.Elements(n); len(of) == 2 {
		text, own = of[0].Value, of[1]
	}
	for {
		before, rest, found := strings.Cut(text, "${")
		v = v.joined(Value{Text: before})
		if len(v.Best()) > maxText {
			return unknown("the text is too long")
		}
		if !found {
			return v
		}
		name, after, closed := strings.Cut(rest, "}")
		if !closed {
			return v.joined(Value{Text: "${" + rest})
		}
		text = after
		if literal, ok := strings.CutPrefix(name, "!"); ok {
			v = v.joined(Value{Text: "${" + literal + "}"})
			continue
		}
		v = v.joined(t.substitute(strings.TrimSpace(name), own, depth))
	}
}

// substitute resolves one name of Fn::Sub.
func (t *Template) substitute(name string, own *yaml.Node, depth int) Value {
	if n := nodes.Get(own, name); n != nil {
		return t.resolve(n, depth+1)
	}
	if resource, attribute, is := strings.Cut(name, "."); is && nodes.Get(t.Resources, resource) != nil {
		return t.named(resource, attribute, depth)
	}
	return t.ref(name, depth+1)
}

// join resolves Fn::Join.
func (t *Template) join(n *yaml.Node, depth int) (v Value) {
	of := nodes.Elements(n)
	if len(of) != 2 {
		return unknown("Join has no separator and list")
	}
	separator, list := t.resolve(of[0], depth), t.resolve(of[1], depth)
	if list.Why != "" || separator.Why != "" {
		return unknown("%s", list.Why+separator.Why)
	}
	for i, part := range list.list {
		if i > 0 {
			v = v.joined(separator)
		}
		if v = v.joined(part); len(v.Best()) > maxText {
			return unknown("the text is too long")
		}
	}
	return v
}

// pick resolves Fn::Select.
func (t *Template) pick(n *yaml.Node, depth int) Value {
	of := nodes.Elements(n)
	if len(of) != 2 {
		return unknown("Select has no index and list")
	}
	list := t.resolve(of[1], depth)
	if list.Why != "" {
		return list
	}
	i, err := strconv.Atoi(t.resolve(of[0], depth).Text)
	if err != nil || i < 0 || i >= len(list.list) {
		return unknown("Select has an index outside of its list")
	}
	return list.list[i]
}

// split resolves Fn::Split.
func (t *Template) split(n *yaml.Node, depth int) Value {
	of := nodes.Elements(n)
	if len(of) != 2 {
		return unknown("Split has no separator and text")
	}
	v := t.resolve(of[1], depth)
	if v.Why != "" {
		return v
	}
	list := Value{isList: true}
	for _, part := range strings.SplitN(v.Text, t.resolve(of[0], depth).Text, 1000) {
		list.list = append(list.list, Value{Text: part})
	}
	return list
}

// find resolves Fn::FindInMap.
func (t *Template) find(n *yaml.Node, depth int) Value {
	at := t.mappings
	for i, key := range nodes.Elements(n) {
		// A fourth argument holds the default for a missing entry, which is not read.
		if i == 3 {
			break
		}
		k := t.resolve(key, depth)
		if k.Why != "" {
			return k
		}
		if at = nodes.Get(at, k.Text); at == nil {
			return unknown("Mappings has no %s", nodes.Brief(k.Text))
		}
	}
	return t.resolve(at, depth)
}

// choose resolves Fn::If. Only the value that the condition chooses is computed.
func (t *Template) choose(n *yaml.Node, depth int) Value {
	of := nodes.Elements(n)
	if len(of) != 3 {
		return unknown("If has no condition and two values")
	}
	is, why := t.holds(nodes.Get(t.conditions, of[0].Value), depth)
	switch {
	case why != "":
		return unknown("the condition %s cannot be determined: %s", nodes.Brief(of[0].Value), why)
	case is:
		return t.resolve(of[1], depth)
	}
	return t.resolve(of[2], depth)
}

// holds tells whether a condition holds, or why that is not known.
func (t *Template) holds(n *yaml.Node, depth int) (is bool, why string) {
	if within := t.work.Resolution(); !within || n == nil || depth > maxNesting {
		return false, "it is not stated"
	}
	name, argument := Function(n)
	of := nodes.Elements(argument)
	switch {
	case name == "Condition":
		return t.holds(nodes.Get(t.conditions, argument.Value), depth+1)
	case name == "Equals" && len(of) == 2:
		a, b := t.resolve(of[0], depth+1), t.resolve(of[1], depth+1)
		return a.Text == b.Text, a.Why + b.Why
	case name == "Not" && len(of) == 1:
		is, why = t.holds(of[0], depth+1)
		return !is, why
	// Evaluation stops at the first part that decides, or that is not known.
	case (name == "And" || name == "Or") && len(of) > 0:
		for _, c := range of {
			if is, why = t.holds(c, depth+1); why != "" || is == (name == "Or") {
				return is, why
			}
		}
		return is, ""
	}
	return false, "it is no condition that is known here"
}
