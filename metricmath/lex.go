package metricmath

import (
	"strconv"
	"strings"
	"unicode/utf8"
)

type tokenKind uint8

const (
	tokenEnd tokenKind = iota
	tokenNumber
	tokenID   // begins with a lower-case letter
	tokenWord // begins with an upper-case letter: a function, AND, REPEAT
	tokenText // in quotes; text is what is between them
	tokenSign // an operator or a bracket
)

type token struct {
	kind   tokenKind
	text   string
	at     int // byte offset
	number float64
	// operator is set for what stands between two operands.
	operator operator
}

// is tells whether the token is the sign.
func (t token) is(sign string) bool { return t.kind == tokenSign && t.text == sign }

// described is the token for an error.
func (t token) described() string {
	switch t.kind {
	case tokenEnd:
		return "the end of the expression"
	case tokenText:
		return "the text " + cited(t.text)
	case tokenNumber, tokenID, tokenWord:
		return t.text
	}
	return cited(t.text)
}

// signs are all operators and brackets, longer ones before their beginnings.
var signs = []string{"==", "!=", "<=", ">=", "&&", "||", "<", ">", "+", "-", "*", "/", "^", "(", ")", "[", "]", ","}

// lex reads the token at or after an offset and returns it with the offset behind it.
func lex(text string, from int) (token, int, error) {
	for from < len(text) && strings.IndexByte(" \t\r\n", text[from]) >= 0 {
		from++
	}
	if from == len(text) {
		return token{kind: tokenEnd, at: from}, from, nil
	}
	switch c := text[from]; {
	case digit(c) || c == '.':
		return lexNumber(text, from)
	case lower(c) || upper(c):
		end := from
		for end < len(text) && (lower(text[end]) || upper(text[end]) || digit(text[end]) || text[end] == '_') {
			end++
		}
		kind := tokenWord
		if lower(c) {
			kind = tokenID
		}
		return token{kind: kind, text: text[from:end], at: from, operator: written[text[from:end]]}, end, nil
	case c == '"' || c == '\'':
		end := strings.IndexByte(text[from+1:], c)
		if end < 0 {
			return token{}, 0, faultAt(text, from, "a quote that is never closed", "a second "+string(c),
				"a text cannot hold its own kind of quote: use the other kind around it")
		}
		return token{kind: tokenText, text: text[from+1 : from+1+end], at: from}, from + end + 2, nil
	}
	for _, s := range signs {
		if strings.HasPrefix(text[from:], s) {
			return token{kind: tokenSign, text: s, at: from, operator: written[s]}, from + len(s), nil
		}
	}
	return token{}, 0, strange(text, from)
}

// strange is the fault for a character that begins nothing.
func strange(text string, at int) error {
	r, size := utf8.DecodeRuneInString(text[at:])
	fix := ""
	switch r {
	case '“', '”', '‘', '’', '`':
		fix = `write straight quotes: " or '`
	case '=':
		fix = "compare with =="
	case '!':
		fix = "there is no NOT; compare with == 0"
	case '&', '|':
		fix = "write && or ||, AND or OR"
	case '−', '–', '—':
		fix = "write the minus sign of the keyboard: -"
	case '%':
		fix = "there is no remainder"
	case ';':
		fix = "an expression is one; write a query for each"
	}
	return faultAt(text, at, "the character "+strconv.Quote(text[at:at+size]), "an id, a number, a function or an "+
		"operator", fix)
}

// lexNumber reads digits, perhaps with a point and an exponent.
func lexNumber(text string, from int) (token, int, error) {
	end := from
	digits := func() (n int) {
		for ; end < len(text) && digit(text[end]); end++ {
			n++
		}
		return n
	}
	n := digits()
	if end < len(text) && text[end] == '.' {
		end++
		n += digits()
	}
	if n == 0 {
		return token{}, 0, faultAt(text, from, "a point without a digit", "a number", "")
	}
	if exponent := end; end < len(text) && (text[end] == 'e' || text[end] == 'E') {
		end++
		if end < len(text) && (text[end] == '+' || text[end] == '-') {
			end++
		}
		if digits() == 0 {
			end = exponent
		}
	}
	v, err := strconv.ParseFloat(text[from:end], 64)
	if err != nil {
		return token{}, 0, faultAt(text, from, "a number too large to compute with", "at most 1.7e308", "")
	}
	if end < len(text) && (lower(text[end]) || upper(text[end]) || text[end] == '_' || text[end] == '.') {
		return token{}, 0, faultAt(text, end, cited(text[end:end+1])+" right after a number", "an operator",
			"ids begin with a lower-case letter; write * to multiply")
	}
	return token{kind: tokenNumber, text: text[from:end], at: from, number: v}, end, nil
}

func digit(c byte) bool { return c >= '0' && c <= '9' }
func lower(c byte) bool { return c >= 'a' && c <= 'z' }
func upper(c byte) bool { return c >= 'A' && c <= 'Z' }
