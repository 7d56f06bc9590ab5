package language

import (
	"strconv"
	"strings"
	"unicode/utf8"
)

// tokenKind is the lexical class of a token.
type tokenKind uint8

const (
	// The case of the first letter decides between an id and a word: ids are lower case, all names of the language
	// upper.
	tokenEnd tokenKind = iota
	tokenNumber
	tokenID   // begins with a lower-case letter
	tokenWord // begins with an upper-case letter: a function, AND, REPEAT
	tokenText // in quotes; its text is without them
	tokenSign // an operator or a bracket
)

// token is one lexical element of an expression.
type token struct {
	kind   tokenKind
	text   string
	at     int // byte offset
	number float64
	// operator is set for a binary operator, whether written as a sign or as a word.
	operator Operator
}

// is tells whether the token is the given sign.
func (t token) is(sign string) bool { return t.kind == tokenSign && t.text == sign }

// described names the token for an error.
func (t token) described() string {
	switch t.kind {
	case tokenEnd:
		return "the end of the expression"
	case tokenText:
		return "the text " + Cited(t.text)
	case tokenNumber, tokenID, tokenWord:
		return t.text
	}
	return Cited(t.text)
}

// signs are all operators and brackets. A longer sign stands before its own prefix, because the first match counts.
var signs = []string{"==", "!=", "<=", ">=", "&&", "||", "<", ">", "+", "-", "*", "/", "^", "(", ")", "[", "]", ","}

// lex reads the token at or after the offset from. It returns the token and the offset after it.
func lex(text string, from int) (token, int, error) {
	for from < len(text) && strings.IndexByte(" \t\r\n", text[from]) >= 0 {
		from++
	}
	if from == len(text) {
		return token{kind: tokenEnd, at: from}, from, nil
	}
	switch c := text[from]; {
	case Digit(c) || c == '.':
		return lexNumber(text, from)
	case Lower(c) || Upper(c):
		end := from
		for end < len(text) && (Lower(text[end]) || Upper(text[end]) || Digit(text[end]) || text[end] == '_') {
			end++
		}
		kind := tokenWord
		if Lower(c) {
			kind = tokenID
		}
		return token{kind: kind, text: text[from:end], at: from, operator: written[text[from:end]]}, end, nil
	case c == '"' || c == '\'':
		end := strings.IndexByte(text[from+1:], c)
		if end < 0 {
			return token{}, 0, FaultAt(text, from, "a quote that is never closed", "a second "+string(c),
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

// strange returns the fault for a character that begins no token. The fixes are for the characters that people paste
// from documents or know from other languages.
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
		fix = "a query has one expression; write a query for each"
	}
	return FaultAt(text, at, "the character "+strconv.Quote(text[at:at+size]), "an id, a number, a function or an "+
		"operator", fix)
}

// lexNumber reads digits, with an optional point and exponent. There is no sign: a minus is an operator. An "e" without
// digits after it does not belong to the number.
func lexNumber(text string, from int) (token, int, error) {
	end := from
	digits := func() (n int) {
		for ; end < len(text) && Digit(text[end]); end++ {
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
		return token{}, 0, FaultAt(text, from, "a point without a digit", "a number", "")
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
	// ParseFloat fails only for values beyond the largest float64, because the digits were checked above.
	v, err := strconv.ParseFloat(text[from:end], 64)
	if err != nil {
		return token{}, 0, FaultAt(text, from, "a number too large to compute with", "at most 1.7e308", "")
	}
	if end < len(text) && (Lower(text[end]) || Upper(text[end]) || text[end] == '_' || text[end] == '.') {
		return token{}, 0, FaultAt(text, end, Cited(text[end:end+1])+" right after a number", "an operator",
			"ids begin with a lower-case letter; write * to multiply")
	}
	return token{kind: tokenNumber, text: text[from:end], at: from, number: v}, end, nil
}

// Digit tells whether c is one of 0 to 9.
func Digit(c byte) bool { return c >= '0' && c <= '9' }

// Lower tells whether c is one of a to z.
func Lower(c byte) bool { return c >= 'a' && c <= 'z' }

// Upper tells whether c is one of A to Z.
func Upper(c byte) bool { return c >= 'A' && c <= 'Z' }

// GoodID tells whether expressions can name the id: a lower-case letter, then letters, digits and underscores, at most
// 255.
func GoodID(id string) bool {
	if id == "" || len(id) > 255 || !Lower(id[0]) {
		return false
	}
	return !strings.ContainsFunc(id, func(r rune) bool {
		return r >= 0x80 || !Lower(byte(r)) && !Upper(byte(r)) && !Digit(byte(r)) && r != '_'
	})
}
