package race

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/muster-scale/muster"
)

// A worker more pays where it is expected to be ready so much sooner that this saves its boot. The expected largest of
// n normal numbers is 0, 0.564, 0.846 and 1.029 deviations for n from 1 to 4.
func TestAWorkerMorePaysWhereTheFirstIsReadySoonerByEnough(t *testing.T) {
	boots, just := Boots{Mean: 100, Spread: 10}, []muster.Coming{{Members: 1}}
	for _, row := range []struct {
		name   string
		coming []muster.Coming
		saved  float64 // worker-seconds a second
		most   int
		want   int
	}{
		{"nothing is saved", nil, 0, 9, 0},
		{"a second saves less than a hundredth of a boot: not even one worker", nil, 0.9, 9, 0},
		{"one, but 5.64 s sooner save only 96 worker-seconds", nil, 17, 9, 1},
		{"two: 5.64 s save 107", nil, 19, 9, 2},
		{"and 2.82 s more 96", nil, 34, 9, 2},
		{"three: 2.82 s more save 104", nil, 37, 9, 3},
		{"and 1.83 s more 97", nil, 53, 9, 3},
		{"four: 1.83 s more save 104", nil, 57, 9, 4},
		{"no more than may be", nil, 1e6, 9, 9},
		{"none may be", nil, 1e6, 0, 0},
		{"one is coming: it is the first of two", just, 19, 9, 1},
		{"nor does it pay beside one", just, 17, 9, 0},
		{"one comes in half a boot: none is sooner", []muster.Coming{{AgeSeconds: 50, Members: 1}}, 1000, 9, 0},
		{"one is overdue: so is it", []muster.Coming{{AgeSeconds: 130, Members: 1}}, 100, 9, 0},
		{"one is overdue by any measure", []muster.Coming{{AgeSeconds: 1e4, Members: 1}}, 1e6, 9, 0},
	} {
		t.Run(row.name, func(t *testing.T) {
			if got := Workers(boots, row.coming, row.saved, row.most); got != row.want {
				t.Errorf("%d workers, want %d", got, row.want)
			}
		})
	}
}

// Played by chance, the number that is said costs less than half and twice as many: a boot for each worker, and what
// each second costs until the first is ready.
func TestFewerAndMoreWorkersCostMoreByChance(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	boots, saved := Boots{Mean: 100, Spread: 25}, 60.0
	cost := func(n int) float64 {
		const plays = 20_000
		sum := 0.0
		for range plays {
			first := math.Inf(1)
			for range n {
				first = min(first, boots.Mean+boots.Spread*random.NormFloat64())
			}
			sum += float64(n)*boots.Mean + saved*first
		}
		return sum / plays
	}
	n := Workers(boots, nil, saved, 100)
	if said := cost(n); said >= cost(n/2) || said >= cost(2*n) {
		t.Errorf("%d workers cost %.0f, %d cost %.0f and %d cost %.0f", n, said, n/2, cost(n/2), 2*n, cost(2*n))
	}
}

// What is saved only adds workers, what is coming only takes some away, and the number is never above the permitted
// one.
func TestMoreIsLaunchedForMoreAndLessBesideOthers(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		boots := Boots{Mean: rapid.Float64Range(0.1, 2000).Draw(t, "mean")}
		boots.Spread = boots.Mean * rapid.Float64Range(0, 0.6).Draw(t, "spread")
		saved := rapid.Float64Range(0, 1e5).Draw(t, "saved")
		most := rapid.IntRange(0, 200).Draw(t, "most")
		ages := rapid.SliceOfN(rapid.Float64Range(0, 3*boots.Mean), 0, 5).Draw(t, "ages")
		var coming []muster.Coming
		for _, age := range ages {
			coming = append(coming, muster.Coming{AgeSeconds: age, Members: 1})
		}
		n := Workers(boots, coming, saved, most)
		if n < 0 || n > most {
			t.Fatalf("%d workers of %d", n, most)
		}
		if more := Workers(boots, coming, 2*saved, most); more < n {
			t.Fatalf("%d workers where twice as much is saved, %d before", more, n)
		}
		if beside := Workers(boots, slices.Concat(coming, []muster.Coming{{Members: 1}}), saved, most); beside > n {
			t.Fatalf("%d workers beside one more, %d without", beside, n)
		}
	})
}
