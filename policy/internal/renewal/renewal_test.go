package renewal_test

import (
	"math"
	"testing"

	"github.com/muster-scale/muster/policy/internal/renewal"
	"pgregory.net/rapid"
)

func TestSlotsBeginOneMessageAfterTheOther(t *testing.T) {
	for _, row := range []struct {
		name      string
		got, want float64
	}{
		{"a free slot begins at once", renewal.Free(0, 20, 0, 0), 1},
		{"equal durations", renewal.Free(45, 20, 0, 0), 3},
		{"varied ones: the renewal theorem", renewal.Free(45, 20, 1, 1), 3.25},
		{"half and half", renewal.Free(45, 20, 1, 0.5), 3.125},
		{"equal work, not free yet", renewal.Busy(8, 9, 10, 20, 0, 0), 0},
		{"equal work, all free at once", renewal.Busy(8, 10, 10, 20, 0, 0), 8},
		{"and again a duration later", renewal.Busy(8, 30, 10, 20, 0, 0), 16},
		{"different points, once each has begun one", renewal.Busy(8, 20, 10, 20, 0, 1), 8},
		{"before that, less than the mean", renewal.Busy(8, 10, 10, 20, 0, 1), 0},
		{"no slot", renewal.Busy(0, 30, 10, 20, 0, 1), 0},
		{"a time that has passed", renewal.Busy(8, -1, 10, 20, 0, 1), 0},
	} {
		if math.Abs(row.got-row.want) > 1e-9 {
			t.Errorf("%s: found %v, want %v", row.name, row.got, row.want)
		}
	}
}

// No slot begins fewer messages in a longer time, and a busy one never more than a free one.
func TestMoreTimeNeverBeginsFewerMessages(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		mean := rapid.Float64Range(1e-3, 1e4).Draw(t, "mean")
		share := rapid.Float64Range(0, 1)
		variation, mixed := share.Draw(t, "variation"), share.Draw(t, "mixed")
		residual := mean * rapid.Float64Range(0.01, 1).Draw(t, "residual")
		short := mean * rapid.Float64Range(0, 50).Draw(t, "seconds")
		long := short + mean*rapid.Float64Range(0, 50).Draw(t, "more")
		if a, b := renewal.Free(short, mean, variation, mixed), renewal.Free(long, mean, variation, mixed); b < a-1e-9 {
			t.Fatalf("a free slot begins %v within %v s and %v within %v s", a, short, b, long)
		}
		const slots = 5
		a := renewal.Busy(slots, short, residual, mean, variation, mixed)
		b := renewal.Busy(slots, long, residual, mean, variation, mixed)
		if free := slots * renewal.Free(long, mean, variation, mixed); b < a-1e-9 || b > free+1e-9 {
			t.Fatalf("busy slots begin %v within %v s and %v within %v s; free ones begin %v", a, short, b, long, free)
		}
	})
}
