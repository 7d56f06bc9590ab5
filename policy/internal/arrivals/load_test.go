package arrivals_test

import (
	"math"
	"testing"

	"github.com/muster-scale/muster"
	"github.com/muster-scale/muster/policy/internal/arrivals"
)

// The rate is that of a window at least as long as the work, and the surely busy slots are fewer where few messages
// came.
func TestTheLoadIsThatOfAWindowAtLeastAsLongAsTheWork(t *testing.T) {
	each := muster.Arrivals{Known: true, Minute: 0.3, FiveMinutes: 0.12, TwentyMinutes: 0.03, Hour: 0.01,
		FourHours: 0.02, TwelveHours: 0.005, WatchedSeconds: 1e6}
	begun := each
	begun.WatchedSeconds = 100
	second := each
	second.WatchedSeconds = 30
	for _, row := range []struct {
		name             string
		a                muster.Arrivals
		work, over       float64
		load, sure, long float64
	}{
		{"36 messages of 2 s in five minutes", each, 2, 600, 0.24, 0.2, 0.24},
		{"the last minute is busier", each, 2, 299, 0.24, 0.2, 0.6},
		{"36 messages of 10 min in 20", each, 600, 600, 18, 15, 18},
		{"20 min to wait show a rise later, of short work", each, 2, 1200, 0.24, 0.2, 0.06},
		{"36 messages of two hours in one: no more is known than an hour of each", each, 7200, 600, 36, 30, 36},
		{"four hours", each, 7200, 4 * 3600, 36, 30, 144},
		{"twelve hours", each, 7200, 12 * 3600, 36, 30, 36},
		{"watched for 100 s, in which 12 came", begun, 2, 600, 0.24, 0.24 - 2*math.Sqrt(12)/100, 0.24},
		{"watched for half a minute", second, 2, 600, 0.24, 0.24 - 2*math.Sqrt(3.6)/30, 0.12},
		{"nothing came", muster.Arrivals{Known: true}, 2, 600, 0, 0, 0},
	} {
		t.Run(row.name, func(t *testing.T) {
			for what, found := range map[string][2]float64{
				"load":           {arrivals.Load(row.a, row.work), row.load},
				"sure load":      {arrivals.SureLoad(row.a, row.work), row.sure},
				"load over time": {arrivals.LoadOver(row.a, row.work, row.over), row.long},
			} {
				if math.Abs(found[0]-found[1]) > 1e-9 {
					t.Errorf("%s: found %v slots, want %v", what, found[0], found[1])
				}
			}
		})
	}
}

// A burst is load for the minutes in which it comes, and steady messages are by every window.
func TestSteadyLoadIsThatOfEveryWindow(t *testing.T) {
	steady := muster.Arrivals{Known: true, FiveMinutes: 1, TwentyMinutes: 1, Hour: 1, WatchedSeconds: 3600}
	burst := steady
	burst.TwentyMinutes, burst.Hour = 0.25, 300.0/3600
	started := burst
	started.WatchedSeconds, started.TwentyMinutes, started.Hour = 300, 1, 1
	for _, row := range []struct {
		name       string
		a          muster.Arrivals
		work, want float64
	}{
		{"a message a second of 100 s: five minutes tell least", steady, 100, 100 * (300 - math.Sqrt(300)) / 300},
		{"of 400 s: 20 minutes do", steady, 400, 400 * (1200 - math.Sqrt(1200)) / 1200},
		{"300 messages within the last five minutes", burst, 100, 100 * (300 - math.Sqrt(300)) / 3600},
		{"watched for five minutes", started, 100, 100 * (300 - math.Sqrt(300)) / 300},
		{"work of two hours: what an hour shows", steady, 7200, 3600 - 60},
		{"nothing came", muster.Arrivals{Known: true}, 100, 0},
	} {
		if got := arrivals.SteadyLoad(row.a, row.work); math.Abs(got-row.want) > 1e-9 {
			t.Errorf("%s: found %v, want %v", row.name, got, row.want)
		}
	}
}
