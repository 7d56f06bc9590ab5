package metricmath_test

import (
	"math"
	"testing"
	"time"

	"github.com/muster-scale/muster/metricmath"
	"github.com/muster-scale/muster/metricmath/language"
)

func compiled(t testing.TB, o metricmath.Options, list ...metricmath.Query) metricmath.Program {
	t.Helper()
	p, err := metricmath.Compile(list, o)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestTheRangeOfAnEvaluation(t *testing.T) {
	p := compiled(t, metricmath.Options{}, quiet(metric("m")), returning(expression("e", "m + 0")))
	at := func(d time.Duration) time.Time { return monday.Add(d) }
	for _, r := range []struct {
		name         string
		m            metricmath.Series
		since, until time.Time
		want         string
	}{
		{"a period that is not over yet does not count", metricmath.Row(monday, time.Minute, 1, 2, 3), time.Time{},
			at(2*time.Minute + 59*time.Second), "1 2"},
		{"a period that ends now counts", metricmath.Row(monday, time.Minute, 1, 2, 3), time.Time{},
			at(3 * time.Minute), "1 2 3"},
		{"until now, though nothing was published lately", metricmath.Row(monday, time.Minute, 1), time.Time{},
			at(3 * time.Minute), "1 - -"},
		{"since before the first point", metricmath.Row(monday, time.Minute, 1), at(-2 * time.Minute), at(time.Minute),
			"- - 1"},
		{"since after the first point", metricmath.Row(monday, time.Minute, 1, 2, 3), at(90 * time.Second),
			at(3 * time.Minute), "2 3"},
		{"a start within a period counts as that period", metricmath.Row(at(20*time.Second), time.Minute, 1, 2),
			time.Time{}, at(2 * time.Minute), "1 2"},
		{"before 1970", metricmath.Row(time.Unix(-90, 0), time.Minute, 1, 2), time.Time{}, time.Unix(0, 0), "1 2"},
		{"another time zone", metricmath.Row(monday.In(time.FixedZone("", 19800)), time.Minute, 1), time.Time{},
			at(time.Minute), "1"},
		{"not a number and the infinities are missing", metricmath.Row(monday, time.Minute, math.NaN(), math.Inf(1),
			math.Inf(-1), 4), time.Time{}, at(4 * time.Minute), "- - - 4"},
		{"also where somebody says that they are known",
			metricmath.Series{Start: monday, Period: time.Minute,
				Points: []metricmath.Point{{Value: math.NaN(), Known: true}, {Value: 5}, {Value: 6, Known: true}}},
			time.Time{}, at(3 * time.Minute), "- - 6"},
		{"all points outside of the range", metricmath.Row(monday, time.Minute, 1, 2), at(5 * time.Minute),
			at(6 * time.Minute), "unknown: e has no point from 2026-03-02T12:05:00Z to 2026-03-02T12:06:00Z: nothing " +
				"was published for m"},
		{"nothing, and no range", metricmath.Series{}, time.Time{}, at(time.Minute), "unknown: no metric has a point " +
			"in a period that is over at 2026-03-02T12:01:00Z, and Since gives no range"},
		{"a range the wrong way round", metricmath.Row(monday, time.Minute, 1), at(time.Minute), at(0),
			"unknown: no period of 60 s is over between 2026-03-02T12:01:00Z and 2026-03-02T12:00:00Z"},
		{"a range that is too long", metricmath.Row(monday, time.Minute, 1), time.Time{}, at(8 * 24 * time.Hour),
			"unknown: the range has 11520 periods of 60 s, at most 10080 can be computed: begin later with Since, or " +
				"use a longer period"},
		{"points at another distance than the query says", metricmath.Row(monday, time.Second, 1), time.Time{},
			at(time.Minute), "unknown: e is unknown: found points every 1s for the metric m, expected every 1m0s as " +
				"its query says"},
		{"no distance between points", metricmath.Row(monday, 0, 1), time.Time{}, at(time.Minute),
			"unknown: e is unknown: found points every 0s for the metric m, expected every 1m0s as its query says"},
		{"an instant that no calendar has", metricmath.Row(monday, time.Minute, 1), time.Time{}, time.Unix(1<<60, 0),
			"unknown: found an instant to evaluate at, or since, outside of the years 1 to 9999"},
	} {
		t.Run(r.name, func(t *testing.T) {
			v, reason := p.Evaluate(metricmath.Inputs{Since: r.since, Series: map[string]metricmath.Series{"m": r.m}},
				r.until)
			got := shown(v)
			if reason != "" {
				got = "unknown: " + reason
			}
			if got != r.want {
				t.Errorf("found    %s\nexpected %s", got, r.want)
			}
		})
	}
}

func TestPointsThatContradictThemselvesAreMissing(t *testing.T) {
	for _, strange := range []metricmath.Point{{Value: math.Inf(1), Known: true}, {Value: math.NaN(), Known: true},
		{Value: 5}} {
		m := metricmath.Series{Start: monday, Period: time.Minute,
			Points: []metricmath.Point{strange, {Value: 6, Known: true}}}
		for text, want := range map[string]string{"m": "- 6", "m + other": "1 7", "FILL(m, REPEAT)": "- 6",
			"RUNNING_SUM([m])": "- 6"} {
			p := compiled(t, metricmath.Options{Use: metricmath.ForGraph}, quiet(metric("m")), quiet(metric("other")),
				returning(expression("e", text)))
			v, reason := p.Evaluate(metricmath.Inputs{Series: map[string]metricmath.Series{"m": m,
				"other": row(t, "1 1")}}, monday.Add(2*time.Minute))
			if shown(v) != want {
				t.Errorf("%s with %v: found %s (%s), expected %s", text, strange, shown(v), reason, want)
			}
			sound(t, v, reason)
		}
	}
}

func TestLabels(t *testing.T) {
	labelled := metric("b")
	labelled.Label = "the second"
	p := compiled(t, metricmath.Options{Use: metricmath.ForGraph}, metric("a"), labelled,
		metricmath.Query{ID: "same", Expression: "a"}, metricmath.Query{ID: "named", Expression: "a + b",
			Label: "both"}, metricmath.Query{ID: "all", Expression: "METRICS() * 2"})
	in := metricmath.Inputs{Series: map[string]metricmath.Series{"a": row(t, "1"), "b": row(t, "2")}}
	want := [][]string{{"a"}, {"the second"}, {"same"}, {"both"}, {"a", "the second"}}
	for i, a := range p.EvaluateAll(in, monday.Add(time.Minute)) {
		for j, s := range a.Value.Series {
			if s.Label != want[i][j] {
				t.Errorf("%s: found the label %q, expected %q", a.ID, s.Label, want[i][j])
			}
		}
	}
}

func TestAValueTellsItsNewestPoint(t *testing.T) {
	p := compiled(t, metricmath.Options{}, quiet(metric("m")), quiet(metric("silent")),
		returning(expression("e", "m + silent")))
	v, reason := p.Evaluate(metricmath.Inputs{Series: map[string]metricmath.Series{"m": row(t, "1 2 -"), "silent": {}}},
		monday.Add(3*time.Minute))
	newest, began := v.Newest()
	if reason != "" || newest != metricmath.Known(2) || !began.Equal(monday.Add(time.Minute)) || v.Last().Known {
		t.Errorf("found %s at %s, last %s, %s", newest, began, v.Last(), reason)
	}
	if len(v.Silent) != 1 || v.Silent[0] != "silent" {
		t.Errorf("found %v silent", v.Silent)
	}
	if s := v.Series[0]; s.Label != "e" || !s.Start.Equal(monday) || s.Period != time.Minute {
		t.Errorf("found %+v", s)
	}
}

func TestAnArrayHasNoNewestPoint(t *testing.T) {
	v := metricmath.Value{Kind: language.Array, Series: []metricmath.Series{row(t, "1"), row(t, "2")}}
	newest, began := v.Newest()
	if newest.Known || !began.IsZero() || v.Last().Known {
		t.Errorf("found %s at %s, last %s", newest, began, v.Last())
	}
	v = metricmath.Value{Kind: language.OneSeries, Series: []metricmath.Series{{}}}
	if newest, _ = v.Newest(); newest.Known || v.Last().Known {
		t.Errorf("found %s, last %s, in a series without points", newest, v.Last())
	}
	v.Series[0] = row(t, "3")
	if v.Last() != metricmath.Known(3) {
		t.Errorf("found %s last", v.Last())
	}
}

func TestWhyEveryPointWasDropped(t *testing.T) {
	p := compiled(t, metricmath.Options{}, quiet(metric("m")), returning(expression("e", "m / 0")))
	_, reason := p.Evaluate(metricmath.Inputs{Series: map[string]metricmath.Series{"m": row(t, "1 2")}},
		monday.Add(2*time.Minute))
	if want := "e has no point from 2026-03-02T12:00:00Z to 2026-03-02T12:02:00Z: every point was dropped, by a " +
		"division by zero, by IF without a third argument, or by a number that is not finite"; reason != want {
		t.Errorf("found %s", reason)
	}
}

func TestAValueSharesNothingWithTheInputs(t *testing.T) {
	for _, text := range []string{"m", "FIRST([m, m])", "IF(1, m)", "m + 0", "FILL(m, 1)"} {
		s := row(t, "1 2")
		p := compiled(t, metricmath.Options{}, quiet(metric("m")), returning(expression("e", text)))
		v, _ := p.Evaluate(metricmath.Inputs{Series: map[string]metricmath.Series{"m": s}}, monday.Add(2*time.Minute))
		v.Series[0].Points[0] = metricmath.Known(99)
		if s.Points[0] != metricmath.Known(1) {
			t.Errorf("%s: changing the value changed the inputs", text)
		}
	}
}

func TestAnEvaluationChangesNoInput(t *testing.T) {
	s := row(t, "1 - 3")
	p := compiled(t, metricmath.Options{Use: metricmath.ForGraph}, metric("m"),
		metricmath.Query{ID: "e", Expression: "-ABS(FILL(m, LINEAR)) + [m, FILL(m, 0)]"}, metricmath.Query{ID: "f",
			Expression: "e * 2"})
	a := p.EvaluateAll(metricmath.Inputs{Series: map[string]metricmath.Series{"m": s}}, monday.Add(3*time.Minute))
	for i, want := range []string{"1 - 3", "0 -2 0 | 0 -2 0", "0 -4 0 | 0 -4 0"} {
		if got := shown(a[i].Value); got != want {
			t.Errorf("%s: found %s, expected %s", a[i].ID, got, want)
		}
	}
	if shown(metricmath.Value{Series: []metricmath.Series{s}}) != "1 - 3" {
		t.Errorf("the input is %v now", s)
	}
}

func TestAGraphKeepsWhatIsKnown(t *testing.T) {
	p := compiled(t, metricmath.Options{Use: metricmath.ForGraph}, metric("read"), metric("unread"),
		metricmath.Query{ID: "both", Expression: "read + unread"}, metricmath.Query{ID: "e",
			Expression: "[read, read * 2]", Label: "times"})
	a := p.EvaluateAll(metricmath.Inputs{Series: map[string]metricmath.Series{"read": row(t, "1")}},
		monday.Add(time.Minute))
	want := []string{"", "unread is unknown: the metric unread was not read", "both is unknown: the metric unread " +
		"was not read", ""}
	for i, w := range want {
		if a[i].Reason != w {
			t.Errorf("%s: found %q, expected %q", a[i].ID, a[i].Reason, w)
		}
	}
	if s := a[3].Value.Series; len(s) != 2 || s[0].Label != "times read" || s[1].Label != "times read" {
		t.Errorf("found %+v", s)
	}
}

func TestAnEmptyProgramSaysSo(t *testing.T) {
	if _, reason := (metricmath.Program{}).Evaluate(metricmath.Inputs{},
		monday); reason != "the program is empty; Compile makes one" {
		t.Errorf("found %q", reason)
	}
}
