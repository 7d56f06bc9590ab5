package report

import (
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func TestNumbersAreWrittenForPeople(t *testing.T) {
	for _, c := range []struct{ what, got, want string }{
		{"no time", span(0), "0s"},
		{"part of a second", span(0.25), "0.25s"},
		{"seconds", span(59.5), "59.5s"},
		{"minutes", span(90), "1m30s"},
		{"whole hours", span(7200), "2h"},
		{"days", span(1.5 * 86400), "1d12h"},
		{"all", percent(1), "100 %"},
		{"nearly all", percent(0.999999), "99.99 %"},
		{"some", percent(0.12345), "12.35 %"},
		{"none", percent(0), "0 %"},
		{"small", compact(0.5), "0.5"},
		{"thousands", compact(1500), "1500"},
		{"many", compact(150_000), "150k"},
		{"millions", compact(2_500_000), "2.5M"},
		{"ungrouped", grouped(999), "999"},
		{"grouped", grouped(1234567), "1,234,567"},
		{"negative", grouped(-123456), "-123,456"},
		{"negative of three digits", grouped(-123), "-123"},
		{"large with parts", grouped(1234.56), "1,235"},
		{"medium with parts", grouped(123.456), "123.5"},
		{"small with parts", grouped(1.239), "1.24"},
	} {
		if c.got != c.want {
			t.Errorf("%s: %q, want %q", c.what, c.got, c.want)
		}
	}
}

func labels(all []tick) (text []string) {
	for _, t := range all {
		text = append(text, t.label)
	}
	return text
}

func TestTicksAreNumbersThatPeopleChoose(t *testing.T) {
	for _, c := range []struct {
		what string
		got  []tick
		want []string
	}{
		{"counts", countTicks(43, 4), []string{"0", "20", "40", "60"}},
		{"few", countTicks(2, 4), []string{"0", "1", "2"}},
		{"none", countTicks(0, 4), []string{"0", "1"}},
		{"rates", rateTicks(0.9, 3), []string{"0", "0.5", "1"}},
		{"minutes", timeTicks(300, 3), []string{"0s", "2m", "4m", "6m"}},
		{"days", timeTicks(7*86400, 7), []string{"0s", "1d", "2d", "3d", "4d", "5d", "6d", "7d"}},
		{"powers", logTicks(900, 25000), []string{"1000", "2000", "5000", "10k", "20k"}},
	} {
		if diff := cmp.Diff(c.want, labels(c.got)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.what, diff)
		}
	}
}

func TestTicksAscendAndCoverTheValues(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		high, n := math.Exp(rapid.Float64Range(-10, 30).Draw(t, "logarithm")), rapid.IntRange(2, 10).Draw(t, "about")
		for name, all := range map[string][]tick{"counts": countTicks(high, n), "rates": rateTicks(high, n),
			"times": timeTicks(high, n)} {
			if len(all) > n+2 {
				t.Errorf("%s: %d ticks up to %v, about %d were asked for", name, len(all), high, n)
			}
			for i := 1; i < len(all); i++ {
				if all[i].value <= all[i-1].value {
					t.Errorf("%s: tick %v after %v", name, all[i].value, all[i-1].value)
				}
			}
			if last := all[len(all)-1].value; last < high*(1-1e-6) {
				t.Errorf("%s: the ticks end at %v, below %v", name, last, high)
			}
		}
	})
}

func TestScalesKeepTheOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		for name, s := range map[string]scale{
			"even": {low: 0, high: 1, from: 300, to: 20}, "log": {low: 1e-6, high: 1, log: true, from: 300, to: 20},
			"nines": {low: 0, high: 1, nines: true, from: 300, to: 20},
		} {
			a, b := rapid.Float64Range(1e-6, 1).Draw(t, "a"), rapid.Float64Range(1e-6, 1).Draw(t, "b")
			if a > b {
				a, b = b, a
			}
			if s.at(a) < s.at(b) || s.at(b) < 20-1e-9 || s.at(a) > 300+1e-9 {
				t.Errorf("%s: %v is drawn at %v and %v at %v, between 300 and 20", name, a, s.at(a), b, s.at(b))
			}
		}
	})
}
