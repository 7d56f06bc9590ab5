package peer

import (
	"testing"
	"time"

	"github.com/muster-scale/muster"
)

func TestAnHPAProposesWhatItsFormulaSays(t *testing.T) {
	for _, row := range []struct {
		name     string
		target   float64
		metric   float64
		replicas int
		want     int
	}{
		{"500 at 5 each", 5, 500, 10, 100},
		{"rounded up", 5, 501, 10, 101},
		{"110 on 100 workers of one message is within the tolerance: ten wait for ever", 1, 110, 100, 100},
		{"111 is not", 1, 111, 100, 111},
		{"90 is within it", 1, 90, 100, 100},
		{"89 is not", 1, 89, 100, 89},
		{"no replica yet", 5, 11, 0, 3},
		{"nothing to do", 5, 0, 7, 0},
	} {
		t.Run(row.name, func(t *testing.T) {
			if got := (HPA{Target: row.target, Tolerance: 0.1}).proposal(row.metric, row.replicas); got != row.want {
				t.Errorf("%d, want %d", got, row.want)
			}
		})
	}
}

func TestABurstTakesTheHPAFromOneToAHundredInSevenSteps(t *testing.T) {
	// The operator activates at once; the HPA's clock runs half a period beside it, which is seen at the next second.
	expect(t, built(t, "keda", 0, 0, 0).run(120, always(see{backlog: 500, max: 100})),
		[]change{{0, 1}, {8, 4}, {23, 8}, {38, 16}, {53, 32}, {68, 64}, {83, 100}})
	expect(t, built(t, "keda-behavior", 0, 0, 0).run(120, always(see{backlog: 500, max: 100})),
		[]change{{0, 1}, {8, 5}, {23, 10}, {38, 20}, {53, 40}, {68, 80}, {83, 100}})
	expect(t, built(t, "keda-tuned", 0, 0, 0).run(120, always(see{backlog: 500, max: 100})), []change{{0, 1}, {8, 100}})
}

func TestBothBehaviorPathsFromThreeReplicas(t *testing.T) {
	for name, want := range map[string]int{"keda": 6, "keda-behavior": 7} {
		got := built(t, name, 0, 0, 3).run(10, always(see{backlog: 500, max: 100}))
		expect(t, got, []change{{8, want}})
	}
}

func TestAnHPAFallsToTheLargestProposalOfFiveMinutes(t *testing.T) {
	script := func(second int) see {
		switch {
		case second < 100:
			return see{backlog: 50} // a proposal of 10
		case second < 200:
			return see{backlog: 25} // of 5
		}
		return see{backlog: 10} // of 2
	}
	// The last proposal of 10 is of second 97.5 (7.5 + 6 x 15). At 397.5 it is just within the window, at 412.5 it is
	// not; the last one of 5 is of second 187.5 and gone from 502.5 on.
	for _, name := range []string{"keda", "keda-behavior"} {
		want := []change{{413, 5}, {503, 2}}
		if name == "keda-behavior" {
			want = []change{{398, 5}, {488, 2}} // there the window's far end is open
		}
		expect(t, built(t, name, 0, 0, 10).run(600, script), want)
	}
}

func TestRatesCountTheChangesOfTheirPeriod(t *testing.T) {
	rose := func(from int) muster.Recent {
		return muster.Recent{ago(10*time.Second, from, 8, num(keptAt, seconds(t0)-10))}
	}
	for _, row := range []struct {
		name string
		from int // ten seconds ago; there are eight now
		rate Pace
		rise bool
		want int
	}{
		{"four pods a period: the four of ten seconds ago are all", 4, Pace{Pods: 4, Period: 15 * time.Second}, up, 8},
		{"four pods in ten seconds: a change exactly that old is over", 4, Pace{Pods: 4, Period: 10 * time.Second}, up,
			12},
		{"double what was there when the period began", 4, Pace{Percent: 100, Period: 15 * time.Second}, up, 8},
		{"a third more, rounded up", 4, Pace{Percent: 30, Period: 5 * time.Second}, up, 11},
		{"down counts from before the rise too", 4, Pace{Pods: 1, Period: 15 * time.Second}, down, 3},
		{"up counts from before a fall too", 10, Pace{Pods: 1, Period: 15 * time.Second}, up, 11},
		{"a third fewer, rounded down", 4, Pace{Percent: 33, Period: 5 * time.Second}, down, 5},
		{"what KEDA activated is none of the HPA's changes", 0, Pace{Pods: 4, Period: 15 * time.Second}, up, 12},
	} {
		t.Run(row.name, func(t *testing.T) {
			if got := row.rate.reach(8, rose(row.from), seconds(t0), row.rise); got != row.want {
				t.Errorf("%d, want %d", got, row.want)
			}
		})
	}
}

