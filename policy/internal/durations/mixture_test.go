package durations

import (
	"math"
	"testing"

	"github.com/muster-scale/muster"
)

func TestHowLongTheMessagesOfAClassTake(t *testing.T) {
	equal := muster.Estimate{Known: true, MeanSeconds: 30, P95Seconds: 30, P99Seconds: 30}
	exponential := muster.Estimate{Known: true, MeanSeconds: 30, P95Seconds: 30 * 2.9957, P99Seconds: 30 * 4.6052}
	for _, row := range []struct {
		name  string
		of    muster.Estimate
		share float64
		want  float64
	}{
		{"equal work, the shortest", equal, 0, 30},
		{"equal work, the longest", equal, 1, 30},
		{"exponential work, the median: 30 ln 2", exponential, 0.5, 20.79},
		{"the mean is where 63 % are", exponential, 1 - 1/math.E, 30},
		{"the 95th percentile is measured", exponential, 0.95, 89.87},
		{"between the two that are: 30 ln 50", exponential, 0.98, 117.36},
		{"the 99th", exponential, 0.99, 138.16},
		{"and on beyond it", exponential, 0.999, 207.23},
		{"no less than nothing", exponential, 0, 0},
	} {
		if got := durationAt(row.of, row.share); math.Abs(got-row.want) > 0.01 {
			t.Errorf("%s: %.2f, want %v", row.name, got, row.want)
		}
	}
}

// One message in twenty takes 30 s on average, exponentially: the 97th to 99th percentile of all is about the median of
// those, not what one in thirty of them exceeds.
func TestTheTailOfAMixtureIsThatOfAllMessages(t *testing.T) {
	m := mixture{of: []muster.Class{
		{Processing: muster.Estimate{Known: true, Count: 9500, MeanSeconds: 1, P95Seconds: 1, P99Seconds: 1}},
		{Processing: muster.Estimate{Known: true, Count: 500, MeanSeconds: 30, P95Seconds: 90, P99Seconds: 138}},
	}}
	for _, row := range []struct {
		rare          float64
		tail, longest float64
	}{
		{0.05, 27.5, 48.3}, // 30 ln(0.05 / 0.02) and 30 ln(0.05 / 0.01), by the lines through what is measured
		{0.02, 4.8, 20.8},  // half of the messages from the 97th to the 99th percentile take a second
		{0.01, 1, 1},
		{0.5, 96.6, 117.2},
	} {
		tail, longest := m.tail([]float64{1 - row.rare, row.rare}, 0.01)
		if math.Abs(tail-row.tail) > 0.3 || math.Abs(longest-row.longest) > 0.3 {
			t.Errorf("%v of the messages are long: a tail of %.2f and %.2f, want %v and %v", row.rare, tail, longest,
				row.tail, row.longest)
		}
	}
}

// Of classes that overlap, each alone has so many messages as long.
func TestTheTailOfAMixtureIsNoLessThanThatOfAClass(t *testing.T) {
	exponential := func(count int64, mean float64) muster.Class {
		return muster.Class{Processing: muster.Estimate{Known: true, Count: count, MeanSeconds: mean,
			P95Seconds: 2.9957 * mean, P99Seconds: 4.6052 * mean}}
	}
	m := mixture{of: []muster.Class{exponential(9700, 20), exponential(300, 40)}}
	// 20 ln(0.97 / 0.02): most of the long ones are no longer than the short ones.
	if tail, _ := m.tail([]float64{0.97, 0.03}, 0.01); math.Abs(tail-77.6) > 0.5 {
		t.Errorf("a tail of %.2f s, want 77.6", tail)
	}
}
