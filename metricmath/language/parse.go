package language

import (
	"fmt"
	"slices"
	"strings"
)

// The bounds of one expression.
const (
	// MaxText is the greatest length of one expression, in bytes. GetMetricData and scaling policies take 2,048
	// characters.
	MaxText = 16 << 10
	// MaxDepth is the greatest nesting of an expression, and of parentheses in it. The evaluation recurses as deep.
	MaxDepth = 64
)

// Expression is a parsed expression. The zero Expression is empty: it names nothing and writes nothing.
type Expression struct {
	root *Node
}

// Parse parses one expression. It does not look at which ids exist and which kinds they have; [Scope.Check] does. If
// strict is true, text whose meaning depends on an order of operators that AWS does not document is refused. The error
// is an [*Error].
func Parse(text string, strict bool) (Expression, error) {
	if len(text) > MaxText {
		return Expression{}, FaultAt(text, MaxText, fmt.Sprintf("%d bytes", len(text)),
			fmt.Sprintf("at most %d", MaxText), "give its parts ids of their own")
	}
	p := parser{text: text, strict: strict}
	if err := p.next(); err != nil {
		return Expression{}, err
	}
	if p.token.kind == tokenEnd {
		return Expression{}, FaultAt(text, 0, "nothing", "an expression", "")
	}
	root, err := p.expression(levelOr)
	if err != nil {
		return Expression{}, err
	}
	if p.token.kind != tokenEnd {
		return Expression{}, p.unexpected("an operator or the end of the expression")
	}
	return Expression{root: root}, nil
}

// String writes the expression, with parentheses wherever its meaning would otherwise depend on an undocumented order
// of operators. Parsing the result gives an equal expression.
func (x Expression) String() string {
	var b strings.Builder
	if x.root != nil {
		x.root.write(&b)
	}
	return b.String()
}

// Root returns the tree of the expression, nil for the zero Expression. Only [Scope.Check] may change it.
func (x Expression) Root() *Node { return x.root }

// Equal tells whether two expressions are the same, apart from spaces, redundant parentheses and the spelling of
// operators.
func (x Expression) Equal(y Expression) bool {
	if x.root == nil || y.root == nil {
		return x.root == y.root
	}
	return x.root.equal(y.root)
}

// IDs returns the ids in the expression, sorted, each once. Metrics selected by METRICS and SEARCH are not included.
func (x Expression) IDs() []string {
	if x.root == nil {
		return nil
	}
	var ids []string
	x.root.Walk(func(n *Node) {
		if n.Kind == NodeID {
			ids = append(ids, n.Text)
		}
	})
	slices.Sort(ids)
	return slices.Compact(ids)
}

// parser is a recursive descent parser with one token of lookahead, and operator precedence for binary operators.
type parser struct {
	text   string
	strict bool
	token  token
	offset int // the end of token in text
	nested int // the present nesting of operands, arguments and elements
	groups int // the present nesting of parentheses
}

// next reads the next token.
func (p *parser) next() (err error) {
	p.token, p.offset, err = lex(p.text, p.offset)
	return err
}

// expect skips the sign, which must be the next token. otherwise describes what is allowed, for the fault.
func (p *parser) expect(sign, otherwise string) error {
	if !p.token.is(sign) {
		return p.unexpected(otherwise)
	}
	return p.next()
}

// unexpected returns the fault for the next token.
func (p *parser) unexpected(expected string) error {
	fix := ""
	if w := p.token.text; p.token.kind == tokenID && slices.Contains([]string{"and", "or"}, w) {
		fix = "write " + strings.ToUpper(w)
	}
	return FaultAt(p.text, p.token.at, p.token.described(), expected, fix)
}

// expression reads operands joined by binary operators of the level least or a tighter one (precedence climbing). The
// right operand takes only tighter operators, so that a - b - c is (a - b) - c. Power is excluded: it associates to the
// right, see power.
func (p *parser) expression(least int) (*Node, error) {
	left, err := p.minus()
	if err != nil {
		return nil, err
	}
	for {
		op, level := p.token.operator, p.token.operator.level()
		if level < least || level == levelPower {
			return left, nil
		}
		at := p.token.at
		if err := p.next(); err != nil {
			return nil, err
		}
		right, err := p.expression(level + 1)
		if err != nil {
			return nil, err
		}
		if left, err = p.join(op, at, left, right); err != nil {
			return nil, err
		}
	}
}

