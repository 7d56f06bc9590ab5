package durations

import (
	"math"
	"testing"

	"pgregory.net/rapid"
)

// Few durations say little about the next one, and where boots are cheap the plan allows for that.
func TestFewDurationsMayBeFollowedByALongOne(t *testing.T) {
	const hour = 3600
	work := Work{Mean: hour, Tail: 1.5 * hour, Longest: 2 * hour, Count: 20}
	for _, row := range []struct {
		name           string
		count          float64
		waiting, slots float64
		boot           float64 // mean, in seconds
		most           float64 // how long a message may take, in hours
		want           float64 // hours
		guessed        bool
	}{
		{"twenty durations", 20, 1, 1, 10, 1000, 2 * 100 * 100 / 21.0 / 21, true},
		{"one duration: half of the objective is left to wait", 1, 1, 1, 10, 1000, 500, true},
		{"the half is less than the 99th percentile", 20, 1, 1, 10, 3, 2, false},
		{"a hundred durations", 100, 1, 1, 10, 1000, 2, false},
		{"only a stated mean", 0, 1, 1, 10, 1000, 2, false},
		{"boots as long as the work, and few wait", 20, 4, 1, hour, 1000, 2 * 100 * 100 / 21.0 / 21, true},
		{"boots as long as the work, and five wait", 20, 5, 1, hour, 1000, 1.5, false},
		{"many wait, and their boots cost more than four messages", 20, 1500, 1, 10, 1000, 1.5, false},
		{"slots are shared by messages that wait", 20, 4, 2, 10, 1000, 2, false},
		{"nothing waits", 20, 0, 1, 10, 1000, 1.5, false},
	} {
		work.Count = row.count
		got, guessed := work.TailOf(row.waiting, row.slots, row.boot, row.most*hour)
		if math.Abs(got/hour-row.want) > 1e-9 || guessed != row.guessed {
			t.Errorf("%s: found %v hours (guessed: %v), want %v (%v)", row.name, got/hour, guessed, row.want,
				row.guessed)
		}
	}
}

// A guess is never shorter than what was measured, leaves half of the time to wait, and only falls with more durations.
func TestAGuessedTailIsBounded(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		seconds := rapid.Float64Range(1e-3, 1e6)
		w := Work{Mean: seconds.Draw(t, "mean"), Tail: seconds.Draw(t, "tail"), Longest: seconds.Draw(t, "longest"),
			Count: float64(rapid.IntRange(0, 300).Draw(t, "count"))}
		waiting := float64(rapid.IntRange(0, 1000).Draw(t, "waiting"))
		slots := float64(rapid.IntRange(1, 4).Draw(t, "slots"))
		boot, most := seconds.Draw(t, "boot"), seconds.Draw(t, "most")
		tail, guessed := w.TailOf(waiting, slots, boot, most)
		if tail < w.Tail || tail > math.Max(most/2, math.Max(w.Tail, w.Longest)) || guessed && tail > most/2 {
			t.Fatalf("tail %v, guessed %v: want at least %v, and a guess of at most %v", tail, guessed, w.Tail, most/2)
		}
		more := w
		more.Count++
		if later, _ := more.TailOf(waiting, slots, boot, most); w.Count > 0 && later > tail {
			t.Fatalf("one more duration made the tail longer: %v, before %v", later, tail)
		}
	})
}
