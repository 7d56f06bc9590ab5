package language

import (
	"maps"
	"slices"
	"strings"
)

// accepts is a set of what an argument may be. The first three bits are those of Kind.
type accepts uint16

const (
	aNumber   = accepts(Number)
	aSeries   = accepts(OneSeries)
	anArray   = accepts(Array)
	aText     = accepts(8)   // in quotes
	aFilling  = accepts(16)  // REPEAT or LINEAR
	aMeasure  = accepts(32)  // AVG, MIN, MAX or SUM without parentheses
	aSense    = accepts(64)  // ASC or DESC
	aMetric   = accepts(128) // the id of a metric, not of an expression
	aReleased = aNumber | aSeries | anArray | aText
)

// signature is one way to call a function.
type signature struct {
	args []accepts
	// required is how many of args must be there; all when zero.
	required int
	gives    Kind
}

// words mean something as an argument only.
var words = []string{"REPEAT", "LINEAR", "ASC", "DESC", "AVG", "MIN", "MAX", "SUM"}

var (
	perPoint = []signature{{args: []accepts{aSeries}, gives: OneSeries}, {args: []accepts{anArray}, gives: Array}}
	reducing = []signature{{args: []accepts{aSeries}, gives: Number}, {args: []accepts{anArray}, gives: OneSeries}}
	calendar = []signature{{args: []accepts{aSeries}, gives: OneSeries}}
	picking  = []signature{{args: []accepts{anArray}, gives: OneSeries}}
)

// signatures has every function with the ways to call it, as the CloudWatch user guide lists them.
var signatures = map[string][]signature{
	"ABS": perPoint, "CEIL": perPoint, "FLOOR": perPoint, "LOG": perPoint, "LOG10": perPoint,
	"DIFF": perPoint, "DIFF_TIME": perPoint, "RATE": perPoint, "RUNNING_SUM": perPoint,
	"AVG": reducing, "MAX": reducing, "MIN": reducing, "SUM": reducing, "STDDEV": reducing, "DATAPOINT_COUNT": reducing,
	"MINUTE": calendar, "HOUR": calendar, "DAY": calendar, "DATE": calendar, "MONTH": calendar, "YEAR": calendar,
	"EPOCH": calendar,
	"FIRST": picking, "LAST": picking,
	"METRIC_COUNT": {{args: []accepts{anArray}, gives: Number}},
	"REMOVE_EMPTY": {{args: []accepts{anArray}, gives: Array}},
	"PERIOD":       {{args: []accepts{aMetric}, gives: Number}},
	"TIME_SERIES":  {{args: []accepts{aNumber}, gives: OneSeries}},
	"METRICS":      {{gives: Array}, {args: []accepts{aText}, gives: Array}},
	"SEARCH":       {{args: []accepts{aText, aText, aNumber}, required: 2, gives: Array}},
	"SLICE":        {{args: []accepts{anArray, aNumber, aNumber}, required: 2, gives: Array}},
	"SORT":         {{args: []accepts{anArray, aMeasure, aSense, aNumber}, required: 3, gives: Array}},
	"FILL": {
		{args: []accepts{aSeries, aNumber | aSeries | aFilling}, gives: OneSeries},
		{args: []accepts{anArray, aNumber | aSeries | aFilling}, gives: Array},
	},
	"IF": {
		{args: []accepts{aSeries, aNumber | aSeries, aNumber | aSeries}, required: 2, gives: OneSeries},
		{args: []accepts{aNumber, aSeries, aSeries}, required: 2, gives: OneSeries},
	},
	"ANOMALY_DETECTION_BAND": {{args: []accepts{aMetric, aNumber}, required: 1, gives: Array}},
	"SERVICE_QUOTA":          {{args: []accepts{aMetric}, gives: OneSeries}},
	"INSIGHT_RULE_METRIC":    {{args: []accepts{aText, aText}, gives: OneSeries}},
	"DB_PERF_INSIGHTS":       {{args: []accepts{aText, aText, aText}, gives: OneSeries}},
	"LAMBDA": {{args: []accepts{aText, aReleased, aReleased, aReleased, aReleased, aReleased, aReleased,
		aReleased, aReleased, aReleased, aReleased}, required: 1, gives: Array}},
}

var elsewhere = []string{"ANOMALY_DETECTION_BAND", "DB_PERF_INSIGHTS", "INSIGHT_RULE_METRIC", "LAMBDA", "SERVICE_QUOTA"}

// ComputedElsewhere tells whether only CloudWatch can compute a function: its series must be given with the inputs.
func ComputedElsewhere(function string) bool { return slices.Contains(elsewhere, function) }

// functionNames are all names in order of the alphabet.
func functionNames() []string { return slices.Sorted(maps.Keys(signatures)) }

// String is the set in words.
func (a accepts) String() string {
	var all []string
	for _, w := range []struct {
		bit  accepts
		word string
	}{
		{aNumber, Number.String()}, {aSeries, OneSeries.String()}, {anArray, Array.String()},
		{aText, "a text in quotes"},
		{aFilling, "REPEAT or LINEAR"}, {aMeasure, "AVG, MIN, MAX or SUM"}, {aSense, "ASC or DESC"},
		{aMetric, "the id of a metric"},
	} {
		if a&w.bit != 0 {
			all = append(all, w.word)
		}
	}
	return strings.Join(all, ", ")
}
