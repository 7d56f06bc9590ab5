package foreign

import (
	"fmt"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v4"

	"github.com/muster-scale/muster/config/foreign/nodes"
)

const (
	// maxResolved bounds the work of resolving, maxNesting how deep functions refer to each other, maxText what they
	// give.
	maxResolved = 20_000
	maxNesting  = 40
	maxText     = 64 << 10
	// maxDoubts bounds the parts of a text of which something is known.
	maxDoubts = 100
)

// value is what a node of a template comes to.
type value struct {
	text string
	list []value
	// isList is true of a list, none of AWS::NoValue.
	isList, none bool
	// resource and attribute are set where it is one of a resource of the template; text is then what is known of it.
	resource, attribute string
	// guess says why the text is the resource's logical id, which stands for its name; empty when it is the name.
	guess string
	// why says why it cannot be told here; empty when it can.
	why string
	// standIn is what stands for a text that cannot be told, doubts are the parts of either that stand in for others,
	// and why.
	standIn string
	doubts  []doubt
}

// doubt is a part of a text that stands in for another.
type doubt struct{ text, why string }

func unknown(format string, args ...any) value { return value{why: fmt.Sprintf(format, args...)} }

// as gives a value that cannot be told a text that stands for it.
func (v value) as(standIn string) value {
	v.standIn, v.doubts = standIn, []doubt{{standIn, v.why}}
	return v
}

// best is the text, or what stands for it.
func (v value) best() string {
	if v.why != "" {
		return v.standIn
	}
	return v.text
}

// doubtOf says why a part of the text is not certain; empty when it is.
func (v value) doubtOf(part string) string {
	for _, d := range v.doubts {
		if d.text != "" && strings.Contains(part, d.text) {
			return d.why
		}
	}
	if part == "" || len(v.doubts) == 0 {
		return v.why
	}
	return ""
}

// joined adds a part to a text: what cannot be told of one cannot be told of both.
func (v value) joined(part value) value {
	if v.why != "" || part.why != "" {
		v.standIn, v.text = v.best()+part.best(), ""
		if v.why == "" {
			v.why = part.why
		}
	} else {
		v.text += part.text
	}
	if len(v.doubts) < maxDoubts {
		v.doubts = append(v.doubts, part.doubts...)
	}
	if part.guess != "" {
		v.doubts = append(v.doubts, doubt{part.text, part.guess})
	}
	return v
}

