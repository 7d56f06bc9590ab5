package faketable

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// This file evaluates the part of DynamoDB's expression language that Muster uses: conditions of comparisons joined by
// AND or, without AND, by OR, and updates with SET, REMOVE and ADD.

// holds tells whether an element meets an expression; an empty expression always holds.
func holds(e Element, expression string, names map[string]string, values Element) (bool, error) {
	if expression == "" {
		return true, nil
	}
	if parts := strings.Split(expression, " OR "); len(parts) > 1 {
		for _, p := range parts {
			if ok, err := holds(e, strings.Trim(p, "()"), names, values); ok || err != nil {
				return ok, err
			}
		}
		return false, nil
	}
	// The AND of a BETWEEN is not one that joins.
	expression = strings.ReplaceAll(expression, " AND :to", " .. :to")
	for _, part := range strings.Split(expression, " AND ") {
		ok, err := compare(e, strings.TrimSpace(part), names, values)
		if err != nil || !ok {
			return false, err
		}
	}
	return true, nil
}

// compare evaluates one comparison.
func compare(e Element, part string, names map[string]string, values Element) (bool, error) {
	if name, ok := strings.CutPrefix(part, "attribute_not_exists("); ok {
		_, there := e[named(strings.TrimSuffix(name, ")"), names)]
		return !there, nil
	}
	words := strings.Fields(part)
	if len(words) == 5 && words[1] == "BETWEEN" && words[3] == ".." {
		v := textOf(e[named(words[0], names)])
		return v >= textOf(values[words[2]]) && v <= textOf(values[words[4]]), nil
	}
	if len(words) != 3 || values[words[2]] == nil {
		return false, fmt.Errorf("ValidationException: the fake does not know %q", part)
	}
	have, want := e[named(words[0], names)], values[words[2]]
	if have == nil {
		return false, nil
	}
	order := strings.Compare(textOf(have), textOf(want))
	if n, ok := number(want); ok {
		m, ok := number(have)
		if !ok {
			return false, nil
		}
		order = int(max(-1, min(1, m-n)))
	}
	switch words[1] {
	case "=":
		return order == 0, nil
	case "<":
		return order < 0, nil
	case ">=":
		return order >= 0, nil
	}
	return false, fmt.Errorf("ValidationException: the fake does not know %q", part)
}

// named resolves a name of an expression.
func named(name string, names map[string]string) string {
	if full, ok := names[name]; ok {
		return full
	}
	return name
}

// change applies an update to e.
func change(e Element, expression string, names map[string]string, values Element) error {
	clause := ""
	var terms []string
	for _, word := range strings.Fields(strings.NewReplacer(",", " , ").Replace(expression)) {
		switch word {
		case "SET", "REMOVE", "ADD":
			if err := apply(e, clause, terms, names, values); err != nil {
				return err
			}
			clause, terms = word, nil
		default:
			terms = append(terms, word)
		}
	}
	return apply(e, clause, terms, names, values)
}

// apply applies one clause.
func apply(e Element, clause string, words []string, names map[string]string, values Element) error {
	if clause == "" {
		return nil
	}
	text := strings.Join(words, " ")
	// A call is one term, whatever commas it has.
	text = strings.ReplaceAll(text, "if_not_exists(", "?")
	var terms []string
	for term := range strings.SplitSeq(text, " , ") {
		if n := len(terms); n > 0 && strings.Contains(terms[n-1], "?") && !strings.Contains(terms[n-1], ")") {
			terms[n-1] += " " + term
			continue
		}
		terms = append(terms, term)
	}
	for _, term := range terms {
		w := strings.Fields(strings.NewReplacer("?", "? ", ")", "").Replace(term))
		switch {
		case clause == "REMOVE" && len(w) == 1:
			delete(e, named(w[0], names))
		case clause == "ADD" && len(w) == 2:
			n, _ := number(e[named(w[0], names)])
			m, ok := number(values[w[1]])
			if !ok {
				return fmt.Errorf("ValidationException: the fake does not know ADD %q", term)
			}
			e[named(w[0], names)] = &types.AttributeValueMemberN{Value: strconv.FormatInt(n+m, 10)}
		case clause == "SET" && len(w) == 3 && w[1] == "=" && values[w[2]] != nil:
			e[named(w[0], names)] = values[w[2]]
		case clause == "SET" && len(w) == 5 && w[2] == "?" && values[w[4]] != nil:
			if e[named(w[3], names)] == nil {
				e[named(w[0], names)] = values[w[4]]
			}
		default:
			return fmt.Errorf("ValidationException: the fake does not know %s %q", clause, term)
		}
	}
	return nil
}
