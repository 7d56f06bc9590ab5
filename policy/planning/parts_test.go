package planning

import (
	"math"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/muster-scale/muster"
	"github.com/muster-scale/muster/policy/internal/durations"
	"github.com/muster-scale/muster/policy/internal/rules"
)

// about allows for a number that was worked out by hand to three digits.
func about(a, b float64) bool {
	return a == b || math.Abs(a-b) <= 0.005*math.Max(1, math.Abs(b))
}

// lasting is the estimate of durations of which all took as long.
func lasting(seconds float64, n int64) muster.Estimate {
	return muster.Estimate{Known: true, Count: n, MeanSeconds: seconds, P50Seconds: seconds, P95Seconds: seconds,
		P99Seconds: seconds}
}

// stated is the estimate of a duration that was stated and not measured.
func stated(seconds float64) muster.Estimate {
	e := lasting(seconds, 0)
	e.Prior = true
	return e
}

// varying is the estimate of durations with the given mean, 95th and 99th percentile.
func varying(mean, p95, p99 float64, n int64) muster.Estimate {
	return muster.Estimate{Known: true, Count: n, MeanSeconds: mean, P50Seconds: mean, P95Seconds: p95, P99Seconds: p99}
}

func TestWorkIsWhatWasMeasuredAsLongAsTheLastMinutesAgree(t *testing.T) {
	many := lasting(10, 1000) // weighs as much as 8 durations
	for _, row := range []struct {
		name             string
		o                muster.Observation
		mean, tail, usal float64
	}{
		{"nothing came lately", muster.Observation{Processing: many}, 10, 10, 10},
		{"the last minutes agree", muster.Observation{Processing: many, Pace: muster.Pace{Finished: 12, Seconds: 120}},
			10, 10, 10},
		{"the work takes twice as long: (8 x 10 + 12 x 20) / 20",
			muster.Observation{Processing: many, Pace: muster.Pace{Finished: 12, Seconds: 240}}, 16, 16, 10},
		{"the work takes half as long: (8 x 10 + 12 x 5) / 20",
			muster.Observation{Processing: many, Pace: muster.Pace{Finished: 12, Seconds: 60}}, 7, 7, 10},
		{"what was just begun says nothing: between 80 / 12 and 80 / 8",
			muster.Observation{Processing: many, Capacity: muster.Capacity{BusySlots: 4}}, 10, 10, 10},
		{"what goes on for longer than usual does: (80 + 4 x 13) / 12",
			muster.Observation{Processing: many, Capacity: muster.Capacity{BusySlots: 4, HeldMeanSeconds: 13}}, 11, 11,
			10},
		{"what cannot be chance is other work, half done: 2 x 35",
			muster.Observation{Processing: many, Capacity: muster.Capacity{BusySlots: 4, HeldMeanSeconds: 35,
				HeldDeviationSeconds: 12}}, 70, 70, 10},
		{"what began together has only taken as long as it is old: (80 + 4 x 35) / 12", muster.Observation{
			Processing: many, Capacity: muster.Capacity{Busy: 4, BusySlots: 4, HeldMeanSeconds: 35,
				HeldDeviationSeconds: 10}}, 18.333, 18.333, 10},
		{"more than ten times as long is no other work, it hangs", muster.Observation{
			Processing: many, Capacity: muster.Capacity{Busy: 4, BusySlots: 4, HeldMeanSeconds: 300,
				HeldDeviationSeconds: 120}}, 10, 10, 10},
		{"one of ten that hangs says nothing",
			muster.Observation{Processing: many,
				Capacity: muster.Capacity{Busy: 10, BusySlots: 10, HeldMeanSeconds: 364.5,
					HeldDeviationSeconds: 1078.5}}, 10, 10, 10},
		{"nor is one alone, which counts for twice the mean at the most: (80 + 20) / 9",
			muster.Observation{Processing: many,
				Capacity: muster.Capacity{Busy: 1, BusySlots: 1, HeldMeanSeconds: 95}}, 11.111, 11.111, 10},
		{"of few durations nobody knows how much they differ: (80 + 4 x 35) / 12",
			muster.Observation{Processing: lasting(10, 99),
				Capacity: muster.Capacity{Busy: 4, BusySlots: 4, HeldMeanSeconds: 35}}, 18.333, 18.333, 10},
		{"nor of a prior, so it is taken as half of them: 2 x 35 / 1.25", muster.Observation{
			Processing: muster.Estimate{Known: true, Prior: true, MeanSeconds: 10, P50Seconds: 10, P95Seconds: 10,
				P99Seconds: 10}, Capacity: muster.Capacity{BusySlots: 4, HeldMeanSeconds: 35,
				HeldDeviationSeconds: 12}}, 56, 56, 10},
		{"few durations weigh by their number: (2 x 10 + 2 x 20) / 4",
			muster.Observation{Processing: lasting(10, 2), Pace: muster.Pace{Finished: 2, Seconds: 40}}, 15, 15, 10},
		{"a prior weighs as one: (10 + 3 x 20) / 4", muster.Observation{
			Processing: muster.Estimate{Known: true, Prior: true, MeanSeconds: 10, P50Seconds: 10, P95Seconds: 10,
				P99Seconds: 10}, Pace: muster.Pace{Finished: 3, Seconds: 60}}, 17.5, 17.5, 10},
		// The deviation is (27 - 10) / 1.7 = 10, the variation 1, so the mean weighs 16: (160 + 400) / 32.
		{"durations that vary take more to tell a change", muster.Observation{Processing: varying(10, 27, 35, 1000),
			Pace: muster.Pace{Finished: 16, Seconds: 400}}, 17.5, 54.25, 31},
		{"of few durations the highest say little", muster.Observation{Processing: varying(10, 27, 35, 199)}, 10, 27,
			27},
		{"no tail is below the mean", muster.Observation{Processing: varying(10, 2, 300, 199)}, 10, 10, 10},
	} {
		t.Run(row.name, func(t *testing.T) {
			w, known := durations.Of(row.o)
			if !known || !about(w.Mean, row.mean) || !about(w.Tail, row.tail) || !about(w.LongTermTail, row.usal) {
				t.Errorf("mean %v, tail %v, usual %v (known %v); want %v, %v, %v", w.Mean, w.Tail,
					w.LongTermTail, known, row.mean, row.tail, row.usal)
			}
		})
	}
	for name, e := range map[string]muster.Estimate{"nothing is known": {},
		"nothing takes no time": {Known: true, Count: 3}} {
		if w, known := durations.Of(muster.Observation{Processing: e}); known {
			t.Errorf("%s: found %+v", name, w)
		}
	}
}

