package metricmath

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/muster-scale/muster/metricmath/language"
)

// The bounds of a list and of an evaluation; those of one expression are [language.MaxText] and [language.MaxDepth].
// Anything beyond is refused with a reason; nothing is truncated. Within them compiling and evaluating take less than
// 10 ms each on one core of a small machine.
const (
	// MaxTotalText is the greatest length of all expressions of a list together, in bytes.
	MaxTotalText = 32 << 10
	// MaxQueries is the greatest number of queries in a list, as in GetMetricData.
	MaxQueries = 500
	// MaxSeries is the greatest number of series in an array, as in a graph.
	MaxSeries = 500
	// MaxPeriods is the greatest number of periods in a range: a week of minutes.
	MaxPeriods = 10_080
	// MaxWork is the greatest number of points that one evaluation may compute, intermediate ones included. It is
	// enough for the sum of 500 metrics over a day of minutes.
	MaxWork = 3 << 19
	// MaxListed is the greatest number of metrics that SEARCH may look through.
	MaxListed = 1_000
	// MaxSelections is the greatest number of calls of METRICS and SEARCH in all expressions together.
	MaxSelections = 100
	// AWSText is the greatest length of an expression at AWS, in characters. A longer one compiles with a note.
	AWSText = 2048
	// AWSAlarmMetrics is the greatest number of metrics in the expression of an alarm. More give a note.
	AWSAlarmMetrics = 10
)

// Use is the purpose of a list of queries; it decides what may be returned.
type Use string

const (
	// ForTargetTracking gives exactly one series and cannot search. It is the default.
	ForTargetTracking Use = "target-tracking"
	// ForAlarm has the same rules as ForTargetTracking.
	ForAlarm Use = "alarm"
	// ForGraph may return any number of series, and search.
	ForGraph Use = "graph"
)

// FillEmpty is the result of FILL with a number for a series without any point in the range.
type FillEmpty string

const (
	// EmptyFilled gives the number at every period. It is the default, because the published formula for worker
	// utilization relies on it.
	EmptyFilled FillEmpty = "filled"
	// EmptyKept leaves the series without points.
	EmptyKept FillEmpty = "empty"
)

// Ambiguity is the treatment of text whose meaning depends on an order of operators that AWS does not document: -a ^ b,
// a ^ b ^ c, and AND next to OR without parentheses.
type Ambiguity string

const (
	// UsualOrder reads it in the usual order of mathematics: ^ from the right, then -, * and /, + and -, comparisons,
	// AND, OR. It is the default.
	UsualOrder Ambiguity = "usual"
	// RefuseAmbiguity reports such text as a fault; parentheses resolve it.
	RefuseAmbiguity Ambiguity = "refuse"
)

// MixedPeriods is the treatment of metrics with different periods in one list.
type MixedPeriods string

const (
	// RefuseMixed reports them as a fault. It is the default.
	RefuseMixed MixedPeriods = "refuse"
	// OwnTimestamps uses the shortest period. A metric with a longer period has points at its own timestamps and
	// missing points between them.
	OwnTimestamps MixedPeriods = "own-timestamps"
	// LongestPeriod uses the longest period. Shorter periods are combined by the statistic: Sum and SampleCount are
	// added, Maximum and Minimum compared, Average averaged over the existing points. Other statistics are refused.
	LongestPeriod MixedPeriods = "longest"
)

// Options choose where the behaviour of CloudWatch is not documented. The zero Options are the defaults.
type Options struct {
	// Use is ForTargetTracking when empty.
	Use Use `json:"use,omitzero"`
	// FillEmpty is EmptyFilled when empty.
	FillEmpty FillEmpty `json:"fill_empty,omitzero"`
	// Ambiguity is UsualOrder when empty.
	Ambiguity Ambiguity `json:"ambiguity,omitzero"`
	// MixedPeriods is RefuseMixed when empty.
	MixedPeriods MixedPeriods `json:"mixed_periods,omitzero"`
	// AverageCountsHoles makes AVG of one series divide by all periods of the range, instead of by the existing points.
	// AVG of an array always counts missing points as zero, as documented.
	AverageCountsHoles bool `json:"average_counts_holes,omitzero"`
	// SampleDeviation makes STDDEV divide by n-1 instead of n.
	SampleDeviation bool `json:"sample_deviation,omitzero"`
	// StrictReturnData treats an absent ReturnData as true, as the API does. Otherwise an absent one is false as soon
	// as some query has true, which is what the published examples mean.
	StrictReturnData bool `json:"strict_return_data,omitzero"`
	// PeriodSeconds is the period of metrics that state none; zero selects 60.
	PeriodSeconds int `json:"period_seconds,omitzero"`
}

// withDefaults returns o with the default for every empty field, so that the compiler compares with full names only.
func (o Options) withDefaults() Options {
	if o.Use == "" {
		o.Use = ForTargetTracking
	}
	if o.FillEmpty == "" {
		o.FillEmpty = EmptyFilled
	}
	if o.Ambiguity == "" {
		o.Ambiguity = UsualOrder
	}
	if o.MixedPeriods == "" {
		o.MixedPeriods = RefuseMixed
	}
	if o.PeriodSeconds == 0 {
		o.PeriodSeconds = 60
	}
	return o
}

// check returns a fault for every option with a value that is not allowed. o has its defaults already.
func (o Options) check() (faults []error) {
	faults = append(faults,
		oneOf("use", o.Use, ForTargetTracking, ForAlarm, ForGraph),
		oneOf("fill_empty", o.FillEmpty, EmptyFilled, EmptyKept),
		oneOf("ambiguity", o.Ambiguity, UsualOrder, RefuseAmbiguity),
		oneOf("mixed_periods", o.MixedPeriods, RefuseMixed, OwnTimestamps, LongestPeriod))
	if !goodPeriod(o.PeriodSeconds) {
		faults = append(faults, &language.Error{Found: fmt.Sprintf("period_seconds: %d", o.PeriodSeconds),
			Expected: goodPeriods})
	}
	return slices.DeleteFunc(faults, func(err error) bool { return err == nil })
}

// oneOf returns a fault unless is is one of the allowed values. name is the option's JSON name.
func oneOf[T ~string](name string, is T, allowed ...T) error {
	if slices.Contains(allowed, is) {
		return nil
	}
	words := make([]string, len(allowed))
	for i, a := range allowed {
		words[i] = string(a)
	}
	return &language.Error{Found: fmt.Sprintf("%s: %q", name, string(is)), Expected: strings.Join(words, " or ")}
}

const goodPeriods = "1, 5, 10, 20, 30 or a multiple of 60 seconds up to a day"

// goodPeriod tells whether CloudWatch accepts a period.
func goodPeriod(seconds int) bool {
	return seconds > 0 && seconds <= 86400 && (seconds%60 == 0 || slices.Contains([]int{1, 5, 10, 20, 30}, seconds))
}

// inSeconds returns n seconds as a duration.
func inSeconds(n int) time.Duration { return time.Duration(n) * time.Second }
