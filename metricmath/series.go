package metricmath

import (
	"math"
	"strconv"
	"time"

	"github.com/muster-scale/muster/metricmath/language"
)

// Point is the value of one period. The zero Point is missing: nothing was published, or the value was dropped.
type Point struct {
	// Value is finite, and zero while the point is missing.
	Value float64
	// Known tells a value from a missing one.
	Known bool
}

// Known is the point with a value, missing when v is not a number or infinite.
func Known(v float64) Point {
	if v-v != 0 { // true of the infinities and of not-a-number alone
		return Point{}
	}
	return Point{Value: v, Known: true}
}

// String is the number in its shortest form, or a dash.
func (p Point) String() string {
	if !p.Known {
		return "-"
	}
	return strconv.FormatFloat(p.Value, 'g', -1, 64)
}

// Series is a row of points, one per period, without gaps in time: a period without a value has a missing point.
type Series struct {
	// Label names the series where several come out together: the label of its query, or else the query's id.
	Label string
	// Start is when the first point's period begins. One that is no multiple of Period since 1970 counts as the
	// multiple before.
	Start time.Time
	// Period is above zero in a series with points, and a whole number of seconds.
	Period time.Duration
	// Points are in order of time.
	Points []Point
}

// Row is the series with the values from start on, missing where a value is not a number or infinite.
func Row(start time.Time, period time.Duration, values ...float64) Series {
	s := Series{Start: start, Period: period, Points: make([]Point, len(values))}
	for i, v := range values {
		s.Points[i] = Known(v)
	}
	return s
}

// Missing is what a hole is in the arguments of [Row]: not a number.
func Missing() float64 { return math.NaN() }

// Newest returns the last point that is known and when its period begins, or a missing point and the zero time.
func (s Series) Newest() (Point, time.Time) {
	for i := len(s.Points) - 1; i >= 0; i-- {
		if s.Points[i].Known {
			return s.Points[i], s.Start.Add(time.Duration(i) * s.Period)
		}
	}
	return Point{}, time.Time{}
}

// Last returns the point of the last period, missing for a series without periods.
func (s Series) Last() Point {
	if len(s.Points) == 0 {
		return Point{}
	}
	return s.Points[len(s.Points)-1]
}

// Value is what a query gives.
type Value struct {
	// Kind is OneSeries or Array; a query never gives a Number.
	Kind language.Kind
	// Series has exactly one element for OneSeries, and at most MaxSeries for an Array.
	Series []Series
	// Silent are the ids of the metrics that were read for this and had no point in the whole range, in the order of
	// the list. The language counts them as zero in many places: who would let workers go because of the value should
	// look here first.
	Silent []string
}

// Newest returns the newest known point of a value that is one series, and when its period begins. It is missing for an
// array of any other length than one.
func (v Value) Newest() (Point, time.Time) {
	if len(v.Series) != 1 {
		return Point{}, time.Time{}
	}
	return v.Series[0].Newest()
}

// Last returns the point of the last period of a value that is one series. It is missing for an array of any other
// length than one.
func (v Value) Last() Point {
	if len(v.Series) != 1 {
		return Point{}
	}
	return v.Series[0].Last()
}
