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
	// Known is false for a missing point.
	Known bool
}

// Known returns the point with the value v. It is missing if v is infinite or not a number.
func Known(v float64) Point {
	if v-v != 0 { // true of the infinities and of not-a-number alone
		return Point{}
	}
	return Point{Value: v, Known: true}
}

// String returns the number in its shortest form, or a dash for a missing point.
func (p Point) String() string {
	if !p.Known {
		return "-"
	}
	return strconv.FormatFloat(p.Value, 'g', -1, 64)
}

// Series is a row of points at equal distances in time. A period without a value has a missing point.
type Series struct {
	// Label names the series in an array: the label of its query, or else the query's id.
	Label string
	// Start is the time at which the first period begins. It is rounded down to a multiple of Period since 1970.
	Start time.Time
	// Period is above zero in a series with points, and a whole number of seconds.
	Period time.Duration
	// Points are in order of time.
	Points []Point
}

// Row returns the series with the given values from start on. A value that is infinite or not a number is missing.
func Row(start time.Time, period time.Duration, values ...float64) Series {
	s := Series{Start: start, Period: period, Points: make([]Point, len(values))}
	for i, v := range values {
		s.Points[i] = Known(v)
	}
	return s
}

// Missing returns the argument of [Row] that makes a missing point: not a number.
func Missing() float64 { return math.NaN() }

// Newest returns the last known point and the start of its period, or a missing point and the zero time.
func (s Series) Newest() (Point, time.Time) {
	for i := len(s.Points) - 1; i >= 0; i-- {
		if s.Points[i].Known {
			return s.Points[i], s.Start.Add(time.Duration(i) * s.Period)
		}
	}
	return Point{}, time.Time{}
}

// Last returns the point of the last period. It is missing for a series without points.
func (s Series) Last() Point {
	if len(s.Points) == 0 {
		return Point{}
	}
	return s.Points[len(s.Points)-1]
}

// Value is the result of a query.
type Value struct {
	// Kind is OneSeries or Array; a query never has a Number as result.
	Kind language.Kind
	// Series has exactly one element for OneSeries, and at most MaxSeries for an Array.
	Series []Series
	// Silent lists the ids of the metrics that were read for this value and had no point in the whole range, in the
	// order of the list. The language counts such metrics as zero in many places. Check Silent before a value justifies
	// a decrease: a fleet must not shrink because its metric stopped.
	Silent []string
}

// Newest returns the newest known point of a value with one series, and the start of its period. It is missing for an
// array of any other length.
func (v Value) Newest() (Point, time.Time) {
	if len(v.Series) != 1 {
		return Point{}, time.Time{}
	}
	return v.Series[0].Newest()
}

// Last returns the point of the last period of a value with one series. It is missing for an array of any other length.
func (v Value) Last() Point {
	if len(v.Series) != 1 {
		return Point{}
	}
	return v.Series[0].Last()
}
