package series_test

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/muster-scale/muster/series"
)

// noon is a multiple of every step's width.
var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// envelope is the envelope of one share.
func envelope(c series.Counts, now time.Time, q float64, windows []time.Duration) (rooms []float64) {
	for _, r := range c.Envelope(now, []float64{q}, windows) {
		rooms = append(rooms, r[0])
	}
	return rooms
}

// came is so many messages, spread evenly from one instant to the other, in seconds after noon.
type came struct{ from, to, n float64 }

func after(seconds float64) time.Time {
	return noon.Add(time.Duration(math.Round(seconds * float64(time.Second))))
}

func (x came) in(c series.Counts) series.Counts { return c.Add(after(x.from), after(x.to), x.n) }

func counts(length time.Duration, all ...came) series.Counts {
	c := series.Counts{Length: length}
	for _, x := range all {
		c = x.in(c)
	}
	return c
}

// near allows for what single precision rounds.
func near(a, b float64) bool { return math.Abs(a-b) <= 1e-5*(math.Abs(a)+math.Abs(b))+1e-6 }

func TestHowMuchCameDuringTheLastWhile(t *testing.T) {
	for _, row := range []struct {
		name string
		came []came
		now  float64
		span time.Duration
		want float64
	}{
		{"nothing ever came", nil, 100, time.Hour, 0},
		{"all of it", []came{{0, 10, 50}}, 10, time.Minute, 50},
		{"half of what came evenly", []came{{0, 10, 50}}, 10, 5 * time.Second, 25},
		{"a span within one step", []came{{0, 5, 50}}, 5, time.Second, 10},
		{"the newest step is spread over its part that has passed", []came{{10, 12, 8}}, 12, time.Second, 4},
		{"at one instant", []came{{7, 7, 3}}, 7, time.Second, 1.5},
		{"at the very instant a step begins", []came{{10, 10, 3}}, 10, time.Second, 3},
		{"within less time than a clock's digits tell in seconds", []came{{3, 3.0000003, 9}}, 4, time.Minute, 9},
		{"a span the wrong way round counts as its later instant", []came{{20, 10, 6}}, 10, 5 * time.Second, 6},
		{"from before 1970 counts as the later instant", []came{{-1e10, 10, 6}}, 10, 5 * time.Second, 6},
		{"too long ago", []came{{0, 10, 50}}, 3700, time.Hour, 0},
		{"partly too long ago", []came{{0, 300, 60}, {3750, 3750, 1}}, 3750, time.Hour, 31},
		{"what came far longer than it is kept counts for the part that is kept", []came{{0, 360_000, 360_000}},
			360_000, time.Hour, 3600},
		{"what came before the clock was set back does not come again", []came{{1000, 1010, 50}, {10, 20, 3}}, 20,
			time.Minute, 3},
		{"nothing of it counts twice", []came{{0, 10, 50}, {10, 20, 25}, {20, 30, 10}}, 30, time.Minute, 85},
		{"half a minute is the resolution after five minutes", []came{{0, 5, 60}, {900, 900, 1}}, 900,
			900*time.Second - 15*time.Second, 31},
	} {
		t.Run(row.name, func(t *testing.T) {
			if got := counts(time.Hour, row.came...).Over(after(row.now), row.span); !near(got, row.want) {
				t.Errorf("%v during the last %s, want %v", got, row.span, row.want)
			}
		})
	}
}

func TestTheRateIsOverWhatWasWatched(t *testing.T) {
	for _, row := range []struct {
		name  string
		watch float64 // NaN: never
		came  []came
		now   float64
		span  time.Duration
		want  float64
		known bool
	}{
		{"never watched", math.NaN(), nil, 100, time.Minute, 0, false},
		{"watched for less than a second", 0, nil, 0.9, time.Minute, 0, false},
		{"nothing came", 0, nil, 100, time.Minute, 0, true},
		{"60 in the last minute", 0, []came{{40, 100, 60}}, 100, time.Minute, 1, true},
		{"20 in the ten seconds that were watched", 0, []came{{0, 10, 20}}, 10, time.Minute, 2, true},
		{"what came is watched from when it began to come", math.NaN(), []came{{90, 100, 20}}, 100, time.Minute, 2,
			true},
		{"what came before the watch began counts, and so does the time", 95, []came{{90, 92, 20}}, 100, time.Minute, 2,
			true},
		{"watching again does not begin anew", 0, []came{{50, 100, 100}}, 100, 100 * time.Second, 1, true},
		{"an hour of what was watched for two", 0, []came{{0, 7200, 7200}}, 7200, 3 * time.Hour, 1, true},
		{"the clock was set back before the watch", 100, nil, 50, time.Minute, 0, false},
	} {
		t.Run(row.name, func(t *testing.T) {
			c := series.Counts{Length: time.Hour}
			if !math.IsNaN(row.watch) {
				c = c.Watch(after(row.watch))
			}
			for _, x := range row.came {
				c = x.in(c)
			}
			if !math.IsNaN(row.watch) {
				c = c.Watch(after(row.watch + 10))
			}
			if got, known := c.PerSecond(after(row.now), row.span); !near(got, row.want) || known != row.known {
				t.Errorf("%v per second, known %v; want %v, %v", got, known, row.want, row.known)
			}
		})
	}
}

