package terminal

import (
	"strconv"
	"strings"
)

// Escape replaces each character that a terminal might interpret by an escape sequence of Go, except
// those in keep.
func Escape(text, keep string) string {
	var b strings.Builder
	for _, r := range text {
		if strings.ContainsRune(keep, r) || strconv.IsPrint(r) {
			b.WriteRune(r)
		} else {
			quoted := strconv.QuoteRune(r)
			b.WriteString(quoted[1 : len(quoted)-1])
		}
	}
	return b.String()
}

// Clip returns the first most characters of text, escaped and on one line, and whether text is longer.
func Clip(text string, most int) (string, bool) {
	n := 0
	for i := range text {
		if n == most {
			return Escape(text[:i], ""), true
		}
		n++
	}
	return Escape(text, ""), false
}

// ShellWord returns text as one word of a POSIX shell, quoted if necessary.
func ShellWord(text string) string {
	const plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_./,:+@%"
	if text != "" && strings.Trim(text, plain) == "" {
		return text
	}
	return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'"
}
