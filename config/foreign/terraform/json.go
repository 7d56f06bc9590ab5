package terraform

import (
	"math/big"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
	"go.yaml.in/yaml/v4"

	"github.com/muster-scale/muster/config/foreign/nodes"
)

// This file reads Terraform's JSON syntax. Source: the Terraform documentation, "JSON Configuration Syntax".

// syntax makes the blocks that HCL would give from JSON. Every text is a template there, and nothing tells a block
// from an argument that is an object. The first text that is not a valid template is kept as the error.
type syntax struct {
	// file is the name of the file, for ranges.
	file   string
	byte   int // position after the last range; see at
	broken *Broken
}

// fromJSON reads a file in the JSON syntax: blocks by their types, or the values of variables.
func fromJSON(f File) (*hclsyntax.Body, error) {
	s := &syntax{file: f.Name}
	var body *hclsyntax.Body
	if strings.HasSuffix(f.Name, ".tfvars.json") {
		body = s.arguments(f.JSON)
	} else {
		body = s.outermost(f.JSON)
	}
	if s.broken != nil {
		return nil, s.broken
	}
	return body, nil
}

// labels returns the block types that are read, with the number of their labels.
func labels() map[string]int {
	return map[string]int{"resource": 2, "data": 2, "variable": 1, "output": 1, "module": 1, "locals": 0}
}

// outermost reads the outermost object, or a list of such objects.
func (s *syntax) outermost(n *yaml.Node) *hclsyntax.Body {
	body := s.body(n)
	for _, one := range objects(n) {
		nodes.Pairs(one, func(key, value *yaml.Node) {
			// Other blocks, such as terraform and provider, say nothing about scaling.
			if count, known := labels()[key.Value]; known {
				s.labelled(body, key, nil, count, value)
			}
		})
	}
	return body
}

// labelled adds the blocks below labels. more is how many labels are still to come.
func (s *syntax) labelled(into *hclsyntax.Body, kind *yaml.Node, above []string, more int, value *yaml.Node) {
	for _, one := range objects(value) {
		if more == 0 {
			into.Blocks = append(into.Blocks, s.block(kind, above, s.content(kind.Value, one)))
			continue
		}
		nodes.Pairs(one, func(key, below *yaml.Node) {
			if key.Value != comment {
				// A block gets the place of its last label: that is the line a reader looks for.
				at := *kind
				at.Line, at.Column = key.Line, key.Column
				s.labelled(into, &at, append(above[:len(above):len(above)], key.Value), more-1, below)
			}
		})
	}
}

// comment is the key of a comment in the JSON syntax.
const comment = "//"

// content returns the body of a block of a type. Only resources and data sources have blocks in them.
func (s *syntax) content(kind string, n *yaml.Node) *hclsyntax.Body {
	switch kind {
	case "resource", "data":
		return s.mixed(n)
	case "variable":
		body := s.body(n)
		nodes.Pairs(n, func(key, value *yaml.Node) {
			switch key.Value {
			// Only default and type of a variable are read.
			case "default":
				s.argument(body, key, s.expression(value))
			case "type":
				s.argument(body, key, s.written(value))
			}
		})
		return body
	default:
		return s.arguments(n)
	}
}

// arguments reads every key as an argument.
func (s *syntax) arguments(n *yaml.Node) *hclsyntax.Body {
	body := s.body(n)
	nodes.Pairs(n, func(key, value *yaml.Node) {
		if key.Value != comment {
			s.argument(body, key, s.expression(value))
		}
	})
	return body
}

// mixed reads objects, and lists of them, as blocks: an unknown value in one argument then hides no other.
func (s *syntax) mixed(n *yaml.Node) *hclsyntax.Body {
	body := s.body(n)
	nodes.Pairs(n, func(key, value *yaml.Node) {
		switch all := objects(value); {
		case key.Value == comment:
		case key.Value == "dynamic":
			for _, one := range all {
				nodes.Pairs(one, func(label, of *yaml.Node) { s.dynamic(body, label, of) })
			}
		// In HCL these would be blocks, except for the maps that isMap knows.
		case len(all) > 0 && !isMap(key.Value, all[0]):
			for _, one := range all {
				body.Blocks = append(body.Blocks, s.block(key, nil, s.mixed(one)))
			}
		default:
			s.argument(body, key, s.expression(value))
		}
	})
	return body
}

// isMap tells whether an object is the value of an argument: the dimensions of an alarm and the variables of a
// function are maps.
func isMap(name string, n *yaml.Node) bool {
	switch name {
	case "dimensions":
		return nodes.Get(n, "name") == nil || nodes.Get(n, "value") == nil
	case "variables", "for_each":
		return true
	}
	return false
}

// dynamic adds dynamic blocks.
func (s *syntax) dynamic(into *hclsyntax.Body, label, value *yaml.Node) {
	for _, one := range objects(value) {
		body := s.body(one)
		nodes.Pairs(one, func(key, of *yaml.Node) {
			switch key.Value {
			case "for_each":
				s.argument(body, key, s.expression(of))
			case "iterator":
				s.argument(body, key, s.written(of))
			case "content":
				for _, content := range objects(of) {
					body.Blocks = append(body.Blocks, s.block(key, nil, s.mixed(content)))
				}
			}
		})
		kind := nodes.Text(label, "dynamic")
		into.Blocks = append(into.Blocks, s.block(kind, []string{label.Value}, body))
	}
}

