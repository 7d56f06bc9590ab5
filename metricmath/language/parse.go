package language

import (
	"fmt"
	"slices"
	"strings"
)

// The bounds of one expression.
const (
	// MaxText is how many bytes one expression may have. GetMetricData and scaling policies take 2,048 characters.
	MaxText = 16 << 10
	// MaxDepth is how deep an expression may be nested, and how deep parentheses may be.
	MaxDepth = 64
)

// Expression is a parsed expression. The zero Expression is empty: it names nothing and writes nothing.
type Expression struct {
	root *Node
}

// Parse reads one expression without asking which ids exist and what kinds they have; [Scope.Check] asks that. Where it
// is strict, text whose meaning hangs on an order of operators that AWS does not document is refused. The error is an
// [*Error].
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

// String writes the expression down with parentheses wherever its meaning would otherwise hang on an order of operators
// that is not documented. Parsing what it wrote gives an equal expression.
func (x Expression) String() string {
	var b strings.Builder
	if x.root != nil {
		x.root.write(&b)
	}
	return b.String()
}

// Root is the tree of the expression, nil of the zero Expression. Nobody may change it but [Scope.Check].
func (x Expression) Root() *Node { return x.root }

// Equal tells whether two expressions are the same apart from spaces, needless parentheses and the spelling of
// operators.
func (x Expression) Equal(y Expression) bool {
	if x.root == nil || y.root == nil {
		return x.root == y.root
	}
	return x.root.equal(y.root)
}

// IDs returns the ids that the expression names, sorted, each once. What METRICS and SEARCH select is not among them.
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

// parser is a recursive descent over the tokens; token is the one to be read next.
type parser struct {
	text   string
	strict bool
	token  token
	offset int // behind token
	nested int // how deep in operands, arguments and elements
	groups int // how deep in parentheses
}

func (p *parser) next() (err error) {
	p.token, p.offset, err = lex(p.text, p.offset)
	return err
}

// expect goes behind a sign that must come.
func (p *parser) expect(sign, otherwise string) error {
	if !p.token.is(sign) {
		return p.unexpected(otherwise)
	}
	return p.next()
}

// unexpected is the fault for the next token.
func (p *parser) unexpected(expected string) error {
	fix := ""
	if w := p.token.text; p.token.kind == tokenID && slices.Contains([]string{"and", "or"}, w) {
		fix = "write " + strings.ToUpper(w)
	}
	return FaultAt(p.text, p.token.at, p.token.described(), expected, fix)
}

// expression reads operands that are joined by operators of a level or tighter ones.
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

// join makes a binary node. A chain such as a + b + c is one level of nesting, however long.
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

func compares(n *Node) bool { return ungrouped(n, levelCompare) }

// ungrouped tells whether a node is an operator of a level without parentheses.
func ungrouped(n *Node, level int) bool { return n.level() == level && !n.grouped }

func (p *parser) ambiguous(at int, what string) error {
	return FaultAt(p.text, at, what, "parentheses", "AWS does not say which comes first, and the option ambiguity is "+
		"refuse")
}

// shallow refuses a node that is nested too deep.
func (p *parser) shallow(n *Node) error {
	if n.depth > MaxDepth {
		return p.deep(n.At)
	}
	return nil
}

func (p *parser) deep(at int) error {
	return FaultAt(p.text, at, fmt.Sprintf("nesting deeper than %d", MaxDepth), "less",
		"give the inner part an id of its own")
}

// enter counts a level of nesting of what is still to be read, so that hostile text cannot exhaust the stack.
func (p *parser) enter() error {
	p.nested++
	if p.nested > 2*MaxDepth {
		return p.deep(p.token.at)
	}
	return nil
}

// minus reads -x, or what binds tighter.
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

// right reads what stands to the right of the minus or ^ that was just seen. Where order is to be plain, another ^ in
// it must be in parentheses: what says which case that is.
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

// primary reads what no operator can split.
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

// named reads an id, a word, or a function with its arguments.
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

// list reads arguments or elements up to the bracket.
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

// notAFunction is the fault for lower-case letters before a parenthesis.
func (p *parser) notAFunction(t token) error {
	fix := "write an operator between an id and a parenthesis"
	if name := strings.ToUpper(t.text); signatures[name] != nil {
		fix = "functions are written in capitals: " + name
	} else if near := didYouMean(name, functionNames()); near != "" {
		fix = "functions are written in capitals; " + near
	}
	return FaultAt(p.text, t.at, t.text+" before a parenthesis", "a function", fix)
}

// unknownWord is the fault for a name in capitals that nothing has.
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
