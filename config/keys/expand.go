package keys

import (
	"fmt"
	"strings"
)

// maxText bounds a text after its variables were replaced, in bytes.
const maxText = 64 << 10

// expand replaces the variables in text: ${NAME}, ${NAME:-default}, and $$ for a dollar. problem is the message of a
// fault, or empty. The value of a variable is not expanded again, so a secret may contain a dollar.
func expand(text string, lookup func(string) (string, bool)) (expanded, problem string) {
	var b strings.Builder
	for {
		before, rest, found := strings.Cut(text, "$")
		b.WriteString(before)
		if b.Len() > maxText {
			return "", fmt.Sprintf("found a text of more than %d bytes, allowed are at most that", maxText)
		}
		if !found {
			return b.String(), ""
		}
		if after, ok := strings.CutPrefix(rest, "$"); ok {
			b.WriteByte('$')
			text = after
			continue
		}
		inside, after, closed := strings.Cut(strings.TrimPrefix(rest, "{"), "}")
		if !strings.HasPrefix(rest, "{") || !closed {
			return "", fmt.Sprintf("found %s, allowed are ${NAME}, ${NAME:-default} and $$ for a dollar",
				Quote("$"+rest))
		}
		value, problem := variable(inside, lookup)
		if problem != "" {
			return "", problem
		}
		b.WriteString(value)
		text = after
	}
}

// variable returns the value for the inside of ${...}. As in a shell, the default also replaces an empty value.
func variable(inside string, lookup func(string) (string, bool)) (value, problem string) {
	name, fallback, optional := strings.Cut(inside, ":-")
	if !IsVariable(name) || strings.Contains(fallback, "$") {
		return "", fmt.Sprintf("found %s, allowed are ${NAME} and ${NAME:-default} without further variables",
			Quote("${"+inside+"}"))
	}
	value, ok := lookup(name)
	switch {
	case ok && (value != "" || !optional):
		return value, ""
	case optional:
		return fallback, ""
	}
	return "", fmt.Sprintf("found the variable %s, which is not set, allowed are set ones; set it, or give a "+
		"default: ${%s:-...}", name, name)
}

// IsVariable tells whether name can be the name of an environment variable.
func IsVariable(name string) bool {
	return name != "" && len(name) <= 128 && (name[0] < '0' || name[0] > '9') && Consists(name, "_")
}

// Consists tells whether s has only ASCII letters, digits and the characters of extra.
func Consists(s, extra string) bool {
	for i := range len(s) {
		c := s[i]
		alphanumeric := c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9'
		if !alphanumeric && strings.IndexByte(extra, c) < 0 {
			return false
		}
	}
	return true
}
