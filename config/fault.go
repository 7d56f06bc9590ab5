package config

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// FaultKind says what a [Fault] is.
type FaultKind string

// The kinds.
const (
	// IsFault keeps the configuration from being used, IsRemark does not: the configuration is valid, and may not mean
	// what it seems.
	IsFault  FaultKind = "fault"
	IsRemark FaultKind = "remark"
)

// Fault is one thing that is wrong in a configuration, with its place, or a remark on it.
type Fault struct {
	// Kind tells faults from remarks; it is empty in notes on other texts: see [FaultAt].
	Kind FaultKind `json:"kind,omitzero"`
	// File is the name the text was given.
	File string `json:"file"`
	// Line and Column count from 1, columns in characters. They lie within the text, or right behind it.
	Line   int `json:"line"`
	Column int `json:"column"`
	// Path is the place as a path of keys, as in "fleets[0].workers.command".
	Path string `json:"path,omitzero"`
	// Message says what was found and what is allowed.
	Message string `json:"message"`
	// Hint says what to do, where that is not plain from the message.
	Hint string `json:"hint,omitzero"`
	// Source is the line of the text, or 100 characters of it around the column when it is longer.
	Source string `json:"source"`
	// from is the column before Source.
	from int
}

// String renders the fault on one line; a remark is called one.
func (f Fault) String() string {
	s := f.head()
	if f.Hint != "" {
		s += "; " + f.Hint
	}
	return s
}

// head is the place and the message.
func (f Fault) head() string {
	kind := ""
	if f.Kind == IsRemark {
		kind = string(IsRemark) + ": "
	}
	return fmt.Sprintf("%s:%d:%d: %s%s", f.File, f.Line, f.Column, kind, f.Message)
}

// Error renders the fault with its line and a caret below what is meant.
func (f Fault) Error() string {
	var b strings.Builder
	b.WriteString(f.head() + "\n")
	fmt.Fprintf(&b, "%5d | %s\n", f.Line, strings.TrimRight(strings.ReplaceAll(f.Source, "\t", " "), " "))
	fmt.Fprintf(&b, "%5s | %*s", "", f.Column-f.from, "^")
	if f.Hint != "" {
		b.WriteString(" " + f.Hint)
	}
	return b.String()
}

const (
	// frameWidth bounds the characters of a line that are shown, maxShown the faults that are rendered, maxFaults those
	// that are collected.
	frameWidth = 100
	maxShown   = 50
	maxFaults  = 1000
)

// Faults are all the faults of one configuration, up to a thousand, sorted by place; there is at least one.
type Faults []Fault

// Error renders the faults one below the other, the first 50 of them.
func (f Faults) Error() string {
	var parts []string
	for _, one := range f[:min(len(f), maxShown)] {
		parts = append(parts, one.Error())
	}
	if more := len(f) - maxShown; more > 0 {
		parts = append(parts, fmt.Sprintf("and %d more", more))
	}
	return strings.Join(parts, "\n")
}

// place is a position in the text; both count from 1.
type place struct{ line, column int }

// source is the text of a configuration: where everything is, and what is wrong with it.
type source struct {
	name  string
	lines []string
	// places has the position of each value by its path; bad holds the paths of values that could not be decoded.
	places map[string]place
	bad    map[string]bool
	// ownQueue holds the paths of values that name the fleet's queue in the words of a template.
	ownQueue map[string]bool
	faults   Faults
	// kind is what is added to faults.
	kind FaultKind
}

func newSource(name string, text []byte) *source {
	s := &source{name: name, places: map[string]place{}, bad: map[string]bool{}, ownQueue: map[string]bool{}, kind: IsFault}
	for line := range strings.SplitSeq(string(text), "\n") {
		s.lines = append(s.lines, strings.TrimSuffix(line, "\r"))
	}
	return s
}

