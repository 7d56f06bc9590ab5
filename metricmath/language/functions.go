package language

import (
	"maps"
	"slices"
	"strings"
)

// accepts is a set of the kinds of arguments that fit, one bit each. The first three bits are those of Kind, so that
// the kind of a checked node is such a set too.
type accepts uint16

const (
	aNumber  = accepts(Number)
	aSeries  = accepts(OneSeries)
	anArray  = accepts(Array)
	aText    = accepts(8)   // in quotes
	aFilling = accepts(16)  // REPEAT or LINEAR
	aMeasure = accepts(32)  // AVG, MIN, MAX or SUM without parentheses
	aSense   = accepts(64)  // ASC or DESC
	aMetric  = accepts(128) // the id of a metric, not of an expression
	// anyValue is what a Lambda data source accepts for its arguments.
	anyValue = aNumber | aSeries | anArray | aText
)

// signature is one way to call a function.
type signature struct {
	// args are the arguments in order.
	args []accepts
	// required is how many of args are required, from the first on; zero means all.
	required int
	// gives is the kind of the result.
	gives Kind
}

// words are names that are valid only as arguments of FILL and SORT, without parentheses. AVG, MIN, MAX and SUM are
// also functions.
var words = []string{"REPEAT", "LINEAR", "ASC", "DESC", "AVG", "MIN", "MAX", "SUM"}

// Most functions share one of four groups of signatures. perPoint computes each point, reducing removes one dimension,
// calendar looks at times only, and picking takes one series out of an array.
var (
	perPoint = []signature{{args: []accepts{aSeries}, gives: OneSeries}, {args: []accepts{anArray}, gives: Array}}
	reducing = []signature{{args: []accepts{aSeries}, gives: Number}, {args: []accepts{anArray}, gives: OneSeries}}
	calendar = []signature{{args: []accepts{aSeries}, gives: OneSeries}}
	picking  = []signature{{args: []accepts{anArray}, gives: OneSeries}}
)

// signatures has every function with the ways to call it, as the CloudWatch user guide lists them. Adding a function
// means a row here and a case in the evaluation of package metricmath.
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
	"LAMBDA": {{args: []accepts{aText, anyValue, anyValue, anyValue, anyValue, anyValue, anyValue,
		anyValue, anyValue, anyValue, anyValue}, required: 1, gives: Array}},
}

// elsewhere are the functions whose inputs only CloudWatch has: models, quotas, logs, databases and code.
var elsewhere = []string{"ANOMALY_DETECTION_BAND", "DB_PERF_INSIGHTS", "INSIGHT_RULE_METRIC", "LAMBDA", "SERVICE_QUOTA"}

// ComputedElsewhere tells whether only CloudWatch can compute a function. Its result must then come with the inputs of
// an evaluation.
func ComputedElsewhere(function string) bool { return slices.Contains(elsewhere, function) }

// functionNames returns all names in alphabetical order, because the order of a map must not choose a suggestion.
func functionNames() []string { return slices.Sorted(maps.Keys(signatures)) }

// String lists the accepted kinds for an error.
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