func TestHowFarDurationsVaryShowsInBothPercentiles(t *testing.T) {
	for _, row := range []struct {
		name                 string
		e                    muster.Estimate
		deviation, variation float64
	}{
		{"all alike", lasting(10, 100), 0, 0},
		{"the 95th lies 1.7 deviations above the mean", varying(10, 13.4, 14, 100), 2, 0.2},
		{"seldom and long ones show in the 99th alone", varying(10, 10, 25, 100), 0, 0.5},
		{"more than the mean counts as the mean", varying(10, 61, 80, 100), 30, 1},
		{"a 95th below the mean is none", varying(10, 4, 10, 100), 0, 0},
	} {
		if w, _ := durations.Of(muster.Observation{Processing: row.e}); !about(w.Deviation, row.deviation) ||
			!about(w.Variation, row.variation) {
			t.Errorf("%s: deviation %v, variation %v; want %v and %v", row.name, w.Deviation, w.Variation,
				row.deviation, row.variation)
		}
	}
}

func TestWorkLiesBetweenWhatWasAndWhatIs(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		mean := rapid.Float64Range(0.01, 1000).Draw(t, "mean")
		p95 := mean * rapid.Float64Range(0.5, 6).Draw(t, "p95")
		o := muster.Observation{Processing: varying(mean, p95, p95*rapid.Float64Range(1, 4).Draw(t, "p99"),
			rapid.Int64Range(1, 10_000).Draw(t, "n"))}
		n, each := float64(rapid.IntRange(0, 500).Draw(t, "finished")), rapid.Float64Range(0, 5000).Draw(t, "each")
		o.Pace = muster.Pace{Finished: n, Seconds: n * each}
		o.Capacity.BusySlots, o.Capacity.HeldMeanSeconds = rapid.IntRange(0, 50).Draw(t, "busy"), rapid.Float64Range(0,
			5000).Draw(t, "held")
		w, known := durations.Of(o)
		low, high := mean, mean
		if n > 0 {
			low, high = math.Min(low, each), math.Max(high, each)
		}
		if o.Capacity.BusySlots > 0 {
			high = math.Max(high, 2*o.Capacity.HeldMeanSeconds) // half done, on average
		}
		if !known || w.Mean < low*(1-1e-9) || w.Mean > high*(1+1e-9) {
			t.Fatalf("the mean is %v; measured were %v, lately %v, in hand %v", w.Mean, mean, each,
				o.Capacity.HeldMeanSeconds)
		}
		// The shape stays: everything is longer in proportion.
		if scale := w.Mean / mean; !about(w.Tail, w.LongTermTail*scale) || w.Tail < w.Mean*(1-1e-9) ||
			w.Variation < 0 || w.Variation > 1 {
			t.Fatalf("the work is %+v, %v times as long as measured", w, scale)
		}
	})
}

