package metricmath

import (
	"slices"
	"strconv"
	"strings"
)

type nodeKind uint8

const (
	nodeNumber nodeKind = iota
	nodeID
	nodeWord // REPEAT, DESC: means something to the function around it
	nodeText
	nodeCall
	nodeArray
	nodeMinus  // unary
	nodeBinary // text is the operator
)

// node is a part of an expression.
type node struct {
	kind nodeKind
	// text is the id, word, text, function or operator.
	text   string
	number float64
	args   []*node
	at     int // byte offset of what stands for the node: a binary operator's sign
	// grouped tells whether parentheses stood around it; it is no part of what the tree means.
	grouped bool
	depth   int
	// operator is set for binary nodes, kind by the checker.
	operator operator
	result   Kind
}

type operator uint8

const (
	opOr operator = iota + 1
	opAnd
	opEqual
	opNotEqual
	opLess
	opAtMost
	opGreater
	opAtLeast
	opAdd
	opSubtract
	opMultiply
	opDivide
	opPower
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
var written = map[string]operator{
	"OR": opOr, "||": opOr, "AND": opAnd, "&&": opAnd,
	"==": opEqual, "!=": opNotEqual, "<": opLess, "<=": opAtMost, ">": opGreater, ">=": opAtLeast,
	"+": opAdd, "-": opSubtract, "*": opMultiply, "/": opDivide, "^": opPower,
}

// String is the operator as it is printed.
func (o operator) String() string { return operators[o].written }

// level is how tightly it binds, 0 for none.
func (o operator) level() int { return operators[o].level }

func (n *node) level() int {
	switch n.kind {
	case nodeMinus:
		return levelMinus
	case nodeBinary:
		return n.operator.level()
	}
	return levelPrimary
}

// write prints a node.
func (n *node) write(b *strings.Builder) {
	switch n.kind {
	case nodeNumber:
		b.WriteString(number(n.number))
	case nodeID, nodeWord:
		b.WriteString(n.text)
	case nodeText:
		quote := "'"
		if strings.Contains(n.text, quote) {
			quote = `"`
		}
		b.WriteString(quote + n.text + quote)
	case nodeCall:
		b.WriteString(n.text)
		writeList(b, n.args, '(', ')')
	case nodeArray:
		writeList(b, n.args, '[', ']')
	case nodeMinus:
		b.WriteByte('-')
		n.writeOperand(b, 0)
	case nodeBinary:
		n.writeOperand(b, 0)
		b.WriteString(" " + n.operator.String() + " ")
		n.writeOperand(b, 1)
	}
}

func (n *node) writeOperand(b *strings.Builder, i int) {
	if !n.groups(i) {
		n.args[i].write(b)
		return
	}
	b.WriteByte('(')
	n.args[i].write(b)
	b.WriteByte(')')
}

// groups tells whether an operand is printed in parentheses: where it must be, and where only UsualOrder could do
// without.
func (n *node) groups(i int) bool {
	outer, inner := n.level(), n.args[i].level()
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

func writeList(b *strings.Builder, args []*node, open, shut byte) {
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
func (n *node) start() int {
	for n.kind == nodeBinary {
		n = n.args[0]
	}
	return n.at
}

// equal tells whether two trees mean the same; places and parentheses do not count.
func (n *node) equal(m *node) bool {
	return n.kind == m.kind && n.text == m.text && n.number == m.number && n.operator == m.operator &&
		slices.EqualFunc(n.args, m.args, (*node).equal)
}

// walk visits a node and then what is below it.
func (n *node) walk(visit func(*node)) {
	visit(n)
	for _, a := range n.args {
		a.walk(visit)
	}
}
