package keys

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// place is a position in the text; both count from 1.
type place struct{ line, column int }

// Source is the text of a configuration with the places of its values and its faults. It is not safe for use by several
// goroutines.
type Source struct {
	name  string
	lines []string
	// places has the position of each value by its path; bad holds the paths of values that could not be decoded, and
	// of those whose key is misspelt.
	places map[string]place
	bad    map[string]bool
	// marks holds the paths that a declaration marked.
	marks  map[string]bool
	faults Faults
	// kind is the kind of faults that are added now.
	kind FaultKind
}

// NewSource returns the source of a text. The name stands for the file in messages.
func NewSource(name string, text []byte) *Source {
	s := &Source{name: name, places: map[string]place{}, bad: map[string]bool{}, marks: map[string]bool{},
		kind: IsFault}
	for line := range strings.SplitSeq(string(text), "\n") {
		s.lines = append(s.lines, strings.TrimSuffix(line, "\r"))
	}
	return s
}

// Again returns a source of the same text and the same places, without faults.
func (s *Source) Again() *Source {
	return &Source{name: s.name, lines: s.lines, places: s.places, kind: IsFault}
}

// Lines returns the lines of the text. They must not be changed.
func (s *Source) Lines() []string { return s.lines }

// at adds a fault at a position. Faults beyond the bound are dropped: no person reads more.
func (s *Source) at(p place, path, message, hint string) {
	if len(s.faults) == maxFaults {
		return
	}
	line := min(max(p.line, 1), len(s.lines))
	text := s.lines[line-1]
	length := utf8.RuneCountInString(text)
	column := min(max(p.column, 1), length+1)
	from := max(0, min(column-1-frameWidth/2, length-frameWidth))
	s.faults = append(s.faults, Fault{
		Kind: s.kind, File: s.name, Line: line, Column: column, Path: path, Message: message, Hint: hint,
		Source: printable(part(withoutPasswords(text), from)), from: from,
	})
}

// part returns up to frameWidth characters of text, beginning after the first from characters.
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

// printable returns the text with a question mark for each character that a terminal might take for a command, or that
// would hide a part of the line.
func printable(text string) string {
	return strings.Map(func(r rune) rune {
		if r != '\t' && !unicode.IsPrint(r) || r == utf8.RuneError {
			return '?'
		}
		return r
	}, text)
}

// Fault adds a fault of the value at path, or of the nearest value around it when there is none. It is dropped when
// that value could not even be decoded: one fault is enough. The message says what was found and what is allowed, the
// hint what to do.
func (s *Source) Fault(path, message, hint string) {
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

// Count is how many faults were added so far.
func (s *Source) Count() int { return len(s.faults) }

// Err returns the faults sorted by place, or nil when there are none.
func (s *Source) Err() error {
	if len(s.faults) == 0 {
		return nil
	}
	return s.sorted()
}

// Remarks calls say and returns the faults that it adds as remarks, sorted by place. The faults of s stay as they are.
func (s *Source) Remarks(say func()) []Fault {
	faults, kind := s.faults, s.kind
	s.faults, s.kind = nil, IsRemark
	say()
	remarks := slices.Clone(s.sorted())
	s.faults, s.kind = faults, kind
	return remarks
}

// sorted sorts the faults by place. Faults at one place keep the order in which they were found.
func (s *Source) sorted() Faults {
	slices.SortStableFunc(s.faults, func(a, b Fault) int {
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
	})
	return s.faults
}

// Has tells whether the text states a value at path.
func (s *Source) Has(path string) bool {
	_, ok := s.places[path]
	return ok
}

// Line returns the line of the value at path, from 1; 0 when there is none.
func (s *Source) Line(path string) int { return s.places[path].line }

// Bad tells whether the value at path could not be decoded, so that further faults of it are dropped.
func (s *Source) Bad(path string) bool { return s.bad[path] }

// MarkBad drops all further faults at path.
func (s *Source) MarkBad(path string) { s.bad[path] = true }

// Mark marks the value at path, for a value that the caller fills in later from others.
func (s *Source) Mark(path string) { s.marks[path] = true }

// Marked tells whether path was marked.
func (s *Source) Marked(path string) bool { return s.marks[path] }

// Missing returns the message of a fault for a value that is absent or not allowed.
func (s *Source) Missing(path, found, allowed string) string {
	if !s.Has(path) {
		found = "no " + Last(path)
	}
	return "found " + found + ", allowed is " + allowed
}

// parent returns the path around path: "a[0]" for "a[0].b", "a" for "a[0]".
func parent(path string) string {
	return path[:max(0, strings.LastIndexAny(path, ".["))]
}

// Join returns the path of key within path; each may be empty.
func Join(path, key string) string {
	if path == "" || key == "" {
		return path + key
	}
	return path + "." + key
}

// Element returns the path of an element of the list at path.
func Element(path string, i int) string { return fmt.Sprintf("%s[%d]", path, i) }

// Last returns the key at the end of path.
func Last(path string) string { return path[strings.LastIndexByte(path, '.')+1:] }