// at adds a fault at a position. What is beyond the bound is dropped: nobody reads that many.
func (s *source) at(p place, path, message, hint string) {
	if len(s.faults) == maxFaults {
		return
	}
	line := min(max(p.line, 1), len(s.lines))
	text := s.lines[line-1]
	length := utf8.RuneCountInString(text)
	column := min(max(p.column, 1), length+1)
	from := max(0, min(column-1-frameWidth/2, length-frameWidth))
	s.faults = append(s.faults, Fault{Kind: s.kind, File: s.name, Line: line, Column: column, Path: path, Message: message, Hint: hint,
		Source: printable(part(text, from)), from: from})
}

// part returns up to frameWidth characters of text after the first few.
func part(text string, from int) string {
	start, n := 0, 0
	for i := range text {
		if n == from {
			start = i
		}
		if n == from+frameWidth {
			return text[start:i]
		}
		n++
	}
	return text[start:]
}

// printable returns the text with a question mark for each character that a terminal might take for a command.
func printable(text string) string {
	return strings.Map(func(r rune) rune {
		if r != '\t' && !unicode.IsPrint(r) || r == utf8.RuneError {
			return '?'
		}
		return r
	}, text)
}

// fault adds a fault of the value at path, or of the nearest value around it when there is none. It is dropped when
// that value could not even be decoded: one fault is enough.
func (s *source) fault(path, message, hint string) {
	for around := path; ; around = parent(around) {
		if s.bad[around] {
			return
		}
		if p, ok := s.places[around]; ok {
			s.at(p, path, message, hint)
			return
		}
		if around == "" {
			s.at(place{1, 1}, path, message, hint)
			return
		}
	}
}

// remarks returns what say adds, as remarks sorted by place. The faults stay as they are.
func (s *source) remarks(say func()) []Fault {
	faults, kind := s.faults, s.kind
	s.faults, s.kind = nil, IsRemark
	say()
	remarks := slices.Clone(s.sorted())
	s.faults, s.kind = faults, kind
	return remarks
}

func (s *source) sorted() Faults {
	slices.SortStableFunc(s.faults, func(a, b Fault) int {
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
	})
	return s.faults
}

// has tells whether the text has a value at path.
func (s *source) has(path string) bool {
	_, ok := s.places[path]
	return ok
}

// parent returns the path of what is around path: "a[0]" for "a[0].b", "a" for "a[0]".
func parent(path string) string {
	return path[:max(0, strings.LastIndexAny(path, ".["))]
}

// join returns the path of key within path.
func join(path, key string) string {
	if path == "" {
		return key
	}
	return path + "." + key
}

// Suggest returns a question for the word that was probably meant, or "" when none is near.
func Suggest(found string, words []string) string {
	best, least := "", len(found)/3+2
	for _, w := range words {
		if d := distance(found, w); d < least {
			best, least = w, d
		}
	}
	if best == "" {
		return ""
	}
	return fmt.Sprintf("did you mean %q?", best)
}

// distance counts the letters to insert, delete, change or swap to get from a to b.
func distance(a, b string) int {
	if len(a) > 64 || len(b) > 64 {
		return 64
	}
	before, last, row := []int(nil), []int(nil), make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := 1; i <= len(a); i++ {
		before, last, row = last, row, make([]int, len(b)+1)
		row[0] = i
		for j := 1; j <= len(b); j++ {
			change := 1
			if a[i-1] == b[j-1] {
				change = 0
			}
			row[j] = min(last[j]+1, row[j-1]+1, last[j-1]+change)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
	}
	return row[len(b)]
}

// FaultAt returns a fault at a place of a text that is not a configuration: what is said of it, and what to do. Line and column
// count from 1; places outside of the text count as the nearest within.
func FaultAt(name string, text []byte, line, column int, message, hint string) Fault {
	s := newSource(name, text)
	s.kind = ""
	s.at(place{line, column}, "", message, hint)
	return s.faults[0]
}