// function takes a call of a function apart: the short form, or the mapping with one key.
func function(n *yaml.Node) (name string, argument *yaml.Node) {
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

// resolve computes what a node comes to, with the defaults of the parameters. A plain text costs nothing.
func (t *template) resolve(n *yaml.Node, depth int) value {
	switch {
	case n == nil:
		return unknown("nothing is stated")
	case n.Kind == yaml.ScalarNode && (n.Tag == "" || strings.HasPrefix(n.Tag, "!!")):
		return value{text: n.Value}
	}
	if t.resolved++; t.resolved > maxResolved || depth > maxNesting {
		return unknown("%s refers to itself too often", t.what)
	}
	if name, argument := function(n); name != "" {
		return t.call(name, argument, depth+1)
	}
	switch n.Kind {
	case yaml.ScalarNode:
		return value{text: n.Value}
	case yaml.SequenceNode:
		v := value{isList: true}
		for _, e := range n.Content {
			if x := t.resolve(e, depth+1); !x.none {
				v.list = append(v.list, x)
			}
		}
		return v
	}
	return unknown("a mapping stands there")
}

func (t *template) call(name string, n *yaml.Node, depth int) value {
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

// imported is what another stack exports: its name stands for it.
func (t *template) imported(n *yaml.Node, depth int) value {
	name := t.resolve(n, depth).best()
	return unknown(
		"%s is an export of another stack", brief(name),
	).as(fleetName(name[strings.LastIndexAny(name, ":/")+1:]))
}

// ref resolves the name of a parameter, a pseudo parameter or a resource.
func (t *template) ref(name string, depth int) value {
	if name == "AWS::NoValue" {
		return value{none: true}
	}
	if own, is := strings.CutPrefix(name, "AWS::"); is {
		return unknown("%s is known only where the stack is", name).as(own)
	}
	if p := nodes.Get(t.parameters, name); p != nil {
		if d := nodes.Get(p, "Default"); d != nil {
			return t.resolve(d, depth+1)
		}
		return unknown("the parameter %s has no default", name).as(name)
	}
	if nodes.Get(t.resources, name) != nil {
		return t.named(name, "", depth)
	}
	return unknown("the template has neither a parameter nor a resource %s", brief(name)).as(fleetName(name))
}

// attribute resolves Fn::GetAtt: Resource.Attribute, or a list of the two.
func (t *template) attribute(n *yaml.Node, depth int) value {
	name, attribute, _ := strings.Cut(n.Value, ".")
	if of := nodes.Elements(n); len(of) == 2 {
		name, attribute = of[0].Value, of[1].Value
	}
	if nodes.Get(t.resources, name) == nil {
		return unknown("%s has no resource %s", t.what, brief(name)).as(attribute)
	}
	return t.named(name, attribute, depth)
}

// nameOf are the properties that hold a resource's own name, by its type.
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

// named is a resource under the name that it states, or under its logical id. Whatever else it has is known where the
// stack is.
func (t *template) named(name, attribute string, depth int) value {
	v := value{resource: name, attribute: attribute, text: t.short(name)}
	r := nodes.Get(t.resources, name)
	kind := nodes.Plain(nodes.Get(r, "Type"))
	property := nameOf(kind)
	if property == "" {
		if of := nodes.Get(nodes.Get(r, "Properties"), attribute); of != nil && t.terraform {
			own := t.resolve(of, depth+1)
			own.resource, own.attribute = name, attribute
			return own
		}
		v.why = strings.TrimSuffix(name+"."+attribute, ".") + " is known only where the stack is"
		v.standIn = orElse(attribute[strings.LastIndexByte(attribute, '.')+1:], v.text)
		v.doubts = []doubt{{v.standIn, v.why}}
		return v
	}
	if of := nodes.Get(nodes.Get(r, "Properties"), attribute); of != nil && t.terraform && attribute != property {
		own := t.resolve(of, depth+1) // Terraform can refer to every argument
		own.resource, own.attribute = name, attribute
		return own
	}
	v.guess = t.what + " states no " + property
	if t.terraform {
		v.guess = t.what + " states no name"
	}
	if p := nodes.Get(nodes.Get(r, "Properties"), property); p != nil {
		own := t.resolve(p, depth+1)
		v.guess = own.why
		switch {
		case own.why == "" && own.text != "":
			v.text = own.text
		case t.terraform && own.standIn != "":
			v.text = own.standIn
		}
		if kind == "AWS::ApplicationAutoScaling::ScalableTarget" {
			own.resource, own.attribute = name, attribute // it has parts, each of which may be certain
			return own
		}
	}
	if v.guess != "" {
		v.doubts = []doubt{{v.text, v.guess}}
	}
	return v
}

// short is the name of a resource without its type.
func (t *template) short(name string) string {
	if !t.terraform {
		return name
	}
	if i := strings.IndexByte(name, '['); i >= 0 {
		key := strings.Trim(name[i:], `[]"`)
		return t.short(name[:i]) + "-" + key
	}
	return name[strings.LastIndexByte(name, '.')+1:]
}

// sub resolves Fn::Sub: a text with ${Name} and ${Resource.Attribute}, and a mapping with names of its own.
func (t *template) sub(n *yaml.Node, depth int) (v value) {
	text, own := n.Value, (*yaml.Node)(nil)
	if of := nodes.Elements(n); len(of) == 2 {
		text, own = of[0].Value, of[1]
	}
	for {
		before, rest, found := strings.Cut(text, "${")
		v = v.joined(value{text: before})
		if len(v.best()) > maxText {
			return unknown("the text is too long")
		}
		if !found {
			return v
		}
		name, after, closed := strings.Cut(rest, "}")
		if !closed {
			return v.joined(value{text: "${" + rest})
		}
		text = after
		if literal, ok := strings.CutPrefix(name, "!"); ok {
			v = v.joined(value{text: "${" + literal + "}"})
			continue
		}
		v = v.joined(t.substitute(strings.TrimSpace(name), own, depth))
	}
}

func (t *template) substitute(name string, own *yaml.Node, depth int) value {
	if n := nodes.Get(own, name); n != nil {
		return t.resolve(n, depth+1)
	}
	if resource, attribute, is := strings.Cut(name, "."); is && nodes.Get(t.resources, resource) != nil {
		return t.named(resource, attribute, depth)
	}
	return t.ref(name, depth+1)
}

func (t *template) join(n *yaml.Node, depth int) (v value) {
	of := nodes.Elements(n)
	if len(of) != 2 {
		return unknown("Join has no separator and list")
	}
	separator, list := t.resolve(of[0], depth), t.resolve(of[1], depth)
	if list.why != "" || separator.why != "" {
		return unknown("%s", list.why+separator.why)
	}
	for i, part := range list.list {
		if i > 0 {
			v = v.joined(separator)
		}
		if v = v.joined(part); len(v.best()) > maxText {
			return unknown("the text is too long")
		}
	}
	return v
}

func (t *template) pick(n *yaml.Node, depth int) value {
	of := nodes.Elements(n)
	if len(of) != 2 {
		return unknown("Select has no index and list")
	}
	list := t.resolve(of[1], depth)
	if list.why != "" {
		return list
	}
	i, err := strconv.Atoi(t.resolve(of[0], depth).text)
	if err != nil || i < 0 || i >= len(list.list) {
		return unknown("Select has an index outside of its list")
	}
	return list.list[i]
}

func (t *template) split(n *yaml.Node, depth int) value {
	of := nodes.Elements(n)
	if len(of) != 2 {
		return unknown("Split has no separator and text")
	}
	v := t.resolve(of[1], depth)
	if v.why != "" {
		return v
	}
	list := value{isList: true}
	for _, part := range strings.SplitN(v.text, t.resolve(of[0], depth).text, 1000) {
		list.list = append(list.list, value{text: part})
	}
	return list
}

func (t *template) find(n *yaml.Node, depth int) value {
	at := t.mappings
	for i, key := range nodes.Elements(n) {
		if i == 3 {
			break // a default, which an entry that is missing would have
		}
		k := t.resolve(key, depth)
		if k.why != "" {
			return k
		}
		if at = nodes.Get(at, k.text); at == nil {
			return unknown("Mappings has no %s", brief(k.text))
		}
	}
	return t.resolve(at, depth)
}

func (t *template) choose(n *yaml.Node, depth int) value {
	of := nodes.Elements(n)
	if len(of) != 3 {
		return unknown("If has no condition and two values")
	}
	is, why := t.holds(nodes.Get(t.conditions, of[0].Value), depth)
	switch {
	case why != "":
		return unknown("the condition %s cannot be told: %s", brief(of[0].Value), why)
	case is:
		return t.resolve(of[1], depth)
	}
	return t.resolve(of[2], depth)
}

// holds tells whether a condition holds, or why that cannot be told.
func (t *template) holds(n *yaml.Node, depth int) (is bool, why string) {
	t.resolved++
	if n == nil || depth > maxNesting || t.resolved > maxResolved {
		return false, "it is not stated"
	}
	name, argument := function(n)
	of := nodes.Elements(argument)
	switch {
	case name == "Condition":
		return t.holds(nodes.Get(t.conditions, argument.Value), depth+1)
	case name == "Equals" && len(of) == 2:
		a, b := t.resolve(of[0], depth+1), t.resolve(of[1], depth+1)
		return a.text == b.text, a.why + b.why
	case name == "Not" && len(of) == 1:
		is, why = t.holds(of[0], depth+1)
		return !is, why
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