func TestCountingIsKnownNoFurtherBackThanItIsKept(t *testing.T) {
	c := series.Counts{Length: time.Hour}
	if since, ok := c.Since(noon); ok {
		t.Errorf("counts since %s, and never did", since)
	}
	c = c.Watch(noon)
	for later, want := range map[time.Duration]time.Time{time.Minute: noon, time.Hour: noon,
		3 * time.Hour: noon.Add(2 * time.Hour)} {
		if since, ok := c.Since(noon.Add(later)); !ok || !since.Equal(want) {
			t.Errorf("after %s it counts since %s (%v), want %s", later, since, ok, want)
		}
	}
}

func TestTheNewestStepsComeFirst(t *testing.T) {
	c := counts(time.Hour, came{0, 0, 1}, came{400, 400, 2}, came{602, 602, 3}, came{604, 604, 4}, came{611, 611, 5})
	var got []string
	c.Newest(after(612), func(n float64, began time.Duration) bool {
		got = append(got, fmt.Sprintf("%v from %s ago", n, began))
		return len(got) < 3
	})
	if want := []string{"5 from 2s ago", "7 from 12s ago", "2 from 3m32s ago"}; !slices.Equal(got, want) {
		t.Errorf("found %q, want %q", got, want)
	}
}

// arriving draws what came, one after the other, with gaps, bursts and instants.
func arriving(most int) *rapid.Generator[[]came] {
	return rapid.Custom(func(t *rapid.T) []came {
		var all []came
		at := 0.0
		for range rapid.IntRange(1, most).Draw(t, "times") {
			at += float64(rapid.SampledFrom([]int{0, 0, 0, 1, 4, 25, 270, 1900}).Draw(t,
				"gap")) + float64(rapid.IntRange(0, 999).Draw(t, "ms"))/1000
			x := came{at, at + float64(rapid.SampledFrom([]int{0, 1, 5, 7, 300}).Draw(t, "for")),
				float64(rapid.IntRange(0, 100).Draw(t, "n"))}
			at = x.to
			all = append(all, x)
		}
		return all
	})
}

func TestNothingIsLostWithinTheLengthAndNothingIsAdded(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		all := arriving(40).Draw(t, "came")
		c, total, kept, last := series.Counts{Length: time.Hour}, 0.0, 0.0, all[len(all)-1].to
		for _, x := range all {
			c, total = x.in(c), total+x.n
			if x.from >= last-3600+300 { // in no step that is partly too old
				kept += x.n
			}
		}
		now := after(last)
		before := 0.0
		for _, span := range []time.Duration{time.Second, 5 * time.Second, 7 * time.Second, time.Minute,
			299 * time.Second, 301 * time.Second, 1799 * time.Second, 1801 * time.Second, time.Hour} {
			over := c.Over(now, span)
			if over > total*(1+1e-5) || over < before*(1-1e-5) {
				t.Fatalf("%v during the last %s, %v during less, %v in all", over, span, before, total)
			}
			before = over
		}
		if before < kept*(1-1e-5) {
			t.Fatalf("%v during the last hour, of which %v came surely within it", before, kept)
		}
	})
}

