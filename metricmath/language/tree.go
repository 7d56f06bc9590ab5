package language

import (
	"slices"
	"strconv"
	"strings"
)

// NodeKind is what a part of an expression is.
type NodeKind uint8

// The kinds of nodes.
const (
	NodeNumber NodeKind = iota
	NodeID
	NodeWord // REPEAT, DESC: means something to the function around it
	NodeText
	NodeCall
	NodeArray
	NodeMinus  // unary
	NodeBinary // text is the operator
)

// Node is a part of an expression.
type Node struct {
	// Kind is what it is.
	Kind NodeKind
	// Text is the id, word, text, function or operator.
	Text string
	// Number is that of a number, Args are the operands, arguments or elements.
	Number float64
	Args   []*Node
	// At is the byte offset of what stands for the node: a binary operator's sign.
	At int
	// grouped tells whether parentheses stood around it; it is no part of what the tree means.
	grouped bool
	depth   int
	// Operator is set for binary nodes, Result by [Scope.Check].
	Operator Operator
	Result   Kind
}

// Operator is what stands between two operands.
type Operator uint8

// The operators, in the order of their levels.
const (
	OpOr Operator = iota + 1
	OpAnd
	OpEqual
	OpNotEqual
	OpLess
	OpAtMost
	OpGreater
	OpAtLeast
	OpAdd
	OpSubtract
	OpMultiply
	OpDivide
	OpPower
)

// The levels of binding, loosest first.
const (
	levelOr = iota + 1
	levelAnd
	levelCompare
	levelAdd
	levelMultiply
	levelMinus
	levelPower
	levelPrimary
)

// operators has each operator's level and how it is printed, with none before the first.
var operators = [...]struct {
	level   int
	written string
}{
	{}, {levelOr, "OR"}, {levelAnd, "AND"},
	{levelCompare, "=="}, {levelCompare, "!="}, {levelCompare, "<"}, {levelCompare, "<="}, {levelCompare, ">"},
	{levelCompare, ">="},
	{levelAdd, "+"}, {levelAdd, "-"}, {levelMultiply, "*"}, {levelMultiply, "/"}, {levelPower, "^"},
}

// written are the operators by their signs and words.
var written = map[string]Operator{
	"OR": OpOr, "||": OpOr, "AND": OpAnd, "&&": OpAnd,
	"==": OpEqual, "!=": OpNotEqual, "<": OpLess, "<=": OpAtMost, ">": OpGreater, ">=": OpAtLeast,
	"+": OpAdd, "-": OpSubtract, "*": OpMultiply, "/": OpDivide, "^": OpPower,
}

// String is the operator as it is printed.
func (o Operator) String() string { return operators[o].written }

// level is how tightly it binds, 0 for none.
func (o Operator) level() int { return operators[o].level }

func (n *Node) level() int {
	switch n.Kind {
	case NodeMinus:
		return levelMinus
	case NodeBinary:
		return n.Operator.level()
	}
	return levelPrimary
}

// String writes the node down, as [Expression.String] does.
func (n *Node) String() string { return Expression{root: n}.String() }

// write prints a node.
func (n *Node) write(b *strings.Builder) {
	switch n.Kind {
	case NodeNumber:
		b.WriteString(number(n.Number))
	case NodeID, NodeWord:
		b.WriteString(n.Text)
	case NodeText:
		quote := "'"
		if strings.Contains(n.Text, quote) {
			quote = `"`
		}
		b.WriteString(quote + n.Text + quote)
	case NodeCall:
		b.WriteString(n.Text)
		writeList(b, n.Args, '(', ')')
	case NodeArray:
		writeList(b, n.Args, '[', ']')
	case NodeMinus:
		b.WriteByte('-')
		n.writeOperand(b, 0)
	case NodeBinary:
		n.writeOperand(b, 0)
		b.WriteString(" " + n.Operator.String() + " ")
		n.writeOperand(b, 1)
	}
}

func (n *Node) writeOperand(b *strings.Builder, i int) {
	if !n.groups(i) {
		n.Args[i].write(b)
		return
	}
	b.WriteByte('(')
	n.Args[i].write(b)
	b.WriteByte(')')
}

// groups tells whether an operand is printed in parentheses: where it must be, and where only UsualOrder could do
// without.
func (n *Node) groups(i int) bool {
	outer, inner := n.level(), n.Args[i].level()
	switch {
	case outer >= levelMinus:
		return inner < levelPrimary
	case outer == levelOr && inner == levelAnd:
		return true
	case outer == levelCompare || i == 1:
		return inner <= outer
	}
	return inner < outer
}

func writeList(b *strings.Builder, args []*Node, open, shut byte) {
	b.WriteByte(open)
	for i, a := range args {
		if i > 0 {
			b.WriteString(", ")
		}
		a.write(b)
	}
	b.WriteByte(shut)
}

// number is v without an exponent where that is short.
func number(v float64) string {
	if v >= 1e-6 && v < 1e15 || v == 0 {
		return strconv.FormatFloat(v, 'f', -1, 64)
	}
	return strconv.FormatFloat(v, 'g', -1, 64)
}

// start is where the text of a node begins, parentheses apart.
func (n *Node) start() int {
	for n.Kind == NodeBinary {
		n = n.Args[0]
	}
	return n.At
}

// equal tells whether two trees mean the same; places and parentheses do not count.
func (n *Node) equal(m *Node) bool {
	return n.Kind == m.Kind && n.Text == m.Text && n.Number == m.Number && n.Operator == m.Operator &&
		slices.EqualFunc(n.Args, m.Args, (*Node).equal)
}

// Walk visits a node and then what is below it.
func (n *Node) Walk(visit func(*Node)) {
	visit(n)
	for _, a := range n.Args {
		a.Walk(visit)
	}
}
