// JSON without reflection, for the requests and results that make up nearly all traffic. Decoding
// accepts only a simple form and refuses everything else, which Parse then gives to encoding/json. So
// the fast path needs no error messages, and cannot change the meaning of a request.

package protocol

import (
	"bytes"
	"encoding/binary"
	"strings"
	"unicode/utf8"

	"github.com/muster-scale/muster/queue"
)

// FastRequest is a request that can be read without reflection.
type FastRequest interface {
	// Members appends the parameters of the simple form to to. Rare parameters may be missing.
	Members(to []Member) []Member
	// Reset sets the request to its zero value, after a failed attempt.
	Reset()
}

// Member is a parameter of the simple form and where its value goes: a **string, *string, **int,
// *[]string or [List].
type Member struct {
	// Name is the name of the parameter in JSON.
	Name string
	// Into points to the place of its value.
	Into any
}

// List reads one element of an array. It is called once for each.
type List func(*Reader) bool

// Read reads body into a [FastRequest]. It returns false, and leaves into at its zero value, if into is
// not a FastRequest or body does not have the simple form.
func (q *Reader) Read(body []byte, into any) bool {
	request, ok := into.(FastRequest)
	if !ok {
		return false
	}
	q.left = body
	q.known = request.Members(q.known[:0])
	read := q.object(q.known) && len(q.space()) == 0
	q.left = nil
	clear(q.known)
	if !read {
		request.Reset()
	}
	return read
}

// Reader reads JSON of the simple form: one object, known members, each at most once, no null, strings
// without \u escapes, integers of at most nine digits. It reuses its memory and is for one goroutine at
// a time.
type Reader struct {
	left  []byte
	known []Member // members of the request
	inner []Member // members of a batch entry
}

// Entries returns a List that appends the entries of a batch to a slice. members lists the members of
// one entry.
func Entries[E any](into *[]E, members func([]Member, *E) []Member) List {
	return func(q *Reader) bool {
		if *into == nil {
			*into = make([]E, 0, queue.MaxBatch)
		}
		*into = append(*into, *new(E))
		q.inner = members(q.inner[:0], &(*into)[len(*into)-1])
		return q.object(q.inner)
	}
}

// space skips white space and returns the rest.
func (q *Reader) space() []byte {
	for len(q.left) > 0 && (q.left[0] == ' ' || q.left[0] == '\n' || q.left[0] == '\r' || q.left[0] == '\t') {
		q.left = q.left[1:]
	}
	return q.left
}

// take consumes c, after white space, if it comes next.
func (q *Reader) take(c byte) bool {
	if left := q.space(); len(left) == 0 || left[0] != c {
		return false
	}
	q.left = q.left[1:]
	return true
}

// object reads an object. seen has a bit for each member: encoding/json lets the last duplicate win,
// and here duplicates are left to it.
func (q *Reader) object(members []Member) bool {
	if !q.take('{') {
		return false
	}
	if q.take('}') {
		return true
	}
	for seen := 0; ; {
		at := q.key(members)
		if at < 0 || seen&(1<<at) != 0 || !q.take(':') || !q.value(members[at].Into) {
			return false
		}
		seen |= 1 << at
		if !q.take(',') {
			return q.take('}')
		}
	}
}

// key reads a name and returns the index of its member, or -1.
func (q *Reader) key(members []Member) int {
	if !q.take('"') {
		return -1
	}
	end := bytes.IndexByte(q.left, '"')
	if end < 0 {
		return -1
	}
	name := q.left[:end]
	q.left = q.left[end+1:]
	for i := range members {
		if string(name) == members[i].Name {
			return i
		}
	}
	return -1
}

// value reads a value into the place of a member.
func (q *Reader) value(into any) bool {
	switch into := into.(type) {
	case **string:
		s, ok := q.text()
		*into = &s
		return ok
	case *string:
		var ok bool
		*into, ok = q.text()
		return ok
	case **int:
		n, ok := q.integer()
		*into = &n
		return ok
	case *[]string:
		*into = []string{}
		return q.array(func(q *Reader) bool {
			s, ok := q.text()
			*into = append(*into, s)
			return ok
		})
	case List:
		return q.array(into)
	}
	return false
}

// array reads an array, element by element.
func (q *Reader) array(element List) bool {
	if !q.take('[') {
		return false
	}
	if q.take(']') {
		return true
	}
	for {
		if !element(q) {
			return false
		}
		if !q.take(',') {
			return q.take(']')
		}
	}
}

// integer reads an integer of at most nine digits, which cannot overflow. A fraction or exponent after
// it is refused by the caller, which expects a comma or an end.
func (q *Reader) integer() (n int, ok bool) {
	minus := q.take('-')
	digits := 0
	for digits < len(q.left) && q.left[digits] >= '0' && q.left[digits] <= '9' {
		n = n*10 + int(q.left[digits]-'0')
		if digits++; digits > 9 {
			return 0, false
		}
	}
	if digits == 0 || digits > 1 && q.left[0] == '0' {
		return 0, false
	}
	q.left = q.left[digits:]
	if minus {
		n = -n
	}
	return n, true
}