func TestHowItWasAddedMakesNoDifference(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		all := arriving(25).Draw(t, "came")
		atOnce, stepwise := series.Counts{Length: time.Hour}, series.Counts{Length: time.Hour}
		apart := rapid.Bool().Draw(t, "apart") // what comes within less than 7 s may have come together
		for _, x := range all {
			atOnce = x.in(atOnce)
			parts := float64(rapid.IntRange(1, 80).Draw(t, "parts"))
			if apart {
				parts = max(1, min(parts, math.Floor((x.to-x.from)/7)))
			}
			for i := range int(parts) {
				part := came{x.from + (x.to-x.from)*float64(i)/parts, x.from + (x.to-x.from)*float64(i+1)/parts,
					x.n / parts}
				stepwise = part.in(stepwise)
			}
		}
		now := after(all[len(all)-1].to)
		for _, span := range []time.Duration{time.Second, 300 * time.Second, 305 * time.Second, 330 * time.Second,
			1800 * time.Second, 2100 * time.Second, time.Hour} {
			if a, b := atOnce.Over(now, span), stepwise.Over(now, span); !near(a, b) {
				t.Fatalf("within %s: %v added at once, %v step by step", span, a, b)
			}
		}
		windows := []time.Duration{5 * time.Second, 40 * time.Second, 640 * time.Second}
		a, b := envelope(atOnce, now, 1, windows), envelope(stepwise, now, 1, windows)
		if apart && !slices.EqualFunc(a, b, near) {
			t.Fatalf("the busiest times are %v added at once, %v step by step", a, b)
		}
	})
}

func TestCountsRebuiltFromWhatTheyReachAreTheSame(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		all := arriving(60).Draw(t, "came")
		live := counts(time.Hour, all...)
		now := all[len(all)-1].to + float64(rapid.SampledFrom([]int{0, 1, 100, 2000, 3500, 9000}).Draw(t, "quiet"))
		from := 0
		for from < len(all) && all[from].to < now-live.Reach().Seconds() {
			from++
		}
		from = rapid.IntRange(0, from).Draw(t, "read from")
		rebuilt := counts(time.Hour, all[from:]...)
		for _, span := range []time.Duration{10 * time.Second, time.Minute, 5 * time.Minute, 47 * time.Minute,
			time.Hour} {
			if a, b := live.Over(after(now), span), rebuilt.Over(after(now), span); a != b {
				t.Fatalf("during the last %s: %v live, %v rebuilt from %d on", span, a, b, from)
			}
		}
		windows := []time.Duration{5 * time.Second, 10 * time.Second, 80 * time.Second, 640 * time.Second, time.Hour}
		for _, q := range []float64{0.5, 0.99, 1} {
			if a, b := envelope(live, after(now), q, windows), envelope(rebuilt, after(now), q,
				windows); !slices.Equal(a, b) {
				t.Fatalf("the busiest times (%v) are %v live, %v rebuilt from %d on", q, a, b, from)
			}
		}
	})
}

// busiest is the most that came within a window that ends with a step of five seconds, by looking at each.
func busiest(all []came, window float64) (most float64) {
	first, last := all[0].from, all[len(all)-1].to
	for end := math.Floor(first/5)*5 + 5; end <= last+5; end += 5 {
		n := 0.0
		for _, x := range all {
			if x.from >= end-window && x.from < end {
				n += x.n
			}
		}
		most = max(most, n)
	}
	return most
}

// instants makes all of them come at once.
func instants(all []came) []came {
	for i := range all {
		all[i].to = all[i].from
	}
	return all
}

func TestTheBusiestOfTheLastMinutesAreExact(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var all []came
		for _, s := range rapid.SliceOfN(rapid.Float64Range(0, 290), 1, 50).Draw(t, "seconds") {
			all = append(all, came{s, s, float64(rapid.IntRange(1, 30).Draw(t, "n"))})
		}
		slices.SortFunc(all, func(a, b came) int { return cmp.Compare(a.from, b.from) })
		c := counts(time.Hour, all...)
		for _, window := range []float64{5, 10, 40, 160, 320} {
			got := envelope(c, after(all[len(all)-1].to), 1, []time.Duration{time.Duration(window) * time.Second})[0]
			if want := busiest(all, window); !near(got, want) {
				t.Fatalf("within %v s came %v at the most, counted one by one %v", window, got, want)
			}
		}
	})
}

func TestTheBusiestFiveSecondsAreKnownWithinOnePercentHoweverLongAgo(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		all := instants(arriving(40).Draw(t, "came"))
		last := all[len(all)-1].to
		c := counts(24*time.Hour, all...)
		if got, want := envelope(c, after(last), 1, []time.Duration{5 * time.Second})[0], busiest(all,
			5); math.Abs(got-want) > want/100 {
			t.Fatalf("within 5 s came %v at the most, counted one by one %v", got, want)
		}
	})
}

