package metricmath

import (
	"slices"
	"strings"

	"github.com/muster-scale/muster/metricmath/language"
)

// finds tells whether SEARCH s finds the metric m. A schema with dimension names matches metrics with exactly these
// dimensions; a schema without matches every metric of the namespace. The rules are those of the CloudWatch user guide,
// "Search expression syntax".
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

// fulfils tells whether a metric matches a term. A term with a property is compared with the values of that property,
// any other with the metric's name, its namespace, and the names and values of its dimensions.
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

// piece is a part of a name: lower-case letters with their capital, capitals, or digits.
type piece struct {
	text string
	// alone is true if other characters, not a change of case or a digit, separate it from its neighbours.
	alone bool
}

// pieces splits a name at changes of case, at digits and at other characters. SDBFailure-12 becomes SDB, Failure and
// 12.
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

// letterOrDigit tells whether a byte belongs to a piece. Every byte of a character beyond ASCII does.
func letterOrDigit(c byte) bool {
	return language.Lower(c) || language.Upper(c) || language.Digit(c) || c >= 0x80
}

// matches tells whether a search word matches a name. Either the whole names agree, apart from case and from characters
// that are neither letters nor digits. Or the pieces of the word follow each other in the name. Case counts for pieces
// that only a change of case or a digit separates: Count1 finds CustomCount1, count1 does not, and custom-count does.
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

// squeezed returns the letters and digits of a name in lower case.
func squeezed(name string) string {
	return strings.ToLower(strings.Map(func(r rune) rune {
		if r < 0x80 && !letterOrDigit(byte(r)) {
			return -1
		}
		return r
	}, name))
}
