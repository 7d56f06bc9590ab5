// Package language parses and checks single expressions of the metric-math language of Amazon CloudWatch, such as
// FILL(backlog, REPEAT) / workers. It reports a fault with its position, what was found, what was expected and a fix.
//
// The stages of an expression:
//
//	text --lex--> tokens --Parse--> Expression (a tree of Node) --Scope.Check--> kinds
//
// [Parse] needs the text alone and makes an [Expression]. [Scope.Check] needs the ids of the whole list and finds the
// [Kind] of every node: a number, one series or an array of series. [Expression.String] writes an expression so that it
// parses to an equal one, with parentheses wherever AWS leaves the order of operators open. [ParseSearch] parses the
// text of a SEARCH, which has a small language of its own. The signatures of all functions stand in functions.go, in
// the order of the CloudWatch user guide.
//
//	x, err := language.Parse("FILL(m1, 0) * 100 / m2", false)
//	x.IDs()    // m1, m2
//	x.String() // FILL(m1, 0) * 100 / m2
//
// The grammar, loosest binding first:
//
//	expression = operand { ("OR" | "||" | "AND" | "&&" | "==" | ... | "*" | "/") operand }
//	operand    = "-" operand | primary [ "^" operand ]
//	primary    = number | text | id | word | FUNCTION "(" [ list ] ")" | "(" expression ")" | "[" list "]"
//
// Invariants: errors are always [*Error], with a position inside the text. Hostile text is refused before it can
// exhaust the stack or the time: see [MaxText] and [MaxDepth]. Every function is pure, except that Check writes the
// kinds into the tree; an Expression that was checked is safe for concurrent use.
//
// The package knows no metrics, periods or points. For lists of queries and their evaluation use package metricmath.
package language
