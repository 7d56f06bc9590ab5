package trace

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"strconv"
	"time"
)

// parseSeconds reads a number of seconds that is at least 0. It is exact to the nanosecond when the text has digits and
// a point only. Error texts name the column it stands in.
func parseSeconds(name string, text []byte) (time.Duration, error) {
	d, ok := plainSeconds(text)
	if !ok {
		var err error
		if d, err = oddSeconds(name, text); err != nil {
			return 0, err
		}
	}
	if d > MaxTime {
		return 0, tooLong(name, string(text))
	}
	return d, nil
}

// plainSeconds reads digits with at most one point among them: the fast path, which nearly all lines take. A tenth
// digit behind the point rounds the ninth, later ones are ignored. It returns false for any other text.
func plainSeconds(text []byte) (time.Duration, bool) {
	var whole, fraction int64
	digits, scale := 0, int64(time.Second)
	i := 0
	for ; i < len(text) && text[i]-'0' <= 9; i++ {
		whole = whole*10 + int64(text[i]-'0')
		digits++
	}
	// This also keeps whole from overflowing.
	if digits > 9 { // longer than MaxTime, or with zeros in front
		return 0, false
	}
	if i < len(text) && text[i] == '.' {
		for i++; i < len(text) && text[i]-'0' <= 9; i++ {
			digits++
			switch {
			// Up to nine digits behind the point are nanoseconds and more.
			case scale > 1:
				scale /= 10
				fraction += int64(text[i]-'0') * scale
			case scale == 1:
				scale = 0
				fraction += int64(text[i]-'0') / 5
			}
		}
	}
	return time.Duration(whole*int64(time.Second) + fraction), digits > 0 && i == len(text)
}

// oddSeconds reads numbers with a sign or an exponent, and explains what is wrong with any other text.
func oddSeconds(name string, text []byte) (time.Duration, error) {
	if len(text) == 0 {
		return 0, fmt.Errorf("found no %s, want seconds such as 12.5", name)
	}
	v, err := strconv.ParseFloat(string(text), 64)
	switch {
	// ParseFloat also accepts NaN, infinities, hexadecimal numbers and underscores, which are refused.
	case err == nil && math.IsNaN(v), math.IsInf(v, 0) && bytes.ContainsAny(text, "iI"):
		return 0, fmt.Errorf("found the %s %s, want a finite number of seconds", name, short(text))
	case err != nil && !errors.Is(err, strconv.ErrRange), bytes.ContainsAny(text, "xXpP_"):
		return 0, fmt.Errorf("found the %s %q, want seconds such as 12.5", name, short(text))
	case v < 0:
		return 0, fmt.Errorf("found the %s %s, want at least 0", name, short(text))
	case v > MaxTime.Seconds():
		return 0, tooLong(name, short(text))
	}
	return time.Duration(math.Round(v * float64(time.Second))), nil
}

// short limits how much of a file an error text shows.
func short(text []byte) string {
	const most = 40
	if len(text) > most {
		return string(text[:most]) + "..."
	}
	return string(text)
}

// appendSeconds appends d, which must not be negative, as a number of seconds. Reading it gives d again, exactly.
func appendSeconds(to []byte, d time.Duration) []byte {
	to = strconv.AppendInt(to, int64(d/time.Second), 10)
	// Trailing zeros are left out, so that each duration has one text.
	fraction := int64(d % time.Second)
	if fraction == 0 {
		return to
	}
	to = append(to, '.')
	for scale := int64(time.Second) / 10; fraction > 0; scale /= 10 {
		to = append(to, byte('0'+fraction/scale))
		fraction %= scale
	}
	return to
}

// seconds returns d as appendSeconds writes it, for error texts; d may be negative.
func seconds(d time.Duration) string {
	if d < 0 {
		return "-" + string(appendSeconds(nil, -d))
	}
	return string(appendSeconds(nil, d))
}

// toService rounds a drawn service time to microseconds. Long tails can exceed MaxTime, so it is bounded.
func toService(s float64) time.Duration {
	if s >= MaxTime.Seconds() {
		return MaxTime
	}
	return toTime(s)
}

// toTime rounds seconds to microseconds. The conversion to float64 forbids a fused multiply-add, which some platforms
// would use and which rounds otherwise.
func toTime(s float64) time.Duration {
	return time.Duration(math.Floor(float64(s*1e6)+0.5)) * time.Microsecond
}
