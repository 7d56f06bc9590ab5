package language

import (
	"fmt"
	"slices"
	"strings"
)

// Scope tells what the ids of a list of queries stand for. Check reads it and never changes it.
type Scope struct {
	// Kinds has the kind of every query that has been checked. Queries are therefore checked in the order of
	// evaluation.
	Kinds map[string]Kind
	// Metrics has the ids of the metrics; all others are expressions.
	Metrics map[string]bool
	// IDs are all ids in the order of the list, for suggestions.
	IDs []string
	// Search allows the function SEARCH.
	Search bool
}

// Check sets Result for a node and all nodes below it, which belong to an expression with the given text. The error is
// an [*Error] for the first fault from the left.
func (s Scope) Check(text string, n *Node) error { return checker{s, text}.check(n) }

// checker finds the kind of every node of one expression. It stops at the first fault, because the kind of a faulty
// node is unknown and every node above it would be faulty too.
type checker struct {
	Scope
	text string
}

// check sets Result for a node and all nodes below it. The error is an *Error.
func (c checker) check(n *Node) (err error) {
	switch n.Kind {
	case NodeNumber:
		n.Result = Number
	case NodeID:
		n.Result, err = c.id(n)
	case NodeText:
		return FaultAt(c.text, n.At, "the text "+Cited(n.Text), "a number, an id or a function",
			"text is for METRICS, SEARCH and functions that CloudWatch computes")
	case NodeWord:
		return FaultAt(c.text, n.At, "the word "+n.Text, "a number, an id or a function", "REPEAT and LINEAR are for "+
			"FILL, AVG, MIN, MAX, SUM, ASC and DESC without parentheses for SORT")
	case NodeArray:
		n.Result = Array
		for _, a := range n.Args {
			if err := c.check(a); err != nil {
				return err
			}
			if a.Result == Number {
				return FaultAt(c.text, a.start(), "a number in an array", "series", "write TIME_SERIES(...) around it")
			}
		}
	case NodeCall:
		n.Result, err = c.call(n)
	case NodeMinus:
		err = c.check(n.Args[0])
		n.Result = n.Args[0].Result
	case NodeBinary:
		if err = c.check(n.Args[0]); err == nil {
			err = c.check(n.Args[1])
		}
		if err == nil {
			n.Result, err = c.binary(n)
		}
	}
	return err
}

// id returns the kind of an id.
func (c checker) id(n *Node) (Kind, error) {
	k, known := c.Kinds[n.Text]
	if !known {
		fix := didYouMean(n.Text, c.IDs)
		if word := strings.ToUpper(n.Text); slices.Contains(words, word) {
			fix = "the word is written in capitals: " + word
		}
		return 0, FaultAt(c.text, n.At, "the unknown id "+Cited(n.Text), "the id of a query of this list", fix)
	}
	return k, nil
}

// binary returns the kind of a binary node. Two arrays never combine. Comparisons and AND and OR work on no array at
// all.
func (c checker) binary(n *Node) (Kind, error) {
	a, b := n.Args[0].Result, n.Args[1].Result
	both := a | b
	switch {
	case both&Array == 0 && both&OneSeries != 0:
		return OneSeries, nil
	case both == Number:
		return Number, nil
	case n.Operator.level() <= levelCompare:
		return 0, FaultAt(c.text, n.At, fmt.Sprintf("%s between %s and %s", n.Operator, a, b), "numbers or series",
			"take one series out of the array with FIRST, or make one of it with SUM, MIN or MAX")
	case a&b&Array != 0:
		return 0, FaultAt(c.text, n.At, n.Operator.String()+" between two arrays", "at most one array",
			"make one series of either with SUM, MIN, MAX or AVG")
	}
	return Array, nil
}