func TestKEDAGoesToZeroAfterItsCooldown(t *testing.T) {
	script := func(second int) see {
		if second < 95 {
			return see{backlog: 5}
		}
		return see{}
	}
	// Last active at the poll of second 90; more than 300 s have passed at that of 420.
	expect(t, built(t, "keda", 0, 0, 0).run(500, script), []change{{0, 1}, {420, 0}})
	// The tuned one polls every five seconds: last active at 90, over at 155.
	expect(t, built(t, "keda-tuned", 0, 0, 0).run(500, script), []change{{0, 1}, {155, 0}})
}

func TestAScaledJobCreatesWhatItsStrategySays(t *testing.T) {
	for _, row := range []struct {
		name     string
		strategy string
		target   float64
		see      see
		want     int // unfinished jobs afterwards
	}{
		{"17 at five each are four jobs", JobDefault, 5, see{backlog: 17}, 4},
		{"in flight counts, and so do the jobs that hold them", JobDefault, 1,
			see{backlog: 3, inFlight: 5, serving: 5, busy: 5}, 8},
		{"jobs that did not start count", JobDefault, 1, see{backlog: 3, inFlight: 5, serving: 5, busy: 5, coming: 3},
			8},
		{"the maximum holds", JobDefault, 1, see{backlog: 50, inFlight: 5, serving: 5, busy: 5, max: 20}, 20},
		{"nothing is active: no job, not even for the minimum", JobDefault, 1, see{serving: 1, min: 3}, 1},
		{"active and below the minimum: up to it", JobDefault, 1, see{backlog: 9, serving: 1, min: 3}, 3},
		{"the minimum is no part of the running", JobDefault, 1, see{backlog: 9, serving: 3, min: 3}, 12},
		{"accurate: one for each that waits", JobAccurate, 1, see{backlog: 3, inFlight: 5, serving: 5, busy: 5}, 8},
		{"accurate: less those on their way", JobAccurate, 1,
			see{backlog: 3, inFlight: 5, serving: 5, busy: 5, coming: 2}, 8},
		{"accurate: what is left to the maximum", JobAccurate, 1,
			see{backlog: 30, inFlight: 5, serving: 5, busy: 5, max: 20}, 20},
		{"accurate does not need the messages in flight", JobAccurate, 1, see{backlog: 3, noInFlight: true}, 3},
		{"eager: as many as wait", JobEager, 1, see{backlog: 3, inFlight: 5, serving: 5, busy: 5}, 8},
		{"eager: pending jobs take room twice", JobEager, 1,
			see{backlog: 30, inFlight: 5, serving: 5, busy: 5, coming: 2, max: 20}, 18},
	} {
		t.Run(row.name, func(t *testing.T) {
			d := ScaledJob{Name: "x", Target: row.target, Strategy: row.strategy}.Decide(row.see.at(t0), nil)
			if d.Desired != row.want {
				t.Errorf("%d jobs, want %d\n%s", d.Desired, row.want, d.Sentence())
			}
		})
	}
}

