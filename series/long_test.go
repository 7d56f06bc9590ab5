package series_test

import (
	"math"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/muster-scale/muster/series"
)

// longStep is what Newest yields: how much happened, and how many seconds before.
type longStep struct{ n, began float64 }

func newest(l series.Long, now time.Time) (all []longStep) {
	l.Newest(now, func(n float64, began time.Duration) bool {
		all = append(all, longStep{n, began.Seconds()})
		return true
	})
	return all
}

func TestALongCountKnowsWhenMessagesCame(t *testing.T) {
	const width = 100 // seconds, with this length; noon begins a step
	length := 256 * width * time.Second
	for _, row := range []struct {
		name string
		came []came
		now  float64
		want []longStep
	}{
		{"nothing", nil, 1000, nil},
		{"one message", []came{{250, 250, 1}}, 1000, []longStep{{1, 800}}},
		{"two in one step, three in another", []came{{110, 110, 1}, {190, 190, 1}, {350, 350, 3}}, 400,
			[]longStep{{3, 100}, {2, 300}}},
		{"spread evenly over two steps", []came{{50, 200, 3}}, 300, []longStep{{2, 200}, {1, 300}}},
		{"what is too old does not count", []came{{0, 0, 7}, {26_000, 26_000, 1}}, 26_000, []longStep{{1, 0}}},
		{"the newest is too old as well", []came{{0, 0, 7}}, 30_000, nil},
		{"the clock was set back", []came{{950, 950, 1}, {310, 310, 2}}, 1000, []longStep{{3, 100}}},
		{"from after to", []came{{900, 310, 2}}, 400, []longStep{{2, 100}}},
	} {
		l := series.Long{Length: length}
		for _, x := range row.came {
			l = l.Add(after(x.from), after(x.to), x.n)
		}
		if got := newest(l, after(row.now)); !slices.Equal(got, row.want) {
			t.Errorf("%s: found %v, want %v", row.name, got, row.want)
		}
	}
	none := series.Long{}.Add(noon, noon, 5)
	if got := newest(none, noon); got != nil || none.Reach() != 0 {
		t.Errorf("without a length: found %v and a reach of %v, want nothing", got, none.Reach())
	}
	never := series.Long{Length: length}.Add(time.Time{}, after(10), 5)
	if got := newest(never, after(10)); !slices.Equal(got, []longStep{{5, 10}}) {
		t.Errorf("since no known time: found %v, want all at the later one", got)
	}
}

// Whatever comes when, a long count loses nothing that is recent, has few steps in order, and is a value.
func TestALongCountAddsUp(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		length := time.Duration(rapid.Int64Range(1, 40*86400).Draw(t, "length")) * time.Second
		l := series.Long{Length: length}
		type event struct {
			at time.Time
			n  float64
		}
		var all []event
		now := noon
		for range rapid.IntRange(0, 60).Draw(t, "events") {
			now = now.Add(time.Duration(rapid.Float64Range(0, 0.1).Draw(t, "later") * float64(length)))
			from := now.Add(-time.Duration(rapid.Int64Range(0, 600).Draw(t, "over")) * time.Second)
			x := event{from, float64(rapid.IntRange(1, 1000).Draw(t, "n"))}
			before := l
			seen := newest(before, now)
			l = l.Add(from, now, x.n)
			if !slices.Equal(newest(before, now), seen) {
				t.Fatal("adding changed the value from before")
			}
			all = append(all, x)
		}
		steps := newest(l, now)
		if len(steps) > 258 {
			t.Errorf("found %d steps, allowed are 258", len(steps))
		}
		sum, recent, total := 0.0, 0.0, 0.0
		for i, s := range steps {
			sum += s.n
			if i > 0 && s.began <= steps[i-1].began {
				t.Errorf("step %d began %v s before, the newer one %v s", i, s.began, steps[i-1].began)
			}
		}
		for _, x := range all {
			total += x.n
			if now.Sub(x.at) <= length {
				recent += x.n
			}
		}
		if slack := 1e-9 * total; sum < recent-slack || sum > total+slack {
			t.Errorf("found %v messages, want at least the %v recent ones and at most all %v", sum, recent, total)
		}
		if k := len(steps) - 1; k >= 0 {
			first, width := now, math.Max(1, length.Seconds()/256)
			for _, x := range all {
				if x.at.Before(first) {
					first = x.at
				}
			}
			if most := now.Sub(first).Seconds() + width + 1e-6; steps[k].began > most {
				t.Errorf("the oldest step began %v s before, the first message came %v s before at most",
					steps[k].began, most)
			}
		}
	})
}
