package terraform

import (
	"cmp"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/convert"
	"go.yaml.in/yaml/v4"

	"github.com/muster-scale/muster/config/foreign/nodes"
)

// This file turns values into nodes. Parts of a text that are not known become references or unknown values of a
// template, so that package template treats them like those of CloudFormation.

// place returns a node at the beginning of a range.
func place(r hcl.Range) *yaml.Node {
	n := nodes.Text(nil, "")
	n.Line, n.Column = r.Start.Line, r.Start.Column
	return n
}

// plain returns the text of a known text, number or truth value, and whether it is one.
func plain(v cty.Value) (string, bool) {
	v, _ = v.Unmark()
	if !known(v) || !v.Type().IsPrimitiveType() {
		return "", false
	}
	s, err := convert.Convert(v, cty.String)
	if err != nil || s.IsNull() {
		return "", false
	}
	return s.AsString(), true
}

// doubtsOf returns the doubts among marks. The longest text comes first, so that cutting one out of a text does not
// hit part of another; the rest of the order makes results repeatable.
func doubtsOf(marks cty.ValueMarks) (all []doubt) {
	for m := range marks {
		if d, ok := m.(doubt); ok {
			all = append(all, d)
		}
	}
	slices.SortFunc(all, func(a, b doubt) int {
		return cmp.Or(-cmp.Compare(len(a.text), len(b.text)), cmp.Compare(a.text, b.text), cmp.Compare(a.why, b.why))
	})
	return all
}

// meta are arguments of Terraform itself, and tags; they say nothing about scaling.
var meta = []string{
	"count", "for_each", "depends_on", "provider", "lifecycle", "provisioner", "connection", "tags", "tag", "timeouts",
}

// body returns a body as a mapping: arguments by name, and each type of block as a list of mappings.
func (e *evaluation) body(b *hclsyntax.Body, context *hcl.EvalContext) *yaml.Node {
	n := place(b.SrcRange)
	// The node of a place is a scalar; here it becomes a mapping.
	n.Kind, n.Tag, n.Value = yaml.MappingNode, "", ""
	var arguments []*hclsyntax.Attribute
	for name, a := range b.Attributes {
		if !slices.Contains(meta, name) {
			arguments = append(arguments, a)
		}
	}
	// A map of arguments has no order, and notes must have one.
	slices.SortFunc(
		arguments, func(a, b *hclsyntax.Attribute) int { return a.SrcRange.Start.Byte - b.SrcRange.Start.Byte },
	)
	for _, a := range arguments {
		set(n, a.NameRange, a.Name, e.node(e.value(a.Expr, context), place(a.Expr.Range())))
	}
	lists := map[string]*yaml.Node{}
	add := func(name string, at hcl.Range, of *yaml.Node) {
		// Blocks of a type become one list, at the place of the first.
		if lists[name] == nil {
			lists[name] = nodes.List(place(at))
			set(n, at, name, lists[name])
		}
		lists[name].Content = append(lists[name].Content, of)
	}
	for _, block := range b.Blocks {
		name, all := block.Type, []*yaml.Node(nil)
		switch dynamic := name == "dynamic" && len(block.Labels) == 1; {
		// Blocks of Terraform itself, dynamic ones too, say nothing about a resource.
		case dynamic && slices.Contains(meta, block.Labels[0]), slices.Contains(meta, name):
			continue
		case dynamic:
			name, all = block.Labels[0], e.dynamic(block, context)
		default:
			all = []*yaml.Node{e.body(block.Body, context)}
		}
		for _, of := range all {
			add(name, block.DefRange(), of)
		}
	}
	return n
}

// set adds a key with a place of its own.
func set(n *yaml.Node, at hcl.Range, name string, value *yaml.Node) {
	if value == nil {
		return
	}
	key := nodes.Text(place(at), name)
	n.Content = append(n.Content, key, value)
}

// telling are the blocks that say how to scale. Only for these a note says when they are left out.
var telling = []string{
	"step_adjustment", "metric_query", "metric", "metrics", "metric_stat", "metric_dimension", "dimensions",
	"target_tracking_configuration", "target_tracking_scaling_policy_configuration",
	"step_scaling_policy_configuration", "customized_metric_specification", "predefined_metric_specification",
	"scalable_target_action",
}

