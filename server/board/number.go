package board

import (
	"encoding/json"
	"math"
	"strconv"

	"github.com/muster-scale/muster"
)

// Number is a number that may be unknown. In JSON an unknown one is null, so that no page shows it as zero. The zero
// Number is unknown. Numbers are rounded to four significant digits, so that a change too small to see is not sent.
type Number struct {
	Value float64
	Known bool
}

// Known returns a known number; NaN and infinity are unknown.
func Known(v float64) Number {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return Number{}
	}
	return Number{rounded(v), true}
}

// count returns a known whole number.
func count(n int) Number { return Number{float64(n), true} }

// ofSample returns the value of a sample.
func ofSample(s muster.Sample) Number {
	if !s.Known {
		return Number{}
	}
	return Known(s.Value)
}

// knownIf returns v if known is true.
func knownIf(known bool, v float64) Number {
	if !known {
		return Number{}
	}
	return Known(v)
}

// rounded rounds large numbers to tenths and small ones to four significant digits.
func rounded(v float64) float64 {
	if v == 0 || math.Abs(v) >= 1000 {
		return math.Round(v*10) / 10
	}
	scale := math.Pow(10, 3-math.Floor(math.Log10(math.Abs(v))))
	return math.Round(v*scale) / scale
}

// MarshalJSON implements [json.Marshaler].
func (n Number) MarshalJSON() ([]byte, error) {
	if !n.Known {
		return []byte("null"), nil
	}
	return strconv.AppendFloat(nil, n.Value, 'f', -1, 64), nil
}

// UnmarshalJSON implements [json.Unmarshaler].
func (n *Number) UnmarshalJSON(text []byte) error {
	*n = Number{}
	if string(text) == "null" {
		return nil
	}
	if err := json.Unmarshal(text, &n.Value); err != nil {
		return err
	}
	n.Known = true
	return nil
}