// objects returns the mappings that a value is, or that it is a list of; none for anything else.
func objects(n *yaml.Node) []*yaml.Node {
	if n.Kind == yaml.MappingNode {
		return []*yaml.Node{n}
	}
	if n.Kind != yaml.SequenceNode {
		return nil
	}
	for _, e := range n.Content {
		if e.Kind != yaml.MappingNode {
			return nil
		}
	}
	return n.Content
}

// at returns a range that begins at a node. Bytes are counted up, so that ranges are in the order of the text.
func (s *syntax) at(n *yaml.Node) hcl.Range {
	start := hcl.Pos{Line: n.Line, Column: n.Column, Byte: s.byte}
	s.byte += len(n.Value) + 1
	end := start
	end.Byte = s.byte
	return hcl.Range{Filename: s.file, Start: start, End: end}
}

// body returns an empty body at a node.
func (s *syntax) body(n *yaml.Node) *hclsyntax.Body {
	at := s.at(n)
	return &hclsyntax.Body{Attributes: hclsyntax.Attributes{}, SrcRange: at, EndRange: at}
}

// block returns a block at a node.
func (s *syntax) block(kind *yaml.Node, labels []string, body *hclsyntax.Body) *hclsyntax.Block {
	at := s.at(kind)
	return &hclsyntax.Block{
		Type: kind.Value, Labels: labels, Body: body, TypeRange: at, OpenBraceRange: at, CloseBraceRange: at,
	}
}

// argument adds an argument to a body.
func (s *syntax) argument(into *hclsyntax.Body, key *yaml.Node, x hclsyntax.Expression) {
	name := s.at(key)
	whole := hcl.Range{Filename: s.file, Start: x.Range().Start, End: x.Range().End}
	into.Attributes[key.Value] = &hclsyntax.Attribute{
		Name: key.Value, Expr: x, SrcRange: whole, NameRange: name, EqualsRange: name,
	}
}

// expression returns a value as an expression. Numbers keep the precision of Terraform, 512 bits.
func (s *syntax) expression(n *yaml.Node) hclsyntax.Expression {
	at := s.at(n)
	switch n.Kind {
	case yaml.MappingNode:
		// Keys are templates as well, as in Terraform.
		x := &hclsyntax.ObjectConsExpr{OpenRange: at}
		nodes.Pairs(n, func(key, value *yaml.Node) {
			item := hclsyntax.ObjectConsItem{KeyExpr: s.template(key, s.at(key)), ValueExpr: s.expression(value)}
			x.Items = append(x.Items, item)
		})
		at.End.Byte = s.byte
		x.SrcRange = at
		return x
	case yaml.SequenceNode:
		x := &hclsyntax.TupleConsExpr{OpenRange: at}
		for _, e := range n.Content {
			x.Exprs = append(x.Exprs, s.expression(e))
		}
		at.End.Byte = s.byte
		x.SrcRange = at
		return x
	}
	// Numbers, truth values and null stand for themselves; only texts are templates.
	literal := func(v cty.Value) hclsyntax.Expression { return &hclsyntax.LiteralValueExpr{Val: v, SrcRange: at} }
	switch n.Tag {
	case "!!null":
		return literal(cty.NullVal(cty.DynamicPseudoType))
	case "!!bool":
		return literal(cty.BoolVal(n.Value == "true"))
	case "!!int", "!!float":
		// Terraform reads numbers with this precision too.
		if number, _, err := big.ParseFloat(n.Value, 10, 512, big.ToNearestEven); err == nil {
			return literal(cty.NumberVal(number))
		}
	}
	return s.template(n, at)
}

// template reads a text with ${...} in it.
func (s *syntax) template(n *yaml.Node, at hcl.Range) hclsyntax.Expression {
	x, diagnostics := hclsyntax.ParseTemplate([]byte(n.Value), s.file, at.Start)
	return s.parsed(x, diagnostics, n, at)
}

// written reads a text that is an expression as a whole, as those of types and iterators are.
func (s *syntax) written(n *yaml.Node) hclsyntax.Expression {
	at := s.at(n)
	x, diagnostics := hclsyntax.ParseExpression([]byte(n.Value), s.file, at.Start)
	return s.parsed(x, diagnostics, n, at)
}

// parsed returns an expression, or the text itself after an error, which is kept.
func (s *syntax) parsed(x hclsyntax.Expression, all hcl.Diagnostics, n *yaml.Node, at hcl.Range) hclsyntax.Expression {
	if !all.HasErrors() {
		return x
	}
	// The first error is the one to repair.
	if s.broken == nil {
		s.broken = &Broken{Line: n.Line, Column: n.Column, Message: reason(all)}
	}
	return &hclsyntax.LiteralValueExpr{Val: cty.StringVal(n.Value), SrcRange: at}
}
