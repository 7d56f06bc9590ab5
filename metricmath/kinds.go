package metricmath

import (
	"fmt"
	"slices"
	"strings"
)

// scope is what the ids of a list of queries stand for.
type scope struct {
	// kinds has the kind of every query that has been checked.
	kinds map[string]Kind
	// metrics tells which ids are metrics rather than expressions.
	metrics map[string]bool
	// ids are all ids in the order of the list.
	ids []string
	use Use
}

// checker finds the kind of every node of one expression.
type checker struct {
	scope
	text string
}

// check sets the kind of a node and of all below it. The error is an *Error.
func (c checker) check(n *node) (err error) {
	switch n.kind {
	case nodeNumber:
		n.result = Number
	case nodeID:
		n.result, err = c.id(n)
	case nodeText:
		return faultAt(c.text, n.at, "the text "+cited(n.text), "a number, an id or a function",
			"text is for METRICS, SEARCH and functions that CloudWatch computes")
	case nodeWord:
		return faultAt(c.text, n.at, "the word "+n.text, "a number, an id or a function", "REPEAT and LINEAR are for "+
			"FILL, AVG, MIN, MAX, SUM, ASC and DESC without parentheses for SORT")
	case nodeArray:
		n.result = Array
		for _, a := range n.args {
			if err := c.check(a); err != nil {
				return err
			}
			if a.result == Number {
				return faultAt(c.text, a.start(), "a number in an array", "series", "write TIME_SERIES(...) around it")
			}
		}
	case nodeCall:
		n.result, err = c.call(n)
	case nodeMinus:
		err = c.check(n.args[0])
		n.result = n.args[0].result
	case nodeBinary:
		if err = c.check(n.args[0]); err == nil {
			err = c.check(n.args[1])
		}
		if err == nil {
			n.result, err = c.binary(n)
		}
	}
	return err
}

func (c checker) id(n *node) (Kind, error) {
	k, known := c.kinds[n.text]
	if !known {
		fix := didYouMean(n.text, c.ids)
		if word := strings.ToUpper(n.text); slices.Contains(words, word) {
			fix = "the word is written in capitals: " + word
		}
		return 0, faultAt(c.text, n.at, "the unknown id "+cited(n.text), "the id of a query of this list", fix)
	}
	return k, nil
}

func (c checker) binary(n *node) (Kind, error) {
	a, b := n.args[0].result, n.args[1].result
	both := a | b
	switch {
	case both&Array == 0 && both&OneSeries != 0:
		return OneSeries, nil
	case both == Number:
		return Number, nil
	case n.operator.level() <= levelCompare:
		return 0, faultAt(c.text, n.at, fmt.Sprintf("%s between %s and %s", n.operator, a, b), "numbers or series",
			"take one series out of the array with FIRST, or make one of it with SUM, MIN or MAX")
	case a&b&Array != 0:
		return 0, faultAt(c.text, n.at, n.operator.String()+" between two arrays", "at most one array",
			"make one series of either with SUM, MIN, MAX or AVG")
	}
	return Array, nil
}

func (c checker) call(n *node) (Kind, error) {
	if n.text == "SEARCH" && c.use != ForGraph {
		return 0, faultAt(c.text, n.at, "SEARCH", "named metrics", "AWS allows SEARCH in graphs alone, since what it "+
			"finds may change: list the metrics as queries")
	}
	for _, a := range n.args {
		if a.kind != nodeText && a.kind != nodeWord {
			if err := c.check(a); err != nil {
				return 0, err
			}
		}
	}
	ways := signatures[n.text]
	best, bestFit := ways[0], -1
	for _, w := range ways {
		fit := 0
		for fit < len(n.args) && fit < len(w.args) && c.is(n.args[fit])&w.args[fit] != 0 {
			fit++
		}
		if fit == len(n.args) && fit >= w.least() {
			if n.text == "SEARCH" {
				return w.gives, c.search(n)
			}
			return w.gives, nil
		}
		if fit > bestFit || fit == bestFit && len(w.args) > len(best.args) {
			best, bestFit = w, fit
		}
	}
	return 0, c.misfit(n, best, bestFit)
}

func (s signature) least() int {
	if s.required > 0 {
		return s.required
	}
	return len(s.args)
}

// is tells what a checked argument is.
func (c checker) is(a *node) accepts {
	switch {
	case a.kind == nodeText:
		return aText
	case a.kind == nodeID && c.metrics[a.text]:
		return aSeries | aMetric
	case a.kind != nodeWord:
		return accepts(a.result)
	case a.text == "REPEAT" || a.text == "LINEAR":
		return aFilling
	case a.text == "ASC" || a.text == "DESC":
		return aSense
	}
	return aMeasure
}

// misfit is the fault of a call that fits the signature only up to an argument.
func (c checker) misfit(n *node, s signature, fit int) error {
	if fit < len(n.args) && fit < len(s.args) {
		a := n.args[fit]
		expected := s.args[fit]
		if fit == 0 {
			for _, other := range signatures[n.text] {
				if len(other.args) > 0 {
					expected |= other.args[0]
				}
			}
		}
		found := c.is(a).String()
		switch a.kind {
		case nodeID:
			found = a.text + ", " + a.result.String() + ","
		case nodeWord:
			found = a.text
		}
		return faultAt(c.text, a.start(), fmt.Sprintf("%s as argument %d of %s", found, fit+1, n.text),
			expected.String(), advice(n, a, expected))
	}
	expected := fmt.Sprint(len(s.args))
	if least := s.least(); least < len(s.args) {
		expected = fmt.Sprintf("%d to %d", least, len(s.args))
	}
	if ways := signatures[n.text]; len(ways[0].args) < len(s.args) {
		expected = fmt.Sprintf("%d to %s", len(ways[0].args), expected)
	}
	found := fmt.Sprintf("%s with %d arguments", n.text, len(n.args))
	if len(n.args) == 1 {
		found = n.text + " with one argument"
	}
	return faultAt(c.text, n.at, found, expected, "")
}

// advice is how an argument can be made to fit.
func advice(n, a *node, expected accepts) string {
	switch {
	case a.kind == nodeWord:
		return ""
	case expected&aMetric != 0 && expected&aSeries == 0:
		return n.text + " knows metrics alone, not what was computed from them"
	case expected&aText != 0 && a.result != 0:
		return "write it in quotes"
	case a.result == Number && expected&aSeries != 0:
		return "write TIME_SERIES(...) around the number"
	case a.result == OneSeries && expected&anArray != 0:
		return "write [ ] around the series"
	case a.result == Array && expected&aSeries != 0:
		return "take one series out of the array with FIRST, or make one of it with SUM, MIN or MAX"
	case a.result == OneSeries && expected&aNumber != 0:
		return "make a number of the series with AVG, MIN, MAX or SUM"
	}
	return ""
}

// search checks the text of a SEARCH.
func (c checker) search(n *node) error {
	_, err := parseSearch(n.args[0].text)
	if err == nil {
		return nil
	}
	at := n.args[0].at + 1 + err.at
	return faultAt(c.text, at, err.found, err.expected, err.fix)
}
