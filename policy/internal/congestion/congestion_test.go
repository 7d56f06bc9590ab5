package congestion_test

import (
	"math"
	"testing"
	"time"

	"github.com/muster-scale/muster"
	"github.com/muster-scale/muster/policy/internal/congestion"
	"pgregory.net/rapid"
)

// window is an observation k windows after the start: so many messages wait, workers with one slot are in service, and
// 20 messages ended that took seconds each.
func window(k int, waiting, workers, seconds float64) muster.Observation {
	o := muster.Observation{At: time.Unix(1e9, 0).Add(time.Duration(k) * muster.Pace{}.Over())}
	o.Queues = []muster.QueueObservation{{Backlog: muster.Measured(o.At, waiting)}}
	o.Capacity = muster.Capacity{Known: true, Busy: int(workers)}
	o.Pace = muster.Pace{Finished: 20, Seconds: 20 * seconds}
	return o
}

// measured is the trend after so many windows for messages of mean seconds, of which between 0 and 30 wait for each
// worker. Their work takes the duration that of returns for those that waited lately.
func measured(windows int, mean float64, of func(waiting float64) float64) congestion.Trend {
	t := congestion.Trend{}
	for k := range windows {
		t = t.Next(window(k, 4*float64((k*7)%31), 4, of(t.Waiting)), mean)
	}
	return t
}

// shrinking is the trend where each window has shorter work than the one before, and fewer messages that wait.
func shrinking(windows int) congestion.Trend {
	t := congestion.Trend{}
	for k := range windows {
		left := float64(windows - k)
		t = t.Next(window(k, 4*(left+float64(k%3)), 4, 1+0.05*left), 1)
	}
	return t
}

func TestSlopeIsWhatEachWaitingMessageAdds(t *testing.T) {
	const mean = 1
	noise := []float64{0.2, -0.3, 0.1, 0.35, -0.35, 0}
	k := 0
	noisy := func() float64 { k++; return noise[k%len(noise)] }
	for _, row := range []struct {
		name    string
		windows int
		of      func(waiting float64) float64
		want    float64
	}{
		{"a twentieth more for each", 200, func(x float64) float64 { return 1 + 0.05*x }, 0.05},
		{"the same for work of milliseconds", 200, func(x float64) float64 { return 0.005 * (1 + 0.05*x) }, 0.05},
		{"too few windows", 15, func(x float64) float64 { return 1 + 0.05*x }, 0},
		{"work of one length", 200, func(float64) float64 { return 1 }, 0},
		{"work that varies, whatever waits", 200, func(float64) float64 { return 1 + noisy() }, 0},
		{"work that takes ever less, as does what waits", 100, nil, 0},
		{"less for each", 200, func(x float64) float64 { return 2 - 0.05*x }, 0},
	} {
		t.Run(row.name, func(t *testing.T) {
			trend := shrinking(row.windows)
			if row.of != nil {
				trend = measured(row.windows, mean, row.of)
			}
			if got := trend.Slope(); math.Abs(got-row.want) > 0.1*row.want+1e-9 {
				t.Errorf("found %v, want %v", got, row.want)
			}
		})
	}
}

// Work that varies says less, and never more, than work of one length with the same slope.
func TestAnUncertainSlopeCountsForLess(t *testing.T) {
	k := 0
	sure := measured(200, 1, func(x float64) float64 { return 1 + 0.05*x }).Slope()
	unsure := measured(200, 1, func(x float64) float64 { k++; return (1 + 0.05*x) * (1 + 0.4*float64(k%3-1)) }).Slope()
	if unsure <= 0 || unsure >= 0.95*sure {
		t.Errorf("found %v with varied work, want less than %v and more than 0", unsure, sure)
	}
}