// A step that ends in the middle of a spike does not make two halves of it, now or when it is long ago.
func TestASpikeIsOneAlsoWhereAStepEndsInTheMiddleOfIt(t *testing.T) {
	for _, ago := range []float64{0, 400, 2000, 3000} {
		c := counts(2*time.Hour, came{0, 57, 57}, came{57.5, 62.5, 200}, came{62.5, 70, 7})
		for at := 75.0; at < 70+ago; at += 5 {
			c = came{at, at, 0.01}.in(c)
		}
		if got := envelope(c, after(70+ago), 1, []time.Duration{5 * time.Second})[0]; math.Abs(got-200) > 2 {
			t.Errorf("%v s later: within 5 s came %v at the most, want 200", ago, got)
		}
	}
}

func TestWhatAStepsEndCutsCountsOnce(t *testing.T) {
	for _, ago := range []float64{0, 400, 2000, 3000} {
		c := counts(2*time.Hour, came{297.5, 302.5, 200})
		for at := 305.0; at < 305+ago; at += 5 {
			c = came{at, at, 0.001}.in(c)
		}
		for _, window := range []time.Duration{5 * time.Second, 40 * time.Second, 640 * time.Second} {
			if got := envelope(c, after(305+ago), 1, []time.Duration{window})[0]; math.Abs(got-200) > 2 {
				t.Errorf("%v s later: within %s came %v at the most, want 200", ago, window, got)
			}
		}
	}
}

func TestStepsOfAWrongFutureAreForgotten(t *testing.T) {
	c := series.Counts{Length: time.Hour}
	const days = 10 * 86400
	for i := range 20 {
		c = came{days + 5*float64(i), days + 5*float64(i), 100}.in(c)
	}
	for i := range 50000 { // the clock was set right
		c = came{5 * float64(i), 5 * float64(i), 1}.in(c)
		if got := c.Over(after(5*float64(i)), time.Minute); i > 100 && got > 13 {
			t.Fatalf("after %d s: %v came within a minute, want 12", 5*i, got)
		}
	}
}

func TestTheBusiestTimesGrowWithTheShareAndStayWithinWhatCame(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		all := arriving(40).Draw(t, "came")
		total := 0.0
		for _, x := range all {
			total += x.n
		}
		c, now := counts(24*time.Hour, all...), after(all[len(all)-1].to)
		low, high := rapid.Float64Range(0, 1).Draw(t, "share"), rapid.Float64Range(0, 1).Draw(t, "other share")
		if low > high {
			low, high = high, low
		}
		windows := []time.Duration{5 * time.Second, 20 * time.Second, 320 * time.Second}
		a, b := envelope(c, now, low, windows), envelope(c, now, high, windows)
		for i := range windows {
			if a[i] > b[i]*(1+1e-6) || b[i] > total*(1+1e-5) {
				t.Fatalf("within %s: %v for the share %v, %v for %v, %v came in all", windows[i], a[i], low, b[i], high,
					total)
			}
		}
	})
}

func TestBusyTimesAreForgottenAlthoughNothingElseCame(t *testing.T) {
	c := counts(time.Hour, came{0, 5, 500}, came{3000, 3005, 20})
	for _, row := range []struct {
		name string
		now  float64
		want float64
	}{{"within the hour", 3590, 500}, {"when they left it", 3610, 20}, {"when all left it", 7300, 0}} {
		if got := envelope(c, after(row.now), 1, []time.Duration{5 * time.Second})[0]; got != row.want {
			t.Errorf("%s: the busiest five seconds had %v, want %v", row.name, got, row.want)
		}
	}
}

func TestCountsStaySmall(t *testing.T) {
	c := series.Counts{Length: 12 * time.Hour}
	for second := 0.0; second < 2*24*3600; second += 4 {
		c = c.Add(after(second), after(second+4), 1)
	}
	steps := 0
	c.Newest(after(2*24*3600), func(float64, time.Duration) bool {
		steps++
		return true
	})
	// 5 minutes by 5 s, half an hour by 30 s, the rest by 5 minutes; one more wherever two widths meet.
	if most := 61 + 51 + 139 + 3; steps > most {
		t.Errorf("two days are kept in %d steps, want %d at most", steps, most)
	}
}

func TestAddingLeavesTheOlderValueAlone(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := counts(time.Hour, arriving(20).Draw(t, "came")...)
		now := noon.Add(100 * time.Hour)
		told := func() (out []string) {
			c.Newest(now, func(n float64, began time.Duration) bool {
				out = append(out, fmt.Sprint(n, began))
				return true
			})
			return out
		}
		before := told()
		one, other := c.Add(now, now, 1), c.Add(now, now.Add(time.Second), 2)
		if after := told(); !slices.Equal(before, after) || one.Over(now, time.Hour) == other.Over(now, time.Hour) {
			t.Fatalf("was %q, is %q", before, after)
		}
	})
}
