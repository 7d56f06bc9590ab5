// Package render formats numbers for people, so that decisions, errors and tables round and count
// alike: [Number], [Seconds], [Rounded] and [Plural]. Values are rounded for reading only; a decision's
// record keeps the exact ones.
package render

import (
	"math"
	"strconv"
	"time"
)

// Number formats v with at most three decimals and without trailing zeros.
func Number(v float64) string {
	return strconv.FormatFloat(math.Round(v*1000)/1000, 'f', -1, 64)
}

// Seconds formats a number of seconds, for example "4.5s", "45s" or "12m30s".
func Seconds(s float64) string {
	return Rounded(time.Duration(s * float64(time.Second))).String()
}

// Plural formats n with its noun: "1 worker", "3 workers". The plural is formed with s.
func Plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return strconv.Itoa(n) + " " + noun + "s"
}

// Rounded rounds d to what a person reads: seconds from 10 s on, hundredths from 1 s on, else
// milliseconds.
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