func TestHowManyMessagesASlotBegins(t *testing.T) {
	for _, row := range []struct {
		name                               string
		mean, variation, mixed, t, started float64
	}{
		{"the first at once", 25, 0, 0, 0, 1},
		{"the second after the first", 25, 0, 0, 24.9, 1},
		{"exactly then", 25, 0, 0, 25, 2},
		{"whole numbers where all take as long", 25, 0, 0, 176, 8},
		{"two seconds later one fewer", 25, 0, 0, 174, 7},
		{"at different points of their work: the mean, 176/25 + 1/2", 25, 0, 1, 176, 7.54},
		{"half mixed: the mean of 8 and 7.54", 25, 0, 0.5, 176, 7.77},
		{"exponential work: 176/25 + 1", 25, 1, 1, 176, 8.04},
		{"never less than the first", 25, 0, 1, 1, 1},
	} {
		p := plan{Work: durations.Work{Mean: row.mean, Variation: row.variation}}
		if got := p.starts(row.t, row.mixed); !about(got, row.started) {
			t.Errorf("%s: %v, want %v", row.name, got, row.started)
		}
	}
}

// A slot that is always in use begins as many messages as renewals are counted by drawing durations one after the
// other.
func TestTheMeanNumberOfStartsIsThatOfDrawnDurations(t *testing.T) {
	const mean, until, draws = 10.0, 100.0, 40_000
	seed := uint64(1)
	uniform := func() float64 { // a linear congruential generator is random enough
		seed = seed*6364136223846793005 + 1442695040888963407
		return (float64(seed>>11) + 0.5) / (1 << 53)
	}
	for _, row := range []struct {
		name      string
		variation float64
		draw      func() float64
	}{
		{"exponential", 1, func() float64 { return -mean * math.Log(uniform()) }},
		{"the sum of four exponential parts", 0.5,
			func() float64 { return -mean / 4 * math.Log(uniform()*uniform()*uniform()*uniform()) }},
		{"even between 5 and 15", 1 / math.Sqrt(12), func() float64 { return mean/2 + mean*uniform() }},
	} {
		begun := 0
		for range draws {
			for at := 0.0; at <= until; at += row.draw() {
				begun++
			}
		}
		drawn := float64(begun) / draws
		if got := (&plan{Work: durations.Work{Mean: mean, Variation: row.variation}}).starts(until,
			1); math.Abs(got-drawn) > 0.05 {
			t.Errorf("%s: %v starts, drawn were %v", row.name, got, drawn)
		}
	}
}

