package arrivals_test

import (
	"math"
	"testing"

	"github.com/muster-scale/muster"
	"github.com/muster-scale/muster/policy/internal/arrivals"
)

// A ramp rises alike over all windows. A step and a burst are not taken for the ramp that their first minute looks
// like, and what came within ten seconds is no rate for a whole boot.
func TestARampIsFollowedAndAStepIsNot(t *testing.T) {
	// since is a rate of 100 messages a second that began so long ago; ramp one that rose to 100 from nothing within so
	// long; burst one of 10 a second with 2,000 messages in the last five seconds.
	since := func(ago float64) func(over float64) float64 {
		return func(over float64) float64 { return 100 * math.Min(ago, over) / over }
	}
	ramp := func(ago float64) func(over float64) float64 {
		return func(over float64) float64 {
			within := math.Min(ago, over)
			return 100 * (within - within*within/(2*ago)) / over
		}
	}
	burst := func(over float64) float64 { return 10 + 2000/math.Max(5, over) }
	over := func(over float64) float64 { // a burst that ended ten seconds ago
		if over <= 10 {
			return 10
		}
		return 10 + 2000/over
	}
	for _, row := range []struct {
		name                         string
		rate                         func(over float64) float64
		watched, stream, rise, rate0 float64
	}{
		{"a ramp of ten minutes: (95 - 75 - 2 sqrt(95/60 + 75/300)) / 120", ramp(600), 600, 97, 0.144, 99.32},
		{"of which nothing was finished yet: the mean of five minutes", ramp(600), 600, 0, 0.144, 79.32},
		{"a step of half a minute ago: the mean of the minute", since(30), 3600, 100, 0, 50},
		{"nobody sees that it is a stream: the mean of five minutes", since(30), 3600, 0, 0, 10},
		{"a step of four minutes ago", since(240), 3600, 100, 0, 100},
		{"a burst on top of a stream: the mean of five minutes", burst, 3600, 10, 0, 16.67},
		{"a burst that is over", over, 3600, 10, 0, 0},
		{"a steady rate", since(1e9), 3600, 100, 0, 0},
		{"what was watched for a minute is no ramp", ramp(60), 60, 100, 0, 0},
	} {
		a := muster.Arrivals{Known: true, WatchedSeconds: row.watched}
		seen := func(over float64) float64 { return row.rate(math.Min(over, row.watched)) }
		a.TenSeconds, a.Minute, a.FiveMinutes, a.TwentyMinutes, a.Hour = seen(10), seen(60), seen(300), seen(1200),
			seen(3600)
		rate, rise := arrivals.Growth(a, row.stream)
		if math.Abs(rise-row.rise) > 0.012 || math.Abs(rate-row.rate0) > 0.4 {
			t.Errorf("%s: %v a second now, which rises by %v a second; want %v and %v", row.name, rate, rise, row.rate0,
				row.rise)
		}
	}
}

// A busy ten seconds tell of the next half minute, less one deviation, and of no longer time: an hour of one a
// second does.
func TestTenSecondsTellOfHalfAMinute(t *testing.T) {
	a := muster.Arrivals{Known: true, WatchedSeconds: 3600, TenSeconds: 10, Minute: 1, FiveMinutes: 1,
		TwentyMinutes: 1, Hour: 1}
	for seconds, want := range map[float64]float64{10: 90, 30: 270, 31: 31} {
		if got := arrivals.Expected(a, seconds, false, 0); math.Abs(got-want) > 1e-9 {
			t.Errorf("within %v s: found %v, want %v", seconds, got, want)
		}
	}
}

// A stream shows in both halves of the time since its first message, and a burst in one.
func TestAStreamShowsInBothHalvesOfTheTime(t *testing.T) {
	for _, row := range []struct {
		name    string
		waiting []muster.Waiting
		want    float64
	}{
		{"nothing waits", nil, 0},
		{"no age is known", []muster.Waiting{{Messages: 100}}, 0},
		{"a burst", []muster.Waiting{{AgeSeconds: 10, Messages: 100}}, 0},
		{"25 in each half of ten seconds, less five by chance",
			[]muster.Waiting{{AgeSeconds: 10, Messages: 25}, {AgeSeconds: 5, Messages: 25}}, 4},
		{"the half with fewer counts",
			[]muster.Waiting{{AgeSeconds: 10, Messages: 100}, {AgeSeconds: 5, Messages: 800}}, 18},
		{"whichever it is", []muster.Waiting{{AgeSeconds: 10, Messages: 900}, {AgeSeconds: 5, Messages: 25}}, 4},
		{"a burst after a few others",
			[]muster.Waiting{{AgeSeconds: 10, Messages: 3}, {AgeSeconds: 2, Messages: 97}}, 0},
		{"one from long before", []muster.Waiting{{AgeSeconds: 50, Messages: 1}, {AgeSeconds: 10, Messages: 25},
			{AgeSeconds: 5, Messages: 25}}, 4},
		{"one in each half may be chance",
			[]muster.Waiting{{AgeSeconds: 10, Messages: 1}, {AgeSeconds: 1, Messages: 1}}, 0},
		{"the third poll has not come",
			[]muster.Waiting{{AgeSeconds: 3, Messages: 25}, {AgeSeconds: 1, Messages: 25}}, 0},
		{"what came before the last minute does not count", []muster.Waiting{{AgeSeconds: 600, Messages: 1e6},
			{AgeSeconds: 60, Messages: 100}, {AgeSeconds: 30, Messages: 100}}, 3},
	} {
		t.Run(row.name, func(t *testing.T) {
			if got := arrivals.OfStream(row.waiting, 2); got != row.want {
				t.Errorf("%v messages a second, want %v", got, row.want)
			}
		})
	}
}

// Work that takes an hour is not known to go on by the arrivals of an hour.
func TestTheLongerTheWorkTheLongerTheArrivalsThatBoundIt(t *testing.T) {
	seldom := muster.Arrivals{FourHours: 2.0 / 14400, TwelveHours: 5.0 / 43200, WatchedSeconds: 3600}
	forgotten, begun := seldom, muster.Arrivals{Minute: 0.5, FiveMinutes: 0.5, TwentyMinutes: 0.5, Hour: 0.5,
		WatchedSeconds: 60}
	forgotten.TwelveHours = 0
	for _, row := range []struct {
		name     string
		arrivals muster.Arrivals
		work     float64
		want     float64
	}{
		{"short work: nothing in an hour may still be one", seldom, 60, 1.0 / 3600},
		{"half an hour: two in four hours may be three", seldom, 1800, 3.0 / 14400},
		{"two hours: five in twelve hours may be six", seldom, 7200, 6.0 / 43200},
		{"twelve hours are not remembered", forgotten, 7200, 3.0 / 14400},
		{"watched for a minute: 30 may be 31", begun, 7200, 31.0 / 60},
	} {
		if got := arrivals.Bound(row.arrivals, row.work, false); math.Abs(got-row.want) > 1e-9 {
			t.Errorf("%s: found %v a second, want %v", row.name, got, row.want)
		}
	}
	if got := arrivals.Bound(begun, 7200, true); math.Abs(got-(31+math.Sqrt(30))/60) > 1e-9 {
		t.Errorf("30 within a minute, with chance: found %v a second", got)
	}
}