// call checks a function call. It tries the signatures in turn; if none fits, the fault is about the one that fits the
// most arguments, because that is the call the user most likely meant.
func (c checker) call(n *Node) (Kind, error) {
	if n.Text == "SEARCH" && !c.Scope.Search {
		return 0, FaultAt(c.text, n.At, "SEARCH", "named metrics", "AWS allows SEARCH in graphs alone, since what it "+
			"finds may change: list the metrics as queries")
	}
	for _, a := range n.Args {
		if a.Kind != NodeText && a.Kind != NodeWord {
			if err := c.check(a); err != nil {
				return 0, err
			}
		}
	}
	ways := signatures[n.Text]
	best, bestFit := ways[0], -1
	for _, w := range ways {
		fit := 0
		for fit < len(n.Args) && fit < len(w.args) && c.is(n.Args[fit])&w.args[fit] != 0 {
			fit++
		}
		if fit == len(n.Args) && fit >= w.least() {
			if n.Text == "SEARCH" {
				return w.gives, c.searched(n)
			}
			return w.gives, nil
		}
		if fit > bestFit || fit == bestFit && len(w.args) > len(best.args) {
			best, bestFit = w, fit
		}
	}
	return 0, c.misfit(n, best, bestFit)
}

// least returns the number of required arguments.
func (s signature) least() int {
	if s.required > 0 {
		return s.required
	}
	return len(s.args)
}

// is returns the kinds of a checked argument. The id of a metric is a series as well.
func (c checker) is(a *Node) accepts {
	switch {
	case a.Kind == NodeText:
		return aText
	case a.Kind == NodeID && c.Metrics[a.Text]:
		return aSeries | aMetric
	case a.Kind != NodeWord:
		return accepts(a.Result)
	case a.Text == "REPEAT" || a.Text == "LINEAR":
		return aFilling
	case a.Text == "ASC" || a.Text == "DESC":
		return aSense
	}
	return aMeasure
}

// misfit returns the fault of a call whose first fit arguments match the signature: the wrong kind of the next
// argument, or a wrong number of arguments.
func (c checker) misfit(n *Node, s signature, fit int) error {
	if fit < len(n.Args) && fit < len(s.args) {
		a := n.Args[fit]
		expected := s.args[fit]
		if fit == 0 {
			for _, other := range signatures[n.Text] {
				if len(other.args) > 0 {
					expected |= other.args[0]
				}
			}
		}
		found := c.is(a).String()
		switch a.Kind {
		case NodeID:
			found = a.Text + ", " + a.Result.String() + ","
		case NodeWord:
			found = a.Text
		}
		return FaultAt(c.text, a.start(), fmt.Sprintf("%s as argument %d of %s", found, fit+1, n.Text),
			expected.String(), advice(n, a, expected))
	}
	expected := fmt.Sprint(len(s.args))
	if least := s.least(); least < len(s.args) {
		expected = fmt.Sprintf("%d to %d", least, len(s.args))
	}
	if ways := signatures[n.Text]; len(ways[0].args) < len(s.args) {
		expected = fmt.Sprintf("%d to %s", len(ways[0].args), expected)
	}
	found := fmt.Sprintf("%s with %d arguments", n.Text, len(n.Args))
	if len(n.Args) == 1 {
		found = n.Text + " with one argument"
	}
	return FaultAt(c.text, n.At, found, expected, "")
}

// advice returns how to make the argument a of the call n fit, or "".
func advice(n, a *Node, expected accepts) string {
	switch {
	case a.Kind == NodeWord:
		return ""
	case expected&aMetric != 0 && expected&aSeries == 0:
		return n.Text + " knows metrics alone, not what was computed from them"
	case expected&aText != 0 && a.Result != 0:
		return "write it in quotes"
	case a.Result == Number && expected&aSeries != 0:
		return "write TIME_SERIES(...) around the number"
	case a.Result == OneSeries && expected&anArray != 0:
		return "write [ ] around the series"
	case a.Result == Array && expected&aSeries != 0:
		return "take one series out of the array with FIRST, or make one of it with SUM, MIN or MAX"
	case a.Result == OneSeries && expected&aNumber != 0:
		return "make a number of the series with AVG, MIN, MAX or SUM"
	}
	return ""
}

// searched checks the text of a SEARCH. The offset of a fault moves by one for the opening quote.
func (c checker) searched(n *Node) error {
	_, err := ParseSearch(n.Args[0].Text)
	if err == nil {
		return nil
	}
	at := n.Args[0].At + 1 + err.at
	return FaultAt(c.text, at, err.Found, err.Expected, err.fix)
}