func TestHowManyMessagesTheWorkersBegin(t *testing.T) {
	for _, row := range []struct {
		name  string
		p     plan
		until float64
		want  float64
	}{
		{"nobody", plan{}, 1000, 0},
		{"three free slots at once", plan{free: 3, inService: 3}, 0, 3},
		{"three free slots for 60 s of 25 s each", plan{free: 3, inService: 3}, 60, 9},
		{"a busy one after its message", plan{inService: 1, residual: 10}, 10, 1},
		{"and not before", plan{inService: 1, residual: 10}, 9.9, 0},
		{"a hundred slots at different points: in proportion, 100 x 5 / 10 x 1 / 2, less 2.33 x 5 for chance",
			plan{inService: 100, residual: 10, mixed: 1}, 5, 13.35},
		{"of few slots chance decides: none", plan{inService: 4, residual: 10, mixed: 1}, 5, 0},
		{"and as many as there are means later: 4 x (1 / 2 + 50 / 25)",
			plan{inService: 4, residual: 10, mixed: 1}, 60, 10},
		{"a free one and a busy one: 3 and 2", plan{free: 1, inService: 2, residual: 10}, 50, 5},
		{"those that boot from when they are there", plan{pending: []pendingSlots{{at: 40, slots: 2}}}, 39, 0},
		{"and then like free ones", plan{pending: []pendingSlots{{at: 40, slots: 2}}}, 65, 4},
	} {
		row.p.Mean = 25
		if got := row.p.begun(row.until); !about(got, row.want) {
			t.Errorf("%s: %v, want %v", row.name, got, row.want)
		}
	}
}

// A slot whose message has lasted longer than nearly all that were measured is not about to become free.
func TestAMessageThatHangsKeepsItsSlot(t *testing.T) {
	for _, row := range []struct {
		name       string
		held, left float64
	}{
		{"within what was measured: what is left of the mean", 4, 6},
		{"longer than the mean", 11, 0},
		{"longer than the 99th percentile: as long again", 13, 13},
	} {
		p := plan{Work: durations.Work{Mean: 10, Tail: 11, Longest: 12}}
		p.estimateProgress(muster.Capacity{Busy: 1, BusySlots: 1, HeldMeanSeconds: row.held})
		if p.residual != row.left {
			t.Errorf("%s: free in %v s, want %v", row.name, p.residual, row.left)
		}
	}
}

func TestWorkersBeginMoreInMoreTime(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := plan{Work: durations.Work{Mean: rapid.Float64Range(0.1, 100).Draw(t, "mean"),
			Variation: rapid.Float64Range(0, 1).Draw(t, "variation")}}
		p.free = float64(rapid.IntRange(0, 5).Draw(t, "free"))
		p.inService = p.free + float64(rapid.IntRange(0, 5).Draw(t, "busy"))
		p.estimateProgress(muster.Capacity{HeldMeanSeconds: rapid.Float64Range(0, 200).Draw(t, "held"),
			HeldDeviationSeconds: rapid.Float64Range(0, 50).Draw(t, "apart")})
		p.pending = []pendingSlots{{rapid.Float64Range(0, 100).Draw(t, "at"),
			float64(rapid.IntRange(0, 5).Draw(t, "coming")), -1}}
		early := rapid.Float64Range(0, 500).Draw(t, "early")
		late := early + rapid.Float64Range(0, 100).Draw(t, "later")
		if a, b := p.begun(early), p.begun(late); a < 0 || b < a-1e-9 {
			t.Fatalf("%v begun by %v, %v by %v: %+v", a, early, b, late, p)
		}
	})
}

// s0 is the published test: 50 messages that came together, an objective of 300 s, a boot of 90 s, no worker.
func s0(mpd, age float64) muster.Observation {
	at := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	return muster.Observation{
		At: at, Poll: time.Second, Objective: muster.Objective{Latency: 300 * time.Second, Quantile: 0.99},
		Limits: muster.Limits{Max: 100, LaunchesPerHour: 1000},
		Queues: []muster.QueueObservation{{Queue: "q", Backlog: muster.Measured(at, 50),
			InFlight: muster.Measured(at, 0), OldestAge: muster.Measured(at, age)}},
		Waiting:    []muster.Waiting{{AgeSeconds: age, Messages: 50}},
		Capacity:   muster.Capacity{Known: true, SlotsPerWorker: 1},
		Processing: lasting(mpd, 1000), Boot: stated(90),
	}
}

