package uninformed

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/muster-scale/muster"
)

// played returns the loss of launches by playing them message by message, with the best number of launches once the
// first message has finished; told policies know the duration at the arrival, when the first message "has finished"
// at once.
func played(b Burst, launches []Launch, s float64, told bool) float64 {
	known, boot := b.Boot.Seconds()+s, b.Boot.Seconds()
	if told {
		known = 0
	}
	var ready []float64
	for _, l := range launches {
		if at := boot + l.Longer.Seconds(); l.Longer == 0 || at < known {
			if l.Longer == 0 {
				at = 0
			}
			for range l.Workers {
				ready = append(ready, at+boot)
			}
		}
	}
	best := math.Inf(1)
	for more := range b.Messages + 1 {
		if more+len(ready) > 0 {
			best = min(best, greedy(b, append(slices.Clone(ready), slices.Repeat([]float64{known + boot}, more)...), s))
		}
	}
	return best
}

// greedy lets each message begin at the worker that is free first, and adds up the loss.
func greedy(b Burst, free []float64, s float64) float64 {
	loss, late := float64(len(free))*b.Boot.Seconds(), 0
	for range b.Messages {
		first := slices.Index(free, slices.Min(free))
		if free[first] += s; free[first] > b.Objective.Latency.Seconds()+1e-6 {
			late++
		}
		loss += s
	}
	allowed := (1 - b.Objective.Quantile) * float64(b.Messages)
	return loss + b.Objective.PriceOfLate(b.Boot.Seconds(), s)*math.Max(0, float64(late)-allowed)
}

// shortBurst draws a burst of a few messages, and shortPrior a prior that fits them.
func shortBurst(draw *rand.Rand) Burst {
	seconds := func(from, to int) time.Duration { return time.Duration(from+draw.IntN(to-from+1)) * time.Second }
	return Burst{
		Messages: 1 + draw.IntN(5), Boot: seconds(1, 4),
		Objective: muster.Objective{Latency: seconds(8, 30), Quantile: []float64{0.7, 1}[draw.IntN(2)],
			Late: seconds(1, 20)},
	}
}

func shortPrior(draw *rand.Rand) Prior {
	from := time.Duration(500+draw.IntN(4500)) * time.Millisecond
	return Prior{from, from * time.Duration(1+draw.IntN(12))}
}

func TestTheLossIsWhatPlayingTheLaunchesComesTo(t *testing.T) {
	draw := rand.New(rand.NewPCG(1, 1))
	for range 3000 {
		b, each := shortBurst(draw), time.Duration(300+draw.IntN(9000))*time.Millisecond
		launches := []Launch{{0, 1 + draw.IntN(3)}}
		for range draw.IntN(3) {
			before := launches[len(launches)-1].Longer
			launches = append(launches, Launch{before + time.Duration(1+draw.IntN(3000))*time.Millisecond,
				1 + draw.IntN(2)})
		}
		if got, want := b.Loss(launches, each), played(b, launches, each.Seconds(), false); math.Abs(got-want) > 1e-6 {
			t.Fatalf("%+v with %v of %s: the loss is %v, playing comes to %v", b, launches, each, got, want)
		}
		if got, want := b.Told(each), played(b, nil, each.Seconds(), true); math.Abs(got-want) > 1e-6 {
			t.Fatalf("%+v told %s: the loss is %v, playing comes to %v", b, each, got, want)
		}
	}
}

// leastOfAll tries every number of workers at every instant.
func leastOfAll(x *belief) float64 {
	best, workers := math.Inf(1), make([]int, len(x.instants)+1)
	var try func(i int)
	try = func(i int) {
		if i == len(workers) {
			best = min(best, x.mean(x.launches(workers[0], workers[1:])))
			return
		}
		for n := range x.burst.Messages + 1 {
			if workers[i] = n; i > 0 || n > 0 {
				try(i + 1)
			}
		}
		workers[i] = 0
	}
	try(0)
	return best
}

