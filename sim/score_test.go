package sim

import (
	"io"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/muster-scale/muster/sim/trace"
)

func TestQuantilesAreThoseOfTheSortedTimesWithin0_4Percent(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		all := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) int64 {
			return rapid.Int64Range(0, 1<<rapid.IntRange(0, 62).Draw(t, "bits")).Draw(t, "ns")
		}), 1, 300).Draw(t, "times")
		s := score{objective: rapid.SampledFrom(all).Draw(t, "objective")}
		inTime := int64(0)
		for _, ns := range all {
			s.finished(ns, ns/2)
			if ns <= s.objective {
				inTime++
			}
		}
		end := time.Duration(math.MaxInt64)
		res := s.result(end, 0, 1)
		slices.Sort(all)
		for _, x := range []struct{ q, found float64 }{{0.5, res.P50}, {0.95, res.P95}, {0.99, res.P99}} {
			want := time.Duration(all[int(math.Ceil(x.q*float64(len(all))))-1]).Seconds()
			if math.Abs(x.found-want) > 0.004*want {
				t.Fatalf("quantile %g: found %v s, want %v s", x.q, x.found, want)
			}
		}
		if res.Messages != int64(len(all)) || res.InTime != inTime {
			t.Fatalf("found %d messages, %d in time; want %d and %d", res.Messages, res.InTime, len(all), inTime)
		}
	})
}

func TestMessagesThatNeverFinishAreTheLatest(t *testing.T) {
	var s score
	for range 90 {
		s.finished(int64(time.Second), 0)
	}
	for range 4 {
		s.lost()
	}
	res := s.result(time.Hour, 6, 1)
	if res.Messages != 100 || res.Dead != 4 || res.Unfinished != 6 || res.P95 != 3600 || res.P99 != 3600 ||
		math.Abs(res.P50-1) > 0.004 {
		t.Errorf("found %+v", res)
	}
}

func TestTheBillIsForEachMemberItsTimeByTheRules(t *testing.T) {
	for _, x := range []struct {
		name  string
		world World
		lived time.Duration
		want  float64
	}{
		{"to the nanosecond", World{}, 90*time.Second + 1, 90.000000001},
		{"at least the minimum", World{MinimumBill: time.Minute}, time.Second, 60},
		{"in whole steps", World{BillStep: time.Hour}, time.Hour + 1, 7200},
		{"a whole step is no more", World{BillStep: time.Hour}, time.Hour, 3600},
		{"the minimum, then whole steps", World{MinimumBill: 90 * time.Second, BillStep: time.Minute}, time.Second,
			120},
	} {
		t.Run(x.name, func(t *testing.T) {
			var s score
			s.bill(x.lived, x.world)
			if math.Abs(s.billed-x.want) > 1e-12*x.want {
				t.Errorf("found %v s, want %v s", s.billed, x.want)
			}
		})
	}
}

// endless is a stream that reads the memory in use as it goes, so that the most of it is known.
type endless struct {
	stream
	most uint64
}

func (s *endless) Next() (trace.Message, error) {
	if s.left%(100_000/slowdown) == 0 {
		var m runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&m)
		s.most = max(s.most, m.HeapAlloc)
	}
	return s.stream.Next()
}

func TestMemoryDoesNotGrowWithTheTrace(t *testing.T) {
	const gap, mean = 10 * time.Millisecond, 70 * time.Millisecond
	most := func(n int) uint64 {
		s := &endless{stream: stream{r: rand.New(rand.NewPCG(5, 5)), left: n, at: time.Minute, gap: gap, mean: mean,
			law: exponential()}}
		tr := trace.Trace{Name: "endless", Open: func() (trace.Reader, error) { return s, nil }}
		ran(t, Options{Settings: standing(t, 10), Trace: tr,
			World: World{ControllerCrashes: 2, Crashes: 1, Boot: Draw{Mean: time.Second}}})
		if _, err := s.stream.Next(); err != io.EOF {
			t.Fatalf("the trace was not read to its end: %v", err)
		}
		return s.most
	}
	const n = 200_000 / slowdown
	short, long := most(n), most(10*n)
	if t.Logf("%d kB of heap for %d messages, %d kB for ten times as many", short>>10, n,
		long>>10); long > short+8<<20 {
		t.Errorf("found %d kB of heap for %d messages and %d kB for ten times as many, want 8 MB more at most",
			short>>10, n, long>>10)
	}
}