func planOf(o muster.Observation) *plan {
	w, _ := durations.Of(o)
	p := newPlan(o, w, 0)
	return &p
}

// A message of the published test must begin within 0.97 x 300 - MPD seconds of being sent, a worker is there after 90.
func TestTheWorkersThatThePublishedTestNeeds(t *testing.T) {
	for _, row := range []struct {
		name                      string
		mpd, age, delay           float64
		workers, fraction, latest float64
	}{
		{"25 s: each begins 1 + (266 - 90) / 25 = 8", 25, 0, 0, 7, 6.25, 266},
		{"25 s, launched two seconds later: 7", 25, 0, 2, 8, 7.142, 266},
		{"25 s, found two seconds later", 25, 2, 0, 8, 7.142, 264},
		{"25 s, found 27 s later: each begins 6", 25, 27, 0, 9, 8.333, 239},
		{"50 s: each begins 1 + (241 - 90) / 50 = 4", 50, 0, 0, 13, 12.5, 241},
		{"50 s, launched two seconds later: 3", 50, 0, 2, 17, 16.667, 241},
		{"25 s, at the last moment: one each", 25, 176, 0, 50, 50, 90},
		{"25 s, after the last moment: within another objective", 25, 180, 0, 5, 4.167, 381},
		{"25 s, when only a launch before the delay is in time", 25, 175, 2, math.MaxInt32, math.Inf(1), 91},
	} {
		t.Run(row.name, func(t *testing.T) {
			n := planOf(s0(row.mpd, row.age)).needAfter(row.delay)
			if !about(n.workers, row.fraction) || float64(rules.Ceil(n.workers)) != row.workers ||
				!about(n.latest, row.latest) || n.messages != 50 {
				t.Errorf("%v workers for %v messages to begin within %v s; want %v for 50 within %v", n.workers,
					n.messages, n.latest, row.fraction, row.latest)
			}
		})
	}
}

func TestWhatIsThereAndComesNeedNotBeLaunched(t *testing.T) {
	for _, row := range []struct {
		name    string
		change  func(o *muster.Observation)
		workers float64
	}{
		// A free slot begins 1 + 266 / 25 = 11 messages, one that is launched now 8.
		{"one idle worker: (50 - 11) / 8", func(o *muster.Observation) { o.Capacity.Idle, o.Capacity.Slots = 1, 1 },
			4.875},
		{"five idle workers begin them all", func(o *muster.Observation) { o.Capacity.Idle, o.Capacity.Slots = 5, 5 },
			0},
		{"a busy worker that needs 20 s more begins 10: (50 - 10) / 8", func(o *muster.Observation) {
			o.Capacity.Busy, o.Capacity.Slots, o.Capacity.BusySlots, o.Capacity.HeldMeanSeconds = 1, 1, 1, 5
		}, 5},
		{"one that boots since 60 s is there in 30 s and begins 10", func(o *muster.Observation) {
			o.Capacity.Booting, o.Coming = 1, []muster.Coming{{AgeSeconds: 60, Members: 1}}
		}, 5},
		{"one that is overdue is expected within a second and begins 11", func(o *muster.Observation) {
			o.Capacity.Booting, o.Coming = 1, []muster.Coming{{AgeSeconds: 200, Members: 1}}
		}, 4.875},
		{"workers of two slots", func(o *muster.Observation) { o.Capacity.SlotsPerWorker = 2 }, 3.125},
		{"what came later may begin later: 20 of 100 s ago are the hardest", func(o *muster.Observation) {
			o.Waiting = []muster.Waiting{{AgeSeconds: 100, Messages: 20}, {AgeSeconds: 0, Messages: 10}}
		}, 5}, // 20 by 166 s: 4 each; all 30 by 266 s: 8 each
		{"the younger are the hardest when they are many", func(o *muster.Observation) {
			o.Waiting = []muster.Waiting{{AgeSeconds: 100, Messages: 4}, {AgeSeconds: 0, Messages: 46}}
		}, 6.25},
		{"one message needs no second worker, however long its work may take", func(o *muster.Observation) {
			o.Processing, o.Waiting = varying(25, 67.5, 100, 1000), []muster.Waiting{{AgeSeconds: 117, Messages: 1}}
		}, 1},
		{"nor does one that a free slot takes", func(o *muster.Observation) {
			o.Processing, o.Waiting = varying(25, 67.5, 100, 1000), []muster.Waiting{{AgeSeconds: 117, Messages: 1}}
			o.Capacity.Idle, o.Capacity.Slots = 1, 1
		}, 0},
		{"unknown ages count from the oldest", func(o *muster.Observation) {
			o.Waiting = nil
			o.Queues[0].OldestAge = muster.Measured(o.At, 27)
		}, 8.333},
	} {
		t.Run(row.name, func(t *testing.T) {
			o := s0(25, 0)
			row.change(&o)
			if n := planOf(o).needAfter(0); !about(n.workers, row.workers) {
				t.Errorf("%v workers more are needed, want %v", n.workers, row.workers)
			}
		})
	}
}

