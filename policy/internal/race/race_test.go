package race

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

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
		from   float64
		saved  float64
		most   int
		want   int
	}{
		{"nothing is saved", nil, 0, 0, 9, 0},
		{"all of 30 s save less than a boot: not even one worker", nil, 0, 3.2, 9, 0},
		{"one, but 5.64 s sooner save only 96 worker-seconds", nil, 0, 17, 9, 1},
		{"two: 5.64 s save 107", nil, 0, 19, 9, 2},
		{"and 2.82 s more 96", nil, 0, 34, 9, 2},
		{"three: 2.82 s more save 104", nil, 0, 37, 9, 3},
		{"and 1.83 s more 97", nil, 0, 53, 9, 3},
		{"four: 1.83 s more save 104", nil, 0, 57, 9, 4},
		{"no more than may be", nil, 0, 1e6, 9, 9},
		{"none may be", nil, 0, 1e6, 0, 0},
		{"more are there than may be", nil, 0, 1e6, -3, 0},
		{"one is coming: it is the first of two", just, 0, 19, 9, 1},
		{"nor does it pay beside one", just, 0, 17, 9, 0},
		{"one comes in half a boot: none is sooner", []muster.Coming{{AgeSeconds: 50, Members: 1}}, 0, 1000, 9, 0},
		{"one is overdue: so is it", []muster.Coming{{AgeSeconds: 130, Members: 1}}, 0, 100, 9, 0},
		{"one is overdue by any measure", []muster.Coming{{AgeSeconds: 1e4, Members: 1}}, 0, 1e6, 9, 0},
		{"nothing is late before the mean: of the time after it the first of two saves 2.82 s", nil,
			100, 34, 9, 1},
		{"which save 104", nil, 100, 37, 9, 2},
		{"nothing is late before all boots have ended", nil, 131, 1e6, 9, 0},
	} {
		t.Run(row.name, func(t *testing.T) {
			if got := Workers(boots, row.coming, row.from, row.saved, row.most); got != row.want {
				t.Errorf("%d workers, want %d", got, row.want)
			}
		})
	}
}

// Until a boot was measured, boots are taken to vary by 15 %. Afterwards they vary by what the percentiles show,
// between a hundredth and a third of the mean.
func TestHowFarBootsVary(t *testing.T) {
	measured := muster.Estimate{Known: true, Count: 9}
	for _, row := range []struct {
		name         string
		e            muster.Estimate
		spread, want float64
	}{
		{"nothing is known", muster.Estimate{}, 50, 15},
		{"stated alone", muster.Estimate{Known: true, Prior: true}, 50, 15},
		{"measured", measured, 20, 20},
		{"measured, of one length", measured, 0, 1},
		{"measured, one of them for very long", measured, 80, 100.0 / 3},
	} {
		t.Run(row.name, func(t *testing.T) {
			if got := BootsOf(row.e, 100, row.spread); got.Mean != 100 || math.Abs(got.Spread-row.want) > 1e-9 {
				t.Errorf("found %v, want a deviation of %v", got, row.want)
			}
		})
	}
}

// Nobody is launched to be sooner than a worker that takes messages at once, and launches are left for those that
// messages need.
func TestHowManyMayBeLaunchedToBeReadySooner(t *testing.T) {
	for _, row := range []struct {
		name   string
		change func(*muster.Observation)
		want   int
	}{
		{"one for each message that waits", nil, 50},
		{"those that are coming are among them", func(o *muster.Observation) { o.Capacity.Booting = 20 }, 30},
		{"more are coming than messages wait", func(o *muster.Observation) { o.Capacity.Booting = 70 }, 0},
		{"the maximum", func(o *muster.Observation) { o.Limits.Max = 8 }, 8},
		{"one is in service", func(o *muster.Observation) { o.Capacity.Idle = 1 }, 0},
		{"one was told to stop, and takes messages again at once", func(o *muster.Observation) {
			o.Capacity.Draining = 1
		}, 0},
		{"a warm pool has one", func(o *muster.Observation) { o.Pool = &muster.Pool{Ready: 1} }, 0},
		{"a warm pool has none", func(o *muster.Observation) { o.Pool = &muster.Pool{} }, 50},
		{"one comes from the pool", func(o *muster.Observation) {
			o.Coming = []muster.Coming{{Members: 1, Warm: 1}}
		}, 0},
		{"members share a machine", func(o *muster.Observation) { o.Sharing = &muster.Sharing{} }, 0},
		{"the last quarter of the hour's launches is left", func(o *muster.Observation) {
			o.Limits.LaunchesPerHour, o.Launches.LastHour = 80, 50
		}, 10},
		{"and begun", func(o *muster.Observation) {
			o.Limits.LaunchesPerHour, o.Launches.LastHour = 80, 70
		}, 0},
		{"three quarters of ten are eight", func(o *muster.Observation) {
			o.Limits.LaunchesPerHour, o.Launches.LastHour = 10, 7
		}, 1},
	} {
		t.Run(row.name, func(t *testing.T) {
			o := muster.Observation{Limits: muster.Limits{Max: 1000}, Queues: []muster.QueueObservation{
				{Backlog: muster.Measured(time.Time{}, 50)}}}
			if row.change != nil {
				row.change(&o)
			}
			if got := Room(o); got != row.want {
				t.Errorf("%d may be launched, want %d", got, row.want)
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
	n := Workers(boots, nil, 0, saved, 100)
	if said := cost(n); said >= cost(n/2) || said >= cost(2*n) {
		t.Errorf("%d workers cost %.0f, %d cost %.0f and %d cost %.0f", n, said, n/2, cost(n/2), 2*n, cost(2*n))
	}
}

// What is saved only adds workers. What is coming, and time in which nothing is late, only takes some away. The number
// is never above the permitted one.
func TestMoreIsLaunchedForMoreAndLessBesideOthers(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		mean := rapid.Float64Range(0.1, 2000).Draw(t, "mean")
		spread := mean * rapid.Float64Range(0, 0.6).Draw(t, "spread")
		boots := BootsOf(muster.Estimate{Known: true, Count: 1}, mean, spread)
		saved := rapid.Float64Range(0, 1e5).Draw(t, "saved")
		from := rapid.Float64Range(0, 2*mean).Draw(t, "from")
		most := rapid.IntRange(0, 200).Draw(t, "most")
		ages := rapid.SliceOfN(rapid.Float64Range(0, 3*mean), 0, 5).Draw(t, "ages")
		var coming []muster.Coming
		for _, age := range ages {
			coming = append(coming, muster.Coming{AgeSeconds: age, Members: 1})
		}
		n := Workers(boots, coming, from, saved, most)
		if n < 0 || n > most {
			t.Fatalf("%d workers of %d", n, most)
		}
		if more := Workers(boots, coming, from, 2*saved, most); more < n {
			t.Fatalf("%d workers where twice as much is saved, %d before", more, n)
		}
		// The sum has as many steps for a shorter time, so it is not exactly alike.
		if fewer := Workers(boots, coming, from+mean/10, saved, most); fewer > n+1+n/20 {
			t.Fatalf("%d workers where nothing is late for longer, %d before", fewer, n)
		}
		more := slices.Concat(coming, []muster.Coming{{Members: 1}})
		if beside := Workers(boots, more, from, saved, most); beside > n {
			t.Fatalf("%d workers beside one more, %d without", beside, n)
		}
	})
}
