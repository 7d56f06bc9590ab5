package nodes

import (
	"strconv"
	"strings"
)

// Number reads a finite number.
func Number(text string) (float64, bool) {
	v, err := strconv.ParseFloat(strings.TrimSpace(text), 64)
	return v, err == nil && v-v == 0
}

// True reads a boolean, however it is written.
func True(text string) bool { return strings.EqualFold(strings.TrimSpace(text), "true") }

// Brief cuts what a user wrote for a message.
func Brief(text string) string {
	if runes := []rune(text); len(runes) > 60 {
		text = string(runes[:60]) + "..."
	}
	return strconv.Quote(text)
}

// Name makes a name that a fleet may have: hyphens stand for what may not be in one.
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