// The whole decision launches at the last moment at which no more are needed than now.
func TestThePublishedTestLaunchesAtTheLastMoment(t *testing.T) {
	for _, row := range []struct {
		name string
		mpd  float64
		age  float64
		want int
	}{
		{"25 s: seven, because two seconds later it would be eight", 25, 0, 7},
		{"25 s, some seconds later: eight would still do in a while", 25, 10, 0},
		{"25 s, as long as eight do: 24 s", 25, 23.5, 0},
		{"25 s, eight at their last moment", 25, 25.5, 8},
		{"25 s, too late for all of them: at once, to begin within another objective", 25, 180, 5},
		{"50 s: thirteen, because two seconds later it would be seventeen", 50, 0, 13},
		{"50 s, when seventeen would still do in a while", 50, 10, 0},
	} {
		t.Run(row.name, func(t *testing.T) {
			d := Deadline{}.Decide(s0(row.mpd, row.age), nil)
			if d.Desired != row.want {
				t.Errorf("%d workers, want %d: %s", d.Desired, row.want, d.Sentence())
			}
		})
	}
}

// Work of 33 s whose 95th and 99th percentile are 85 s and 121 s.
func TestOneWorkerDoesForTwoMessagesWhereOnlyBothBeingLongWouldMakeTheSecondLate(t *testing.T) {
	for _, row := range []struct {
		name      string
		old, next float64
		want      int
	}{
		{"the second has 50 s longer than the first", 79.5, 30, 1},
		{"the second has 30 s longer", 79.5, 48, 2},
		{"both came at once", 79.5, 79.5, 2},
	} {
		o := s0(33, 0)
		o.Processing = varying(33, 85, 121, 1000)
		o.Queues[0].Backlog, o.Queues[0].OldestAge = muster.Measured(o.At, 2), muster.Measured(o.At, row.old)
		o.Waiting = []muster.Waiting{{AgeSeconds: row.old, Messages: 1}, {AgeSeconds: row.next, Messages: 1}}
		if d := (Deadline{}).Decide(o, nil); d.Desired != row.want {
			t.Errorf("%s: %d workers, want %d: %s", row.name, d.Desired, row.want, d.Sentence())
		}
	}
}

func TestChanceAddsToTheLengthOfTheLastInSquares(t *testing.T) {
	for _, row := range []struct {
		name        string
		processing  muster.Estimate
		ahead, want float64
	}{
		{"even work leaves nothing to chance", lasting(25, 1000), 100, 0},
		// A deviation of 25 s, and 58.75 s by which the tail exceeds the mean.
		{"of one message: (sqrt(58.75^2 + 25^2) - 58.75) / 25", varying(25, 67.5, 100, 1000), 1, 0.2039},
		{"of four", varying(25, 67.5, 100, 1000), 4, 0.7359},
		{"of a hundred, where the square root alone is ten", varying(25, 67.5, 100, 1000), 100, 7.9223},
		{"of none", varying(25, 67.5, 100, 1000), 0, 0},
	} {
		o := s0(25, 0)
		o.Processing = row.processing
		if got := planOf(o).varianceExtra(row.ahead); !about(got, row.want) {
			t.Errorf("%s: %v messages, want %v", row.name, got, row.want)
		}
	}
}

