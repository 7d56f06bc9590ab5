package template

import (
	"strings"
	"unicode"

	"go.yaml.in/yaml/v4"

	"github.com/muster-scale/muster/config/foreign/nodes"
)

// This file writes out loops.

// loopKey begins the key of a loop of the language extensions of CloudFormation:
//
//	Fn::ForEach::NAME: [IDENTIFIER, [ELEMENT, ...], {OUTPUT-KEY: OUTPUT-VALUE}]
//
// For each element there is one output, in which ${IDENTIFIER} and a reference to IDENTIFIER stand for the element, and
// &{IDENTIFIER} for its letters and digits alone.
const loopKey = "Fn::ForEach::"

// maxOutputs bounds what all loops of a template give together, and maxLoops how deep they lie within each other.
const (
	// maxOutputs bounds what all loops of a template give together. maxLoops is how deep they may be nested, as in
	// CloudFormation.
	maxOutputs = 2000
	maxLoops   = 5
)

// Unroll replaces loops by what they give, in every mapping of the resources.
func (t *Template) Unroll() { t.unroll(t.Resources, 0) }

// unroll replaces the loops in every mapping of a tree.
func (t *Template) unroll(n *yaml.Node, depth int) {
	if n == nil || depth > nodes.MaxDepth {
		return
	}
	if n.Kind == yaml.MappingNode {
		t.unrollMapping(n, 0)
	}
	for _, c := range n.Content {
		t.unroll(c, depth+1)
	}
}

// unrollMapping replaces the loops among the keys of a mapping, and the loops in what those give.
func (t *Template) unrollMapping(n *yaml.Node, deep int) {
	var content []*yaml.Node
	looped := false
	nodes.Pairs(n, func(key, value *yaml.Node) {
		if !strings.HasPrefix(key.Value, loopKey) {
			content = append(content, key, value)
			return
		}
		looped = true
		outputs := t.outputs(key, value, deep)
		t.unrollMapping(outputs, deep+1)
		content = append(content, outputs.Content...)
	})
	if looped {
		n.Content = content
	}
}

// outputs returns what one loop gives; an empty mapping and a note when its list is not known.
func (t *Template) outputs(key, loop *yaml.Node, deep int) *yaml.Node {
	outputs := nodes.Mapping(key)
	name := strings.TrimPrefix(key.Value, loopKey)
	parts := nodes.Elements(loop)
	if len(parts) != 3 || nodes.Plain(parts[0]) == "" || parts[2].Kind != yaml.MappingNode {
		t.Notes.Add(key, "the loop %s is not made of an identifier, a list and a mapping; what it gives is left out",
			nodes.Brief(name))
		return outputs
	}
	all := t.Resolve(parts[1])
	if all.Why != "" {
		t.Notes.Add(parts[1], "the list of the loop %s cannot be determined: %s; what it gives is left out",
			nodes.Brief(name), all.Why)
		return outputs
	}
	if !all.isList { // a parameter that is a list has its default as a text with commas
		for part := range strings.SplitSeq(all.Text, ",") {
			all.list = append(all.list, Value{Text: strings.TrimSpace(part)})
		}
	}
	for _, element := range all.list {
		if element.Why != "" {
			t.Notes.Add(parts[1], "an element of the loop %s cannot be determined (%s); what it gives is left out",
				nodes.Brief(name), element.Why)
			continue
		}
		nodes.Pairs(parts[2], func(of, value *yaml.Node) {
			if t.unrolled++; t.unrolled > maxOutputs || deep >= maxLoops {
				t.Notes.Add(key, "the loop %s gives too much; the rest is left out", nodes.Brief(name))
				return
			}
			with := substitution{parts[0].Value, element.Text}
			outputs.Content = append(outputs.Content, t.substituted(of, with), t.substituted(value, with))
		})
	}
	return outputs
}

// substitution is the identifier of a loop and the element that replaces it.
type substitution struct{ identifier, text string }

// substituted copies a tree with the element in place of the identifier. Copies keep their places in the text.
func (t *Template) substituted(n *yaml.Node, with substitution) *yaml.Node {
	if !t.work.Value() {
		return nodes.Text(n, "")
	}
	refers := n.Kind == yaml.ScalarNode && n.Tag == "!Ref" && n.Value == with.identifier ||
		n.Kind == yaml.MappingNode && len(n.Content) == 2 && n.Content[0].Value == "Ref" &&
			nodes.Plain(n.Content[1]) == with.identifier
	if refers {
		return nodes.Text(n, with.text)
	}
	copied := *n
	if n.Kind == yaml.ScalarNode {
		copied.Value = with.in(n.Value)
	}
	copied.Content = make([]*yaml.Node, len(n.Content))
	for i, c := range n.Content {
		copied.Content[i] = t.substituted(c, with)
	}
	return &copied
}

// in replaces the identifier in a text.
func (s substitution) in(text string) string {
	plain := strings.Map(func(r rune) rune {
		if unicode.IsLetter(r) || unicode.IsDigit(r) {
			return r
		}
		return -1
	}, s.text)
	return strings.NewReplacer("${"+s.identifier+"}", s.text, "&{"+s.identifier+"}", plain).Replace(text)
}
