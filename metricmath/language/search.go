package language

import (
	"fmt"
	"slices"
	"strings"
)

// The language of SEARCH, as the CloudWatch user guide describes it:
//
//	search = [ "{" namespace { "," dimension } "}" ] [ "," ] [ either ]
//	either = all { "OR" all }
//	all    = one { [ "AND" ] one }
//	one    = "NOT" one | "(" either ")" | word | property "=" word
//
// A word in double quotes must match exactly. This file parses it; package metricmath matches metrics with it.

// maxSearchText is the greatest length of the text of a SEARCH in bytes, as for AWS.
const maxSearchText = 1024

// Search is a parsed SEARCH text: a schema, terms, or both.
type Search struct {
	// Namespace and Dimensions are the part in braces; Schema tells whether there was one. Dimensions are sorted.
	Schema     bool
	Namespace  string
	Dimensions []string
	// Terms is nil if there was only a schema.
	Terms *Term
}

// Term is a word to search for, or several terms that are joined.
type Term struct {
	// Join is "AND", "OR" or "NOT" for joined Parts, or empty for a word.
	Join  string
	Parts []*Term
	// Property is the name before =, such as MetricName; empty if the word may occur anywhere.
	Property string
	Word     string
	// Exact is true for a word in quotes, which must equal the whole name.
	Exact bool
}

// Size returns the number of words and joins, a measure of the cost of matching. t may be nil.
func (t *Term) Size() int {
	if t == nil {
		return 0
	}
	n := 1
	for _, p := range t.Parts {
		n += p.Size()
	}
	return n
}

// SearchFault is a fault in the text of a SEARCH; at is the byte offset in that text, not in the expression.
type SearchFault struct {
	at                   int
	Found, Expected, fix string
}

// searchParser is a recursive descent parser over the characters of the text.
type searchParser struct {
	text   string
	offset int
	nested int
}

// ParseSearch parses the text of a SEARCH. The fault is nil if the text is valid.
func ParseSearch(text string) (Search, *SearchFault) {
	if len(text) > maxSearchText {
		return Search{}, &SearchFault{maxSearchText, fmt.Sprintf("%d bytes of search", len(text)),
			fmt.Sprintf("at most %d", maxSearchText), ""}
	}
	p := searchParser{text: text}
	var s Search
	if p.sign('{') {
		s.Schema = true
		var fault *SearchFault
		if s.Namespace, s.Dimensions, fault = p.schema(); fault != nil {
			return Search{}, fault
		}
		p.sign(',')
	}
	p.skip()
	if p.offset == len(p.text) {
		if !s.Schema {
			return Search{}, p.fault("nothing to search for", "a schema in braces, or words")
		}
		return s, nil
	}
	var fault *SearchFault
	if s.Terms, fault = p.either(); fault != nil {
		return Search{}, fault
	}
	if p.skip(); p.offset < len(p.text) {
		return Search{}, p.fault(Cited(p.text[p.offset:]), "a word, AND, OR, NOT or the end")
	}
	return s, nil
}

// fault returns a fault at the present position.
func (p *searchParser) fault(found, expected string) *SearchFault {
	return &SearchFault{p.offset, found, expected, ""}
}

// skip skips spaces.
func (p *searchParser) skip() {
	for p.offset < len(p.text) && strings.IndexByte(" \t\r\n", p.text[p.offset]) >= 0 {
		p.offset++
	}
}

// sign skips the character c if it comes next, and tells whether it did.
func (p *searchParser) sign(c byte) bool {
	p.skip()
	if p.offset < len(p.text) && p.text[p.offset] == c {
		p.offset++
		return true
	}
	return false
}

// keyword skips the word w if it comes next as a whole word, and tells whether it did.
func (p *searchParser) keyword(w string) bool {
	p.skip()
	rest, found := strings.CutPrefix(p.text[p.offset:], w)
	if !found || rest != "" && strings.IndexByte(" \t\r\n(\"", rest[0]) < 0 {
		return false
	}
	p.offset += len(w)
	return true
}

// schema reads the part in braces after the opening one.
func (p *searchParser) schema() (namespace string, dimensions []string, fault *SearchFault) {
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
			return "", nil, p.fault("a schema that is not closed", "a comma or }")
		}
	}
}

// either reads a OR b, which binds looser than AND.
func (p *searchParser) either() (*Term, *SearchFault) {
	return p.joined("OR", p.all, func() bool { return p.keyword("OR") })
}

// all reads a AND b, where the AND is optional: two words in a row must both match.
func (p *searchParser) all() (*Term, *SearchFault) {
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

// joined reads parts while more finds a separator. A single part is returned as it is.
func (p *searchParser) joined(join string, part func() (*Term, *SearchFault), more func() bool) (*Term, *SearchFault) {
	first, fault := part()
	if fault != nil {
		return nil, fault
	}
	t := &Term{Join: join, Parts: []*Term{first}}
	for more() {
		next, fault := part()
		if fault != nil {
			return nil, fault
		}
		t.Parts = append(t.Parts, next)
	}
	if len(t.Parts) == 1 {
		return first, nil
	}
	return t, nil
}

// one reads NOT a, (a), a word, or Property=word.
func (p *searchParser) one() (*Term, *SearchFault) {
	p.nested++
	defer func() { p.nested-- }()
	if p.nested > MaxDepth {
		return nil, p.fault("nesting deeper than "+fmt.Sprint(MaxDepth), "less")
	}
	if p.keyword("NOT") {
		inner, fault := p.one()
		return &Term{Join: "NOT", Parts: []*Term{inner}}, fault
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
		return &Term{Word: w, Exact: exact}, fault
	}
	value, exact, fault := p.word("()")
	return &Term{Property: w, Word: value, Exact: exact}, fault
}

// word reads up to a space or one of the characters in ends, or a text in double quotes. Inside quotes a backslash
// escapes the four characters " \ ( and ).
func (p *searchParser) word(ends string) (w string, exact bool, fault *SearchFault) {
	if !p.sign('"') {
		p.skip()
		from := p.offset
		for p.offset < len(p.text) && strings.IndexByte(" \t\r\n\""+ends, p.text[p.offset]) < 0 {
			p.offset++
		}
		if p.offset == from {
			return "", false, p.fault(Cited(p.text[from:]), "a word")
		}
		return p.text[from:p.offset], false, nil
	}
	var b strings.Builder
	for from := p.offset - 1; ; p.offset++ {
		switch {
		case p.offset == len(p.text):
			return "", false, &SearchFault{from, "a quote that is never closed", `a second "`, ""}
		case p.text[p.offset] == '"':
			p.offset++
			return b.String(), true, nil
		case p.text[p.offset] == '\\' && p.offset+1 < len(p.text) && strings.IndexByte(`"\()`, p.text[p.offset+1]) >= 0:
			p.offset++
		}
		b.WriteByte(p.text[p.offset])
	}
}