func TestHowLongAMessageCanWaitForALaunch(t *testing.T) {
	for _, row := range []struct {
		name    string
		latency time.Duration
		want    float64
	}{
		{"300 s: 291 - 25 - 90 - 2", 300 * time.Second, 174},
		{"120 s: 116.4 - 25 - 90 - 2", 120 * time.Second, -0.6},
		{"30 s: a launch is too late for any", 30 * time.Second, -87.9},
	} {
		o := s0(25, 0)
		o.Objective.Latency = row.latency
		if got := planOf(o).slack(); !about(got, row.want) {
			t.Errorf("%s: %v", row.name, got)
		}
	}
}

// steadily is arrivals at one rate for an hour.
func steadily(rate float64) muster.Arrivals {
	return muster.Arrivals{Known: true, TenSeconds: rate, Minute: rate, FiveMinutes: rate, TwentyMinutes: rate,
		Hour: rate}
}

// once is arrivals whose busiest times are so long past that none of them is in the last minutes.
func once(all ...muster.Busiest) muster.Arrivals {
	return muster.Arrivals{Known: true, Hour: 1, Busiest: allAlike(all)}
}

// allAlike makes the busiest times be all alike: room for any share of the messages is room for all.
func allAlike(all []muster.Busiest) []muster.Busiest {
	for i, b := range all {
		for k := range b.Rooms {
			all[i].Rooms[k] = b.Messages
		}
	}
	return all
}

func TestWhoIsKeptAlthoughNothingWaits(t *testing.T) {
	for _, row := range []struct {
		name     string
		latency  time.Duration
		slots    float64
		active   int
		arrivals muster.Arrivals
		want     int
	}{
		{"unknown arrivals keep nobody", 300 * time.Second, 1, 9, muster.Arrivals{Minute: 9, FiveMinutes: 9}, 0},
		// 0.99 messages a second for an hour may be 3564 + 1 + 59.7 by chance: 1.007 a second keep 25.2 workers busy.
		// While one boots come 91, so that many may be idle.
		{"a launch is still in time: those that the arrivals keep busy", 300 * time.Second, 1, 40, steadily(0.99), 25},
		{"the window that says the least", 300 * time.Second, 1, 40,
			muster.Arrivals{Known: true, Minute: 9, FiveMinutes: 9, TwentyMinutes: 0.097, Hour: 2}, 2},
		{"no worker is launched only to be kept", 300 * time.Second, 1, 1, steadily(0.99), 1},
		{"on workers of two slots", 300 * time.Second, 2, 40, steadily(0.99), 12},
		{"few messages: no more idle workers than messages come while one boots", 300 * time.Second, 1, 9,
			steadily(0.02), 0},
		{"busy times are no reason then", 300 * time.Second, 1, 9,
			muster.Arrivals{Known: true, Busiest: []muster.Busiest{{OverSeconds: 5, Messages: 1000}}}, 0},
		// Too late for a launch: a message may wait 60 - 1.8 - 25 = 33.2 s. A late message costs 90 s.
		{"a launch is too late: 20 x 25 / (10 + 33.2), rounded up", 60 * time.Second, 1, 0,
			once(muster.Busiest{OverSeconds: 10, Messages: 20}), 12},
		{"those that are there stay up to half a worker more: 11.57 + 0.5, rounded up", 60 * time.Second, 1, 50,
			once(muster.Busiest{OverSeconds: 10, Messages: 20}), 13},
		{"and none is launched for that", 60 * time.Second, 1, 12, once(muster.Busiest{OverSeconds: 10, Messages: 20}),
			12},
		{"on workers of four slots", 60 * time.Second, 4, 0, once(muster.Busiest{OverSeconds: 10, Messages: 20}), 3},
		{"the window that needs most", 60 * time.Second, 1, 0,
			once(muster.Busiest{OverSeconds: 10, Messages: 20}, muster.Busiest{OverSeconds: 80, Messages: 100},
				muster.Busiest{OverSeconds: 320, Messages: 120}), 23},
		{"an objective just above the work leaves no time to wait: a slot for each", 26 * time.Second, 1, 0,
			once(muster.Busiest{OverSeconds: 10, Messages: 20}), 20},
		{"an objective shorter than the work: each message is late whatever is kept", 20 * time.Second, 1, 0,
			once(muster.Busiest{OverSeconds: 10, Messages: 20}), 0},
		{"nothing ever came", 60 * time.Second, 1, 0, muster.Arrivals{Known: true}, 0},
	} {
		t.Run(row.name, func(t *testing.T) {
			o := s0(25, 0)
			o.Objective.Latency, o.Arrivals, o.Capacity.SlotsPerWorker, o.Capacity.Idle = row.latency, row.arrivals,
				row.slots, row.active
			if got := planOf(o).keptWorkers(o); got != row.want {
				t.Errorf("%d are kept, want %d", got, row.want)
			}
		})
	}
}

