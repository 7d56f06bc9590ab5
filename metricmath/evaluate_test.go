package metricmath_test

import (
	"encoding/binary"
	"math"
	"reflect"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/muster-scale/muster/metricmath"
	"github.com/muster-scale/muster/metricmath/language"
)

// sound holds what every value promises: each point is finite or missing, each series as long as the range, and a
// reason is given exactly when no point is known.
func sound(t rapid.TB, v metricmath.Value, reason string) {
	t.Helper()
	some, length := false, -1
	for _, s := range v.Series {
		if length >= 0 && len(s.Points) != length {
			t.Fatalf("series of %d and %d points", length, len(s.Points))
		}
		length = len(s.Points)
		for _, p := range s.Points {
			if math.IsNaN(p.Value) || math.IsInf(p.Value, 0) || !p.Known && p.Value != 0 {
				t.Fatalf("the point %#v", p)
			}
			some = some || p.Known
		}
	}
	if some != (reason == "") {
		t.Fatalf("some point known: %t, reason %q", some, reason)
	}
	if v.Kind == language.OneSeries && len(v.Series) != 1 {
		t.Fatalf("one series that is %d", len(v.Series))
	}
}

// drawn makes points of bytes: numbers of any size, holes, and what is no number.
func drawn(bytes []byte) metricmath.Series {
	s := metricmath.Series{Start: monday, Period: time.Minute}
	for len(bytes) > 0 && len(s.Points) < 50 {
		b := bytes[0]
		bytes = bytes[1:]
		switch {
		case b < 60:
			s.Points = append(s.Points, metricmath.Point{})
		case b < 220:
			s.Points = append(s.Points, metricmath.Point{Value: float64(b) - 120, Known: true})
		default:
			var eight [8]byte
			bytes = bytes[copy(eight[:], bytes):]
			s.Points = append(s.Points, metricmath.Point{Value: math.Float64frombits(binary.BigEndian.Uint64(eight[:])),
				Known: b < 250})
		}
	}
	return s
}

func FuzzEvaluate(f *testing.F) {
	for _, text := range []string{
		"IF(FILL(a, 0) > 0, e, IF(b > 0, 1, 0))", "SUM(METRICS()) / AVG([a, b])", "SORT(SEARCH('{Test} a OR b', " +
			"'Maximum', 60), AVG, DESC, 2)", "RATE(FILL([a, b], LINEAR)) ^ 0.5",
		"SLICE(METRICS(), 1, 9) * STDDEV(a)", "LOG10(RUNNING_SUM(a)) - DIFF_TIME(b)", "FIRST(REMOVE_EMPTY([a, b, e]))",
		"TIME_SERIES(MAX(a) / MIN(b)) AND e", "SERVICE_QUOTA(a) * MINUTE(b)", "-FILL(METRICS('a'), b)",
	} {
		f.Add(text, "a + b", []byte{1, 130, 140, 255, 0x7f, 0xf0, 0, 0, 0, 0, 0, 0, 7, 125, 230, 0x7f, 0xef, 0xff, 0xff,
			0xff, 0xff, 0xff, 0xff}, []byte{150, 2, 120, 221, 0xff, 0xf8, 0, 0, 0, 0, 0, 1}, uint8(3))
	}
	f.Fuzz(func(t *testing.T, text, other string, a, b []byte, options uint8) {
		o := metricmath.Options{Use: metricmath.ForGraph, AverageCountsHoles: options&1 > 0,
			SampleDeviation: options&2 > 0}
		if options&4 > 0 {
			o.FillEmpty = metricmath.EmptyKept
		}
		if options&8 > 0 {
			o.MixedPeriods = metricmath.LongestPeriod
		}
		list := []metricmath.Query{metric("a"), metric("b"), {ID: "e", Expression: other},
			{ID: "result", Expression: text}}
		if options&16 > 0 {
			list[1].MetricStat.PeriodSeconds = 300
		}
		p, err := metricmath.Compile(list, o)
		if err != nil {
			return
		}
		in := metricmath.Inputs{Since: monday, Series: map[string]metricmath.Series{"a": drawn(a), "b": drawn(b)}}
		in.Listed = []metricmath.Listed{{Metric: list[0].MetricStat.Metric, Stat: "Maximum", Series: drawn(b)},
			{Metric: list[1].MetricStat.Metric, Stat: "Maximum", Series: drawn(a)}}
		in.Computed = map[string][]metricmath.Series{"SERVICE_QUOTA(a)": {drawn(b)}}
		if options&16 > 0 {
			long := in.Series["b"]
			long.Period *= 5
			in.Series["b"] = long
		}
		at := monday.Add(time.Duration(options) * 17 * time.Second)
		answers := p.EvaluateAll(in, at)
		for _, answer := range answers {
			sound(t, answer.Value, answer.Reason)
		}
		same := func(p, q metricmath.Point) bool {
			return p.Known == q.Known && math.Float64bits(p.Value) == math.Float64bits(q.Value)
		}
		if !slices.EqualFunc(in.Series["a"].Points, drawn(a).Points, same) ||
			!slices.EqualFunc(in.Series["b"].Points, drawn(b).Points, same) {
			t.Fatal("the evaluation changed its inputs")
		}
		if again := p.EvaluateAll(in, at); !reflect.DeepEqual(answers, again) {
			t.Fatalf("twice the same gave %v and %v", answers, again)
		}
	})
}
