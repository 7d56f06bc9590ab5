package statistics_test

import (
	"encoding/json"
	"flag"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/muster-scale/muster"
	"github.com/muster-scale/muster/sim/trace"
	"github.com/muster-scale/muster/sim/trace/statistics"
)

func known(v float64) statistics.Maybe { return statistics.Maybe{Known: true, Value: v} }

func measure(t *testing.T, goal statistics.Goal, messages ...trace.Message) statistics.Statistics {
	t.Helper()
	s, err := statistics.Measure(trace.Of("t", messages...), goal)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// TestStatisticsByHand has a trace small enough to do the sums by hand: six messages, two of them children, in 100 s.
func TestStatisticsByHand(t *testing.T) {
	const s = time.Second
	got := measure(t, statistics.Goal{Objective: muster.Objective{Latency: 10 * s, Quantile: 0.5}, Boot: 2 * s,
		Slots: 2},
		trace.Message{Service: 10 * s, Class: "a", Group: "g", Children: []trace.Message{
			{Arrival: 500 * s, Service: 10 * s, Children: []trace.Message{{Service: 10 * s}}}}},
		trace.Message{Arrival: 59 * s, Service: 10 * s, Class: "a", Group: "h"},
		trace.Message{Arrival: 60 * s, Service: 10 * s, Class: "b", Group: "g"},
		trace.Message{Arrival: 100 * s, Service: 40 * s})
	want := statistics.Statistics{
		Name: "t", Messages: 6, Roots: 4, Depth: 2, DurationSeconds: 100,
		RatePerSecond: known(0.04), PeakPerMinute: 2,
		// The mean is 90/6; the variance (5*5^2 + 25^2)/6 = 125; its root over the mean 0.745356.
		Service: statistics.Service{WorkSeconds: 90, MeanSeconds: 15, P50Seconds: 10, P95Seconds: 40, P99Seconds: 40,
			MaxSeconds: 40, CV: known(0.745356)},
		Load: known(0.9), Workers: known(0.45),
		Classes: []statistics.Class{{"", 3, 20}, {"a", 2, 10}, {"b", 1, 10}}, Groups: 2,
		Slack: &statistics.Slack{ObjectiveSeconds: 10, Quantile: 0.5, BootSeconds: 2, Slots: 2, Longer: 0.166667,
			Ratio: known(-1)},
	}
	counts := make([]int64, 101)
	counts[0], counts[59], counts[60], counts[100] = 1, 1, 1, 1
	want.Arrivals = statistics.Histogram{WidthSeconds: 1, Counts: counts}
	near := cmp.Comparer(func(a,
		b float64) bool {
		return math.Abs(a-b) <= 0.02*math.Abs(b)
	}) // quantiles are off by 2 %
	if diff := cmp.Diff(want, got, near); diff != "" {
		t.Error(diff)
	}
}

func TestWhatCannotBeToldIsUnknown(t *testing.T) {
	s := measure(t, statistics.Goal{Objective: muster.Objective{Latency: time.Second}}, trace.Message{},
		trace.Message{})
	for name, m := range map[string]statistics.Maybe{"rate": s.RatePerSecond, "load": s.Load, "workers": s.Workers,
		"dispersion": s.Dispersion, "cv": s.Service.CV, "ratio": s.Slack.Ratio} {
		if m.Known {
			t.Errorf("the %s of two messages without work at one instant is %v, want unknown", name, m.Value)
		}
	}
	if s.Slack.Quantile != 0.99 || s.Slack.Slots != 1 {
		t.Errorf("found %+v, want the quantile 0.99 and one slot where nothing is said", s.Slack)
	}
	if s := measure(t, statistics.Goal{}, trace.Message{}); s.Slack != nil {
		t.Errorf("found %+v without an objective, want none", s.Slack)
	}
}

func TestDispersionByHand(t *testing.T) {
	minutes := func(counts ...int) (all []trace.Message) {
		for i, n := range counts {
			for range n {
				all = append(all, trace.Message{Arrival: time.Duration(i) * time.Minute})
			}
		}
		return all
	}
	for _, c := range []struct {
		name   string
		counts []int
		want   statistics.Maybe
	}{
		{"equal minutes", []int{3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 1}, known(0)},
		// Over ten minutes the mean is 2 and the variance (2*8^2 + 8*2^2)/10 = 16.
		{"two minutes of ten", []int{10, 0, 0, 0, 0, 0, 0, 0, 10, 0, 5}, known(8)},
		{"fewer than ten whole minutes", []int{1, 2, 3, 4, 5, 6, 7, 8, 9, 9}, statistics.Maybe{}},
	} {
		if got := measure(t, statistics.Goal{}, minutes(c.counts...)...).Dispersion; got != c.want {
			t.Errorf("%s: found %v, want %v", c.name, got, c.want)
		}
	}
}

// TestSlackOfThePublishedTest is the example of the slack ratio: 50 messages of 50 s, 300 s, a boot time of 90 s.
func TestSlackOfThePublishedTest(t *testing.T) {
	s, _ := trace.FindScenario("burst-50s")
	g, err := s.Trace(1)
	if err != nil {
		t.Fatal(err)
	}
	got, err := statistics.Measure(g, statistics.Goal{Objective: s.Objective, Boot: s.Boot, Slots: s.Slots})
	if err != nil || got.Slack.Ratio != known(1.77778) { // (300 - 50 - 90)/90
		t.Errorf("found %+v (%v)", got.Slack, err)
	}
}

func TestClassesAndGroupsAreBounded(t *testing.T) {
	var many []trace.Message
	for i := range 70_000 {
		many = append(many, trace.Message{Class: fmt.Sprint("c", i%40), Group: fmt.Sprint("g", i)})
	}
	s := measure(t, statistics.Goal{}, many...)
	if len(s.Classes) != 32 || !s.MoreClasses || s.Groups != 65536 || !s.MoreGroups {
		t.Errorf("found %d classes (more: %v) and %d groups (more: %v)", len(s.Classes), s.MoreClasses, s.Groups,
			s.MoreGroups)
	}
	s = measure(t, statistics.Goal{}, many[:32]...)
	if len(s.Classes) != 32 || s.MoreClasses || s.Groups != 32 || s.MoreGroups {
		t.Errorf("found %d classes (more: %v) and %d groups (more: %v), want 32 of each and no more", len(s.Classes),
			s.MoreClasses, s.Groups, s.MoreGroups)
	}
}

// TestTheHistogramCountsEveryArrival holds for any arrivals: each is counted once, in its stretch.
func TestTheHistogramCountsEveryArrival(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		arrivals := rapid.SliceOfN(rapid.Int64Range(0,
			int64(rapid.SampledFrom([]time.Duration{time.Minute, time.Hour, trace.MaxTime}).Draw(t, "over"))), 1,
			50).Draw(t, "arrivals")
		slices.Sort(arrivals)
		var messages []trace.Message
		for _, at := range arrivals {
			messages = append(messages, trace.Message{Arrival: time.Duration(at)})
		}
		s, err := statistics.Measure(trace.Of("t", messages...), statistics.Goal{})
		if err != nil {
			t.Fatal(err)
		}
		h := s.Arrivals
		if len(h.Counts) > 128 || h.Counts[len(h.Counts)-1] == 0 || h.WidthSeconds > 1 && len(h.Counts) <= 64 {
			t.Fatalf("found %d stretches of %d s, want 65 to 128, or fewer of 1 s, and the last not empty",
				len(h.Counts), h.WidthSeconds)
		}
		for i, n := range h.Counts {
			for _, at := range arrivals {
				if int64(time.Duration(at)/time.Second)/h.WidthSeconds == int64(i) {
					n--
				}
			}
			if n != 0 {
				t.Fatalf("stretch %d of %v counts %d too many", i, h, n)
			}
		}
	})
}

