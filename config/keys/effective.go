package keys

import (
	"fmt"
	"strings"
)

// Effective is one value in force: stated in the text, or a default.
type Effective struct {
	// Path is the key with those around it, as in fleets[0].objective.latency.
	Path string
	// Text is the value as it may be written. A value of several lines is only named, and one with a variable is as the
	// text has it, because variables bring in secrets.
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
	var all []Effective
	effective(s, bound{"", keys}, &all)
	return all
}

func effective(s *Source, b bound, all *[]Effective) {
	for _, k := range b.keys {
		r, path := k.declared(), Join(b.path, k.declared().name)
		var inner []bound
		if r.within != nil {
			inner = r.within(path)
		}
		for _, in := range inner {
			effective(s, in, all)
		}
		e := Effective{Path: path, Line: s.Line(path)}
		switch {
		case r.within != nil:
			continue
		case r.get != nil && r.get() != nil && !s.variable(e.Line):
			e.Text = fmt.Sprint(r.get())
		case !s.Has(path):
			continue
		default:
			e.Text = s.stated(e.Line)
		}
		*all = append(*all, e)
	}
}

// variable tells whether a line has a variable.
func (s *Source) variable(line int) bool {
	return line > 0 && line <= len(s.lines) && strings.Contains(s.lines[line-1], "$")
}

// stated returns the value that a line states, as it is written there: a variable in it is not replaced.
func (s *Source) stated(line int) string {
	if line < 1 || line > len(s.lines) {
		return ""
	}
	_, text, found := strings.Cut(s.lines[line-1], ":")
	text, _, _ = strings.Cut(text, " #")
	if text = strings.TrimSpace(text); !found || text == "" || text == "|" || text == ">" {
		return fmt.Sprintf("(see line %d)", line)
	}
	return printable(text)
}
