package metricmath

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/muster-scale/muster/metricmath/language"
)

// The bounds of lists and of evaluating; those of one expression are [language.MaxText] and [language.MaxDepth].
// What goes beyond them is refused with a reason; nothing is cut off in silence. Within them compiling and
// evaluating take less than 10 ms each on one core of a small machine.
const (
	// MaxTotalText is how many bytes all expressions of a list may have together.
	MaxTotalText = 32 << 10
	// MaxQueries is how many queries a list may have, as in GetMetricData.
	MaxQueries = 500
	// MaxSeries is how many series an array may have, as in a graph.
	MaxSeries = 500
	// MaxPeriods is how many periods an evaluation may cover: a week of minutes.
	MaxPeriods = 10_080
	// MaxWork is how many points one evaluation may compute, those in between included: enough for the sum of 500
	// metrics over a day of minutes.
	MaxWork = 3 << 19
	// MaxListed is how many metrics SEARCH may look through.
	MaxListed = 1_000
	// MaxSelections is how many calls of METRICS and SEARCH all expressions may have together.
	MaxSelections = 100
	// AWSText is how many characters an expression may have for AWS.
	AWSText = 2048
	// AWSAlarmMetrics is how many metrics the expression of an alarm may use.
	AWSAlarmMetrics = 10
)

// Use is what a list of queries is for; it decides what may come out.
type Use string

const (
	// ForTargetTracking gives exactly one series and cannot search. It is the default.
	ForTargetTracking Use = "target-tracking"
	// ForAlarm has the same rules.
	ForAlarm Use = "alarm"
	// ForGraph may return any number of series, and search.
	ForGraph Use = "graph"
)

// FillEmpty is what FILL with a number gives for a series that has no point at all in the range.
type FillEmpty string

const (
	// EmptyFilled gives the number at every period. It is the default: the published formula for worker
	// utilization relies on it.
	EmptyFilled FillEmpty = "filled"
	// EmptyKept leaves the series without points.
	EmptyKept FillEmpty = "empty"
)

// Ambiguity is what happens to text whose meaning hangs on an order of operators that AWS does not document: -a ^ b, a
// ^ b ^ c, and AND beside OR without parentheses.
type Ambiguity string

const (
	// UsualOrder reads it in the usual order of mathematics: ^ from the right, then -, * and /, + and -, comparisons,
	// AND, OR. It is the default.
	UsualOrder Ambiguity = "usual"
	// RefuseAmbiguity asks for parentheses.
	RefuseAmbiguity Ambiguity = "refuse"
)

// MixedPeriods is how metrics with different periods meet.
type MixedPeriods string

const (
	// RefuseMixed wants one period for all metrics. It is the default.
	RefuseMixed MixedPeriods = "refuse"
	// OwnTimestamps uses the shortest period; a metric with a longer one has points at its own timestamps alone, and
	// holes between them.
	OwnTimestamps MixedPeriods = "own-timestamps"
	// LongestPeriod uses the longest period; shorter ones are put together by their statistic: Sum and SampleCount are
	// added, Maximum and Minimum compared, Average averaged over the points that exist. Other statistics are refused.
	LongestPeriod MixedPeriods = "longest"
)

// Options choose what CloudWatch leaves open. The zero Options are the defaults.
type Options struct {
	// Use is ForTargetTracking when empty.
	Use Use `json:"use,omitzero"`
	// FillEmpty is EmptyFilled when empty.
	FillEmpty FillEmpty `json:"fill_empty,omitzero"`
	// Ambiguity is UsualOrder when empty.
	Ambiguity Ambiguity `json:"ambiguity,omitzero"`
	// MixedPeriods is RefuseMixed when empty.
	MixedPeriods MixedPeriods `json:"mixed_periods,omitzero"`
	// AverageCountsHoles makes AVG of one series divide by all periods of the range; otherwise by the points that
	// exist. (AVG of an array counts missing points as zero in either case, as documented.)
	AverageCountsHoles bool `json:"average_counts_holes,omitzero"`
	// SampleDeviation makes STDDEV divide by n-1; otherwise by n.
	SampleDeviation bool `json:"sample_deviation,omitzero"`
	// StrictReturnData counts a ReturnData that is not written as true, as the API does. Otherwise those not written
	// count as false where one query has it written as true, which is what the published examples mean.
	StrictReturnData bool `json:"strict_return_data,omitzero"`
	// PeriodSeconds is the period of metrics that state none: 60 when zero.
	PeriodSeconds int `json:"period_seconds,omitzero"`
}

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

// check returns a fault for every option that is none of the allowed ones.
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

func goodPeriod(seconds int) bool {
	return seconds > 0 && seconds <= 86400 && (seconds%60 == 0 || slices.Contains([]int{1, 5, 10, 20, 30}, seconds))
}

func inSeconds(n int) time.Duration { return time.Duration(n) * time.Second }
