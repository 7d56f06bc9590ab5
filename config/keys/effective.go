package keys

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Effective is one value in force: stated in the text, or a default.
type Effective struct {
	// Path is the key with those around it, as in fleets[0].objective.latency.
	Path string
	// Text is the value as it may be written, without the password of a URL. A text of several lines is only named, and
	// a value with a variable is as the text has it, because variables bring in secrets.
	Text string
	// Line is the line that states it, from 1; 0 for a default.
	Line int
}

// bound are the keys of a mapping at a path, bound to its values.
type bound struct {
	path string
	keys []Key
}

// EffectiveOf returns the values of decoded keys in the order of their declarations: those that the text states, and
// the defaults that are not zero. It changes nothing.
func EffectiveOf(s *Source, keys []Key) []Effective {
	l := lister{Source: s, inner: map[string][]string{}}
	for path := range s.places {
		if path != "" {
			l.inner[parent(path)] = append(l.inner[parent(path)], path)
		}
	}
	l.declared(bound{"", keys})
	return l.all
}

// lister collects the values in force.
type lister struct {
	*Source
	// inner has the paths directly within each path of the text.
	inner map[string][]string
	all   []Effective
}

func (l *lister) add(path, text string) {
	l.all = append(l.all, Effective{Path: path, Text: withoutPasswords(text), Line: l.Line(path)})
}

// declared adds the values of declared keys.
func (l *lister) declared(b bound) {
	for _, k := range b.keys {
		r, path := k.declared(), Join(b.path, k.declared().name)
		switch {
		case r.within != nil:
			for _, in := range r.within(path) {
				l.declared(in)
			}
		case r.get != nil && r.get() != nil && !l.variable(l.Line(path)):
			l.add(path, written(r.get()))
		case l.Has(path):
			l.stated(path)
		case r.implied != "":
			l.add(path, r.implied)
		}
	}
}

// stated adds the values of a key that is bound to none, as the text states them: each single one within a mapping or
// a list. A list in brackets is one value.
func (l *lister) stated(path string) {
	text, inner := l.Source.stated(path), l.inner[path]
	if len(inner) == 0 || strings.HasPrefix(text, "[") {
		l.add(path, text)
		return
	}
	slices.SortFunc(inner, func(a, b string) int {
		x, y := l.places[a], l.places[b]
		return cmp.Or(cmp.Compare(x.line, y.line), cmp.Compare(x.column, y.column))
	})
	for _, p := range inner {
		l.stated(p)
	}
}

// written returns a value as it may be written. The entries of a list of texts keep apart.
func written(value any) string {
	list, ok := value.([]string)
	if !ok {
		return fmt.Sprint(value)
	}
	entries := make([]string, len(list))
	for i, text := range list {
		if entries[i] = text; text == "" || strings.ContainsAny(text, " ,:#'\"[]{}&*!|>%@`\n\t") {
			entries[i] = fmt.Sprintf("%q", text)
		}
	}
	return "[" + strings.Join(entries, ", ") + "]"
}

// variable tells whether a line has a variable.
func (s *Source) variable(line int) bool {
	return line > 0 && line <= len(s.lines) && strings.Contains(s.lines[line-1], "$")
}

// stated returns the value of a key as its line states it: a variable in it is not replaced. Other keys of a mapping
// that stands on the same line are left out.
func (s *Source) stated(path string) string {
	p := s.places[path]
	if p.line < 1 || p.line > len(s.lines) {
		return ""
	}
	line := []rune(s.lines[p.line-1])
	column := min(max(p.column-1, 0), len(line))
	before, text := string(line[:column]), string(line[column:])
	if strings.Count(before, "{") > strings.Count(before, "}") {
		text = text[:entryEnd(text)]
	}
	text, _, _ = strings.Cut(text, " #")
	if text = strings.TrimSpace(text); text == "" || text == "|" || text == ">" {
		return fmt.Sprintf("(see line %d)", p.line)
	}
	return printable(text)
}

// entryEnd returns where the first entry of a mapping in braces ends.
func entryEnd(text string) int {
	depth, quote := 0, rune(0)
	for i, r := range text {
		switch {
		case quote != 0:
			if r == quote {
				quote = 0
			}
		case r == '"' || r == '\'':
			quote = r
		case r == '{' || r == '[':
			depth++
		case depth == 0 && (r == ',' || r == '}'):
			return i
		case r == '}' || r == ']':
			depth--
		}
	}
	return len(text)
}
