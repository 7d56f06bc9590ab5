package series

import (
	"slices"
	"testing"

	"pgregory.net/rapid"
)

func TestAPackedHistogramIsWhatWasPacked(t *testing.T) {
	one := rapid.Custom(func(t *rapid.T) Bucket {
		most := rapid.SampledFrom([]int64{1, 15, 16, 17, 127, 128, 20_000, 1 << 40}).Draw(t, "most")
		return Bucket{Index: rapid.IntRange(minIndex, maxIndex).Draw(t, "index"),
			Count: rapid.Int64Range(max(1, most-1), most).Draw(t, "n")}
	})
	rapid.Check(t, func(t *rapid.T) {
		want := Durations{SumSeconds: rapid.Float64Range(0, 1e9).Draw(t, "sum")}
		for _, b := range rapid.SliceOfN(one, 0, 200).Draw(t, "buckets") {
			want = Merge(want, Durations{Count: b.Count, Buckets: []Bucket{b}})
		}
		var again tally
		again.add(histogram{}.plus(want))
		if got := again.sum(); got.Count != want.Count || got.SumSeconds != want.SumSeconds ||
			!slices.Equal(got.Buckets, want.Buckets) {
			t.Fatalf("found %+v, want %+v", got, want)
		}
		if got := again.estimate(); got != Estimate(want, 0) {
			t.Fatalf("found %+v, want %+v", got, Estimate(want, 0))
		}
	})
}

// Every fleet keeps dozens of histograms, most of them of durations that do not differ much.
func TestMostBucketsArePackedIntoOneByte(t *testing.T) {
	var h Durations
	for i := range 40 {
		h = Merge(h, Durations{Count: 9, Buckets: []Bucket{{Index: 2 * i, Count: 9}}})
	}
	if n := len((histogram{}.plus(h)).buckets); n > 40+3 {
		t.Errorf("40 buckets took %d bytes", n)
	}
}
