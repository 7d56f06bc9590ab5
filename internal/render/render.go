// Package render writes numbers for people: one way of rounding and of counting nouns in decisions, errors and tables.
package render

import (
	"math"
	"strconv"
	"time"
)

// Number renders v for a person: at most three decimals and no trailing zeros.
func Number(v float64) string {
	return strconv.FormatFloat(math.Round(v*1000)/1000, 'f', -1, 64)
}

// Seconds renders a number of seconds for a person, as in "81s", "4.5s" or "12m30s".
func Seconds(s float64) string {
	return Rounded(time.Duration(s * float64(time.Second))).String()
}

// Plural renders n with its noun, as in "1 worker" and "3 workers".
func Plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return strconv.Itoa(n) + " " + noun + "s"
}

// Rounded returns d without the digits that no person reads.
func Rounded(d time.Duration) time.Duration {
	switch {
	case d >= 10*time.Second || d <= -10*time.Second:
		return d.Round(time.Second)
	case d >= time.Second || d <= -time.Second:
		return d.Round(10 * time.Millisecond)
	default:
		return d.Round(time.Millisecond)
	}
}
