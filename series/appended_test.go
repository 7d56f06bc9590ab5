package series

import (
	"testing"
	"time"

	"pgregory.net/rapid"
)

func TestStepsAreAppendedAsTheyAreAddedAnywhere(t *testing.T) {
	quick := 0
	rapid.Check(t, func(t *rapid.T) {
		length := int64(rapid.SampledFrom([]int{1, 120, 270, 271, 600, 3600, 7200}).Draw(t, "length"))
		now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC).Unix()
		var p countSteps
		gaps := rapid.SampledFrom([][]int{{5}, {1, 3, 5, 8}, {5, 5, 5, 40, 400}, {5, 5, 2000, 4000}}).Draw(t, "gaps")
		for range rapid.IntRange(1, 400).Draw(t, "times") {
			now += int64(rapid.SampledFrom(gaps).Draw(t, "gap"))
			var added []countStep
			for back := int64(rapid.SampledFrom([]int{0, 0, 1, 1, 2, 80}).Draw(t, "back")); back >= 0; back-- {
				if n := rapid.IntRange(0, 9).Draw(t, "n"); n > 0 {
					peak := float32(n + rapid.IntRange(0, 3).Draw(t, "beside"))
					added = append(added, countStep{uint32((now/5 - back) * 5), 5, float32(n), peak, peak})
				}
			}
			want := p.with(added, now, length)
			got, usual := p.appended(added, now, length)
			if usual {
				quick++
				if got.len() != want.len() {
					t.Fatalf("%d: found %+v, want %+v", now, got, want)
				}
			}
			for i := 0; usual && i < want.len(); i++ {
				if got.at(i) != want.at(i) {
					t.Fatalf("%d: step %d is %+v, want %+v", now, i, got.at(i), want.at(i))
				}
			}
			p = want
		}
	})
	if quick < 100 {
		t.Errorf("only %d were appended", quick)
	}
}
