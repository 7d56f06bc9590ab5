package report

import (
	"fmt"
	"math"

	"github.com/muster-scale/muster/internal/render"
)

// Span renders a time in seconds, as in 2m30s.
func Span(seconds float64) string { return render.Seconds(seconds) }

// Number renders a number: whole if it is large, with two digits after the point if it is small.
func Number(v float64) string {
	if math.Abs(v) >= 100 || v == math.Trunc(v) {
		return fmt.Sprintf("%.0f", v)
	}
	return fmt.Sprintf("%.2f", v)
}

// Percent is a share in per cent.
func Percent(share float64) string { return fmt.Sprintf("%.5g %%", 100*share) }

// Multiple is how many times as much something is.
func Multiple(v float64) string { return fmt.Sprintf("%.2f x", v) }

// Multiple3 is for figures that are judged to the hundredth.
func Multiple3(v float64) string { return fmt.Sprintf("%.3f x", v) }

// Points is a difference of shares.
func Points(share float64) string { return fmt.Sprintf("%.2f points", 100*share) }