func TestWaitingEachBalancesBootsAndLongerWork(t *testing.T) {
	steep := measured(200, 1, func(x float64) float64 { return 1 + 0.05*x })
	for _, row := range []struct {
		name              string
		trend             congestion.Trend
		mean, boot, slots float64
		want              float64
	}{
		{"nothing is known", congestion.Trend{}, 10, 60, 1, math.Inf(1)},
		{"boots of six messages", steep, 10, 60, 1, math.Sqrt(2 * 60 / (10 * 0.05))},
		{"boots that cost nothing", steep, 10, 0.001, 1, 1},
		{"five slots are filled first", steep, 10, 0.001, 5, math.Sqrt(2 * 5 * 0.4 / 0.05)},
		{"as many slots as messages", steep, 10, 0.001, 64, 64},
	} {
		t.Run(row.name, func(t *testing.T) {
			got := row.trend.WaitingEach(row.mean, row.boot, row.slots)
			if math.IsInf(row.want, 1) != math.IsInf(got, 1) || math.Abs(got-row.want) > 0.03*row.want {
				t.Errorf("found %v, want %v", got, row.want)
			}
		})
	}
}

// A fleet without a worker, an unknown backlog and a second observation within a window measure nothing.
func TestNothingIsMeasuredWithoutWorkers(t *testing.T) {
	before := measured(30, 1, func(x float64) float64 { return 1 + 0.05*x })
	unknown := window(40, 0, 4, 1)
	unknown.Queues[0].Backlog = muster.Unknown(unknown.At, "it could not be counted")
	for _, row := range []struct {
		name string
		o    muster.Observation
	}{
		{"no worker", window(40, 10, 0, 1)},
		{"an unknown backlog", unknown},
		{"within the window", window(29, 10, 4, 1)},
	} {
		if got := before.Next(row.o, 1); got != before {
			t.Errorf("%s: found %+v, want %+v", row.name, got, before)
		}
	}
}

// Whatever is observed, the numbers are finite, no slope is negative, and at least one message a slot may wait.
func TestTrendsStayBounded(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c, k := congestion.Trend{}, 0
		for range rapid.IntRange(0, 60).Draw(t, "windows") {
			k += rapid.IntRange(0, 3).Draw(t, "later")
			o := window(k, rapid.Float64Range(0, 1e9).Draw(t, "waiting"),
				float64(rapid.IntRange(0, 100).Draw(t, "workers")), rapid.Float64Range(1e-4, 1e5).Draw(t, "seconds"))
			ended := rapid.SampledFrom([]float64{0, 1e-3, 1, 1e3}).Draw(t, "finished")
			o.Pace.Finished, o.Pace.Seconds = ended*o.Pace.Finished, ended*o.Pace.Seconds
			c = c.Next(o, rapid.Float64Range(1e-3, 1e5).Draw(t, "mean"))
		}
		slope, each := c.Slope(), c.WaitingEach(10, 60, 3)
		if math.IsNaN(slope) || math.IsInf(slope, 0) || slope < 0 || math.IsNaN(each) || each < 3 ||
			c.Windows > 100 || c.Waiting < 0 || c.Waiting > 1e4+1e-6 {
			t.Fatalf("found the slope %v and %v for each worker: %+v", slope, each, c)
		}
		for _, v := range c.Kept() {
			if math.IsNaN(v.Value) || math.IsInf(v.Value, 0) {
				t.Fatalf("%s is kept as %v", v.Name, v.Value)
			}
		}
	})
}

func TestTrendsSurviveADecision(t *testing.T) {
	for _, want := range []congestion.Trend{{}, measured(50, 1, func(x float64) float64 { return 0.001 + 0.00005*x })} {
		kept := muster.Decision{Kept: want.Kept()}
		got := congestion.TrendOf(muster.Recent{}.With(kept, time.Minute))
		if math.Abs(got.Slope()-want.Slope()) > 1e-3*want.Slope() || math.Abs(got.Waiting-want.Waiting) > 1e-6 ||
			got.At != want.At {
			t.Errorf("found %+v with the slope %v, want %+v with %v", got, got.Slope(), want, want.Slope())
		}
		again := congestion.TrendOf(muster.Recent{}.With(muster.Decision{Kept: got.Kept()}, time.Minute))
		if again != got {
			t.Errorf("what was kept changes when it is kept again: %+v and %+v", got, again)
		}
	}
}
