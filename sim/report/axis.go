package report

import (
	"math"
	"strconv"
	"time"

	"github.com/muster-scale/muster/internal/render"
)

// scale maps values from low to high to coordinates: linearly, by logarithms, or for shares in a way that stretches the
// end towards 1.
type scale struct {
	low, high float64
	from, to  float64 // coordinates of low and high
	log       bool    // low is above 0
	nines     bool    // low and high are shares
}

// at returns the coordinate of v. The conversions to float64 forbid fused arithmetic, so every machine draws the same.
func (s scale) at(v float64) float64 {
	low, high := s.even(s.low), s.even(s.high)
	if high <= low {
		return s.from
	}
	share := (s.even(v) - low) / (high - low)
	return s.from + float64(share*(s.to-s.from))
}

// even returns v on a scale on which equal steps are drawn equally long. For shares that is the logarithm of what is
// missing to 1, plus a thousandth to keep it finite: 99 % to 99.5 % is nearly as long as 80 % to 90 %.
func (s scale) even(v float64) float64 {
	switch {
	case s.log:
		return math.Log(v)
	case s.nines:
		return -math.Log(1 - v + 0.001)
	}
	return v
}

// tick is a label at a place of an axis.
type tick struct {
	value float64
	label string
}

// countTicks returns about n whole numbers from 0 to at least high; at least 0 and 1.
func countTicks(high float64, n int) []tick {
	return ticks(max(1, roundStep(high/float64(n))), high, compact)
}

// rateTicks returns about n numbers from 0 to at least high.
func rateTicks(high float64, n int) []tick {
	if high <= 0 {
		high = 1
	}
	return ticks(roundStep(high/float64(n)), high, compact)
}

// timeTicks returns about n round times in seconds, from 0 to at least high.
func timeTicks(high float64, n int) []tick {
	return ticks(timeStep(high/float64(n)), high, span)
}

// ticks returns the multiples of step from 0 to at least high.
func ticks(step, high float64, label func(float64) string) (all []tick) {
	// The bound ends the loop for any step; the steps above need a tenth of it.
	for i := range 200 {
		v := float64(i) * step
		all = append(all, tick{v, label(v)})
		// The last tick is at or above the largest value, up to rounding.
		if v >= high*(1-1e-9) && i > 0 {
			break
		}
	}
	return all
}

// logTicks returns the numbers from low to high that are 1, 2 or 5 times a power of ten.
func logTicks(low, high float64) (all []tick) {
	for decade := math.Pow(10, math.Floor(math.Log10(low))); decade <= high; decade *= 10 {
		for _, m := range []float64{1, 2, 5} {
			if v := m * decade; v >= low && v <= high {
				all = append(all, tick{v, compact(v)})
			}
		}
	}
	return all
}

// roundStep returns the next number at or above v of the form 1, 2 or 5 times a power of ten.
func roundStep(v float64) float64 {
	// A figure without a scale, such as a run without messages, still gets an axis.
	if v <= 0 || !finite(v) {
		return 1
	}
	decade := math.Pow(10, math.Floor(math.Log10(v)))
	for _, m := range []float64{1, 2, 5} {
		if m*decade >= v*(1-1e-9) {
			return m * decade
		}
	}
	return 10 * decade
}

// timeStep returns the next step for an axis of time at or above v seconds.
func timeStep(v float64) float64 {
	const minute, hour, day = 60, 3600, 86400
	for _, s := range []float64{
		0.1, 0.2, 0.5, 1, 2, 5, 10, 15, 30, minute, 2 * minute, 5 * minute, 10 * minute, 15 * minute, 30 * minute,
		hour, 2 * hour, 3 * hour, 6 * hour, 12 * hour, day, 2 * day,
	} {
		if s >= v {
			return s
		}
	}
	return roundStep(v/day) * day
}

// compact returns a number in few characters, as in 950, 1.5k and 20M.
func compact(v float64) string {
	for _, unit := range []struct {
		size float64
		name string
	}{{1e12, "T"}, {1e9, "G"}, {1e6, "M"}, {1e4, "k"}} {
		if math.Abs(v) >= unit.size {
			size := unit.size
			// Thousands begin at 10k: smaller numbers are short enough in full.
			if unit.name == "k" {
				size = 1e3
			}
			return strconv.FormatFloat(math.Round(v/size*100)/100, 'f', -1, 64) + unit.name
		}
	}
	return render.Number(v)
}

// span returns seconds without parts that are zero, as in 0s, 1m30s, 2h and 1d12h.
func span(seconds float64) string {
	const day = 24 * time.Hour
	d := time.Duration(math.Round(seconds*1000)) * time.Millisecond
	switch {
	case d == 0:
		return "0s"
	case d < time.Minute:
		return render.Number(d.Seconds()) + "s"
	}
	// From a minute on, fractions of a second tell nothing.
	d = d.Round(time.Second)
	text := ""
	for _, unit := range []struct {
		size time.Duration
		name string
	}{{day, "d"}, {time.Hour, "h"}, {time.Minute, "m"}, {time.Second, "s"}} {
		if n := d / unit.size; n > 0 {
			text += strconv.FormatInt(int64(n), 10) + unit.name
			d -= n * unit.size
		}
	}
	return text
}

// percent returns a share in per cent with at most two decimals. Only a share of 1 is written as 100 %.
func percent(share float64) string {
	v := math.Round(share*1e4) / 100
	// A share just below 1 must not look like all.
	if share < 1 && v >= 100 {
		v = 99.99
	}
	return strconv.FormatFloat(v, 'f', -1, 64) + " %"
}

// grouped returns a number with commas between its thousands, and with a decimal or two only where it is small.
func grouped(v float64) string {
	decimals := 0
	if v != math.Trunc(v) {
		switch size := math.Abs(v); {
		case size < 10:
			decimals = 2
		case size < 1000:
			decimals = 1
		}
	}
	text := strconv.FormatFloat(v, 'f', decimals, 64)
	whole := len(text)
	if decimals > 0 {
		whole -= decimals + 1
	}
	for i := whole - 3; i > 0 && text[i-1] != '-'; i -= 3 {
		text = text[:i] + "," + text[i:]
	}
	return text
}
