package report

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// drawRuns draws runs on one trace, often with equal cost or attainment.
func drawRuns(t *rapid.T) (runs []Run, of []int) {
	for i := range rapid.IntRange(1, 25).Draw(t, "runs") {
		cost := float64(rapid.IntRange(0, 30).Draw(t, "cost")) * 100
		share := float64(rapid.IntRange(0, 20).Draw(t, "share")) / 20
		runs, of = append(runs, reached(fmt.Sprintf("policy %d", i), "t", cost, share)), append(of, i)
	}
	return runs, of
}

func TestTheFrontIsTheRunsThatNoOtherBeats(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		runs, of := drawRuns(t)
		got := pareto(runs, of)
		for _, i := range of {
			a := runs[i].Result
			beaten := slices.ContainsFunc(of, func(j int) bool {
				b := runs[j].Result
				return b.WorkerSeconds <= a.WorkerSeconds && b.InTimeRatio >= a.InTimeRatio &&
					(b.WorkerSeconds < a.WorkerSeconds || b.InTimeRatio > a.InTimeRatio)
			})
			if beaten == slices.Contains(got, i) {
				t.Fatalf("%s for %v, beaten: %v, on the front: %v", percent(a.InTimeRatio), a.WorkerSeconds, beaten,
					!beaten)
			}
		}
		if !slices.IsSortedFunc(got,
			func(a, b int) int { return int(runs[a].Result.WorkerSeconds - runs[b].Result.WorkerSeconds) }) {
			t.Fatalf("the front %v is not in the order of cost", got)
		}
	})
}

func TestNamesCoverNothing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		runs, of := drawRuns(t)
		p := newPlot(runs, names(runs), facet{"t", of})
		p.canvas = &canvas{}
		p.place(0, 0, width, 380)
		p.draw()
		if got := strings.Count(p.String(), "<circle"); got != len(runs) {
			t.Fatalf("%d points are drawn for %d runs", got, len(runs))
		}
		// Points may meet; the places after theirs are those of names.
		written := strings.Count(p.String(), `class="run`)
		texts := p.taken[len(p.taken)-written:]
		for i, a := range texts {
			if !a.inside(p.outside) {
				t.Fatalf("name %v is outside of the plot %v", a, p.outside)
			}
			for _, b := range p.taken[:len(p.taken)-written+i] {
				if a.meets(b) {
					t.Fatalf("name %v covers %v", a, b)
				}
			}
		}
	})
}

func TestTheAxisOfCost(t *testing.T) {
	for _, c := range []struct {
		what  string
		costs []float64
		bound float64
		log   bool
	}{
		{"near each other", []float64{1000, 4000}, 0, false},
		{"far apart", []float64{1000, 40_000}, 0, true},
		{"far from the bound", []float64{9000, 10_000}, 1000, true},
		{"one that cost nothing", []float64{0, 40_000}, 0, false},
		{"none cost anything", []float64{0, 0}, 0, false},
	} {
		var runs []Run
		var of []int
		for i, cost := range c.costs {
			r := reached("exact", "t", cost, 0.5)
			r.Result.Bound = c.bound
			runs, of = append(runs, r), append(of, i)
		}
		p := newPlot(runs, names(runs), facet{"t", of})
		if p.x.log != c.log || len(p.xTicks) < 2 {
			t.Errorf("%s: logarithmic is %v with %d ticks, want %v", c.what, p.x.log, len(p.xTicks), c.log)
		}
	}
}

func TestNamesTellRunsApart(t *testing.T) {
	of := func(name, policy, trace string, seed uint64) Run {
		r := reached(policy, trace, 1, 1)
		r.Name, r.Result.Seed = name, seed
		return r
	}
	for _, c := range []struct {
		what string
		runs []Run
		want []string
	}{
		{"different policies", []Run{of("", "exact", "t", 1), of("", "step", "t", 1)}, []string{"exact", "step"}},
		{"one policy on two traces", []Run{of("", "exact", "t", 1), of("", "exact", "u", 2)},
			[]string{"exact", "exact"}},
		{"two seeds", []Run{of("", "exact", "t", 1), of("", "exact", "t", 2)},
			[]string{"exact, seed 1", "exact, seed 2"}},
		{"own names", []Run{of("a", "exact", "t", 1), of("b", "exact", "t", 1)}, []string{"a", "b"}},
		{"nothing tells them apart", []Run{of("", "exact", "t", 1), of("", "exact", "t", 1)},
			[]string{"exact, no. 1", "exact, no. 2"}},
		{"two of three seeds", []Run{of("", "exact", "t", 1), of("", "exact", "t", 2), of("", "exact", "t", 2)},
			[]string{"exact, seed 1", "exact, seed 2, no. 1", "exact, seed 2, no. 2"}},
		{"no name at all", []Run{of("", "", "t", 1)}, []string{"run"}},
	} {
		if diff := cmp.Diff(c.want, names(c.runs)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.what, diff)
		}
	}
}

func TestTooManyTracesAreSaid(t *testing.T) {
	var runs []Run
	for i := range maxFacets + 3 {
		runs = append(runs, reached("exact", fmt.Sprintf("trace %d", i), 1, 1))
	}
	if text := attainmentSVG(runs, false); !strings.Contains(text, "of 3 traces more are left out") {
		t.Error("the picture does not say that plots are left out")
	}
}
