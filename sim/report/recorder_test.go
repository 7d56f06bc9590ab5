package report

import (
	"math"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/muster-scale/muster"
	"github.com/muster-scale/muster/controller"
	"github.com/muster-scale/muster/sim"
	"github.com/muster-scale/muster/sim/scoring"
	"pgregory.net/rapid"
)

// watched is a run of random views: steady for a while, then with a peak or a dip of a single view, steps at every
// distance from 50 ms to minutes, and times in which the controller decides nothing.
func watched(seed uint64, n int, spread time.Duration) []sim.View {
	r := rand.New(rand.NewPCG(seed, 1))
	all := make([]sim.View, n)
	v := sim.View{}
	size := 0
	for i := range all {
		v.Sent += int64(r.IntN(3))
		v.Backlog = 100 + r.IntN(5)
		if r.IntN(200) == 0 {
			v.Backlog = r.IntN(10_000)
		}
		v.OldestAge = time.Duration(r.IntN(1000)) * time.Millisecond
		v.Live, v.Ready, v.Busy = r.IntN(50), r.IntN(40), r.IntN(30)
		v.Outcome = controller.Outcome{}
		if r.IntN(10) > 0 {
			next := size
			if r.IntN(2) == 0 {
				next = r.IntN(100)
			}
			v.Outcome = decided(size, next, "so")
			size = next
		}
		all[i] = v
		v.At += 50*time.Millisecond + time.Duration(r.Int64N(int64(spread)))
	}
	return all
}

func recorded(views []sim.View) Curves {
	r := NewRecorder(muster.Objective{})
	for _, v := range views {
		r.Stepped(v)
	}
	return r.Run(scoring.Result{}).Curves
}

// truth is what a view says about each quantity.
func truth(v sim.View) (all [quantities]extent) {
	all[backlog], all[age] = only(float64(v.Backlog)), only(v.OldestAge.Seconds())
	all[live], all[inService], all[busy] = only(float64(v.Live)), only(float64(v.Ready)), only(float64(v.Busy))
	if v.Outcome.Ready {
		all[desired] = only(float64(v.Outcome.Decision.Desired))
	}
	return all
}

func TestCurvesLoseNoExtremeHoweverLongTheRun(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		views := watched(rapid.Uint64().Draw(t, "seed"), rapid.IntRange(1, 6000).Draw(t, "views"),
			time.Duration(rapid.Int64Range(1, int64(time.Minute)).Draw(t, "spread")))
		k := recorded(views)
		columns, marks := maxColumns, maxMarks
		if rapid.Bool().Draw(t, "coarse") {
			columns, marks = rapid.IntRange(1, 300).Draw(t, "columns"), rapid.IntRange(1, 300).Draw(t, "marks")
			k = k.coarse(columns, marks)
		}
		if len(k.columns) > columns || len(k.marks) > marks {
			t.Fatalf("%d columns and %d marks remain, at most %d and %d are allowed", len(k.columns), len(k.marks),
				columns, marks)
		}
		// Each column is exactly the views from its beginning until the next one's.
		for i, c := range k.columns {
			var want [quantities]extent
			for len(views) > 0 && (i+1 == len(k.columns) || views[0].At < k.columns[i+1].at) {
				for q, e := range truth(views[0]) {
					want[q] = want[q].with(e)
				}
				if views[0].At < c.at {
					t.Fatalf("the view at %s is in no column before the one at %s", views[0].At, c.at)
				}
				views = views[1:]
			}
			if c.values != want {
				t.Fatalf("column %d at %s is %v, its views come to %v", i, c.at, c.values, want)
			}
		}
		if len(views) > 0 {
			t.Fatalf("%d views are in no column", len(views))
		}
	})
}

func TestArrivalsAddUpToTheMessagesSent(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		views := watched(rapid.Uint64().Draw(t, "seed"), rapid.IntRange(2, 4000).Draw(t, "views"),
			time.Duration(rapid.Int64Range(1, int64(10*time.Second)).Draw(t, "spread")))
		k := recorded(views)
		if rapid.Bool().Draw(t, "coarse") {
			k = k.coarse(rapid.IntRange(1, 300).Draw(t, "columns"), 1)
		}
		sum, at := 0.0, time.Duration(0)
		for _, r := range k.rates() {
			if r.from != at || r.to <= r.from {
				t.Fatalf("a rate holds from %s to %s, and the one before ended at %s", r.from, r.to, at)
			}
			if r.fastest < r.mean {
				t.Fatalf("the busiest second has %v messages, the mean is %v", r.fastest, r.mean)
			}
			sum, at = sum+r.mean*(r.to-r.from).Seconds(), r.to
		}
		last := views[len(views)-1]
		if at != last.At || math.Abs(sum-float64(last.Sent)) > 1e-6*float64(last.Sent)+1e-6 {
			t.Fatalf("the rates add up to %v messages until %s, and %d were sent until %s", sum, at, last.Sent, last.At)
		}
	})
}

func TestTheBusiestSecondSurvives(t *testing.T) {
	r := NewRecorder(muster.Objective{})
	sent := int64(0)
	for s := range 100_000 {
		if s == 54_321 {
			sent += 900
		}
		r.Stepped(sim.View{At: time.Duration(s) * time.Second, Sent: sent})
	}
	fastest := 0.0
	for _, a := range r.Run(scoring.Result{}).Curves.rates() {
		fastest = max(fastest, a.fastest)
	}
	if fastest != 900 {
		t.Errorf("the busiest second has %v messages, 900 came in one", fastest)
	}
}

