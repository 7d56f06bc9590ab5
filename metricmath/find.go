package metricmath

import (
	"slices"
	"strings"

	"github.com/muster-scale/muster/metricmath/language"
)

// finds tells whether a metric is one that is searched for. A schema with dimensions wants exactly these; one without
// takes every metric of the namespace.
func finds(s language.Search, m Metric) bool {
	if s.Schema {
		if m.Namespace != s.Namespace {
			return false
		}
		if len(s.Dimensions) > 0 {
			names := make([]string, len(m.Dimensions))
			for i, d := range m.Dimensions {
				names[i] = d.Name
			}
			slices.Sort(names)
			if !slices.Equal(names, s.Dimensions) {
				return false
			}
		}
	}
	return s.Terms == nil || fulfils(s.Terms, m)
}

// fulfils tells whether a metric has what a term asks for.
func fulfils(t *language.Term, m Metric) bool {
	has := func(p *language.Term) bool { return fulfils(p, m) }
	switch t.Join {
	case "AND":
		return !slices.ContainsFunc(t.Parts, func(p *language.Term) bool { return !fulfils(p, m) })
	case "OR":
		return slices.ContainsFunc(t.Parts, has)
	case "NOT":
		return !fulfils(t.Parts[0], m)
	}
	names := []string{m.MetricName, m.Namespace}
	switch t.Property {
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
			if d.Name == t.Property {
				names = append(names, d.Value)
			}
		}
	}
	return slices.ContainsFunc(names, func(name string) bool {
		if t.Exact {
			return name == t.Word
		}
		return matches(t.Word, name)
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
		case language.Digit(c) != language.Digit(name[i-1]),
			language.Upper(c) && !language.Upper(name[i-1]),
			language.Upper(c) && i+1 < len(name) && language.Lower(name[i+1]):
			cut(i, false)
		}
	}
	cut(len(name), true)
	return all
}

func letterOrDigit(c byte) bool {
	return language.Lower(c) || language.Upper(c) || language.Digit(c) || c >= 0x80
}

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
