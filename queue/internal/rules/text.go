package rules

import (
	"encoding/hex"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// The longest names and texts and the largest counts; lengths in bytes unless a check counts runes.
const (
	maxName           = 80
	maxAttributeName  = 256
	MaxAttributeType  = 256
	maxToken          = 128
	maxNumberDigits   = 38
	maxTags           = 50
	maxTagKey         = 128
	maxTagValue       = 256
	maxNumberTextSize = 256
)

const suffixFIFO = ".fifo"

// IsFIFO says whether name is that of a FIFO queue.
func IsFIFO(name string) bool { return strings.HasSuffix(name, suffixFIFO) }

// CheckName returns an error unless name can be the name of a queue, with or without a scope. fifo says
// whether the queue shall be a FIFO queue.
func CheckName(name string, fifo bool) error {
	region, account, name := CutScope(name)
	if region+account != "" && !ValidScope(region, account) {
		return Refuse(ErrInvalidParameter,
			"Queue name %q is invalid: %q is no region, or %q no account of 12 digits.", Clip(name), Clip(region),
			Clip(account))
	}
	if name == "" {
		return Refuse(ErrInvalidParameter, "Queue name cannot be empty")
	}
	if fifo {
		stem, ok := strings.CutSuffix(name, suffixFIFO)
		if !ok || stem == "" || len(name) > maxName || !consists(stem, "_-") {
			return Refuse(ErrInvalidParameter,
				"The name of a FIFO queue can only include alphanumeric characters, hyphens, or underscores, must "+
					"end with .fifo suffix and be 1 to 80 in length.")
		}
		return nil
	}
	if len(name) > maxName || !consists(name, "_-") {
		return Refuse(ErrInvalidParameter,
			"Can only include alphanumeric characters, hyphens, or underscores. 1 to 80 in length")
	}
	return nil
}

// consists says whether s has only ASCII letters, digits and bytes of extra.
func consists(s, extra string) bool {
	for i := range len(s) {
		c := s[i]
		alnum := c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9'
		if !alnum && strings.IndexByte(extra, c) < 0 {
			return false
		}
	}
	return true
}

// punctuation is the ASCII punctuation that ids may contain. It has no space, on which the keys of
// deduplication rely.
const punctuation = "!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~"

// AllowedCharacters are the characters that XML 1.0 allows, as AWS writes them in its refusals.
const AllowedCharacters = "#x9 | #xA | #xD | [#x20-#xD7FF] | [#xE000-#xFFFD] | [#x10000-#x10FFFF]"

// CharacterAt returns the character of s that begins at a byte, or that byte if it begins no valid
// character.
func CharacterAt(s string, at int) rune {
	if r, width := utf8.DecodeRuneInString(s[at:]); width > 1 || r != utf8.RuneError {
		return r
	}
	return rune(s[at])
}

// CheckToken validates the id of a group, of deduplication or of a receive attempt. An empty id passes.
func CheckToken(parameter, id string) error {
	if id != "" && (len(id) > maxToken || !consists(id, punctuation)) {
		return Outside(parameter, Clip(id),
			parameter+" can only include alphanumeric and punctuation characters. 1 to 128 in length.")
	}
	return nil
}

// BadCharacter returns the position of the first character that XML 1.0 does not allow, or -1. ASCII
// text, the usual case, is checked byte by byte.
func BadCharacter(s string) int {
	for i := range len(s) {
		if c := s[i]; c >= utf8.RuneSelf || c < ' ' && c != '\t' && c != '\n' && c != '\r' {
			return badRune(s, i)
		}
	}
	return -1
}

// badRune is BadCharacter from a position on, rune by rune. Invalid UTF-8 counts as a bad character.
func badRune(s string, from int) int {
	for i, r := range s[from:] {
		switch {
		case r == utf8.RuneError:
			if _, width := utf8.DecodeRuneInString(s[from+i:]); width == 1 {
				return from + i
			}
		case r == 0xFFFE, r == 0xFFFF:
			return from + i
		case r < ' ' && r != '\t' && r != '\n' && r != '\r':
			return from + i
		}
	}
	return -1
}

// CheckAttributeName validates the name of a message attribute. Letters and digits may be of any
// alphabet, as AWS accepts them, though its documentation says otherwise.
func CheckAttributeName(name string) error {
	lower := strings.ToLower(name)
	switch {
	case name == "":
		return Refuse(ErrInvalidParameter, "The request must contain non-empty message (user) attribute names.")
	case len(name) > maxAttributeName:
		return Refuse(ErrInvalidParameter, "Message (user) attribute name must be shorter than %d bytes.",
			maxAttributeName)
	case strings.HasPrefix(lower, "aws."), strings.HasPrefix(lower, "amazon."):
		return Refuse(ErrInvalidParameter,
			"You can't use message attribute names beginning with 'AWS.' or 'Amazon.'. These strings are "+
				"reserved for internal use.")
	case strings.HasPrefix(name, "."):
		return Refuse(ErrInvalidParameter, "Message (user) attribute name must not begin with character '.'.")
	case strings.HasSuffix(name, "."):
		return Refuse(ErrInvalidParameter, "Message (user) attribute name must not end with character '.'.")
	case strings.Contains(name, ".."):
		return Refuse(ErrInvalidParameter, "Message (user) attribute name must not have successive '.' characters.")
	case strings.ContainsFunc(name, notOfAttributeName):
		return Refuse(ErrInvalidParameter,
			"Message (user) attribute name can only contain letters, digits, periods, hyphens and "+
				"underscores: '%s'.", Clip(name))
	}
	return nil
}

// notOfAttributeName says whether r must not be in the name of a message attribute.
func notOfAttributeName(r rune) bool {
	return !unicode.IsLetter(r) && !unicode.IsDigit(r) && r != '_' && r != '-' && r != '.'
}

// IsNumber says whether s is a decimal number as SQS allows: zero, or at most 38
// significant digits and a magnitude from 10^-128 to 10^126.
func IsNumber(s string) bool {
	if len(s) > maxNumberTextSize {
		return false
	}
	s = strings.TrimLeft(s, " ")
	if s != "" && (s[0] == '-' || s[0] == '+') {
		s = s[1:]
	}
	mantissa, exponent, ok := cutExponent(s)
	whole, fraction, _ := strings.Cut(mantissa, ".")
	if !ok || whole+fraction == "" || strings.Trim(whole+fraction, "0123456789") != "" {
		return false
	}
	digits := strings.TrimLeft(whole+fraction, "0")
	magnitude := exponent + len(digits) - len(fraction) - 1
	significant := strings.TrimRight(digits, "0")
	return significant == "" || len(significant) <= maxNumberDigits && magnitude >= -128 && magnitude <= 126
}

// cutExponent splits a number at its exponent; ok is false for an invalid one. At most four digits are
// read, which is far beyond the range.
func cutExponent(s string) (mantissa string, exponent int, ok bool) {
	at := strings.IndexAny(s, "eE")
	if at < 0 {
		return s, 0, true
	}
	text := s[at+1:]
	negative := strings.HasPrefix(text, "-")
	text = strings.TrimLeft(strings.TrimLeft(text, "+-"), "0")
	if len(s[at+1:]) == 0 || len(text) > 4 || strings.Trim(text, "0123456789") != "" {
		return "", 0, false
	}
	for i := range len(text) {
		exponent = 10*exponent + int(text[i]-'0')
	}
	if negative {
		exponent = -exponent
	}
	return s[:at], exponent, true
}

// CheckTags validates all tags of the queue name. Lengths of keys and values count runes.
func CheckTags(name string, tags map[string]string) error {
	if len(tags) > maxTags {
		_, _, name = CutScope(name)
		return Refuse(ErrInvalidParameter, "Too many tags added for queue %s.", Clip(name))
	}
	for key, value := range tags {
		if n := utf8.RuneCountInString(key); n < 1 || n > maxTagKey {
			return Refuse(ErrInvalidParameter, "Tag keys must be between 1 and %d characters in length.", maxTagKey)
		}
		if strings.HasPrefix(strings.ToLower(key), "aws:") {
			return Refuse(ErrInvalidParameter, "Tag key %q is invalid: it must not start with aws:.", Clip(key))
		}
		if utf8.RuneCountInString(value) > maxTagValue {
			return Refuse(ErrInvalidParameter, "Tag value of %q is invalid: it must be at most %d characters.",
				Clip(key),
				maxTagValue)
		}
	}
	return nil
}

// FormatUUID returns the text of a UUID, in lower case.
func FormatUUID(b [16]byte) string {
	var out [36]byte
	hex.Encode(out[0:8], b[0:4])
	hex.Encode(out[9:13], b[4:6])
	hex.Encode(out[14:18], b[6:8])
	hex.Encode(out[19:23], b[8:10])
	hex.Encode(out[24:36], b[10:16])
	out[8], out[13], out[18], out[23] = '-', '-', '-', '-'
	return string(out[:])
}

// FromMillis returns the time of ms milliseconds since 1970. 0 becomes the zero time, which means
// never.
func FromMillis(ms int64) time.Time {
	if ms == 0 {
		return time.Time{}
	}
	return time.UnixMilli(ms)
}

// UTC returns t in UTC. The zero time stays zero, so that JSON can omit it.
func UTC(t time.Time) time.Time {
	if t.IsZero() {
		return t
	}
	return t.UTC()
}