func TestWhatWillComeIsTheHighestRateOfWindowsThatSayEnough(t *testing.T) {
	for _, row := range []struct {
		name     string
		arrivals muster.Arrivals
		want     float64 // within a minute
	}{
		{"as busy as usual: 120 - sqrt(120)", muster.Arrivals{TenSeconds: 1, Minute: 2, FiveMinutes: 1.5, Hour: 1},
			109.0455},
		{"ten seconds say nothing of a minute", muster.Arrivals{TenSeconds: 25, Minute: 2, FiveMinutes: 1, Hour: 1},
			109.0455},
		{"two single messages within a minute, ten in an hour", muster.Arrivals{TenSeconds: 0.1, Minute: 2.0 / 60,
			FiveMinutes: 2.0 / 300, Hour: 10.0 / 3600}, 0.5858},
		{"two within the minute that was watched", muster.Arrivals{TenSeconds: 2.0 / 60, Minute: 2.0 / 60,
			FiveMinutes: 2.0 / 60, Hour: 2.0 / 60, WatchedSeconds: 60}, 2},
		{"counted for ten seconds: no more than a third of the time counts as watched",
			muster.Arrivals{TenSeconds: 10, Minute: 10, FiveMinutes: 10, Hour: 10, WatchedSeconds: 10}, 300},
		{"counted for two: twenty messages in twenty seconds",
			muster.Arrivals{TenSeconds: 10, Minute: 10, FiveMinutes: 10, Hour: 10, WatchedSeconds: 2}, 60},
	} {
		if got := (&plan{arrivals: row.arrivals}).expectedArrivals(60); math.Abs(got-row.want) > 1e-3 {
			t.Errorf("%s: %v come, want %v", row.name, got, row.want)
		}
	}
}

// Near the maximum a launch is postponed less: it may find no room later.
func TestALaunchNearTheMaximumIsPostponedLess(t *testing.T) {
	for _, row := range []struct {
		name    string
		max     int
		rate    float64 // messages a second of 10 s each
		latency float64
	}{
		{"far below the maximum all of the objective is planned with", 10, 0.2, 291},
		{"at half of it, less", 10, 0.5, 291 * 0.5 / 0.7},
		{"of a maximum of one as well", 1, 0.05, 291 * 0.5 / 0.7},
		{"at all of it nothing is postponed", 10, 1, 10 + 90 + 2},
	} {
		o := s0(10, 0)
		o.Limits.Max = row.max
		o.Arrivals = muster.Arrivals{Known: true, Minute: row.rate, FiveMinutes: row.rate, TwentyMinutes: row.rate,
			Hour: row.rate, TenSeconds: row.rate, WatchedSeconds: 3600}
		if got := planOf(o).latency; !about(got, row.latency) {
			t.Errorf("%s: found a latency of %v s, want %v", row.name, got, row.latency)
		}
	}
}