func TestAnUnknownNumberIsNullInJSON(t *testing.T) {
	for text, m := range map[string]statistics.Maybe{"null": {}, "0": known(0), "1.5": known(1.5)} {
		got, err := json.Marshal(m)
		if err != nil || string(got) != text {
			t.Errorf("%v is written as %s (%v), want %s", m, got, err, text)
		}
		var back statistics.Maybe
		if err := json.Unmarshal([]byte(text), &back); err != nil || back != m {
			t.Errorf("%s is read as %v (%v), want %v", text, back, err, m)
		}
	}
}

// TestMeasuringNeedsNoMoreMemoryForMoreMessages measures ten times as many messages in about the same heap.
func TestMeasuringNeedsNoMoreMemoryForMoreMessages(t *testing.T) {
	heap := func(seconds int) (most uint64) {
		g, err := trace.Generate(fmt.Sprintf("poisson:rate=1000,duration=%ds", seconds), 1)
		if err != nil {
			t.Fatal(err)
		}
		n := 0
		watched := trace.Trace{Name: g.Name, Open: func() (trace.Reader, error) {
			r, err := g.Open()
			return watching{r, func() {
				if n++; n%20_000 == 0 {
					runtime.GC()
					var m runtime.MemStats
					runtime.ReadMemStats(&m)
					most = max(most, m.HeapAlloc)
				}
			}}, err
		}}
		if _, err := statistics.Measure(watched, statistics.Goal{}); err != nil {
			t.Fatal(err)
		}
		return most
	}
	few, many := heap(40), heap(400)
	if many > few+200_000 { // 360,000 messages more would be 26 MB
		t.Errorf("40,000 messages need %d bytes and 400,000 need %d, want about the same", few, many)
	}
}

type watching struct {
	trace.Reader
	each func()
}

func (w watching) Next() (trace.Message, error) {
	w.each()
	return w.Reader.Next()
}

// update writes the golden file anew: go test ./sim/trace/statistics -run Golden -update.
var update = flag.Bool("update", false, "write the golden file")

// golden compares with a file of testdata.
func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s:\n%s", path, diff)
	}
}

func TestGoldenStatistics(t *testing.T) {
	var all []statistics.Statistics
	for _, s := range trace.Scenarios() {
		g, err := s.Trace(1)
		if err != nil {
			t.Fatal(err)
		}
		measured, err := statistics.Measure(g, statistics.Goal{Objective: s.Objective, Boot: s.Boot, Slots: s.Slots})
		if err != nil {
			t.Fatal(err)
		}
		measured.Arrivals.Counts = nil
		all = append(all, measured)
	}
	text, err := json.MarshalIndent(all, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	golden(t, "statistics.golden", string(text)+"\n")
}

func BenchmarkMeasure(b *testing.B) {
	g, err := trace.Generate("poisson:rate=1000,duration=100s", 1)
	if err != nil {
		b.Fatal(err)
	}
	n := int64(0)
	for b.Loop() {
		s, err := statistics.Measure(g, statistics.Goal{})
		if err != nil {
			b.Fatal(err)
		}
		n += s.Messages
	}
	b.ReportMetric(float64(n)/b.Elapsed().Seconds(), "messages/s")
}
