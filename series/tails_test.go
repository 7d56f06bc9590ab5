package series

import (
	"testing"
	"time"

	"pgregory.net/rapid"
)

// during is how much happened during the last span before now, by its definition: of each step, newest first, the part
// that lies within the span, if it is spread evenly up to its end or now.
func during(c Counts, now time.Time, span time.Duration) (sum float64) {
	to, from := float64(now.UnixNano())/1e9, float64(now.Add(-span).UnixNano())/1e9
	for i := c.steps.len() - 1; i >= 0; i-- {
		s := c.steps.at(i)
		low, high := float64(s.start), min(float64(s.start)+float64(s.width), to)
		switch {
		case low > to || float64(s.start)+float64(s.width) <= from:
		case high > low:
			sum += float64(s.n) * ((high - max(low, from)) / (high - low))
		default:
			sum += float64(s.n)
		}
	}
	return sum
}

// The sums are the same to the last bit, because decisions are recorded with them and must recompute to themselves.
func TestSeveralSpansAreAddedUpAsEachByItself(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := Counts{Length: rapid.SampledFrom([]time.Duration{2 * time.Minute, time.Hour, 12 * time.Hour}).Draw(t,
			"length")}
		now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
		for range rapid.IntRange(0, 120).Draw(t, "times") {
			from := now
			now = now.Add(time.Duration(rapid.SampledFrom([]int{50, 999, 1000, 5000, 5000, 7300, 60_000,
				400_000}).Draw(t, "ms")) * time.Millisecond)
			c = c.Add(from, now, rapid.Float64Range(0, 50).Draw(t, "n"))
		}
		now = now.Add(time.Duration(rapid.SampledFrom([]int{-400_000, -7000, -1, 0, 1, 3000, 400_000}).Draw(t,
			"later")) * time.Millisecond)
		spans, sums := []time.Duration{time.Millisecond, 3 * time.Second, 10 * time.Second, time.Minute,
			5 * time.Minute, time.Hour, time.Hour, 13 * time.Hour}, make([]float64, 8)
		c.over(now, spans, sums)
		for k, span := range spans {
			if want := during(c, now, span); sums[k] != want {
				t.Fatalf("during the last %s: found %v, want %v; steps %+v", span, sums[k], want, c.steps)
			}
		}
	})
}
