// Package nodes reads and builds trees of values that know their places. It is the form in which package foreign
// holds the files of other systems, whatever they are written in.
//
// A tree is a [yaml.Node]: JSON is YAML, and what Terraform states is built with [Text], [List] and [Mapping]. Values
// that have to be computed are mappings with one key, as in CloudFormation: [Attribute], [Join], [Unknown]. Lines
// count through all files of one reading ([Files]), so that a node alone says where it comes from; [Notes] keep what
// is said about a place.
//
// Reading functions accept nil and nodes of another kind, and then return nothing: a reader follows a path and asks
// at the end whether there is a value. [Work] bounds what one reading costs.
//
// Nothing here knows what values mean: packages template, aws and kubernetes do.
package nodes

import (
	"strings"

	"go.yaml.in/yaml/v4"
)

// Get returns the value of a key of a mapping, or nil.
func Get(n *yaml.Node, key string) *yaml.Node {
	if n == nil || n.Kind != yaml.MappingNode {
		return nil
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		if n.Content[i].Value == key {
			return n.Content[i+1]
		}
	}
	return nil
}

// At follows keys from mapping to mapping, and returns nil where one is missing.
func At(n *yaml.Node, keys ...string) *yaml.Node {
	for _, key := range keys {
		n = Get(n, key)
	}
	return n
}

// Plain returns the text of a scalar; empty for anything else.
func Plain(n *yaml.Node) string {
	if n == nil || n.Kind != yaml.ScalarNode {
		return ""
	}
	return n.Value
}

// Pairs calls do with each key and value of a mapping, in the order of the text.
func Pairs(n *yaml.Node, do func(key, value *yaml.Node)) {
	if n == nil || n.Kind != yaml.MappingNode {
		return
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		do(n.Content[i], n.Content[i+1])
	}
}

// Elements returns the elements of a list; none for anything else.
func Elements(n *yaml.Node) []*yaml.Node {
	if n == nil || n.Kind != yaml.SequenceNode {
		return nil
	}
	return n.Content
}

// Or returns n, or another node where it is nil.
func Or(n, otherwise *yaml.Node) *yaml.Node {
	if n != nil {
		return n
	}
	return otherwise
}

// Text returns a scalar at the place of another node, which may be nil.
func Text(at *yaml.Node, text string) *yaml.Node {
	return placed(at, &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: text})
}

// List returns a list at the place of another node.
func List(at *yaml.Node, elements ...*yaml.Node) *yaml.Node {
	return placed(at, &yaml.Node{Kind: yaml.SequenceNode, Content: elements})
}

// Mapping returns an empty mapping at the place of another node; see [Set].
func Mapping(at *yaml.Node) *yaml.Node { return placed(at, &yaml.Node{Kind: yaml.MappingNode}) }

// Set adds a key to a mapping, at the place of its value. A nil value is left out.
func Set(n *yaml.Node, key string, value *yaml.Node) {
	if value != nil {
		n.Content = append(n.Content, Text(value, key), value)
	}
}

// Attribute returns a reference to an attribute of a resource, as Fn::GetAtt of CloudFormation is.
func Attribute(at *yaml.Node, resource, attribute string) *yaml.Node {
	n := Mapping(at)
	Set(n, "Fn::GetAtt", List(at, Text(at, resource), Text(at, attribute)))
	return n
}

// Unknown returns a value that is not known here: why, and the text that stands in for it.
func Unknown(at *yaml.Node, standIn, why string) *yaml.Node {
	n := Mapping(at)
	Set(n, "Fn::Unknown", List(at, Text(at, standIn), Text(at, why)))
	return n
}

// Join returns the concatenation of several values, as Fn::Join of CloudFormation does with an empty separator.
func Join(at *yaml.Node, parts ...*yaml.Node) *yaml.Node {
	n := Mapping(at)
	Set(n, "Fn::Join", List(at, Text(at, ""), List(at, parts...)))
	return n
}

// placed gives a node the place of another; line 1, column 1 when that is nil.
func placed(at, n *yaml.Node) *yaml.Node {
	n.Line, n.Column = 1, 1
	if at != nil {
		n.Line, n.Column = at.Line, at.Column
	}
	return n
}

// maxIdentity bounds the text of an identity, in bytes.
const maxIdentity = 4 << 10

// Identity returns a text that two trees share when they hold the same values. It is cut off for very large trees.
func Identity(n *yaml.Node) string {
	var b strings.Builder
	identify(&b, n)
	return b.String()
}

// identify writes the identity of a tree. Lists and mappings look alike, which no reader minds.
func identify(b *strings.Builder, n *yaml.Node) {
	if n == nil || b.Len() > maxIdentity {
		return
	}
	if strings.HasPrefix(n.Tag, "!") && !strings.HasPrefix(n.Tag, "!!") { // the short form of a function
		b.WriteString(n.Tag + " ")
	}
	if n.Kind == yaml.ScalarNode {
		b.WriteString(n.Value)
		return
	}
	b.WriteByte('[')
	for _, c := range n.Content {
		identify(b, c)
		b.WriteByte('\x00')
	}
	b.WriteByte(']')
}
