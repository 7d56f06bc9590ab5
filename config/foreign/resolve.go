package foreign

import (
	"fmt"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v4"
)

const (
	// maxResolved bounds the work of resolving, maxNesting how deep functions refer to each other, maxText what they give.
	maxResolved = 20_000
	maxNesting  = 40
	maxText     = 64 << 10
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
}

func unknown(format string, args ...any) value { return value{why: fmt.Sprintf(format, args...)} }

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

// resolve computes what a node comes to, with the defaults of the parameters.
func (t *template) resolve(n *yaml.Node, depth int) value {
	t.resolved++
	switch {
	case n == nil:
		return unknown("nothing is stated")
	case t.resolved > maxResolved || depth > maxNesting:
		return unknown("the template refers to itself too often")
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
	}
	return unknown("%s is known only where the stack is", name)
}

// ref resolves the name of a parameter, a pseudo parameter or a resource.
func (t *template) ref(name string, depth int) value {
	if name == "AWS::NoValue" {
		return value{none: true}
	}
	if strings.HasPrefix(name, "AWS::") {
		return unknown("%s is known only where the stack is", name)
	}
	if p := get(t.parameters, name); p != nil {
		if d := get(p, "Default"); d != nil {
			return t.resolve(d, depth+1)
		}
		return unknown("the parameter %s has no default", name)
	}
	if get(t.resources, name) != nil {
		return t.named(name, "", depth)
	}
	return unknown("the template has neither a parameter nor a resource %s", brief(name))
}

// attribute resolves Fn::GetAtt: Resource.Attribute, or a list of the two.
func (t *template) attribute(n *yaml.Node, depth int) value {
	name, attribute, _ := strings.Cut(n.Value, ".")
	if of := elements(n); len(of) == 2 {
		name, attribute = of[0].Value, of[1].Value
	}
	if get(t.resources, name) == nil {
		return unknown("the template has no resource %s", brief(name))
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

// named is a resource under the name that it states, or under its logical id.
func (t *template) named(name, attribute string, depth int) value {
	v := value{resource: name, attribute: attribute, text: name}
	r := get(t.resources, name)
	if property := nameOf(plain(get(r, "Type"))); property != "" {
		v.guess = "the template states no " + property
		if p := get(get(r, "Properties"), property); p != nil {
			own := t.resolve(p, depth+1)
			if v.guess = own.why; own.why == "" && own.text != "" {
				v.text = own.text
			}
		}
	}
	return v
}

// sub resolves Fn::Sub: a text with ${Name} and ${Resource.Attribute}, and a mapping with names of its own.
func (t *template) sub(n *yaml.Node, depth int) value {
	text, own := n.Value, (*yaml.Node)(nil)
	if of := elements(n); len(of) == 2 {
		text, own = of[0].Value, of[1]
	}
	var b strings.Builder
	for {
		before, rest, found := strings.Cut(text, "${")
		b.WriteString(before)
		if b.Len() > maxText {
			return unknown("the text is too long")
		}
		if !found {
			return value{text: b.String()}
		}
		name, after, closed := strings.Cut(rest, "}")
		if !closed {
			return value{text: b.String() + "${" + rest}
		}
		text = after
		if literal, ok := strings.CutPrefix(name, "!"); ok {
			b.WriteString("${" + literal + "}")
			continue
		}
		v := t.substitute(strings.TrimSpace(name), own, depth)
		if v.why != "" {
			return v
		}
		b.WriteString(v.text)
	}
}

func (t *template) substitute(name string, own *yaml.Node, depth int) value {
	if n := get(own, name); n != nil {
		return t.resolve(n, depth+1)
	}
	if resource, attribute, is := strings.Cut(name, "."); is && get(t.resources, resource) != nil {
		return t.named(resource, attribute, depth)
	}
	return t.ref(name, depth+1)
}

func (t *template) join(n *yaml.Node, depth int) value {
	of := elements(n)
	if len(of) != 2 {
		return unknown("Join has no separator and list")
	}
	separator, list := t.resolve(of[0], depth), t.resolve(of[1], depth)
	var parts []string
	size := 0
	for _, v := range list.list {
		if v.why != "" {
			return v
		}
		parts = append(parts, v.text)
		if size += len(v.text) + len(separator.text); size > maxText {
			return unknown("the text is too long")
		}
	}
	if list.why != "" || separator.why != "" {
		return unknown("%s", list.why+separator.why)
	}
	return value{text: strings.Join(parts, separator.text)}
}

func (t *template) pick(n *yaml.Node, depth int) value {
	of := elements(n)
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
	of := elements(n)
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
	for i, key := range elements(n) {
		if i == 3 {
			break // a default, which an entry that is missing would have
		}
		k := t.resolve(key, depth)
		if k.why != "" {
			return k
		}
		if at = get(at, k.text); at == nil {
			return unknown("Mappings has no %s", brief(k.text))
		}
	}
	return t.resolve(at, depth)
}

func (t *template) choose(n *yaml.Node, depth int) value {
	of := elements(n)
	if len(of) != 3 {
		return unknown("If has no condition and two values")
	}
	is, why := t.holds(get(t.conditions, of[0].Value), depth)
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
	of := elements(argument)
	switch {
	case name == "Condition":
		return t.holds(get(t.conditions, argument.Value), depth+1)
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
