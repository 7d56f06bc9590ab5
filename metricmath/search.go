package metricmath

import (
	"fmt"
	"slices"
	"strings"
)

// maxSearchText is how long the text of a SEARCH may be, as for AWS.
const maxSearchText = 1024

// search is what a SEARCH looks for.
type search struct {
	// namespace and dimensions are the part in braces; schema tells whether it was there.
	schema     bool
	namespace  string
	dimensions []string
	// terms is nil where there was only a schema.
	terms *term
}

// term is a part of what is searched for: words, or several joined.
type term struct {
	// join is "AND", "OR" or "NOT" with its terms in parts, or empty for a word.
	join  string
	parts []*term
	// property is what is before =, such as MetricName; empty where the word may be anywhere.
	property string
	word     string
	exact    bool // the word was in quotes
}

// searchFault is what is wrong with the text of a SEARCH; at is the offset in it.
type searchFault struct {
	at                   int
	found, expected, fix string
}

type searchParser struct {
	text   string
	offset int
	nested int
}

// parseSearch reads {Namespace, Dimension, ...} terms.
func parseSearch(text string) (search, *searchFault) {
	if len(text) > maxSearchText {
		return search{}, &searchFault{maxSearchText, fmt.Sprintf("%d bytes of search", len(text)),
			fmt.Sprintf("at most %d", maxSearchText), ""}
	}
	p := searchParser{text: text}
	var s search
	if p.sign('{') {
		s.schema = true
		var fault *searchFault
		if s.namespace, s.dimensions, fault = p.schema(); fault != nil {
			return search{}, fault
		}
		p.sign(',')
	}
	p.skip()
	if p.offset == len(p.text) {
		if !s.schema {
			return search{}, p.fault("nothing to search for", "a schema in braces, or words")
		}
		return s, nil
	}
	var fault *searchFault
	if s.terms, fault = p.either(); fault != nil {
		return search{}, fault
	}
	if p.skip(); p.offset < len(p.text) {
		return search{}, p.fault(cited(p.text[p.offset:]), "a word, AND, OR, NOT or the end")
	}
	return s, nil
}

func (p *searchParser) fault(found, expected string) *searchFault {
	return &searchFault{p.offset, found, expected, ""}
}

func (p *searchParser) skip() {
	for p.offset < len(p.text) && strings.IndexByte(" \t\r\n", p.text[p.offset]) >= 0 {
		p.offset++
	}
}

// sign goes behind a character if it comes next.
func (p *searchParser) sign(c byte) bool {
	p.skip()
	if p.offset < len(p.text) && p.text[p.offset] == c {
		p.offset++
		return true
	}
	return false
}

// keyword goes behind a word if it comes next and ends there.
func (p *searchParser) keyword(w string) bool {
	p.skip()
	rest, found := strings.CutPrefix(p.text[p.offset:], w)
	if !found || rest != "" && strings.IndexByte(" \t\r\n(\"", rest[0]) < 0 {
		return false
	}
	p.offset += len(w)
	return true
}

func (p *searchParser) schema() (namespace string, dimensions []string, fault *searchFault) {
	var names []string
	for {
		name, _, fault := p.word(",}")
		if fault != nil {
			return "", nil, fault
		}
		names = append(names, name)
		switch {
		case p.sign('}'):
			slices.Sort(names[1:])
			return names[0], names[1:], nil
		case !p.sign(','):
			return "", nil, p.fault("a schema that goes on", "a comma or }")
		}
	}
}

// either reads a OR b.
func (p *searchParser) either() (*term, *searchFault) {
	return p.joined("OR", p.all, func() bool { return p.keyword("OR") })
}

// all reads a AND b; AND may be left out.
func (p *searchParser) all() (*term, *searchFault) {
	return p.joined("AND", p.one, func() bool {
		if p.keyword("AND") {
			return true
		}
		from := p.offset
		end := p.offset == len(p.text) || p.text[p.offset] == ')' || p.keyword("OR")
		p.offset = from
		return !end
	})
}

func (p *searchParser) joined(join string, part func() (*term, *searchFault), more func() bool) (*term, *searchFault) {
	first, fault := part()
	if fault != nil {
		return nil, fault
	}
	t := &term{join: join, parts: []*term{first}}
	for more() {
		next, fault := part()
		if fault != nil {
			return nil, fault
		}
		t.parts = append(t.parts, next)
	}
	if len(t.parts) == 1 {
		return first, nil
	}
	return t, nil
}

// one reads NOT a, (a), a word, or Property=word.
func (p *searchParser) one() (*term, *searchFault) {
	p.nested++
	defer func() { p.nested-- }()
	if p.nested > MaxDepth {
		return nil, p.fault("nesting deeper than "+fmt.Sprint(MaxDepth), "less")
	}
	if p.keyword("NOT") {
		inner, fault := p.one()
		return &term{join: "NOT", parts: []*term{inner}}, fault
	}
	if p.sign('(') {
		inner, fault := p.either()
		if fault == nil && !p.sign(')') {
			fault = p.fault("a group that is never closed", ")")
		}
		return inner, fault
	}
	w, exact, fault := p.word("=()")
	if fault != nil || exact || !p.sign('=') {
		return &term{word: w, exact: exact}, fault
	}
	value, exact, fault := p.word("()")
	return &term{property: w, word: value, exact: exact}, fault
}

// word reads up to a space or one of the ends, or a text in double quotes, in which a backslash goes before " \ ( and
// ).
func (p *searchParser) word(ends string) (w string, exact bool, fault *searchFault) {
	if !p.sign('"') {
		p.skip()
		from := p.offset
		for p.offset < len(p.text) && strings.IndexByte(" \t\r\n\""+ends, p.text[p.offset]) < 0 {
			p.offset++
		}
		if p.offset == from {
			return "", false, p.fault(cited(p.text[from:]), "a word")
		}
		return p.text[from:p.offset], false, nil
	}
	var b strings.Builder
	for from := p.offset - 1; ; p.offset++ {
		switch {
		case p.offset == len(p.text):
			return "", false, &searchFault{from, "a quote that is never closed", `a second "`, ""}
		case p.text[p.offset] == '"':
			p.offset++
			return b.String(), true, nil
		case p.text[p.offset] == '\\' && p.offset+1 < len(p.text) && strings.IndexByte(`"\()`, p.text[p.offset+1]) >= 0:
			p.offset++
		}
		b.WriteByte(p.text[p.offset])
	}
}