// join makes a binary node. A chain such as a + b + c counts as one level of nesting, whatever its length. A chain of
// comparisons is refused: in the language of CloudWatch a < b < c would compare a truth value with c.
func (p *parser) join(op Operator, at int, left, right *Node) (*Node, error) {
	n := &Node{Kind: NodeBinary, Operator: op, At: at, Args: []*Node{left, right}}
	level := op.level()
	if level == levelCompare && (compares(left) || compares(right)) {
		return nil, FaultAt(p.text, at, "a second comparison, "+op.String(), "one between two values",
			"write (a < b) AND (b < c)")
	}
	if p.strict && level == levelOr && (ungrouped(left, levelAnd) || ungrouped(right, levelAnd)) {
		return nil, p.ambiguous(at, "OR beside AND")
	}
	n.depth = right.depth + 1
	if left.level() == level && !left.grouped {
		n.depth = max(n.depth, left.depth)
	} else {
		n.depth = max(n.depth, left.depth+1)
	}
	return n, p.shallow(n)
}

// compares tells whether a node is a comparison without parentheses.
func compares(n *Node) bool { return ungrouped(n, levelCompare) }

// ungrouped tells whether a node is an operator of the given level without parentheses.
func ungrouped(n *Node, level int) bool { return n.level() == level && !n.grouped }

// ambiguous returns the fault of an undocumented order of operators in strict mode.
func (p *parser) ambiguous(at int, what string) error {
	return FaultAt(p.text, at, what, "parentheses", "AWS does not document which comes first, and the option "+
		"ambiguity is refuse")
}

// shallow refuses a node that is nested too deep.
func (p *parser) shallow(n *Node) error {
	if n.depth > MaxDepth {
		return p.deep(n.At)
	}
	return nil
}

// deep returns the fault of too deep nesting.
func (p *parser) deep(at int) error {
	return FaultAt(p.text, at, fmt.Sprintf("nesting deeper than %d", MaxDepth), "less",
		"give the inner part an id of its own")
}

// enter counts a level of nesting before its content is read, so that hostile text cannot exhaust the stack. The exact
// bound of finished nodes is checked by shallow.
func (p *parser) enter() error {
	p.nested++
	if p.nested > 2*MaxDepth {
		return p.deep(p.token.at)
	}
	return nil
}

// minus reads -x, or an operand that binds tighter.
func (p *parser) minus() (*Node, error) {
	if !p.token.is("-") {
		return p.power()
	}
	at := p.token.at
	inner, err := p.right("a minus before ^")
	if err != nil {
		return nil, err
	}
	n := &Node{Kind: NodeMinus, At: at, Args: []*Node{inner}, depth: inner.depth + 1}
	return n, p.shallow(n)
}

// power reads a ^ b; a ^ b ^ c is a ^ (b ^ c).
func (p *parser) power() (*Node, error) {
	base, err := p.primary()
	if err != nil || !p.token.is("^") {
		return base, err
	}
	at := p.token.at
	exponent, err := p.right("one ^ after the other")
	if err != nil {
		return nil, err
	}
	n := &Node{Kind: NodeBinary, Operator: OpPower, At: at, Args: []*Node{base, exponent},
		depth: max(base.depth, exponent.depth) + 1}
	return n, p.shallow(n)
}

// right reads the operand to the right of a minus or ^, the current token. In strict mode another ^ in it must be in
// parentheses; what describes the case for the fault.
func (p *parser) right(what string) (*Node, error) {
	at := p.token.at
	if err := p.enter(); err != nil {
		return nil, err
	}
	defer func() { p.nested-- }()
	if err := p.next(); err != nil {
		return nil, err
	}
	operand, err := p.minus()
	if err != nil {
		return nil, err
	}
	if p.strict && ungrouped(operand, levelPower) {
		return nil, p.ambiguous(at, what)
	}
	return operand, nil
}

