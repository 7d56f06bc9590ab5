package language

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Error is one thing that is wrong with an expression or a list of queries, with its place.
type Error struct {
	// Query is the id of the query, empty for a lone expression.
	Query string
	// Offset is the place in the expression in bytes from its beginning.
	Offset int
	// Line and Column are the same place for people: from 1, the column in characters. Both are zero where the fault is
	// not in an expression's text.
	Line, Column int
	// Found is what stands there, Expected what could, Fix what to do. Fix may be empty.
	Found, Expected, Fix string
}

// Error says the place, what was found and expected, and what to do.
func (e *Error) Error() string {
	var b strings.Builder
	if e.Query != "" {
		b.WriteString(e.Query + ": ")
	}
	if e.Line > 0 {
		fmt.Fprintf(&b, "line %d, column %d: ", e.Line, e.Column)
	}
	b.WriteString("found " + e.Found)
	if e.Expected != "" {
		b.WriteString(", expected " + e.Expected)
	}
	if e.Fix != "" {
		b.WriteString("; " + e.Fix)
	}
	return b.String()
}

// FaultAt is the fault at an offset of a text. Its found is used as it is; quote what users wrote with [Cited].
func FaultAt(text string, at int, found, expected, fix string) *Error {
	at = min(max(at, 0), len(text))
	before := text[:at]
	line := strings.Count(before, "\n") + 1
	column := utf8.RuneCountInString(before[strings.LastIndexByte(before, '\n')+1:]) + 1
	return &Error{Offset: at, Line: line, Column: column, Found: found, Expected: expected, Fix: fix}
}

// Cited is text in quotes, cut where it is long.
func Cited(text string) string {
	const most = 40
	if utf8.RuneCountInString(text) > most {
		text = string([]rune(text)[:most]) + "..."
	}
	return strconv.Quote(text)
}

// didYouMean is a question about the nearest of the allowed names, or empty when none is near. Of equally near ones the
// first counts. It looks at the first 100 short ones only, so that a list full of faults is refused as quickly as
// others.
func didYouMean(name string, allowed []string) string {
	const longest, most = 24, 100
	if len(name) == 0 || len(name) > longest {
		return ""
	}
	best, bestDistance := "", len(name)/3+2
	for _, a := range allowed[:min(len(allowed), most)] {
		if len(a) > longest || max(len(a)-len(name), len(name)-len(a)) >= bestDistance {
			continue
		}
		if d := distance(strings.ToLower(name), strings.ToLower(a)); d < bestDistance {
			best, bestDistance = a, d
		}
	}
	if best == "" || bestDistance >= len(best) {
		return ""
	}
	return "did you mean " + best + "?"
}

// distance is how many letters must be put in, taken out or changed to turn a into b (Levenshtein).
func distance(a, b string) int {
	old, row := make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range old {
		old[j] = j
	}
	for i := range len(a) {
		row[0] = i + 1
		for j := range len(b) {
			cost := 1
			if a[i] == b[j] {
				cost = 0
			}
			row[j+1] = min(old[j+1]+1, row[j]+1, old[j]+cost)
		}
		old, row = row, old
	}
	return old[len(b)]
}
