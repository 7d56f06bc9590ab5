package draft

import (
	"strconv"
	"strings"
	"time"
)

// Printable replaces characters that must not stand in a configuration by spaces: control characters, other line
// separators and the marks of broken encodings.
func Printable(text string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || r >= 0x7f && r < 0xa0 || r == '\u2028' || r == '\u2029' || r == '\uFEFF' || r == '\uFFFD' {
			return ' '
		}
		return r
	}, text)
}

// Span returns a duration as a configuration writes it, in whole minutes or seconds where possible.
func Span(d time.Duration) string {
	if d%time.Second != 0 {
		return d.String()
	}
	if d%time.Minute == 0 && d > 0 {
		return strconv.Itoa(int(d/time.Minute)) + "m"
	}
	return strconv.Itoa(int(d/time.Second)) + "s"
}
