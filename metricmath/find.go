package metricmath

import (
	"slices"
	"strings"
)

// finds tells whether a metric is one that is searched for. A schema with dimensions wants exactly these; one without
// takes every metric of the namespace.
func (s search) finds(m Metric) bool {
	if s.schema {
		if m.Namespace != s.namespace {
			return false
		}
		if len(s.dimensions) > 0 {
			names := make([]string, len(m.Dimensions))
			for i, d := range m.Dimensions {
				names[i] = d.Name
			}
			slices.Sort(names)
			if !slices.Equal(names, s.dimensions) {
				return false
			}
		}
	}
	return s.terms == nil || s.terms.finds(m)
}

func (t *term) finds(m Metric) bool {
	has := func(p *term) bool { return p.finds(m) }
	switch t.join {
	case "AND":
		return !slices.ContainsFunc(t.parts, func(p *term) bool { return !p.finds(m) })
	case "OR":
		return slices.ContainsFunc(t.parts, has)
	case "NOT":
		return !t.parts[0].finds(m)
	}
	names := []string{m.MetricName, m.Namespace}
	switch t.property {
	case "":
		for _, d := range m.Dimensions {
			names = append(names, d.Name, d.Value)
		}
	case "MetricName":
		names = names[:1]
	case "Namespace":
		names = names[1:]
	default:
		names = nil
		for _, d := range m.Dimensions {
			if d.Name == t.property {
				names = append(names, d.Value)
			}
		}
	}
	return slices.ContainsFunc(names, func(name string) bool {
		if t.exact {
			return name == t.word
		}
		return matches(t.word, name)
	})
}

// piece is a part of a name: a run of small letters with its capital, of capitals, or of digits.
type piece struct {
	text string
	// alone tells that other characters, not a change of case, part it from what is around it.
	alone bool
}

// pieces parts a name where the case changes, at digits and at other characters: SDBFailure-12 is SDB, Failure and 12.
func pieces(name string) (all []piece) {
	start := 0
	cut := func(end int, bound bool) {
		if start < end {
			all = append(all, piece{text: name[start:end], alone: bound &&
				(start == 0 || !letterOrDigit(name[start-1]))})
		}
		start = end
	}
	for i := range len(name) {
		c := name[i]
		switch {
		case !letterOrDigit(c):
			cut(i, true)
			start = i + 1
		case i == start:
		case digit(c) != digit(name[i-1]),
			upper(c) && !upper(name[i-1]),
			upper(c) && i+1 < len(name) && lower(name[i+1]):
			cut(i, false)
		}
	}
	cut(len(name), true)
	return all
}

func letterOrDigit(c byte) bool { return lower(c) || upper(c) || digit(c) || c >= 0x80 }

// matches tells whether a word of a search matches a name: the whole name apart from case and from what is no letter or
// digit, or pieces that follow each other in it. Case counts in pieces that only a change of case or a digit parts:
// Count1 finds CustomCount1, count1 does not, and custom-count does.
func matches(word, name string) bool {
	if w := squeezed(word); w != "" && w == squeezed(name) {
		return true
	}
	want, have := pieces(word), pieces(name)
	for from := 0; len(want) > 0 && from+len(want) <= len(have); from++ {
		i := 0
		for i < len(want) && (want[i].text == have[from+i].text || want[i].alone &&
			strings.EqualFold(want[i].text, have[from+i].text)) {
			i++
		}
		if i == len(want) {
			return true
		}
	}
	return false
}

// squeezed is the letters and digits of a name in lower case.
func squeezed(name string) string {
	return strings.ToLower(strings.Map(func(r rune) rune {
		if r < 0x80 && !letterOrDigit(byte(r)) {
			return -1
		}
		return r
	}, name))
}