func TestUntoldIsTheLeastOfAllLaunches(t *testing.T) {
	const all = 2000
	draw := rand.New(rand.NewPCG(2, 2))
	exact, later := 0, 0
	for range all {
		b, p := shortBurst(draw), shortPrior(draw)
		x := newBelief(b, p, Measure(draw.IntN(2)), 12, 3)
		u, least := x.solve(), leastOfAll(x)
		if u.Bound > least*(1+1e-9) {
			t.Fatalf("%+v over %+v: the bound %v is above the least, %v", b, p, u.Bound, least)
		}
		if u.Mean < least*(1-1e-9) || u.Mean > least*1.05 {
			t.Fatalf("%+v over %+v: the launches %v come to %v, the least is %v", b, p, u.Launches, u.Mean, least)
		}
		if u.Told > least*(1+1e-9) {
			t.Fatalf("%+v over %+v: to be told comes to %v, more than the least without, %v", b, p, u.Told, least)
		}
		if u.Mean <= least*(1+1e-9) {
			exact++
		}
		if len(u.Launches) > 1 {
			later++
		}
	}
	if exact < all*99/100 || later < all/20 {
		t.Errorf("the launches are the best ones in %d of %d cases, and %d have some after the first; want 99 of 100, "+
			"and 5 of 100", exact, all, later)
	}
}

// burstOf is a burst of the published tests: an objective of 5 minutes for 99 %, boots of 90 s.
func burstOf(messages int) Burst {
	objective := muster.Objective{Latency: 5 * time.Minute, Quantile: 0.99}
	return Burst{Messages: messages, Objective: objective, Boot: 90 * time.Second}
}

// Where a policy is told the duration, what is least is known from the other bounds: Rush is exact for such bursts.
func TestAKnownDurationCostsTheCausalOptimum(t *testing.T) {
	for _, x := range []struct {
		each time.Duration
		want float64
	}{{25 * time.Second, 1880}, {50 * time.Second, 3670}} {
		t.Run(x.each.String(), func(t *testing.T) {
			b := burstOf(50)
			if got := b.Told(x.each); got != x.want {
				t.Errorf("told, the loss is %v, want %v", got, x.want)
			}
			for _, m := range []Measure{MeanLoss, MeanMultiple} {
				u, err := b.Solve(Prior{x.each, x.each}, m)
				if err != nil {
					t.Fatal(err)
				}
				want := x.want
				if m == MeanMultiple {
					want = 1
				}
				if math.Abs(u.Mean-want) > 1e-9*want || math.Abs(u.Bound-want) > 1e-9*want ||
					math.Abs(u.Told-want) > 1e-9*want {
					t.Errorf("with a prior of one duration found %+v, want %v three times", u, want)
				}
				if loss := b.Loss(u.Launches, x.each); math.Abs(loss-x.want) > 1e-9*x.want {
					t.Errorf("its launches %v lose %v, want %v", u.Launches, loss, x.want)
				}
			}
		})
	}
}

func TestWhatIsUnknownCostsNoLessThanWhatIsEasier(t *testing.T) {
	p := Prior{10 * time.Millisecond, 4 * time.Hour}
	// The price of a late message is stated, because the default follows the boot.
	with := func(messages int, latency, boot time.Duration, quantile float64) Burst {
		return Burst{messages, muster.Objective{Latency: latency, Quantile: quantile, Late: time.Minute}, boot}
	}
	const s, m = time.Second, time.Minute
	for _, x := range []struct {
		name         string
		harder, than Burst
	}{
		{"more messages", with(20, 5*m, 60*s, 0.99), with(12, 5*m, 60*s, 0.99)},
		{"a shorter latency", with(12, 2*m, 60*s, 0.99), with(12, 5*m, 60*s, 0.99)},
		{"a longer boot", with(12, 5*m, 90*s, 0.99), with(12, 5*m, 30*s, 0.99)},
		{"a larger share", with(12, 5*m, 60*s, 1), with(12, 5*m, 60*s, 0.7)},
	} {
		t.Run(x.name, func(t *testing.T) {
			harder, err := x.harder.Solve(p, MeanLoss)
			if err != nil {
				t.Fatal(err)
			}
			than, err := x.than.Solve(p, MeanLoss)
			if err != nil {
				t.Fatal(err)
			}
			if harder.Mean < than.Mean || harder.Told < than.Told {
				t.Errorf("found %v (told %v), less than %v (told %v) of the easier burst",
					harder.Mean, harder.Told, than.Mean, than.Told)
			}
		})
	}
}