// text reads a string. Most strings need no unescaping, and their end is the next quote.
func (q *Reader) text() (string, bool) {
	if !q.take('"') {
		return "", false
	}
	end := bytes.IndexByte(q.left, '"')
	if end < 0 {
		return "", false
	}
	s := q.left[:end]
	if !plainText(s) {
		return q.escaped()
	}
	q.left = q.left[end+1:]
	return string(s), true
}

// escaped is text for a string with escapes or with characters beyond ASCII.
func (q *Reader) escaped() (string, bool) {
	var out []byte
	for i := 0; i < len(q.left); i++ {
		switch c := q.left[i]; {
		case c == '"':
			s := string(append(out, q.left[:i]...))
			q.left = q.left[i+1:]
			return s, utf8.ValidString(s)
		case c < ' ':
			return "", false
		case c == '\\':
			if i+1 == len(q.left) {
				return "", false
			}
			at := bytes.IndexByte([]byte(`"\/bfnrt`), q.left[i+1])
			if at < 0 {
				return "", false
			}
			out = append(append(out, q.left[:i]...), "\"\\/\b\f\n\r\t"[at])
			q.left = q.left[i+2:]
			i = -1
		}
	}
	return "", false
}

// Words with one bit in each byte, for tests of eight bytes at once. The two tests below are from "Bit
// Twiddling Hacks" by Sean Anderson (hasless, haszero).
const (
	everyByte = 0x0101010101010101
	highBits  = 0x8080808080808080
)

// anyBelow is not 0 if a byte of word is less than n, at most 128.
func anyBelow(word uint64, n uint64) uint64 { return (word - everyByte*n) &^ word & highBits }

// anyEqual is not 0 if a byte of word is c.
func anyEqual(word uint64, c byte) uint64 { return anyBelow(word^everyByte*uint64(c), 1) }

// plainText says whether s is ASCII without control characters and backslashes, so that it needs no
// unescaping.
func plainText(s []byte) bool {
	for ; len(s) >= 8; s = s[8:] {
		word := binary.LittleEndian.Uint64(s)
		if word&highBits|anyBelow(word, ' ')|anyEqual(word, '\\') != 0 {
			return false
		}
	}
	for _, c := range s {
		if c < ' ' || c >= utf8.RuneSelf || c == '\\' {
			return false
		}
	}
	return true
}

// FastResult is a result that writes itself, with the same bytes as encoding/json.
type FastResult interface {
	// AppendJSON appends the result to b.
	AppendJSON(b []byte) []byte
}

// AppendText appends a JSON string. It copies stretches without special characters as a whole.
func AppendText(b []byte, s string) []byte {
	b = append(b, '"')
	from := 0 // s[:from] is written
	for i := 0; i < len(s); {
		if i+8 <= len(s) && !special(s[i:i+8]) {
			i += 8
			continue
		}
		escape, n := escapeOf(s[i:])
		if escape != "" {
			b = append(append(b, s[from:i]...), escape...)
			from = i + n
		}
		i += n
	}
	return append(append(b, s[from:]...), '"')
}

// special says whether one of eight bytes needs an escape or a closer look.
func special(s string) bool {
	word := uint64(s[0]) | uint64(s[1])<<8 | uint64(s[2])<<16 | uint64(s[3])<<24 |
		uint64(s[4])<<32 | uint64(s[5])<<40 | uint64(s[6])<<48 | uint64(s[7])<<56
	found := word&highBits | anyBelow(word, ' ') | anyEqual(word, '"') | anyEqual(word, '\\')
	return found|anyEqual(word, '<')|anyEqual(word, '>')|anyEqual(word, '&') != 0
}

// escapeOf returns the escape of the first character of s and the character's length. The escape is
// empty if the character is written as it is. Like encoding/json it also escapes <, >, &, U+2028 and
// U+2029, which matter in HTML and JavaScript.
func escapeOf(s string) (escape string, n int) {
	const digits = "0123456789abcdef"
	switch c := s[0]; {
	case c == '"':
		return `\"`, 1
	case c == '\\':
		return `\\`, 1
	case c >= ' ' && c < utf8.RuneSelf && c != '<' && c != '>' && c != '&':
		return "", 1
	case c < utf8.RuneSelf:
		if at := strings.IndexByte("\b\f\n\r\t", c); at >= 0 {
			return `\b\f\n\r\t`[2*at : 2*at+2], 1
		}
		return `\u00` + string([]byte{digits[c>>4], digits[c&15]}), 1
	}
	switch r, n := utf8.DecodeRuneInString(s); {
	case r == utf8.RuneError && n == 1:
		return `\ufffd`, 1
	case r == '\u2028':
		return `\u2028`, n
	case r == '\u2029':
		return `\u2029`, n
	default:
		return "", n
	}
}

// AppendPart appends a member with a text, after another member.
func AppendPart(b []byte, name, text string) []byte {
	return AppendText(append(append(append(b, `,"`...), name...), `":`...), text)
}

// AppendGiven is [AppendPart] for a text that is left out when empty.
func AppendGiven(b []byte, name, text string) []byte {
	if text == "" {
		return b
	}
	return AppendPart(b, name, text)
}

// AppendList appends an array.
func AppendList[E any](b []byte, elements []E, add func([]byte, *E) []byte) []byte {
	b = append(b, '[')
	for i := range elements {
		if i > 0 {
			b = append(b, ',')
		}
		b = add(b, &elements[i])
	}
	return append(b, ']')
}
