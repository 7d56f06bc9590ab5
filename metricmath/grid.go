package metricmath

import (
	"fmt"
	"slices"
	"time"
)

// grid is the range of an evaluation: n periods from an instant on. Every computed series has one point for each
// period, so that operators work on slices of equal length and never on times.
type grid struct {
	from   int64 // Unix seconds, a multiple of period
	period int64 // seconds
	n      int
}

// down rounds seconds down to a multiple of period, also below zero.
func down(seconds, period int64) int64 {
	return seconds - ((seconds%period)+period)%period
}

// start returns the time at which period i begins; i may be n, for the end of the range.
func (g grid) start(i int) time.Time { return time.Unix(g.from+int64(i)*g.period, 0).UTC() }

// sensible tells whether arithmetic with t in Unix seconds is safe.
func sensible(t time.Time) bool { return t.Year() >= 1 && t.Year() <= 9999 }

// grid returns the range of an evaluation, or the reason why there is none. The range ends with the last period that is
// complete at the instant at, because the values of the current period are still arriving.
func (p Program) grid(in Inputs, at time.Time) (grid, string) {
	if p.period == 0 {
		return grid{}, "the program is empty; Compile makes one"
	}
	g := grid{period: int64(p.period)}
	if !sensible(at) || !sensible(in.Since) {
		return grid{}, "found an instant to evaluate at, or since, outside of the years 1 to 9999"
	}
	to := down(at.Unix(), g.period)
	g.from = to
	if !in.Since.IsZero() {
		g.from = down(in.Since.Unix(), g.period)
	} else {
		for _, e := range p.entries {
			if s := in.Series[e.query.ID]; e.root == nil && len(s.Points) > 0 && sensible(s.Start) {
				g.from = min(g.from, down(s.Start.Unix(), g.period))
			}
		}
	}
	switch n := (to - g.from) / g.period; {
	case n <= 0 && in.Since.IsZero():
		return grid{}, fmt.Sprintf("no metric has a point in a period that is over at %s, and Since gives no range",
			at.UTC().Format(time.RFC3339))
	case n <= 0:
		return grid{}, fmt.Sprintf("no period of %d s is over between %s and %s", p.period,
			in.Since.UTC().Format(time.RFC3339), at.UTC().Format(time.RFC3339))
	case n > MaxPeriods:
		return grid{}, fmt.Sprintf("the range has %d periods of %d s, at most %d can be computed: begin later with "+
			"Since, or use a longer period", n, p.period, MaxPeriods)
	default:
		g.n = int(n)
	}
	return g, ""
}

// place maps a series onto the grid. Points that are outside of the range, not finite or not on the grid are left out.
// If the points fit as they are, the result shares them with the series, and must not be changed.
func (g grid) place(s Series, stat string) []Point {
	width := int64(s.Period / time.Second)
	start := down(s.Start.Unix(), width)
	if width == g.period {
		offset := (start - g.from) / g.period
		if offset <= 0 && offset+int64(len(s.Points)) >= int64(g.n) {
			if own := s.Points[-offset:][:g.n]; !slices.ContainsFunc(own, improper) {
				return own
			}
		}
	}
	out := make([]Point, g.n)
	first := max(0, (g.from-start)/width)
	last := min(int64(len(s.Points)), (g.from+int64(g.n)*g.period-start+width-1)/width)
	if width < g.period {
		g.fold(out, s.Points, start, width, first, last, stat)
		return out
	}
	for i := first; i < last; i++ {
		at := (start + i*width - g.from) / g.period
		if p := s.Points[i]; p.Known && at >= 0 && at < int64(g.n) {
			out[at] = Known(p.Value)
		}
	}
	return out
}

// improper tells whether a point differs from those that [Known] makes: a value that is not finite, or a missing point
// with a value. (v-v is not zero exactly for infinities and not-a-number.)
func improper(p Point) bool { return p.Value-p.Value != 0 || !p.Known && p.Value != 0 }

// folds tells whether the statistic of a long period can be computed from that of the short periods in it. A percentile
// cannot.
func folds(stat string) bool {
	return slices.Contains([]string{"Sum", "SampleCount", "Maximum", "Minimum", "Average"}, stat)
}

// fold combines several short periods into each period of the grid, by the rule of the statistic. Average is the mean
// of the existing short averages: their weights are not known.
func (g grid) fold(out, points []Point, start, width, first, last int64, stat string) {
	counts := make([]int, len(out))
	for i := first; i < last; i++ {
		seconds := start + i*width - g.from
		p := Known(points[i].Value)
		if seconds < 0 || !points[i].Known || !p.Known || seconds/g.period >= int64(g.n) {
			continue
		}
		at := seconds / g.period
		counts[at]++
		switch o := &out[at]; {
		case !o.Known:
			*o = p
		case stat == "Maximum":
			o.Value = max(o.Value, p.Value)
		case stat == "Minimum":
			o.Value = min(o.Value, p.Value)
		default:
			o.Value += p.Value
		}
	}
	for i := range out {
		if stat == "Average" && counts[i] > 0 {
			out[i].Value /= float64(counts[i])
		}
		if improper(out[i]) {
			out[i] = Point{}
		}
	}
}
