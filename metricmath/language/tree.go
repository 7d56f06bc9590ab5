package language

import (
	"slices"
	"strconv"
	"strings"
)

// NodeKind tells the nodes of a tree apart.
type NodeKind uint8

// The kinds of nodes.
const (
	NodeNumber NodeKind = iota
	NodeID
	NodeWord // REPEAT, DESC: an argument word of the function around it
	NodeText // in quotes
	NodeCall
	NodeArray
	NodeMinus  // unary
	NodeBinary // see Node.Operator
)

// Node is a part of an expression. A tree is built by [Parse] and afterwards changed by [Scope.Check] alone.
type Node struct {
	// Kind decides which of the other fields are set.
	Kind NodeKind
	// Text is the id, word, quoted text or name of the function.
	Text string
	// Number is the value of a NodeNumber. Args are the operands, arguments or elements.
	Number float64
	Args   []*Node
	// At is the byte offset of the node's own token; for a binary operator that is its sign.
	At int
	// grouped is true if the source has parentheses around the node. It does not change the meaning of the tree.
	grouped bool
	// depth is the nesting below the node, where a chain of one operator counts once; see MaxDepth.
	depth int
	// Operator is set for a NodeBinary. Result is the kind of the value, set by [Scope.Check].
	Operator Operator
	Result   Kind
}

// Operator is a binary operator; the zero Operator is none.
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

// The levels of precedence, loosest first. AWS documents only some of this order; [Expression.String] therefore writes
// parentheses where a reader could disagree.
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

// operators has each operator's level and its spelling. The first row is for the zero Operator.
var operators = [...]struct {
	level   int
	written string
}{
	{}, {levelOr, "OR"}, {levelAnd, "AND"},
	{levelCompare, "=="}, {levelCompare, "!="}, {levelCompare, "<"}, {levelCompare, "<="}, {levelCompare, ">"},
	{levelCompare, ">="},
	{levelAdd, "+"}, {levelAdd, "-"}, {levelMultiply, "*"}, {levelMultiply, "/"}, {levelPower, "^"},
}

// written maps every spelling to its operator.
var written = map[string]Operator{
	"OR": OpOr, "||": OpOr, "AND": OpAnd, "&&": OpAnd,
	"==": OpEqual, "!=": OpNotEqual, "<": OpLess, "<=": OpAtMost, ">": OpGreater, ">=": OpAtLeast,
	"+": OpAdd, "-": OpSubtract, "*": OpMultiply, "/": OpDivide, "^": OpPower,
}

// String returns the spelling used in output.
func (o Operator) String() string { return operators[o].written }

// level returns how tightly the operator binds, 0 for the zero Operator.
func (o Operator) level() int { return operators[o].level }

// level returns how tightly the node's own operator binds. A node without one binds tightest.
func (n *Node) level() int {
	switch n.Kind {
	case NodeMinus:
		return levelMinus
	case NodeBinary:
		return n.Operator.level()
	}
	return levelPrimary
}

// String writes the node, as [Expression.String] does.
func (n *Node) String() string { return Expression{root: n}.String() }

// write appends the text of the node. A quoted text cannot hold both kinds of quotes, so one of them always fits.
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

// writeOperand writes operand i, in parentheses if needed.
func (n *Node) writeOperand(b *strings.Builder, i int) {
	if !n.groups(i) {
		n.Args[i].write(b)
		return
	}
	b.WriteByte('(')
	n.Args[i].write(b)
	b.WriteByte(')')
}

// groups tells whether operand i needs parentheses: because the order of operators would change the meaning, or because
// AWS does not document that order.
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

// writeList writes comma-separated arguments between two brackets.
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

// number writes v, without an exponent if the result is short.
func number(v float64) string {
	if v >= 1e-6 && v < 1e15 || v == 0 {
		return strconv.FormatFloat(v, 'f', -1, 64)
	}
	return strconv.FormatFloat(v, 'g', -1, 64)
}

// start returns the offset at which the text of a node begins. Parentheses before it are not included.
func (n *Node) start() int {
	for n.Kind == NodeBinary {
		n = n.Args[0]
	}
	return n.At
}

// equal tells whether two trees have the same meaning; positions and parentheses do not count.
func (n *Node) equal(m *Node) bool {
	return n.Kind == m.Kind && n.Text == m.Text && n.Number == m.Number && n.Operator == m.Operator &&
		slices.EqualFunc(n.Args, m.Args, (*Node).equal)
}

// Walk calls visit with the node and then with all nodes below it, from left to right.
func (n *Node) Walk(visit func(*Node)) {
	visit(n)
	for _, a := range n.Args {
		a.Walk(visit)
	}
}