// dynamic returns the blocks that a dynamic block stands for; none when their number is not known.
func (e *evaluation) dynamic(b *hclsyntax.Block, context *hcl.EvalContext) (all []*yaml.Node) {
	each, content := b.Body.Attributes["for_each"], (*hclsyntax.Block)(nil)
	for _, inner := range b.Body.Blocks {
		if inner.Type == "content" {
			content = inner
		}
	}
	if each == nil || content == nil {
		return nil
	}
	// The iterator is named by the block unless it states another name.
	word := b.Labels[0]
	if a := b.Body.Attributes["iterator"]; a != nil {
		word = cmp.Or(hcl.ExprAsKeyword(a.Expr), word)
	}
	v, marks := collection(e.value(each.Expr, context))
	if !v.CanIterateElements() || v.LengthInt() > maxInstances {
		if slices.Contains(telling, b.Labels[0]) {
			e.note(each.SrcRange, "the blocks %s cannot be determined%s and are left out", b.Labels[0], because(marks))
		}
		return nil
	}
	for it := v.ElementIterator(); it.Next(); {
		key, value := it.Element()
		// The iterator is visible in the block alone.
		child := context.NewChild()
		child.Variables = map[string]cty.Value{
			word: object(map[string]cty.Value{"key": key, "value": value.WithMarks(marks)}),
		}
		all = append(all, e.body(content.Body, child))
	}
	return all
}

// node returns a value as a node at a place; nil for null, which means an absent argument.
func (e *evaluation) node(v cty.Value, at *yaml.Node) *yaml.Node {
	v, marks := v.Unmark()
	doubts := doubtsOf(marks)
	switch {
	case v.IsNull():
		return nil
	// An unknown value keeps its first reason.
	case !v.IsKnown():
		why := "Terraform alone computes it"
		if len(doubts) > 0 {
			why = doubts[0].why
		}
		return nodes.Unknown(at, "", why)
	case v.Type().IsPrimitiveType():
		return e.scalar(v, doubts, at)
	// Objects and maps look alike in a template.
	case v.Type().IsObjectType() || v.Type().IsMapType():
		n := nodes.Mapping(at)
		for it := v.ElementIterator(); it.Next(); {
			// Marks of the whole pass on to its parts: a doubt about an object is one about each of its values.
			key, value := it.Element()
			nodes.Set(n, key.AsString(), e.node(value.WithMarks(marks), at))
		}
		return n
	case v.CanIterateElements():
		n := nodes.List(at)
		for it := v.ElementIterator(); it.Next(); {
			_, value := it.Element()
			if one := e.node(value.WithMarks(marks), at); one != nil {
				n.Content = append(n.Content, one)
			}
		}
		return n
	}
	return nodes.Unknown(at, "", "Terraform alone computes it")
}

// scalar returns a text, number or truth value as a node. A text with unknown parts becomes a join of its parts. A
// doubt that is no part of the text has decided the value, as a condition does: the whole is then unknown.
func (e *evaluation) scalar(v cty.Value, doubts []doubt, at *yaml.Node) *yaml.Node {
	text, _ := plain(v)
	// The common case: everything is stated.
	if len(doubts) == 0 {
		return nodes.Text(at, text)
	}
	// The text is cut at each doubt in turn, the longest first.
	parts := []*yaml.Node{nodes.Text(at, text)}
	for _, d := range doubts {
		if d.text == "" || !strings.Contains(text, d.text) {
			return nodes.Unknown(at, text, d.why) // it decided what the value is
		}
		parts = e.cut(parts, d, at)
	}
	if len(parts) == 1 {
		return parts[0]
	}
	return nodes.Join(at, parts...)
}

// cut replaces the text of a doubt by its node, within the parts that are texts.
func (e *evaluation) cut(parts []*yaml.Node, d doubt, at *yaml.Node) (all []*yaml.Node) {
	for _, p := range parts {
		if p.Kind != yaml.ScalarNode {
			all = append(all, p)
			continue
		}
		for i, rest := range strings.Split(p.Value, d.text) {
			if i > 0 {
				all = append(all, e.doubtful(d, at))
			}
			if rest != "" {
				all = append(all, nodes.Text(at, rest))
			}
		}
	}
	return all
}

// doubtful returns the node of a doubt: a reference to the attribute of a resource, or an unknown value.
func (e *evaluation) doubtful(d doubt, at *yaml.Node) *yaml.Node {
	if d.address != "" {
		// The attribute gets its name in CloudFormation, so that references meet.
		return nodes.Attribute(at, d.address, propertyOf(d.attribute))
	}
	return nodes.Unknown(at, d.name, d.why)
}
