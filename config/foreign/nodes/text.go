package nodes

import (
	"strconv"
	"strings"
)

// Number returns the finite number that a text is, and whether it is one.
func Number(text string) (float64, bool) {
	v, err := strconv.ParseFloat(strings.TrimSpace(text), 64)
	return v, err == nil && v-v == 0
}

// True tells whether a text is true, in any case.
func True(text string) bool { return strings.EqualFold(strings.TrimSpace(text), "true") }

// Brief quotes a user's text for a message, cut after 60 characters.
func Brief(text string) string {
	if runes := []rune(text); len(runes) > 60 {
		text = string(runes[:60]) + "..."
	}
	return strconv.Quote(text)
}

// Name returns a valid fleet name for a text: hyphens replace what a name cannot have, and "fleet" an empty one.
func Name(text string) string {
	var b strings.Builder
	for _, r := range text {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', r == '-' || r == '_' || r == '.':
			b.WriteRune(r)
		default:
			b.WriteByte('-')
		}
	}
	name := strings.TrimLeft(b.String(), "-_.")
	name = name[:min(len(name), 63)]
	if name == "" {
		return "fleet"
	}
	return name
}