func TestUntoldOfThePublishedBurst(t *testing.T) {
	p, b := Prior{10 * time.Millisecond, 4 * time.Hour}, burstOf(50)
	for _, x := range []struct {
		measure Measure
		mean    string
		first   int
		gap     float64
	}{
		// One worker finds out: the rest of the burst is launched when it has finished a message.
		{MeanLoss, "52796.0", 1, 1e-9},
		{MeanMultiple, "1.1", 1, 0.01},
	} {
		u, err := b.Solve(p, x.measure)
		if err != nil {
			t.Fatal(err)
		}
		if got := fmt.Sprintf("%.1f", u.Mean); got != x.mean || u.Launches[0] != (Launch{0, x.first}) {
			t.Errorf("measure %d: found a mean of %s with %v, want %s with %d at first",
				x.measure, got, u.Launches, x.mean, x.first)
		}
		if u.Bound > u.Mean*(1+1e-9) || u.Bound < u.Mean*(1-x.gap-1e-9) {
			t.Errorf("measure %d: the bound %v and the mean %v are further apart than %v", x.measure, u.Bound, u.Mean,
				x.gap)
		}
	}
}

func TestNoLaunchBeforeAMessageFinishesWhereNoneSavesAny(t *testing.T) {
	b := Burst{Messages: 30, Objective: muster.Objective{Latency: 30 * time.Second, Quantile: 0.99}, Boot: time.Minute}
	u, err := b.Solve(Prior{10 * time.Millisecond, time.Hour}, MeanLoss)
	if err != nil || len(u.Launches) != 1 || u.Launches[0] != (Launch{0, 1}) || u.Mean != u.Told {
		t.Errorf("found %+v, %v, want one worker, which loses no more than who is told", u, err)
	}
}

func TestStrataOfAPriorAreEquallyFarApart(t *testing.T) {
	all := Prior{time.Second, 10000 * time.Second}.Strata(4)
	var seconds []float64
	for _, d := range all {
		seconds = append(seconds, math.Round(d.Seconds()*100)/100)
	}
	if want := []float64{3.16, 31.62, 316.23, 3162.28}; !slices.Equal(seconds, want) {
		t.Errorf("found %v, want %v", seconds, want)
	}
}

func TestBurstsThatMakeNoSenseAreRefused(t *testing.T) {
	good, prior := burstOf(3), Prior{time.Second, time.Minute}
	for _, x := range []struct {
		name, says string
		change     func(*Burst, *Prior)
	}{
		{"no message", "number of messages", func(b *Burst, _ *Prior) { b.Messages = 0 }},
		{"too many", "1 to 200", func(b *Burst, _ *Prior) { b.Messages = 201 }},
		{"no latency", "latency", func(b *Burst, _ *Prior) { b.Objective.Latency = 0 }},
		{"no quantile", "quantile", func(b *Burst, _ *Prior) { b.Objective.Quantile = math.NaN() }},
		{"a negative price", "price", func(b *Burst, _ *Prior) { b.Objective.Late = -1 }},
		{"no boot", "boot", func(b *Burst, _ *Prior) { b.Boot = 0 }},
		{"a prior of nothing", "prior", func(_ *Burst, p *Prior) { p.Shortest = 0 }},
		{"a prior that ends too early", "the shorter first", func(_ *Burst, p *Prior) { p.Longest = time.Millisecond }},
	} {
		b, p := good, prior
		x.change(&b, &p)
		if _, err := b.Solve(p, MeanLoss); err == nil || !strings.Contains(err.Error(), x.says) {
			t.Errorf("%s: found %v, want an error that says %q", x.name, err, x.says)
		}
	}
}
