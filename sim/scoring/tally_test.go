package scoring

import (
	"math"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"
)

func TestQuantilesAreThoseOfTheSortedTimesWithin0_4Percent(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		all := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) int64 {
			return rapid.Int64Range(0, 1<<rapid.IntRange(0, 62).Draw(t, "bits")).Draw(t, "ns")
		}), 1, 300).Draw(t, "times")
		s := Tally{Objective: rapid.SampledFrom(all).Draw(t, "objective")}
		inTime := int64(0)
		for _, ns := range all {
			s.Finished(ns, ns/2)
			if ns <= s.Objective {
				inTime++
			}
		}
		end := time.Duration(math.MaxInt64)
		res := s.Result(end, 0, 1)
		slices.Sort(all)
		for _, x := range []struct{ q, found float64 }{{0.5, res.P50}, {0.95, res.P95}, {0.99, res.P99}} {
			want := time.Duration(all[int(math.Ceil(x.q*float64(len(all))))-1]).Seconds()
			if math.Abs(x.found-want) > 0.004*want {
				t.Fatalf("quantile %g: found %v s, want %v s", x.q, x.found, want)
			}
		}
		if res.Messages != int64(len(all)) || res.InTime != inTime {
			t.Fatalf("found %d messages, %d in time; want %d and %d", res.Messages, res.InTime, len(all), inTime)
		}
	})
}

func TestMessagesThatNeverFinishAreTheLatest(t *testing.T) {
	var s Tally
	for range 90 {
		s.Finished(int64(time.Second), 0)
	}
	for range 4 {
		s.Dead()
	}
	res := s.Result(time.Hour, 6, 1)
	if res.Messages != 100 || res.Dead != 4 || res.Unfinished != 6 || res.P95 != 3600 || res.P99 != 3600 ||
		math.Abs(res.P50-1) > 0.004 {
		t.Errorf("found %+v", res)
	}
}

func TestTheBillIsForEachMemberItsTimeByTheRules(t *testing.T) {
	for _, x := range []struct {
		name    string
		billing Billing
		lived   time.Duration
		want    float64
	}{
		{"to the nanosecond", Billing{}, 90*time.Second + 1, 90.000000001},
		{"at least the minimum", Billing{Minimum: time.Minute}, time.Second, 60},
		{"in whole steps", Billing{Step: time.Hour}, time.Hour + 1, 7200},
		{"a whole step is no more", Billing{Step: time.Hour}, time.Hour, 3600},
		{"the minimum, then whole steps", Billing{Minimum: 90 * time.Second, Step: time.Minute}, time.Second,
			120},
	} {
		t.Run(x.name, func(t *testing.T) {
			var s Tally
			s.Billing = x.billing
			s.Bill(x.lived)
			if math.Abs(s.Billed()-x.want) > 1e-12*x.want {
				t.Errorf("found %v s, want %v s", s.Billed(), x.want)
			}
		})
	}
}
