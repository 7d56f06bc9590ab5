package series_test

import (
	"maps"
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/muster-scale/muster/series"
)

func TestMergingPutsRightWhatAStrangerSent(t *testing.T) {
	bucket := func(index int, n int64) series.Bucket { return series.Bucket{Index: index, Count: n} }
	for _, row := range []struct {
		name       string
		a, b, want []series.Bucket
	}{
		{"nothing and nothing", nil, nil, nil},
		{"both sorted", []series.Bucket{bucket(1, 2), bucket(5, 1)}, []series.Bucket{bucket(3, 4)},
			[]series.Bucket{bucket(1, 2), bucket(3, 4), bucket(5, 1)}},
		{"the same in both", []series.Bucket{bucket(3, 2)}, []series.Bucket{bucket(3, 4)},
			[]series.Bucket{bucket(3, 6)}},
		{"unsorted", []series.Bucket{bucket(5, 1), bucket(1, 2)}, []series.Bucket{bucket(9, 1), bucket(3, 4)},
			[]series.Bucket{bucket(1, 2), bucket(3, 4), bucket(5, 1), bucket(9, 1)}},
		{"unsorted, and nothing to merge with", []series.Bucket{bucket(5, 1), bucket(1, 2)}, nil,
			[]series.Bucket{bucket(1, 2), bucket(5, 1)}},
		{"repeated", []series.Bucket{bucket(5, 1), bucket(1, 2), bucket(5, 3)}, nil,
			[]series.Bucket{bucket(1, 2), bucket(5, 4)}},
		{"counts below one", []series.Bucket{bucket(5, 0), bucket(6, -3)}, []series.Bucket{bucket(7, 1)},
			[]series.Bucket{bucket(7, 1)}},
		{"nothing that counts", []series.Bucket{bucket(5, 0)}, nil, nil},
		{"beyond the shortest and the longest", []series.Bucket{bucket(-400, 1), bucket(-500, 1)},
			[]series.Bucket{bucket(9999, 2)}, []series.Bucket{bucket(-288, 2), bucket(370, 2)}},
	} {
		t.Run(row.name, func(t *testing.T) {
			for _, two := range [][2][]series.Bucket{{row.a, row.b}, {row.b, row.a}} {
				if got := series.Merge(series.Durations{Buckets: two[0]},
					series.Durations{Buckets: two[1]}).Buckets; !slices.Equal(got, row.want) {
					t.Errorf("%v and %v: %v, want %v", two[0], two[1], got, row.want)
				}
			}
		})
	}
}

func TestMergingAddsUpEveryBucketAndChangesNeither(t *testing.T) {
	buckets := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) series.Bucket {
		return series.Bucket{Index: rapid.IntRange(-5, 5).Draw(t, "index") * rapid.SampledFrom([]int{1, 1, 100}).Draw(t,
			"far"), Count: rapid.Int64Range(-1, 9).Draw(t, "n")}
	}), 0, 12)
	rapid.Check(t, func(t *rapid.T) {
		a, b := buckets.Draw(t, "a"), buckets.Draw(t, "b")
		sums := map[int]int64{}
		for _, x := range slices.Concat(a, b) {
			if x.Count >= 1 {
				sums[min(max(x.Index, -288), 370)] += x.Count
			}
		}
		var want []series.Bucket
		for _, i := range slices.Sorted(maps.Keys(sums)) {
			want = append(want, series.Bucket{Index: i, Count: sums[i]})
		}
		wasA, wasB := slices.Clone(a), slices.Clone(b)
		merged := series.Merge(series.Durations{Buckets: a}, series.Durations{Buckets: b})
		if !slices.Equal(merged.Buckets, want) {
			t.Fatalf("found %v, want %v", merged.Buckets, want)
		}
		// Whoever adds to the result must not reach what it was made of.
		grown := append(merged.Buckets, series.Bucket{Index: math.MaxInt, Count: 1})
		if len(grown) > 1 && (!slices.Equal(a, wasA) || !slices.Equal(b, wasB)) {
			t.Fatalf("%v and %v became %v and %v", wasA, wasB, a, b)
		}
	})
}