// primary reads an operand without operators around it.
func (p *parser) primary() (*Node, error) {
	t := p.token
	switch {
	case t.kind == tokenNumber:
		return &Node{Kind: NodeNumber, Number: t.number, At: t.at}, p.next()
	case t.kind == tokenText:
		return &Node{Kind: NodeText, Text: t.text, At: t.at}, p.next()
	case t.kind == tokenID || t.kind == tokenWord:
		return p.named()
	case t.is("("):
		return p.group()
	case t.is("["):
		if err := p.next(); err != nil {
			return nil, err
		}
		return p.list(&Node{Kind: NodeArray, At: t.at}, "]")
	}
	return nil, p.unexpected("a number, an id, a function, ( or [")
}

// group reads an expression in parentheses and marks its node, because parentheses settle an ambiguous order.
func (p *parser) group() (*Node, error) {
	p.groups++
	defer func() { p.groups-- }()
	if p.groups > MaxDepth {
		return nil, p.deep(p.token.at)
	}
	if err := p.next(); err != nil {
		return nil, err
	}
	inner, err := p.expression(levelOr)
	if err != nil {
		return nil, err
	}
	inner.grouped = true
	return inner, p.expect(")", "an operator or )")
}

// named reads an id, a word, or a function with its arguments. Which of them it is depends on the case of the first
// letter and on a parenthesis after it.
func (p *parser) named() (*Node, error) {
	t := p.token
	if t.operator != 0 {
		return nil, p.unexpected("a number, an id, a function, ( or [")
	}
	if err := p.next(); err != nil {
		return nil, err
	}
	call := p.token.is("(")
	switch {
	case t.kind == tokenID && call:
		return nil, p.notAFunction(t)
	case t.kind == tokenID:
		return &Node{Kind: NodeID, Text: t.text, At: t.at}, nil
	case !call && slices.Contains(words, t.text):
		return &Node{Kind: NodeWord, Text: t.text, At: t.at}, nil
	}
	if _, known := signatures[t.text]; !known {
		return nil, p.unknownWord(t, call)
	}
	if !call {
		return nil, FaultAt(p.text, t.at, t.text+" without arguments", "( behind it", "")
	}
	if err := p.next(); err != nil {
		return nil, err
	}
	n := &Node{Kind: NodeCall, Text: t.text, At: t.at}
	if p.token.is(")") {
		return n, p.next()
	}
	return p.list(n, ")")
}

// list reads arguments or elements up to the closing bracket.
func (p *parser) list(n *Node, shut string) (*Node, error) {
	if err := p.enter(); err != nil {
		return nil, err
	}
	defer func() { p.nested-- }()
	for {
		a, err := p.expression(levelOr)
		if err != nil {
			return nil, err
		}
		n.Args = append(n.Args, a)
		n.depth = max(n.depth, a.depth+1)
		if p.token.is(",") {
			if err := p.next(); err != nil {
				return nil, err
			}
			continue
		}
		if err := p.expect(shut, "an operator, a comma or "+shut); err != nil {
			return nil, err
		}
		return n, p.shallow(n)
	}
}

// notAFunction returns the fault for an id before a parenthesis. Functions in lower case are the usual cause.
func (p *parser) notAFunction(t token) error {
	fix := "write an operator between an id and a parenthesis"
	if name := strings.ToUpper(t.text); signatures[name] != nil {
		fix = "functions are written in capitals: " + name
	} else if near := didYouMean(name, functionNames()); near != "" {
		fix = "functions are written in capitals; " + near
	}
	return FaultAt(p.text, t.at, t.text+" before a parenthesis", "a function", fix)
}

// unknownWord returns the fault for a name in capitals that is neither a function nor an argument word.
func (p *parser) unknownWord(t token, call bool) error {
	if call {
		return FaultAt(p.text, t.at, "the unknown function "+t.text, "one of the functions of metric math",
			didYouMean(t.text, functionNames()))
	}
	if t.text == "SELECT" {
		return FaultAt(p.text, t.at, "SELECT", "an expression", "this is a query of Metrics Insights, another "+
			"language; read its result as a metric")
	}
	fix := "ids begin with a lower-case letter"
	if near := didYouMean(t.text, slices.Concat(words, functionNames())); near != "" {
		fix += "; " + near
	}
	return FaultAt(p.text, t.at, "the unknown word "+t.text, "a number, an id, a function, ( or [", fix)
}