func TestAPeakOfOneStepIsDrawn(t *testing.T) {
	r := NewRecorder(muster.Objective{})
	for s := range 100_000 {
		v := sim.View{At: time.Duration(s) * time.Second, Backlog: 10}
		switch s {
		case 50_000:
			v.Backlog = 1000
		case 70_000:
			v.Backlog = 0
		}
		r.Stepped(v)
	}
	p := picture{k: r.Run(scoring.Result{}).Curves, x: scale{low: 0, high: 1e5, from: 0, to: 1000}}
	d := p.outline(backlog, scale{low: 0, high: 1000, from: 1000, to: 0}, false)
	// Up to 1000 at half of the time, and down to 0 at seven tenths.
	for _, want := range []string{"H500V0V990", "H700V1000V990"} {
		if !regexp.MustCompile(strings.NewReplacer("H500", `H(499\.\d|500(\.\d)?)`, "H700",
			`H(699\.\d|700(\.\d)?)`).Replace(want)).MatchString(d) {
			t.Errorf("the curve %q does not contain about %s", d, want)
		}
	}
}

func TestDecisionsAreAllCountedAndTheLargestKept(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		views := watched(rapid.Uint64().Draw(t, "seed"), rapid.IntRange(1, 9000).Draw(t, "views"), time.Second)
		k := recorded(views)
		changes, largest := 0, 0
		for _, v := range views {
			if d := v.Outcome.Decision; v.Outcome.Ready && d.Desired != d.Previous {
				changes, largest = changes+1, max(largest, mark{from: d.Previous, to: d.Desired}.size())
			}
		}
		all, kept := 0, 0
		for _, m := range k.marks {
			all, kept = all+1+m.others, max(kept, m.size())
		}
		if k.changes != changes || all != changes || kept != largest {
			t.Fatalf("%d changes are counted, %d are kept or counted beside those, the largest is %d; there were %d "+
				"with the largest %d", k.changes, all, kept, changes, largest)
		}
		if !slices.IsSortedFunc(k.marks, func(a, b mark) int { return int(a.at - b.at) }) {
			t.Fatal("the decisions are not in the order of their time")
		}
	})
}

func TestAShortRunIsKeptWhole(t *testing.T) {
	views := watched(1, maxColumns, time.Second)
	k := recorded(views)
	if len(k.columns) < maxColumns*9/10 {
		t.Errorf("%d of %d views are left, the run fits whole", len(k.columns), len(views))
	}
}

func TestWatchingTakesNoMemoryPerStep(t *testing.T) {
	r := NewRecorder(muster.Objective{})
	v := sim.View{Outcome: decided(3, 3, "steady")}
	r.Stepped(v)
	if n := testing.AllocsPerRun(20_000, func() {
		v.At += time.Second
		r.Stepped(v)
	}); n != 0 {
		t.Errorf("a step takes %v allocations, 0 are allowed", n)
	}
}

func TestUnknownIsNotZero(t *testing.T) {
	k := recorded([]sim.View{{At: 0}, {At: time.Second, Outcome: decided(0, 3, "so")}, {At: 2 * time.Second}})
	for i, want := range []extent{{}, only(3), {}} {
		if got := k.columns[i].values[desired]; got != want {
			t.Errorf("at %ds the size asked for is %v, want %v", i, got, want)
		}
	}
	p := picture{k: k, x: scale{low: 0, high: 2, from: 0, to: 200}}
	if d := p.outline(desired, scale{low: 0, high: 3, from: 30, to: 0}, false); d != "M100 0H200" {
		t.Errorf("the size asked for is drawn as %q, want a line from 100 to 200 alone", d)
	}
}

func TestSentencesAreCutBetweenCharacters(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"short", "short"},
		{strings.Repeat("a", 10), strings.Repeat("a", 10)},
		{strings.Repeat("a", 11), "aaaaaaa…"},
		{strings.Repeat("é", 6), "ééé…"},
	} {
		got := shortened(c.text, 10)
		if got != c.want || len(got) > 10 || !utf8.ValidString(got) {
			t.Errorf("%q is cut to %q, want %q", c.text, got, c.want)
		}
	}
	views := []sim.View{{Outcome: decided(0, 1, strings.Repeat("long ", 1000))}}
	if got := len(recorded(views).marks[0].sentence); got > maxSentence {
		t.Errorf("a sentence has %d bytes, at most %d are kept", got, maxSentence)
	}
}

func TestCurvesAgreeWithTheResultOfTheRun(t *testing.T) {
	r := NewRecorder(muster.Objective{})
	res, _ := simulated(t, r.Stepped)
	k := r.Run(res).Curves
	for _, c := range []struct {
		what      string
		got, want float64
	}{
		{"messages", float64(k.sent), float64(res.Messages)},
		{"changes", float64(k.changes), float64(res.ScaleEvents)},
		{"peak", k.largest(live), float64(res.PeakWorkers)},
		{"seconds", k.end.Round(time.Minute).Seconds(), time.Duration(res.Seconds * 1e9).Round(time.Minute).Seconds()},
	} {
		if c.got != c.want {
			t.Errorf("the curves have %v %s, the result %v", c.got, c.what, c.want)
		}
	}
	if k.changes == 0 || k.marks[0].sentence == "" {
		t.Error("the run has no decision with a sentence")
	}
}