func TestKnativeByItsFormula(t *testing.T) {
	// Ten pods with seven at work: 7 / 0.7 = 10.
	calm := func(int) see { return see{inFlight: 7} }

	t.Run("a burst from zero is one step", func(t *testing.T) {
		expect(t, built(t, "kpa", 0, 30*time.Second, 0).run(20, func(second int) see {
			if second < 11 {
				return see{}
			}
			return see{backlog: 100}
		}), []change{{11, 143}}) // 100 / 0.7, at the very second, between two ticks
	})
	t.Run("a window that was silent begins anew", func(t *testing.T) {
		// At zero nobody reports. The second burst is not averaged with the silence before it.
		got := built(t, "kpa", 0, 0, 0).run(420, func(second int) see {
			if second < 10 || second >= 400 {
				return see{backlog: 100}
			}
			return see{}
		})
		if last := got[len(got)-1]; last != (change{400, 143}) {
			t.Errorf("changes %v, want the last at second 400, to 143", got)
		}
	})
	t.Run("panic needs twice the pods in the mean of six seconds", func(t *testing.T) {
		w := built(t, "kpa", 0, 0, 10)
		expect(t, w.run(200, calm), nil)
		// Load 30 from second 200 on. Tick at 200: the six seconds ask for (30 + 5x7) / 6 / 0.7 = 15.5, not twice ten;
		// the minute for (30 + 59x7) / 60 / 0.7 = 10.5. Tick at 202: three seconds of 30 and three of 7 are 26.4.
		expect(t, w.run(4, always(see{inFlight: 30})), []change{{0, 11}, {2, 27}})
	})
	t.Run("in panic nothing falls, a minute later it does", func(t *testing.T) {
		w := built(t, "kpa", 0, 0, 10)
		w.run(200, calm)
		script := func(second int) see {
			if second < 4 {
				return see{inFlight: 30}
			}
			return see{inFlight: 7}
		}
		// Panic begins at 2; at 4 the six seconds hold four of 30 and two of 7: 32. It ends at the first tick more than
		// 60 s after 2, at 64; by then the minute holds nothing but sevens: 10, but no less than half of 32 at once.
		expect(t, w.run(80, script), []change{{0, 11}, {2, 27}, {4, 32}, {64, 16}, {66, 10}})
	})
	t.Run("a lasting rise goes by the minute", func(t *testing.T) {
		w := built(t, "kpa", 0, 0, 10)
		w.run(200, calm)
		got := w.run(70, always(see{inFlight: 10.5})) // 15 pods, never twice ten
		if len(got) == 0 || got[len(got)-1].size != 15 {
			t.Errorf("changes %v, want a rise to 15", got)
		}
		for i := 1; i < len(got); i++ {
			if got[i].size < got[i-1].size {
				t.Errorf("changes %v fall", got)
			}
		}
	})
	t.Run("to zero half a minute after nothing was wanted", func(t *testing.T) {
		// One pod, load until second 9. The minute is empty at second 70, a tick; zero is due 30 s later.
		expect(t, built(t, "kpa", 0, 0, 1).run(120, func(second int) see {
			if second < 10 {
				return see{inFlight: 0.5}
			}
			return see{}
		}), []change{{100, 0}})
	})
	t.Run("an autoscaler that starts does not shrink what it finds", func(t *testing.T) {
		got := built(t, "kpa", 0, 0, 8).run(70, always(see{inFlight: 0.7}))
		if len(got) == 0 || got[0] != (change{62, 4}) {
			t.Errorf("changes %v, want the first at second 62, to 4", got)
		}
	})
}

func TestTheTimeToOrderAgreesWithChance(t *testing.T) {
	// The mean time from a burst to an order for so many workers, from zero, over thirty bursts a second apart in
	// phase. The figures wanted are those of 20,000 runs of the published formulas with clocks in random phases.
	for _, row := range []struct {
		peer    string
		workers int
		want    float64
	}{
		{"keda", 10, 52}, {"keda", 100, 98}, {"keda", 1000, 142},
		{"keda-behavior", 10, 38}, {"keda-behavior", 100, 98}, {"keda-behavior", 1000, 142},
		{"keda-job", 100, 15}, {"nomad", 100, 5}, {"buildkite", 100, 5},
	} {
		p, _ := Find(row.peer)
		sum, phases := 0, 30
		for phase := range phases {
			w := newWorld(p.Build(1, 0), p.Memory, time.Hour, 0)
			w.run(60+phase, always(see{}))
			for second := range 600 {
				if w.step(see{backlog: float64(row.workers)}).Desired >= row.workers {
					sum += second
					break
				}
			}
		}
		if got := float64(sum) / float64(phases); got < row.want-1 || got > row.want+1 {
			t.Errorf("%s orders %d workers after %.1f s on average, want %.0f", row.peer, row.workers, got, row.want)
		}
	}
}

func TestTheStepsMeasuredOnARealHPA(t *testing.T) {
	// KEDA 2.21.0 and Kubernetes 1.36.3 with a polling interval of 5 s, a queueLength of 5 and 250 messages: 1 replica,
	// and then 4, 8, 16, 32 and 50, one step each 15 s from the HPA's next look on.
	k := KEDA{Name: "keda", Poll: 5 * time.Second, Cooldown: kedaCooldown,
		HPA: HPA{Target: 5, Tolerance: 0.1, Sync: 15 * time.Second}}
	expect(t, newWorld(k, 6*time.Minute, 0, 0).run(100, always(see{backlog: 250, max: 100})),
		[]change{{0, 1}, {8, 4}, {23, 8}, {38, 16}, {53, 32}, {68, 50}})
}
