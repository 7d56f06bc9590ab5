package muster_test

import (
	"encoding/json"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/muster-scale/muster"
)

var t0 = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func TestAKeptNumberIsFoundByItsName(t *testing.T) {
	p := muster.Past{Kept: []muster.Value{{Name: "panic", Value: 7}, {Name: "zero", Value: 0}}}
	for _, row := range []struct {
		name  string
		value float64
		found bool
	}{{"panic", 7, true}, {"zero", 0, true}, {"other", 0, false}, {"", 0, false}} {
		if v, ok := p.Find(row.name); v != row.value || ok != row.found {
			t.Errorf("%q: found %v (%v), want %v (%v)", row.name, v, ok, row.value, row.found)
		}
	}
}

func TestEqualNeighboursAreRememberedOnce(t *testing.T) {
	first := muster.Decision{At: t0, Wish: 3, Previous: 2, Desired: 2, Kept: []muster.Value{{Name: "peak", Value: 1}}}
	for _, row := range []struct {
		name   string
		change func(d *muster.Decision)
		want   int
	}{
		{"the same", func(*muster.Decision) {}, 1},
		{"the same numbers in other memory", func(d *muster.Decision) { d.Kept = slices.Clone(d.Kept) }, 1},
		{"another wish", func(d *muster.Decision) { d.Wish = 4 }, 2},
		{"another size", func(d *muster.Decision) { d.Desired = 4 }, 2},
		{"a size that was changed meanwhile", func(d *muster.Decision) { d.Previous = 1 }, 2},
		{"another number kept", func(d *muster.Decision) { d.Kept = []muster.Value{{Name: "peak", Value: 2}} }, 2},
		{"the number under another name", func(d *muster.Decision) { d.Kept = []muster.Value{{Name: "low", Value: 1}} },
			2},
		{"one number more", func(d *muster.Decision) {
			d.Kept = append(slices.Clone(d.Kept),
				muster.Value{Name: "low"})
		}, 2},
		{"nothing kept", func(d *muster.Decision) { d.Kept = nil }, 2},
	} {
		t.Run(row.name, func(t *testing.T) {
			next := first
			next.At = t0.Add(time.Second)
			row.change(&next)
			r := muster.Recent{}.With(first, time.Hour).With(next, time.Hour)
			if len(r) != row.want || !r[0].At.Equal(t0) {
				t.Fatalf("remembered %+v, want %d from %s on", r, row.want, t0)
			}
			if last := r[len(r)-1]; !slices.Equal(last.Kept, next.Kept) || last.Wish != next.Wish ||
				last.Desired != next.Desired {
				t.Errorf("the last one remembered is %+v, decided was %+v", last, next)
			}
		})
	}
}

// decided draws decisions as they follow each other, with few different numbers, so that neighbours are often equal.
func decided(t *rapid.T) []muster.Decision {
	var all []muster.Decision
	at, size := t0, 0
	for range rapid.IntRange(1, 60).Draw(t, "decisions") {
		at = at.Add(time.Duration(rapid.IntRange(1, 40).Draw(t, "later")) * time.Second)
		d := muster.Decision{At: at, Wish: rapid.IntRange(0, 1).Draw(t, "wish"), Previous: size,
			Desired: rapid.IntRange(0, 1).Draw(t, "desired")}
		size = d.Desired
		if rapid.Bool().Draw(t, "keeps") {
			d.Kept = []muster.Value{{Name: "n", Value: float64(rapid.IntRange(0, 1).Draw(t, "n"))}}
		}
		all = append(all, d)
	}
	return all
}

func TestWhetherEveryDecisionWasRecordedOrOnlyTheChangesIsTheSame(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		const keep = 2 * time.Minute
		var every, changes muster.Recent
		var last muster.Decision
		for i, d := range decided(t) {
			every = every.With(d, keep)
			same := i > 0 && d.Wish == last.Wish && d.Desired == last.Desired && d.Previous == d.Desired &&
				slices.Equal(d.Kept, last.Kept)
			if !same || rapid.IntRange(0, 9).Draw(t, "recorded all the same") == 0 {
				changes = changes.With(d, keep)
			}
			last = d
			a, b := every.Since(d.At.Add(-keep)), changes.Since(d.At.Add(-keep))
			if !slices.EqualFunc(a, b, func(x, y muster.Past) bool {
				return x.At.Equal(y.At) && x.Wish == y.Wish && x.Desired == y.Desired && x.Previous == y.Previous &&
					slices.Equal(x.Kept, y.Kept)
			}) {
				t.Fatalf("with every decision %+v\nwith the changes alone %+v", a, b)
			}
		}
	})
}

func TestARememberedNumberHoldsUntilTheNextDecision(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		const keep = 2 * time.Minute
		var recent muster.Recent
		all := decided(t)
		for _, d := range all {
			recent = recent.With(d, keep)
		}
		now := all[len(all)-1].At
		for i, d := range all {
			if i+1 < len(all) && !all[i+1].At.After(now.Add(-keep)) {
				continue // it no longer held within the time
			}
			// What holds at the instant of a decision is the last entry that is no younger.
			var found muster.Past
			for _, p := range recent {
				if !p.At.After(d.At) {
					found = p
				}
			}
			got, ok := found.Find("n")
			if ok != (len(d.Kept) == 1) || ok && got != d.Kept[0].Value || found.Wish != d.Wish {
				t.Fatalf("at %s was kept %v and wished %d; remembered is %+v of %+v", d.At, d.Kept, d.Wish, found,
					recent)
			}
		}
	})
}

func TestADecisionThatKeepsNumbersSurvivesItsRecord(t *testing.T) {
	d := muster.Decision{Fleet: "f", At: t0, Policy: "p/1", Desired: 3, Verdict: muster.Apply,
		Trail: []muster.Term{{Rule: "r", Out: 3, Why: "w"}}}
	bare, err := json.Marshal(d)
	if err != nil {
		t.Fatal(err)
	}
	d.Kept = []muster.Value{{Name: "peak", Value: 0.1 + 0.2}}
	text, err := json.Marshal(d)
	if err != nil {
		t.Fatal(err)
	}
	var again muster.Decision
	if err := json.Unmarshal(text, &again); err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(again.Kept, d.Kept) || again.Kept[0].Value != d.Kept[0].Value {
		t.Errorf("kept %v, read back %v", d.Kept, again.Kept)
	}
	if slices.Equal(bare, text) || json.Unmarshal(bare, &again) != nil {
		t.Errorf("with nothing kept the record is %s", bare)
	}
}
