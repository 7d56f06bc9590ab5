package series

import (
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// envelope is what [Counts.Envelope] says, by its definition: for each step what came within the window up to it, and
// of that the least room at which no more than the share 1-q of all messages is left over.
func envelope(steps []countStep, q float64, window time.Duration) float64 {
	type seen struct{ came, weight float64 }
	var all []seen
	total, seconds := 0.0, max(window.Seconds(), 5)
	for i, s := range steps {
		came, left := 0.0, seconds
		for j := i; j >= 0 && left > 0 && float64(s.start)-float64(steps[j].start) < seconds; j-- {
			t := steps[j]
			came += most(t, left)
			left -= float64(t.width)
		}
		all = append(all, seen{max(came, float64(s.peak)), float64(s.n)})
		total += float64(s.n)
	}
	over := func(room float64) (left float64) {
		for _, x := range all {
			if x.came > room {
				left += x.weight * (1 - room/x.came)
			}
		}
		return left
	}
	low, high := 0.0, 1e9
	for range 100 {
		if middle := (low + high) / 2; over(middle) > (1-q)*total {
			low = middle
		} else {
			high = middle
		}
	}
	return high
}

// most is how much of a step can have come within so many seconds: on the straight lines through what is known to have
// come at most within 5 s, 30 s and all of it.
func most(s countStep, seconds float64) float64 {
	if s.width == 5 {
		return float64(s.n)
	}
	all := float64(s.n)
	at, came := []float64{5, 30, 300}, []float64{float64(min(s.peak, s.n)), float64(min(s.crest, s.n)), all}
	if s.width == 30 {
		at, came = at[:2], []float64{float64(min(s.peak, s.n)), all}
	}
	for i := 1; i < len(at); i++ {
		if seconds <= at[i] {
			return came[i-1] + (came[i]-came[i-1])*max(0, seconds-at[i-1])/(at[i]-at[i-1])
		}
	}
	return all
}

func TestTheEnvelopeIsThatOfItsDefinition(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := Counts{Length: 2 * time.Hour}
		now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
		for range rapid.IntRange(0, 120).Draw(t, "times") {
			from := now
			now = now.Add(time.Duration(rapid.SampledFrom([]int{1, 3, 5, 5, 5, 8, 60, 400}).Draw(t, "s")) * time.Second)
			c = c.Add(from, now, float64(rapid.IntRange(0, 50).Draw(t, "n")))
		}
		kept := slices.DeleteFunc(c.steps.unpacked(nil),
			func(s countStep) bool { return int64(s.start) < now.Add(-c.Length).Unix() })
		q := rapid.SampledFrom([]float64{0.5, 0.9, 0.99, 0.995, 1}).Draw(t, "q")
		windows := []time.Duration{time.Second, 5 * time.Second, 40 * time.Second, 160 * time.Second, 640 * time.Second,
			time.Hour}
		for i, rooms := range c.Envelope(now, []float64{q / 2, q}, windows) {
			got := rooms[1]
			// Sums in another order differ in their last bits, which decides where a quantile falls between two steps.
			low, high := envelope(kept, q-1e-9, windows[i]), envelope(kept, q+1e-9, windows[i])
			if got < low*(1-1e-6)-1e-6 || got > high*(1+1e-6)+1e-6 {
				t.Fatalf("within %s, quantile %g: found %v, want %v to %v; steps %+v", windows[i], q, got, low, high,
					kept)
			}
		}
	})
}

// strange draws histograms as they may come from anywhere: unsorted, repeated, out of bounds, miscounted.
func strange() *rapid.Generator[Durations] {
	return rapid.Custom(func(t *rapid.T) Durations {
		h := Durations{Count: rapid.Int64Range(0, 9).Draw(t, "count"),
			SumSeconds: rapid.Float64Range(0, 1e6).Draw(t, "sum")}
		for range rapid.IntRange(0, 5).Draw(t, "buckets") {
			h.Buckets = append(h.Buckets, Bucket{Index: rapid.IntRange(minIndex-3, maxIndex+3).Draw(t, "index"),
				Count: rapid.Int64Range(-1, 5).Draw(t, "n")})
		}
		return h
	})
}

func TestMergingAllAtOnceIsMergingOneAfterTheOther(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		first, others := strange().Draw(t, "first"), rapid.SliceOfN(strange(), 0, 5).Draw(t, "others")
		want := first
		for _, o := range others {
			want = Merge(want, o)
		}
		got := MergeAll(first, others...)
		if got.Count != want.Count || got.SumSeconds != want.SumSeconds || !slices.Equal(got.Buckets, want.Buckets) {
			t.Fatalf("found %+v, want %+v", got, want)
		}
	})
}

func TestAddingOneDurationIsMergingIt(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		h := rapid.OneOf(strange(),
			rapid.Map(strange(), func(h Durations) Durations { return Merge(h, Durations{}) })).Draw(t, "h")
		before := slices.Clone(h.Buckets)
		d := time.Duration(rapid.Int64Range(-1, 1<<52).Draw(t, "ns"))
		seconds := max(0, d.Seconds())
		got := Add(h, d)
		want := Merge(h, Durations{Count: 1, SumSeconds: seconds, Buckets: []Bucket{{Index: index(seconds), Count: 1}}})
		if got.Count != want.Count || got.SumSeconds != want.SumSeconds || !slices.Equal(got.Buckets, want.Buckets) {
			t.Fatalf("found %+v, want %+v", got, want)
		}
		if !slices.Equal(before, h.Buckets) {
			t.Fatalf("the histogram was changed: %+v became %+v", before, h.Buckets)
		}
	})
}
