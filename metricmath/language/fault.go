package language

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Error is one fault of an expression or of a list of queries, with its position.
type Error struct {
	// Query is the id of the query, empty for a lone expression.
	Query string
	// Offset is the position in the expression, in bytes from its beginning.
	Offset int
	// Line and Column are the same position for people, from 1; the column counts characters. Both are zero if the
	// fault has no position in a text.
	Line, Column int
	// Found is what stands there, Expected what is allowed, Fix what to do. Fix may be empty.
	Found, Expected, Fix string
}

// Error renders the query, the position, what was found and expected, and the fix.
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

// FaultAt returns the fault at a byte offset of a text. found is used as it is: quote the user's own text with [Cited].
func FaultAt(text string, at int, found, expected, fix string) *Error {
	at = min(max(at, 0), len(text))
	before := text[:at]
	line := strings.Count(before, "\n") + 1
	column := utf8.RuneCountInString(before[strings.LastIndexByte(before, '\n')+1:]) + 1
	return &Error{Offset: at, Line: line, Column: column, Found: found, Expected: expected, Fix: fix}
}

// Cited returns text in quotes, shortened to 40 characters.
func Cited(text string) string {
	const most = 40
	if utf8.RuneCountInString(text) > most {
		text = string([]rune(text)[:most]) + "..."
	}
	return strconv.Quote(text)
}

// didYouMean returns a question about the allowed name nearest to name, or "" if none is near. The first of equally
// near names wins. It compares with the first 100 short names only, so that a list full of faults is refused in little
// time.
func didYouMean(name string, allowed []string) string {
	// A third of the name's letters plus one may differ: more distant names are guesses, not typing errors.
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

// distance returns the Levenshtein distance: how many letters must be inserted, removed or changed to turn a into b. It
// keeps two rows of the usual table.
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
